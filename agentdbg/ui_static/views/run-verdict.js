// @ts-check
/** What came of the run: its state and name, the cause in a sentence, what followed, and the figures on one line. */

import { clockTime } from "../core/clock.js";
import { emit, h } from "../core/dom.js";
import { embeddedRun, hrefOf } from "../core/embedded.js";
import { glyph } from "../core/glyphs.js";
import {
  formatCost,
  formatCount,
  formatDuration,
  formatElapsed,
  formatShares,
  formatStarted,
  formatTokens,
} from "../model/format.js";
import { visibleText } from "../model/details/text.js";
import { isLowScore, scoresOf } from "../model/run-groups.js";
import { hasTimes, isImported, nameOf, standing, startOf } from "../model/runs.js";
import { PACE_MS, Steady } from "../model/steady.js";
import { isProblem } from "../model/suspects.js";
import { elapsedOf } from "./row-facts.js";

/** @typedef {import("../core/run-data.js").RunData} RunData */
/** @typedef {import("../model/types.js").Summary} Summary */
/** @typedef {import("../model/types.js").RunMeta} RunMeta */

const SIGNS = {
  "Finished with problems": "problem",
  Paused: "paused",
  Finished: "ok",
  Failed: "failed",
  Interrupted: "failed",
  Died: "died",
  Running: "running",
};

export class RunVerdict extends HTMLElement {
  /** @type {RunData | null} */
  data = null;
  isShort = false;
  /** Whether every line is shown, and whole. */
  isFull = false;

  #title = h("div", { class: "title" });
  #actions = h("div", { class: "actions" });
  #lines = h("ol", { class: "lines" });
  #figures = h("div", { class: "figures digits" });
  #report = h(
    "button",
    { class: "button report", type: "button", "data-report": true, onclick: () => emit(this, "copy-report") },
    h("span", null, "Copy for AI assistant"),
  );
  #elapsed = h("b");
  #drawn = "";
  #drawnAt = 0;
  #drawnRun = "";
  /** @type {string | undefined} */
  #drawnPause;
  /** @type {{runId: string, doing: Steady<string>}} */
  #steady = { runId: "", doing: new Steady() };
  #renaming = false;
  /** What starts a replay, here and in the menu. @type {HTMLElement[]} */
  #replays = [];

  connectedCallback() {
    if (this.firstChild) return;
    const back = h(
      "button",
      {
        class: "icon-button back",
        type: "button",
        "aria-label": "Back to the runs",
        onclick: () => emit(this, "back"),
      },
      glyph("back"),
    );
    const rail = h(
      "button",
      {
        class: "icon-button open-rail",
        type: "button",
        "aria-label": "Show the runs (b)",
        title: "Show the runs (b)",
        onclick: () => emit(this, "rail"),
      },
      glyph("panel"),
    );
    const find = h(
      "button",
      {
        class: "icon-button find",
        type: "button",
        "aria-label": "Search this run",
        onclick: () => emit(this, "focus-search"),
      },
      glyph("search"),
    );
    const more = h(
      "button",
      { class: "button more", type: "button", "aria-label": "More actions", popovertarget: "run-menu" },
      glyph("more"),
    );
    const compare = h(
      "button",
      {
        class: "button compare",
        type: "button",
        title: "Compare with another run (d)",
        onclick: () => emit(this, "compare-with"),
      },
      "Compare…",
    );
    const share = h(
      "button",
      { class: "button share", type: "button", title: "Share as HTML file", onclick: () => emit(this, "save-page") },
      glyph("share", { size: 14 }),
      "Share",
    );
    const replay = h(
      "button",
      {
        class: "button replay",
        type: "button",
        title: "Replay this run (R)",
        onclick: () => emit(this, "replay-run"),
      },
      "Replay…",
    );
    this.#actions.append(find, this.#report, ...(embeddedRun === null ? [replay, compare, share] : []), more);
    this.append(h("div", { class: "head" }, rail, back, this.#title, this.#actions), this.#lines, this.#figures);
    const menu = this.#menu(more);
    this.#replays = [replay, ...menu.querySelectorAll("[data-action='replay-run']")].map(
      (one) => /** @type {HTMLElement} */ (one),
    );
    document.body.append(menu);
  }

  /** @param {HTMLElement} opener */
  #menu(opener) {
    const item = (
      /** @type {string} */ label,
      /** @type {string} */ key,
      /** @type {string} */ intent,
      danger = false,
    ) =>
      h(
        "button",
        {
          type: "button",
          class: danger ? "danger" : null,
          "data-action": intent,
          onclick: () => {
            menu.hidePopover();
            emit(this, intent);
          },
        },
        h("span", null, label),
        key ? h("kbd", null, key) : h("span"),
      );
    const menu = h(
      "div",
      { id: "run-menu", class: "menu", popover: "auto" },
      embeddedRun === null && item("Rename", "F2", "rename-run"),
      embeddedRun === null && item("Compare with another run…", "d", "compare-with"),
      embeddedRun === null && item("Replay…", "R", "replay-run"),
      item("Copy run id", "i", "copy-id"),
      item("Save all events as JSON", "w", "save-run"),
      embeddedRun === null && item("Share as HTML file", "h", "save-page"),
      item("Collapse / expand summary", "v", "verdict"),
      embeddedRun === null && item("Mark as passed", "+", "mark-passed"),
      embeddedRun === null && item("Mark as failed…", "-", "mark-failed"),
      embeddedRun === null && item("Clear mark", "0", "mark-cleared"),
      embeddedRun === null && item("Delete", "Del", "delete-run", true),
    );
    menu.addEventListener("toggle", (event) => {
      if (/** @type {ToggleEvent} */ (event).newState !== "open") return;
      const box = opener.getBoundingClientRect();
      menu.style.top = `${box.bottom + 4}px`;
      menu.style.left = `${Math.max(8, box.right - menu.offsetWidth)}px`;
      menu.querySelector("button")?.focus();
    });
    return menu;
  }

  /** @param {string} text what the button says instead, for a moment */
  answerReport(text) {
    const label = /** @type {HTMLElement} */ (this.#report.firstElementChild);
    label.textContent = text;
    setTimeout(() => (label.textContent = "Copy for AI assistant"), 2500);
  }

  update() {
    const run = this.data?.run;
    const summary = this.data?.summary ?? null;
    this.dataset.short = String(this.isShort);
    // What stands there is another run's until this one's summary is here.
    this.toggleAttribute("data-waiting", summary === null);
    if (!run) return;
    this.#drawTitle(run, summary);
    for (const button of this.#replays) button.hidden = isImported(run);
    this.dataset.full = String(this.isFull);
    this.#elapsed.textContent = formatElapsed(elapsedOf(this.data));
    const running = this.data?.isRunning ?? false;
    const lines = summary?.verdict.lines.map((line) => (running && line.n === null ? this.#doing(line) : line)) ?? [];
    const figures = running ? { ...summary?.figures, duration_ms: 0 } : summary?.figures;
    const key = JSON.stringify([
      this.data?.runId,
      running,
      lines,
      figures,
      summary?.complete,
      this.data?.pause?.pause_id,
    ]);
    if (key === this.#drawn || !summary) return;
    // A headline that changes with every event cannot be read: while a run goes on, it stands for two seconds.
    const moment = performance.now();
    const isNews = this.#drawnPause !== this.data?.pause?.pause_id;
    this.#drawnPause = this.data?.pause?.pause_id;
    if (running && !isNews && this.#drawnRun === this.data?.runId && moment - this.#drawnAt < PACE_MS) return;
    [this.#drawnAt, this.#drawnRun] = [moment, this.data?.runId ?? ""];
    this.#drawn = key;
    this.dataset.tone = isProblem(summary) ? "problem" : summary.verdict.tone;
    const isOnly = new Set(lines.map((line) => line.n).filter((n) => n !== null)).size === 1;
    this.#lines.replaceChildren(...lines.map((line, place) => this.#line(line, place, isOnly)));
    const seen = new Set();
    for (const jump of /** @type {NodeListOf<HTMLElement>} */ (this.#lines.querySelectorAll(".jump"))) {
      jump.classList.toggle("again", seen.has(jump.dataset.jump));
      seen.add(jump.dataset.jump);
    }
    this.#drawFigures(summary);
  }

  /** What the run does now, once it has done it for long enough. @param {import("../model/types.js").VerdictLine} line */
  #doing(line) {
    const runId = this.data?.runId ?? "";
    if (this.#steady.runId !== runId) this.#steady = { runId, doing: new Steady() };
    return JSON.parse(this.#steady.doing.of(JSON.stringify(withoutClock(line)), performance.now()) ?? "null") ?? line;
  }

  /** @param {RunMeta} run @param {Summary | null} summary */
  #drawTitle(run, summary) {
    if (this.#renaming) return;
    const word = this.data?.pause
      ? "Paused"
      : isProblem(summary)
        ? "Finished with problems"
        : (summary?.verdict.word ?? standing(run).word);
    const sign = SIGNS[/** @type {keyof typeof SIGNS} */ (word)] ?? "failed";
    const tone = { running: "running", ok: "ok", problem: "problem", paused: "hold" }[sign] ?? "error";
    const since = formatStarted(startOf(run), clockTime());
    const paused = this.data?.pause ? clockTime() - Date.parse(this.data.pause.since) : 0;
    const waited = paused >= PACE_MS ? ` · paused for ${formatElapsed(paused)}` : "";
    const key = `${word} ${nameOf(run)} ${since}${waited}`;
    if (this.#title.dataset.key === key) return;
    this.#title.dataset.key = key;
    this.#title.replaceChildren(
      h("span", { class: `word ${tone}` }, glyph(sign), word),
      h(
        "h2",
        {
          class: nameOf(run).length > 8 ? "name cut" : "name",
          dir: "auto",
          title: embeddedRun === null ? `${nameOf(run)} (F2 renames)` : nameOf(run),
          ondblclick: embeddedRun === null ? () => emit(this, "rename-run") : null,
        },
        visibleText(nameOf(run)),
      ),
      h("code", { class: "id quiet", title: run.run_id }, run.run_id.slice(0, 8)),
      h("span", { class: "since quiet digits", title: run.started_at }, `${since}${waited}`),
    );
  }

  /** @param {import("../model/types.js").VerdictLine} line @param {number} place @param {boolean} isOnly */
  #line(line, place, isOnly) {
    const text = h("span", { class: "sentence" });
    for (const part of line.parts)
      if (part.style === "plain") text.append(...words(visibleText(part.text)));
      else text.append(h("code", { class: part.style }, visibleText(part.text)));
    const jump =
      line.n === null
        ? null
        : h(
            "a",
            {
              class: "jump digits",
              href: hrefOf(`?run_id=${this.data?.runId}&event=${line.n}`),
              "data-jump": line.n,
              onclick: (/** @type {MouseEvent} */ event) => this.#jump(event, /** @type {number} */ (line.n)),
            },
            h("span", { class: "jump-word" }, `${isOnly ? "Go to" : wordFor(text.textContent ?? "", place)} `),
            `#${line.n}`,
          );
    return h("li", null, jump, text);
  }

  /** @param {MouseEvent} event @param {number} n */
  #jump(event, n) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    emit(this, "navigate", { n });
  }

  /** @param {Summary} summary */
  #drawFigures({ figures, complete, run }) {
    const many = (/** @type {number | null} */ count, /** @type {string} */ one, bad = false) =>
      count ? figure(formatCount(count), count === 1 ? one : `${one}s`, bad) : null;
    const tokens = figures.total_tokens;
    const inOut =
      figures.tokens_in !== null && figures.tokens_out !== null
        ? ` · ${formatTokens(figures.tokens_in)} in, ${formatTokens(figures.tokens_out)} out`
        : "";
    const figuresShown = [
      this.data?.isRunning ? h("span", { class: "figure" }, this.#elapsed) : null,
      this.data?.isRunning || !hasTimes(run)
        ? null
        : figure(formatDuration(figures.duration_ms), "", false, `${formatCount(figures.duration_ms ?? 0)} ms`),
      many(figures.llm_calls, "LLM call"),
      many(figures.tool_calls, "tool call"),
      many(figures.errors, "error", true),
      many(figures.loops, "loop", true),
      tokens ? figure(formatTokens(tokens), `tokens${inOut}`, false, `${formatCount(tokens)} tokens`) : null,
      figures.cost_usd ? figure(formatCost(figures.cost_usd), "", false, `$${figures.cost_usd}`) : null,
      this.data?.pause ? null : shares(figures),
      scoreFigures(run),
    ].filter((shown) => shown !== null);
    this.#figures.replaceChildren(...figuresShown);
    this.#figures.toggleAttribute("data-counting", !complete);
  }

  /** Let the reader type a new name where the old one stands. @returns {Promise<string | null>} null when given up */
  rename() {
    const name = this.#title.querySelector(".name");
    const run = this.data?.run;
    if (!name || !run || this.#renaming) return Promise.resolve(null);
    this.#renaming = true;
    const field = h("input", {
      class: "rename",
      type: "text",
      "aria-label": "New name of the run",
      maxlength: "200",
      "data-rename": true,
    });
    field.value = nameOf(run);
    name.replaceWith(field);
    field.focus();
    field.select();
    return new Promise((resolve) => {
      const finish = (/** @type {string | null} */ value) => {
        if (!this.#renaming) return;
        this.#renaming = false;
        this.#title.dataset.key = "";
        this.update();
        resolve(value);
      };
      field.addEventListener("blur", () =>
        finish(field.value.trim() && field.value.trim() !== nameOf(run) ? field.value.trim() : null),
      );
      field.addEventListener("keydown", (event) => {
        if (event.key === "Enter") field.blur();
        if (event.key === "Escape") {
          event.preventDefault();
          event.stopPropagation();
          finish(null);
        }
      });
    });
  }
}

/**
 * What the run does now, without how long: that is told by the clocks of the page, and a headline does not tick.
 * @param {import("../model/types.js").VerdictLine} line
 */
function withoutClock(line) {
  return { ...line, parts: line.parts.filter(({ style, text }) => style !== "plain" || !/^ \(.*\)$/.test(text)) };
}

/**
 * Our words, and in them those of a model: in a language written from the right they turn round nothing of ours.
 * @param {string} text
 */
function words(text) {
  const [, ours = "", answer] = /^(Answered: )([^]*)$/.exec(text) ?? [];
  if (answer !== undefined) return [ours, h("bdi", null, answer)];
  return text.split(/(?<=“)([^”]*)(?=”)/).map((piece, at) => (at % 2 ? h("bdi", null, piece) : piece));
}

/** On a phone only the cause is a sentence; what followed is a word and a link. @param {string} sentence @param {number} place */
function wordFor(sentence, place) {
  if (place === 0) return "First";
  if (/loop/i.test(sentence)) return /^Stopped/.test(sentence) ? "Stopped" : "Loop";
  return /^Stopped/.test(sentence) ? "Stopped" : "Then";
}

/** @param {string} value @param {string} unit @param {boolean} [bad] @param {string} [exact] */
function figure(value, unit, bad = false, exact) {
  return h("span", { class: bad ? "figure bad" : "figure", title: exact }, h("b", null, value), unit ? ` ${unit}` : "");
}

/** What judges gave the run, each with a meter. @param {RunMeta} run */
function scoreFigures(run) {
  const scores = Object.entries(scoresOf(run))
    .slice(0, 5)
    .map(([name, score]) => {
      const meter = h("span", { class: "meter", "aria-hidden": "true" });
      meter.style.setProperty("--score", String(Math.max(0, Math.min(1, score))));
      return h(
        "span",
        { class: "figure score", "data-low": isLowScore(name, score) },
        `${visibleText(name)} `,
        h("b", null, score.toFixed(2)),
        score >= 0 && score <= 1 ? meter : null,
      );
    });
  return scores.length === 0 ? null : h("div", { class: "scores" }, ...scores);
}

/** Where the time went. @param {Summary["figures"]} figures */
function shares(figures) {
  const words = formatShares(figures);
  return words === null ? null : h("span", { class: "shares quiet" }, words);
}

customElements.define("run-verdict", RunVerdict);
