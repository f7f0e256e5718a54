// @ts-check
/** The runs: newest first under their day, what came of each in a line, found by typing. Thousands scroll as tens do. */

import { clockTime } from "../core/clock.js";
import { emit, h } from "../core/dom.js";
import { glyph } from "../core/glyphs.js";
import { preference, setPreference } from "../core/preferences.js";
import { formatAge, formatCount, formatTokens } from "../model/format.js";
import { visibleText } from "../model/details/text.js";
import { RowHeights, scrollToShow, windowOf } from "../model/heights.js";
import { figuresOf, nameOf, railItems, relationOf, runFigures, runLabel, standing, startOf } from "../model/runs.js";
import { Separator } from "./column-heads.js";

/** @typedef {import("../model/types.js").RunMeta} RunMeta */
/** @typedef {import("../model/runs.js").RailItem} RailItem */

const OVERSCAN = 4;
const SHORT_FROM = 10_000; // four filters stand in one line; `12k` says enough there
const WIDTH = { first: 288, least: 200, most: 560 };
const STATUSES = [
  ["", "All", "all"],
  ["error", "Failed", "error"],
  ["problems", "Problems", "problems"],
  ["running", "Live", "running"],
];

export class RunRail extends HTMLElement {
  /** Those loaded so far, newest first. @type {RunMeta[]} */
  runs = [];
  /** How many there are. */
  total = 0;
  /** @type {Record<string, number>} */
  counts = {};
  /** @type {string | null} */
  selectedId = null;
  q = "";
  status = "";
  theme = "system";
  /** The run that waits at a breakpoint, and what it says. @type {{runId: string, headline: string, since: number} | null} */
  held = null;
  /** Letters at runs that are being compared. @type {Map<string, string>} */
  badges = new Map();
  /** The name of the run to compare with the one the reader chooses; null when none is chosen. @type {string | null} */
  picking = null;

  #field = h("input", {
    type: "search",
    placeholder: "Find a run, or key=value",
    "aria-label": "Find a run, or key=value",
    autocomplete: "off",
    spellcheck: "false",
    "data-run-search": true,
  });
  #statuses = h("div", { class: "statuses", role: "group", "aria-label": "Which runs" });
  #window = h("div", { class: "window", role: "presentation" });
  #track = h("div", { class: "track", role: "presentation" }, this.#window);
  #scroller = h("div", { class: "scroller", role: "listbox", tabindex: "0", "aria-label": "Runs" }, this.#track);
  #pick = h("div", { class: "pick", hidden: true });
  #nothing = h("p", { class: "nothing quiet", hidden: true });
  #themeButton = h("button", { class: "icon-button", type: "button", onclick: () => emit(this, "theme") });
  /** @type {RailItem[]} */
  #items = [];
  #heights = new RowHeights(0, () => 0);
  /** @type {Map<string, {element: HTMLElement, source: any, age: string}>} */
  #drawn = new Map();

  connectedCallback() {
    if (this.firstChild) return;
    const button = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ intent) =>
      h(
        "button",
        {
          class: `icon-button ${intent}`,
          type: "button",
          "aria-label": label,
          title: label,
          onclick: () => emit(this, intent),
        },
        glyph(name),
      );
    this.append(
      h(
        "div",
        { class: "brand" },
        h("p", { class: "product" }, "AgentDbg"),
        button("table", "All runs as a table (T)", "table"),
        this.#themeButton,
        button("help", "Keyboard shortcuts (?)", "help"),
        button("panel", "Hide the runs (b)", "rail"),
      ),
      h("label", { class: "field find" }, glyph("search"), this.#field, h("kbd", null, "r")),
      this.#statuses,
      this.#pick,
      this.#scroller,
      this.#nothing,
      this.#edge(),
    );
    this.#field.addEventListener("input", () => emit(this, "find-runs", { q: this.#field.value, status: this.status }));
    this.#field.addEventListener("keydown", (event) => this.#fieldKey(event));
    this.#scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#scroller.addEventListener("keydown", (event) => this.#listKey(event));
    this.#window.addEventListener("click", (event) => this.#clicked(event));
    new ResizeObserver(() => this.#resized()).observe(this.#scroller);
  }

  /** The edge that makes room for long names; a double click puts it back. */
  #edge() {
    const write = (/** @type {number} */ width) => {
      setPreference("railwidth", String(width));
      document.documentElement.style.setProperty("--rail-width", `${width}px`);
    };
    const read = () => Number(preference("railwidth", "")) || WIDTH.first;
    if (read() !== WIDTH.first) write(read());
    return new Separator({ label: "Width of the list of runs", read, write, fit: () => WIDTH.first, bounds: WIDTH })
      .element;
  }

  focusField() {
    this.#field.focus();
    this.#field.select();
  }

  focusList() {
    this.#scroller.focus();
  }

  update() {
    if (!this.firstChild) return;
    const rowHeight = matchMedia("(max-width: 719.9px)").matches ? 68 : 64;
    const known = this.runs.length;
    this.#items = railItems(this.runs, clockTime(), this.selectedId);
    const items = this.#items;
    // Runs not loaded yet have their room already, so that the scroll bar says how many there are.
    this.#heights = new RowHeights(items.length + Math.max(0, this.total - known), (index) =>
      index >= items.length || items[index].kind === "run" ? rowHeight : 28,
    );
    this.#track.style.height = `${this.#heights.total + 12}px`;
    this.#drawStatuses();
    this.#drawTheme();
    this.#drawPick();
    if (document.activeElement !== this.#field) this.#field.value = this.q;
    this.#nothing.hidden = known > 0 || (!this.q && !this.status);
    this.#nothing.textContent = this.q ? `No run matches ${this.q}.` : "No such run.";
    this.#draw();
  }

  // Asking the elements where they stand would make the browser lay out the page, so it is remembered.
  #top = 0;
  #viewport = 0;

  #scrolled() {
    this.#top = this.#scroller.scrollTop;
    this.#draw();
  }

  #resized() {
    const wasHidden = this.#viewport === 0;
    this.#viewport = this.#scroller.clientHeight;
    this.#top = this.#scroller.scrollTop;
    this.update();
    if (wasHidden) this.reveal();
  }

  /** Bring the selected run into sight. */
  reveal() {
    if (this.#viewport === 0) return;
    const place = this.#items.findIndex((item) => item.kind === "run" && item.run.run_id === this.selectedId);
    if (place < 0) return;
    const top = scrollToShow(this.#heights, place, this.#top, this.#viewport, 28);
    if (top !== null) {
      this.#scroller.scrollTop = top;
      this.#top = top;
    }
    this.#draw();
  }

  /** The run above or below the selected one. @param {1 | -1} direction @returns {string | null} */
  neighbour(direction) {
    const runs = this.#items.flatMap((item) => (item.kind === "run" ? [item.run] : []));
    const place = runs.findIndex((run) => run.run_id === this.selectedId);
    return runs[place < 0 ? 0 : place + direction]?.run_id ?? null;
  }

  #drawStatuses() {
    const shown = STATUSES.filter(([value]) => value !== "problems" || this.counts.problems || this.status === value);
    const chips = shown.map(([value, name, count]) => {
      const many = this.counts[count] ?? 0;
      return h(
        "button",
        {
          type: "button",
          title: many < SHORT_FROM ? null : formatCount(many),
          "aria-pressed": String(value === this.status),
          "data-run-status": count,
          onclick: () => emit(this, "find-runs", { q: this.q, status: value }),
        },
        `${name} ${many < SHORT_FROM ? formatCount(many) : formatTokens(many)}`,
      );
    });
    if (this.#statuses.contains(document.activeElement)) {
      const place = [...this.#statuses.children].indexOf(/** @type {Element} */ (document.activeElement));
      this.#statuses.replaceChildren(...chips);
      chips[place]?.focus();
    } else this.#statuses.replaceChildren(...chips);
  }

  #drawPick() {
    if (this.#pick.hidden === (this.picking === null)) return;
    this.#pick.hidden = this.picking === null;
    this.toggleAttribute("data-picking", this.picking !== null);
    this.#pick.replaceChildren(
      h("p", { role: "status" }, "Choose the run to compare with ", h("b", null, visibleText(this.picking ?? "")), "."),
      h(
        "button",
        { class: "button", type: "button", "data-compare": "cancel", onclick: () => emit(this, "cancel-pick") },
        "Cancel",
      ),
    );
  }

  #drawTheme() {
    const signs = { system: "system", light: "sun", dark: "moon" };
    const label = `Theme: ${this.theme} (t)`;
    if (this.#themeButton.title === label) return;
    this.#themeButton.title = label;
    this.#themeButton.setAttribute("aria-label", label);
    this.#themeButton.replaceChildren(glyph(signs[/** @type {keyof typeof signs} */ (this.theme)] ?? "moon"));
  }

  #draw() {
    const seen = windowOf(this.#heights, this.#top, this.#viewport, OVERSCAN);
    if (seen.last >= this.#items.length && this.runs.length < this.total) emit(this, "more-runs");
    const items = this.#items.slice(seen.first, seen.last + 1);
    const keep = new Set(items.map((item) => item.key));
    for (const [key, { element }] of this.#drawn) {
      if (keep.has(key)) continue;
      element.remove();
      this.#drawn.delete(key);
    }
    this.#window.style.top = `${this.#heights.topOf(seen.first)}px`;
    let cursor = this.#window.firstElementChild;
    for (const item of items) {
      const element = this.#element(item);
      if (element === cursor) cursor = cursor.nextElementSibling;
      else this.#window.insertBefore(element, cursor);
    }
    const active = this.selectedId ? this.#drawn.get(this.selectedId) : undefined;
    if (active) this.#scroller.setAttribute("aria-activedescendant", active.element.id);
    else this.#scroller.removeAttribute("aria-activedescendant");
  }

  /** @param {RailItem} item */
  #element(item) {
    const moment = clockTime();
    const age =
      item.kind === "run"
        ? `${this.badges.get(item.run.run_id) ?? ""} ${this.held?.runId === item.run.run_id ? this.held.headline : ""} ${formatAge(startOf(item.run), moment)} ${item.run.status === "running" ? runFigures(item.run, moment) : ""} ${item.session} ${item.depth}`
        : `${item.kind === "session" ? item.count : item.kind === "trials" ? item.outcome : ""}`;
    const source = item.kind === "run" ? item.run : null;
    let drawn = this.#drawn.get(item.key);
    if (!drawn) {
      drawn = {
        element: h(
          "div",
          item.kind === "run"
            ? { role: "option", id: `run-${item.run.run_id}` }
            : { role: item.kind === "trials" ? "option" : "presentation" },
        ),
        source: undefined,
        age: "",
      };
      this.#drawn.set(item.key, drawn);
    }
    if (drawn.source !== source || drawn.age !== age) {
      if (item.kind === "run") fillRun(drawn.element, item, moment, this.badges.get(item.run.run_id), this.held);
      else fillHeading(drawn.element, item);
      drawn.source = source;
      drawn.age = age;
    }
    if (item.kind === "run") drawn.element.setAttribute("aria-selected", String(item.run.run_id === this.selectedId));
    return drawn.element;
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const row = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-run-id]"));
    if (row) emit(this, "open-run", { runId: row.dataset.runId });
  }

  /** @param {KeyboardEvent} event */
  #listKey(event) {
    const moves = /** @type {Record<string, 1 | -1>} */ ({ ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 });
    const direction = moves[event.key];
    if (direction) {
      event.preventDefault();
      const runId = this.neighbour(direction);
      if (runId) emit(this, "open-run", { runId, keepFocus: true });
    } else if (event.key === "Delete" && this.selectedId) {
      event.preventDefault();
      emit(this, "delete-run", { runId: this.selectedId });
    } else if (event.key === "Enter" && this.selectedId) {
      event.preventDefault();
      emit(this, "open-run", { runId: this.selectedId });
    }
  }

  /** @param {KeyboardEvent} event */
  #fieldKey(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      if (this.#field.value) {
        this.#field.value = "";
        emit(this, "find-runs", { q: "", status: this.status });
      } else this.#field.blur();
    } else if (event.key === "Enter" || event.key === "ArrowDown") {
      event.preventDefault();
      this.focusList();
      const [first] = this.#items.flatMap((item) => (item.kind === "run" ? [item.run] : []));
      if (first && event.key === "Enter") emit(this, "open-run", { runId: first.run_id });
    }
  }
}

/** @param {HTMLElement} element @param {Extract<RailItem, {kind: "run"}>} item @param {number} now @param {string} [badge] @param {RunRail["held"]} [held] */
function fillRun(element, { run, session, depth, trial }, now, badge, held) {
  const isHeld = held?.runId === run.run_id;
  const { glyph: sign, tone } = isHeld ? { glyph: "paused", tone: "hold" } : standing(run);
  const headline = isHeld ? held.headline : run.headline;
  const name = trial ? `trial ${trial}` : depth > 0 ? relationOf(run) : nameOf(run);
  element.className = "run";
  element.dataset.runId = run.run_id;
  element.dataset.status = run.status;
  element.dataset.tone = tone;
  element.dataset.session = session;
  element.dataset.depth = String(Math.min(depth, 3));
  const relation = depth > 0 ? `${name} of ` : "";
  element.setAttribute("aria-label", `${badge ? `${badge}, ` : ""}${relation}${runLabel({ ...run, headline }, now)}`);
  element.replaceChildren(
    h("span", { class: "sign" }, glyph(sign)),
    h("span", { class: "name cut", dir: "auto", title: depth > 0 ? relationOf(run) : name }, visibleText(name)),
    h(
      "span",
      { class: "age digits", title: run.started_at },
      run.status === "running" ? "now" : formatAge(startOf(run), now),
    ),
    h("span", { class: "headline cut", dir: "auto" }, visibleText(headline || run.run_id.slice(0, 8))),
    h(
      "span",
      { class: "figures digits" },
      ...figuresOf(run, isHeld ? held.since : tone === "hold" ? null : now).map((figure, at) =>
        h("span", null, at === 0 ? figure : ` · ${figure}`),
      ),
    ),
    ...(badge ? [h("b", { class: "badge" }, badge)] : []),
  );
}

/** @param {HTMLElement} element @param {Exclude<RailItem, {kind: "run"}>} item */
function fillHeading(element, item) {
  element.className = item.kind;
  if (item.kind === "trials") {
    element.dataset.depth = String(Math.min(item.depth, 3));
    element.dataset.runId = item.runId;
    element.setAttribute("aria-label", `${item.label}, ${item.outcome}`);
    element.replaceChildren(
      glyph("fork", { size: 14 }),
      h("span", null, item.label),
      h("span", { class: "quiet" }, item.outcome),
    );
  } else if (item.kind === "day") element.replaceChildren(item.label);
  else
    element.replaceChildren(
      h("span", null, "session "),
      h("code", { class: "cut" }, visibleText(item.label)),
      h("span", null, `${item.count} runs`),
    );
}

customElements.define("run-rail", RunRail);
