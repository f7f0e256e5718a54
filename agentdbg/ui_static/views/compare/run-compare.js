// @ts-check
/** Two runs side by side: what came of the comparison, the figures and effects of both, and their rows aligned. */

import { emit, h } from "../../core/dom.js";
import { glyph } from "../../core/glyphs.js";
import { bothNames, figures, verdictSign, verdictWords } from "../../model/compare.js";
import { visibleText } from "../../model/details/text.js";
import { counted, formatCost, formatCount, formatDuration, formatStarted, formatTokens } from "../../model/format.js";
import { programOf, relationOf, standing, startOf } from "../../model/runs.js";
import { SIGNS, differing, pathOf } from "./compare-row.js";
import "../search-field.js";
import "./compare-rows.js";

/** @typedef {import("../../core/compare-data.js").CompareData} CompareData */
/** @typedef {import("../../model/compare.js").Answer} Answer */
/** @typedef {import("../../model/compare.js").Comparison} Comparison */

/** The first few are told in sentences; as many more have a line each. */
const EFFECTS_TOLD = 3;
const IN_BOTH = " in A and ";
const FIRST_LINES = 3;
const FIRST_NOTES = 4;
const EFFECTS_SHOWN = 4;
const LONGEST_NAME = 36;
const COUNTS = /** @type {const} */ ([
  ["=", "same"],
  ["~", "wording"],
  ["!", "changed"],
  ["-", "deleted"],
  ["+", "inserted"],
  [">", "moved"],
]);
const WRITE = { duration_ms: formatDuration, total_tokens: formatTokens, cost_usd: formatCost };

export class RunCompare extends HTMLElement {
  /** @type {CompareData | null} */
  data = null;
  rows = /** @type {import("./compare-rows.js").CompareRows} */ (document.createElement("compare-rows"));

  #title = h("div", { class: "title" });
  #next = h(
    "button",
    {
      class: "button next",
      type: "button",
      "data-compare": "next",
      onclick: () => emit(this, "compare-step", { direction: 1 }),
    },
    h("span", null, "Next change"),
    h("kbd", null, "n"),
  );
  #lines = h("ol", { class: "lines" });
  #more = h("button", { class: "link more", type: "button", onclick: () => this.toggleSummary() });
  #figures = h("div", { class: "both" });
  #choice = h("div", { class: "views", role: "group", "aria-label": "Which rows" });
  #legend = h("p", { class: "legend digits" });
  #search = /** @type {import("../search-field.js").SearchField} */ (document.createElement("search-field"));
  #heads = h("div", { class: "heads", "aria-hidden": "true" });
  /** @type {CompareData | null} */
  #drawn = null;

  connectedCallback() {
    if (this.firstChild) return;
    Object.assign(this.#search, { label: "Search both", hook: "data-compare-search" });
    const button = (/** @type {string} */ label, /** @type {string} */ intent, /** @type {string} */ name) =>
      h("button", { class: "button", type: "button", "data-compare": name, onclick: () => emit(this, intent) }, label);
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
    const back = h(
      "button",
      {
        class: "icon-button back",
        type: "button",
        "aria-label": "Close the comparison",
        onclick: () => emit(this, "compare-close"),
      },
      glyph("back"),
    );
    const find = h(
      "button",
      {
        class: "icon-button find",
        type: "button",
        "aria-label": "Search both",
        onclick: () => emit(this, "focus-search"),
      },
      glyph("search"),
    );
    this.#search.addEventListener("focusin", () => this.toggleAttribute("data-typing", true));
    this.#search.addEventListener("focusout", () => this.toggleAttribute("data-typing", false));
    this.append(
      h(
        "div",
        { class: "top" },
        h(
          "div",
          { class: "head" },
          rail,
          back,
          this.#title,
          find,
          h(
            "div",
            { class: "actions" },
            this.#next,
            button("Swap A and B", "compare-swap", "swap"),
            button("Close", "compare-close", "close"),
          ),
        ),
        this.#lines,
        this.#more,
        this.#figures,
      ),
      h("div", { class: "choose" }, this.#choice, this.#legend, this.#search),
      this.#heads,
      this.rows,
    );
  }

  /** Bring the page in line with the comparison. */
  update() {
    const comparison = this.data?.comparison ?? null;
    this.toggleAttribute("data-waiting", comparison === null);
    if (!this.data || !comparison) {
      this.#drawWaiting();
      return;
    }
    if (this.#drawn !== this.data) {
      this.#drawn = this.data;
      this.#drawTop(comparison.answer);
      this.rows.show(this.data);
    }
    this.#drawChoice(comparison);
    this.rows.update();
    this.#drawSearch(this.data);
  }

  /** @param {CompareData} data */
  #drawSearch(data) {
    const { q: query, isSearching, comparison } = data;
    const matches = comparison?.matches ?? null;
    this.#search.update({
      query,
      isSearching,
      found: matches?.length ?? null,
      rank: matches ? matches.indexOf(this.rows.selected) + 1 : 0,
    });
  }

  /** All that is said of the two, or the first of it: rows are what the reader came for. @param {boolean} [whole] */
  toggleSummary(whole = !this.hasAttribute("data-full")) {
    this.toggleAttribute("data-full", whole);
    this.#more.replaceChildren(whole ? "Show less " : "Show all ", h("kbd", null, "v"));
    this.#more.setAttribute("aria-expanded", String(whole));
  }

  focusSearch() {
    this.toggleAttribute("data-typing", true); // on a phone there is no field before
    this.#search.focusField();
  }

  #drawWaiting() {
    this.#drawn = null;
    const refusal = this.data?.refusal;
    this.dataset.good = refusal ? "refused" : "true";
    for (const action of this.querySelectorAll(".actions > :is([data-compare=next], [data-compare=swap])"))
      /** @type {HTMLButtonElement} */ (action).disabled = true;
    this.#title.replaceChildren(h("span", { class: "word" }, refusal ? "These runs cannot be compared" : "Comparing…"));
    this.#lines.replaceChildren(
      ...(refusal ? [h("li", null, h("span", { class: "sentence" }, visibleText(refusal)))] : []),
    );
    for (const part of [this.#figures, this.#choice, this.#legend, this.#heads]) part.replaceChildren();
  }

  /** @param {Answer} answer */
  #drawTop(answer) {
    const now = Date.now();
    this.dataset.verdict = answer.verdict;
    this.dataset.good = String(answer.is_good);
    this.style.setProperty(
      "--digits",
      String(String(Math.max(answer.totals.a.events ?? 0, answer.totals.b.events ?? 0)).length),
    );
    const name = bothNames(answer);
    this.#title.replaceChildren(
      h(
        "span",
        { class: "word" },
        h("b", { class: "verdict-sign", "aria-hidden": "true" }, verdictSign(answer.verdict)),
        verdictWords(answer.verdict),
      ),
      h("h2", { class: "name cut", title: name }, visibleText(name)),
      h(
        "span",
        { class: "since quiet digits" },
        `${formatStarted(startOf(answer.a), now)} and ${formatStarted(startOf(answer.b), now)}`,
      ),
    );
    this.#lines.replaceChildren(...answer.sentences.map((sentence) => this.#line(sentence)));
    const effects = this.#effects(answer);
    this.#figures.replaceChildren(figuresTable(answer, now), effects);
    this.#more.hidden =
      answer.sentences.length <= FIRST_LINES && effects.querySelectorAll("p, li").length <= FIRST_NOTES;
    this.toggleSummary(false);
    this.#heads.replaceChildren(
      .../** @type {const} */ (["a", "b"]).map((side) =>
        h(
          "span",
          { class: "half" },
          h("b", { class: "side-name" }, side.toUpperCase()),
          h("span", null, whose(answer, side, now), `, ${counted(answer.totals[side].events ?? 0, "event")}`),
        ),
      ),
    );
    this.#heads.insertBefore(h("span", { class: "sign" }), this.#heads.lastChild);
    /** @type {HTMLButtonElement} */ (this.querySelector("[data-compare=swap]")).disabled = false;
    this.#next.disabled = COUNTS.slice(2).every(([, count]) => answer.counts[count] === 0);
  }

  /** @param {Answer["sentences"][number]} sentence */
  #line({ parts, a, b }) {
    const text = h(
      "span",
      { class: "sentence" },
      ...parts.map(({ text: words, style }, at) => {
        if (style === "plain") return visibleText(words);
        // What A had and what B had, the difference marked in both.
        if (parts[at + 1]?.text === IN_BOTH)
          return h("code", { class: "was" }, ...differing(words, parts[at + 2]?.text));
        if (parts[at - 1]?.text === IN_BOTH)
          return h("code", { class: "now" }, ...differing(words, parts[at - 2]?.text));
        return h("code", { class: style }, visibleText(words));
      }),
    );
    const jumps = /** @type {const} */ ([
      ["a", a],
      ["b", b],
    ]).flatMap(([side, n]) => (n === null ? [] : [this.#jump(side, n)]));
    text.append(" ", h("span", { class: "jumps" }, ...jumps));
    return h("li", null, text);
  }

  /** @param {"a" | "b"} side @param {number} n */
  #jump(side, n) {
    return h(
      "button",
      { class: "link jump digits", type: "button", onclick: () => emit(this, "compare-jump", { side, n }) },
      `${side.toUpperCase()} #${n}`,
    );
  }

  /** @param {Answer} answer */
  #effects({ effects, notes }) {
    const { unknown } = effects;
    const lines = [...callLines(effects).slice(EFFECTS_TOLD), ...callLines(unknown).slice(EFFECTS_TOLD)];
    const shown = lines.slice(0, EFFECTS_SHOWN);
    const list = h(
      "ul",
      null,
      ...shown.map(([sign, name, what, a, b]) => {
        const [side, n] =
          Number(a) > 0 ? /** @type {const} */ (["a", Number(a)]) : /** @type {const} */ (["b", Number(b)]);
        return h(
          "li",
          { class: "cut", "data-sign": sign, title: `${name}: ${what}` },
          h("b", { class: "effect-sign" }, sign),
          h("code", null, visibleText(String(name))),
          h("span", { class: "quiet" }, ` ${visibleText(String(what))} `),
          this.#jump(side, n),
        );
      }),
    );
    const left = Math.max(effects.differ - EFFECTS_TOLD, 0) + Math.max(unknown.differ - EFFECTS_TOLD, 0) - shown.length;
    const more = left > 0 ? h("p", { class: "quiet" }, `${formatCount(left)} more differ.`) : null;
    const equal = (/** @type {number} */ count, /** @type {string} */ words) =>
      count > 0
        ? h("p", { class: "quiet" }, h("b", { class: "effect-sign" }, "="), `${counted(count, "call")} with ${words}`)
        : null;
    const same = equal(
      effects.same,
      `the same arguments${effects.reworded ? `, ${formatCount(effects.reworded)} in other words` : ""}${effects.same_order ? "" : ", in another order"}`,
    );
    const sameUnknown = equal(unknown.same, "the same arguments and unknown side effects");
    return h(
      "section",
      { class: "effects", "aria-label": "Side effects" },
      list,
      same,
      sameUnknown,
      more,
      ...notes.map((note) => h("p", { class: "quiet note-line" }, visibleText(note))),
    );
  }

  /** @param {Comparison} comparison */
  #drawChoice(comparison) {
    const { counts, effect_rows: effects } = comparison.answer;
    const choices = /** @type {const} */ ([
      ["all", "All rows", null],
      ["changes", "Changes", comparison.changes],
      ["effects", "Effects", effects.length],
    ]);
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.compareShow;
    this.#choice.replaceChildren(
      ...choices.map(([shown, name, count]) =>
        h(
          "button",
          {
            type: "button",
            "data-compare-show": shown,
            "aria-pressed": String(shown === comparison.shown),
            onclick: () => emit(this, "compare-show", { shown }),
          },
          name,
          count === null ? null : h("span", { class: "digits" }, ` ${formatCount(count)}`),
        ),
      ),
    );
    if (focused)
      /** @type {HTMLElement | null} */ (this.#choice.querySelector(`[data-compare-show="${focused}"]`))?.focus();
    this.#legend.replaceChildren(
      ...COUNTS.filter(([, key]) => counts[key] > 0).map(([sign, key]) =>
        h(
          "span",
          { "data-sign": sign },
          h("b", { "aria-hidden": "true" }, SIGNS[sign][0]),
          ` ${SIGNS[sign][1]} ${formatCount(sign === ">" ? counts[key] / 2 : counts[key])}`,
        ),
      ),
    ); // a step that moved stands in two rows
  }
}

/** The calls that differ, a line each: sign, name, what differs, the numbers in A and B. @param {import("../../model/compare.js").Calls} calls */
function callLines({ changed, only_a: onlyA, only_b: onlyB }) {
  return [
    ...changed.map(({ name, a, b, changes }) => ["≠", name, changes.map(({ path }) => pathOf(path)).join(", "), a, b]),
    ...onlyA.map(({ name, args, n }) => ["−", name, args, n, 0]),
    ...onlyB.map(({ name, args, n }) => ["+", name, args, 0, n]),
  ];
}

/** What tells one run from the other: what a fork changed, its name, or of two with one name when it began. A name may be written from the right. @param {Answer} answer @param {"a" | "b"} side @param {number} now */
function whose(answer, side, now) {
  const run = answer[side];
  const isFork = run.replay?.mode === "fork" && rootOf(answer.a) === rootOf(answer.b);
  if (!isFork && programOf(answer.a) === programOf(answer.b)) {
    const [began, other] = [run, answer[side === "a" ? "b" : "a"]].map((one) => formatStarted(startOf(one), now));
    return began === other ? `${began}, ${run.run_id.slice(0, 8)}` : began;
  }
  const name = visibleText(isFork ? relationOf(run) : programOf(run));
  return h("bdi", null, name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name);
}

/** @param {import("../../model/types.js").RunMeta} run */
function rootOf(run) {
  return run.replay?.parent_run_id ?? run.run_id;
}

/** @param {Answer} answer @param {number} now */
function figuresTable(answer, now) {
  const columns = figures(answer);
  const cell = (/** @type {string} */ key, /** @type {number | null} */ value) =>
    h("td", { class: "digits" }, written(key, value));
  const side = (/** @type {"a" | "b"} */ name) =>
    h(
      "tr",
      null,
      h(
        "th",
        { scope: "row" },
        h("b", { class: "side-name" }, name.toUpperCase()),
        whose(answer, name, now),
        `, ${standing(answer[name]).word.toLowerCase()}`,
      ),
      ...columns.map((column) => cell(column.key, column[name])),
    );
  return h(
    "table",
    null,
    h("caption", { class: "visually-hidden" }, "The figures of both runs"),
    h("thead", null, h("tr", null, h("td", null), ...columns.map(({ name }) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      null,
      side("a"),
      side("b"),
      h(
        "tr",
        { class: "difference" },
        h("th", { scope: "row" }, "B − A"),
        ...columns.map(({ key, difference }) =>
          h(
            "td",
            { class: "digits" },
            difference === null
              ? "–"
              : difference === 0
                ? "0"
                : `${difference > 0 ? "+" : "−"}${written(key, Math.abs(difference))}`,
          ),
        ),
      ),
    ),
  );
}

/** @param {string} key @param {number | null} value */
function written(key, value) {
  if (value === null) return "–";
  return key in WRITE ? WRITE[/** @type {keyof typeof WRITE} */ (key)](value) : formatCount(value);
}

customElements.define("run-compare", RunCompare);
