// @ts-check
/** `<runs-table>`: every run in one table, found by words and `key=value`, grouped, sorted, and chosen from. */

import { emit, h } from "../core/dom.js";
import { glyph } from "../core/glyphs.js";
import { store, stored } from "../core/preferences.js";
import { formatCost, formatCount, formatDuration, formatStarted, formatTokens } from "../model/format.js";
import { visibleText } from "../model/details/text.js";
import { RowHeights, scrollToShow, windowOf } from "../model/heights.js";
import {
  isLowScore,
  median,
  metadataKeys,
  metadataText,
  scoreNames,
  scoresOf,
  tableItems,
  termsOf,
} from "../model/run-groups.js";
import { hasTimes, nameOf, standing, startOf } from "../model/runs.js";
import { splitMatches } from "../model/search.js";

/** @typedef {import("../model/types.js").RunMeta} RunMeta */
/** @typedef {import("../model/run-groups.js").TableItem} TableItem */
/** @typedef {import("../model/run-groups.js").Group} Group */

const HEIGHTS = { run: 32, group: 44, more: 28 };
/** On a phone a run takes two lines, and whatever is touched 44 px. */
const TOUCHED = { run: 44, group: 44, more: 44 };
const PHONE = matchMedia("(max-width: 719.9px)");
const OVERSCAN = 8;
const TYPING_MS = 150;
const KEEP_MS = 250;
const MOST_SCORES = 3;
/** So many keys of the metadata are columns unless the reader chooses others. */
const FIRST_KEYS = 2;
/** And only those that so large a share of the runs have. */
const WORTH_A_COLUMN = 0.2;
/** What the columns that are always there take, with their gaps and the space at both ends. */
const NARROW = 900;
const LEAST_WIDTH = 34 + 28 + 190 + 260 + 92 + 66 + 72 + 124 + 7 * 8 + 2 * 20 + 10;
const BARS = 20;
const GROUPS = [
  ["name", "Group by name"],
  ["version", "Group by version"],
  ["session", "Group by session"],
  ["", "No groups"],
];
const HELP = [
  ["Plain words", "name, id, metadata, outcome, then inside the runs"],
  ["key=value  key!=value  key<1  key~part", "metadata, scores and figures (duration, tokens, cost, errors)"],
  ["is:failed  is:problem  is:live", "how a run ended"],
  ['"exact words"', "as written"],
  ["since:2d", "no older"],
];

export class RunsTable extends HTMLElement {
  /** @type {RunMeta[]} */
  runs = [];
  total = 0;
  all = 0;
  query = "";
  /** @type {string | null} */
  advice = null;
  /** Events that hold the words, of runs found by their content. @type {Record<string, number>} */
  inside = {};
  /** Whether the server has said what there is. */
  isLoaded = false;
  /** How far the search inside runs is. */
  looking = "";
  /** @type {Set<string>} */
  chosen = new Set();

  /** @type {import("../model/run-groups.js").GroupBy} */
  #by = "name";
  #sort = { by: "started", descending: true };
  #closed = new Set();
  #whole = new Set();
  /** @type {TableItem[]} */
  #items = [];
  #heights = new RowHeights(0, () => 0);
  #at = -1;
  #top = 0;
  #viewport = 0;
  #laidOut = 0;
  #typing = 0;
  /** @type {string[]} */
  #scores = [];
  /** Keys of the metadata that are columns. @type {string[]} */
  #keys = [];
  #field = h("input", {
    type: "search",
    placeholder: "Find runs, or key=value",
    "aria-label": "Find runs",
    autocomplete: "off",
    spellcheck: "false",
    "data-table-search": true,
  });
  #count = h("span", { class: "count digits", role: "status" });
  #group = h("select", { "aria-label": "Group by" }, ...GROUPS.map(([value, label]) => h("option", { value }, label)));
  #columns = h("div", { class: "columns-menu", popover: "auto", id: "columns-menu", "aria-label": "Columns" });
  #columnsButton = h(
    "button",
    { class: "button", type: "button", popovertarget: "columns-menu", hidden: true },
    "Columns",
  );
  #terms = h("div", { class: "terms", hidden: true });
  #help = h(
    "div",
    { class: "syntax" },
    ...HELP.map(([form, words]) => h("span", null, h("code", null, form), ` ${words}`)),
  );
  #heads = h("div", { class: "table-heads", role: "row" });
  #window = h("div", { class: "window", role: "presentation" });
  #track = h("div", { class: "track", role: "presentation" }, this.#window);
  #scroller = h("div", { class: "scroller", role: "rowgroup", tabindex: "-1" }, this.#track);
  #grid = h(
    "div",
    { class: "grid", role: "treegrid", tabindex: "0", "aria-label": "Runs", "aria-multiselectable": "true" },
    this.#heads,
    this.#scroller,
  );
  #nothing = h("p", { class: "nothing", hidden: true });
  #bar = h("div", { class: "chosen-bar", role: "toolbar", "aria-label": "Chosen runs", hidden: true });

  connectedCallback() {
    if (this.firstChild) return;
    const close = h(
      "button",
      {
        class: "icon-button",
        type: "button",
        "aria-label": "Close the table (T)",
        title: "Close the table (T)",
        onclick: () => emit(this, "table", { on: false }),
      },
      glyph("panel"),
    );
    const button = (/** @type {string} */ sign, /** @type {string} */ label, /** @type {string} */ intent) =>
      h(
        "button",
        {
          class: "icon-button wide-only",
          type: "button",
          "aria-label": label,
          title: label,
          onclick: () => emit(this, intent),
        },
        glyph(sign),
      );
    this.append(
      h(
        "div",
        { class: "table-top" },
        h("h2", null, "All runs"),
        close,
        h("label", { class: "field find" }, glyph("search"), this.#field, this.#count, h("kbd", null, "r")),
        this.#group,
        this.#columnsButton,
        this.#columns,
        button("system", "Light, dark, system (t)", "theme"),
        button("help", "Keyboard shortcuts (?)", "help"),
      ),
      this.#terms,
      this.#help,
      this.#grid,
      this.#nothing,
      this.#bar,
    );
    this.#field.addEventListener("input", () => {
      clearTimeout(this.#typing);
      this.#typing = window.setTimeout(() => emit(this, "find-table", { q: this.#field.value }), TYPING_MS);
    });
    this.#field.addEventListener("keydown", (event) => this.#fieldKey(event));
    this.#group.addEventListener("change", () => {
      this.#by = /** @type {any} */ (this.#group.value);
      this.update();
    });
    this.#scroller.addEventListener("scroll", () => {
      this.#top = this.#scroller.scrollTop;
      this.#draw();
      this.#keep();
    });
    this.#grid.addEventListener("keydown", (event) => {
      if (!this.#heads.contains(/** @type {Node} */ (event.target))) this.#key(event);
    });
    this.#window.addEventListener("click", (event) => this.#clicked(event));
    PHONE.addEventListener("change", () => this.update());
    new ResizeObserver(() => {
      this.#viewport = this.#scroller.clientHeight;
      if (this.#viewport > 0) this.#scroller.scrollTop = this.#top; // what was hidden has lost its place
      if (this.clientWidth > 0 && this.clientWidth !== this.#laidOut) this.update();
      else this.#draw();
    }).observe(this.#scroller);
    addEventListener("beforeunload", () => {
      if (this.#keeping) this.#keepNow();
    });
    this.#takeUp();
  }

  #keeping = 0;

  /** What a reload takes up again: groups, order, what is chosen, and the place. The browser keeps it with the page. */
  #keep() {
    clearTimeout(this.#keeping);
    this.#keeping = window.setTimeout(() => this.#keepNow(), KEEP_MS);
  }

  #keepNow() {
    clearTimeout(this.#keeping);
    this.#keeping = 0;
    const table = { by: this.#by, sort: this.#sort, chosen: [...this.chosen], top: this.#top };
    history.replaceState({ ...history.state, table }, "");
  }

  #takeUp() {
    const kept = history.state?.table;
    if (!kept) return;
    [this.#by, this.#sort, this.#top] = [kept.by, kept.sort, kept.top];
    this.chosen = new Set(kept.chosen);
    this.#group.value = kept.by;
  }

  /** Be ready to type; on a phone the keyboard would hide what there is to see. */
  opened() {
    if (PHONE.matches) this.#grid.focus();
    else this.focusField();
  }

  focusField() {
    if (this.#field.value === "") this.#field.value = this.query;
    this.#field.focus();
    this.#field.select();
  }

  update() {
    if (!this.firstChild) return;
    if (document.activeElement !== this.#field) this.#field.value = this.query;
    this.#scores = scoreNames(this.runs, MOST_SCORES);
    this.#chooseKeys();
    this.#drawTerms();
    const count = this.query
      ? `${formatCount(this.total)} of ${formatCount(this.all)} runs`
      : `${formatCount(this.total)} runs`;
    this.#count.textContent = !this.isLoaded ? "" : this.looking ? `${count}, ${this.looking}` : count;
    this.#items = tableItems(this.runs, this.#by, this.#sort, this.#closed, this.#whole);
    this.#heights = new RowHeights(
      this.#items.length,
      (index) => (PHONE.matches ? TOUCHED : HEIGHTS)[this.#items[index].kind],
    );
    this.#track.style.height = `${this.#heights.total}px`;
    this.#scroller.scrollTop = this.#top;
    this.#grid.setAttribute("aria-rowcount", String(this.#items.length + 1));
    const known = new Set(this.runs.map((run) => run.run_id));
    for (const id of this.chosen) if (!known.has(id)) this.chosen.delete(id);
    this.#nothing.hidden = !this.isLoaded || this.runs.length > 0 || this.looking !== "";
    this.#nothing.replaceChildren(
      this.query ? (this.advice ?? "No run matches.") : "No runs yet.",
      " ",
      this.query &&
        h(
          "button",
          { class: "link", type: "button", onclick: () => emit(this, "find-table", { q: "" }) },
          "Clear the search",
        ),
    );
    this.#layOut();
    this.#drawHeads();
    this.#drawBar();
    this.#draw(true);
  }

  /** Make the columns as wide as what stands in them, so that the outcome has the rest; some go where room is short. */
  #layOut() {
    const width = (/** @type {string[]} */ texts) =>
      Math.min(120, 24 + 8 * Math.max(4, ...texts.map((text) => text.length)));
    const some = this.runs.slice(0, 200);
    const keys = this.#keys.map((key) => width([key, ...some.map((run) => metadataText(run, key) ?? "")]));
    const scores = this.#scores.map((name) => width([name]));
    const gap = 8;
    const needed = () => [...keys, ...scores].reduce((sum, one) => sum + one + gap, LEAST_WIDTH);
    this.#laidOut = this.clientWidth;
    if (this.#laidOut < NARROW) {
      // Name, outcome, one score and the time are what fits.
      this.#keys = [];
      this.#scores = this.#scores.slice(0, 1);
      this.style.setProperty("--score-column", this.#scores.length > 0 ? `${scores[0]}px` : "");
      return;
    }
    while (keys.length + scores.length > 0 && needed() > this.#laidOut) {
      const isKey = keys.length >= scores.length;
      (isKey ? keys : scores).pop();
      (isKey ? this.#keys : this.#scores).pop();
    }
    const more = [...keys, ...scores].map((one) => `${one}px`).join(" ");
    this.style.setProperty(
      "--table-columns",
      `34px 28px minmax(190px, 1.4fr) minmax(180px, 3fr) ${more} 92px 66px 72px 124px`,
    );
  }

  /** The columns of the metadata: what the reader chose, or the keys that most runs have; and the menu to choose from. */
  #chooseKeys() {
    const known = metadataKeys(this.runs);
    const kept = stored("columns") ?? "";
    const chosen = kept === "" ? null : new Set(/** @type {string[]} */ (kept.split("\n").slice(1)));
    const first = ["version", ...known.filter((key) => key !== "version")].filter((key) => known.includes(key));
    this.#keys = chosen
      ? known.filter((key) => chosen.has(key))
      : first.slice(0, FIRST_KEYS).filter((key) => this.#isCommon(key));
    this.#columnsButton.hidden = known.length === 0;
    if (this.#columns.matches(":popover-open")) return;
    const boxes = known.map((key) => {
      const box = h("input", { type: "checkbox" });
      box.checked = this.#keys.includes(key);
      box.addEventListener("change", () => {
        const wanted = box.checked ? [...this.#keys, key] : this.#keys.filter((one) => one !== key);
        store("columns", ["chosen", ...wanted].join("\n"));
        this.update();
      });
      return h("label", null, box, visibleText(key));
    });
    this.#columns.replaceChildren(...boxes);
  }

  /** @param {string} key */
  #isCommon(key) {
    const having = this.runs.filter((run) => metadataText(run, key) !== null).length;
    return having >= this.runs.length * WORTH_A_COLUMN;
  }

  /** What the query asks of metadata and figures, each a button that takes it away. */
  #drawTerms() {
    const terms = termsOf(this.query);
    this.#terms.hidden = terms.length === 0;
    this.#help.hidden = terms.length > 0;
    const without = (/** @type {string} */ term) => this.query.replace(term, "").replaceAll(/\s+/g, " ").trim();
    const chip = (/** @type {string} */ term) =>
      h(
        "button",
        {
          class: "chip",
          type: "button",
          "aria-label": `Remove ${term}`,
          title: `Remove ${term}`,
          onclick: () => {
            this.#field.value = without(term);
            emit(this, "find-table", { q: this.#field.value });
            this.#field.focus();
          },
        },
        h("code", null, visibleText(term)),
        h("span", { "aria-hidden": "true" }, "×"),
      );
    this.#terms.replaceChildren(...terms.map(chip));
  }

  #drawHeads() {
    const focused = /** @type {HTMLElement | null} */ (this.#heads.querySelector(":focus"))?.dataset.by;
    const head = (/** @type {string} */ by, /** @type {string} */ className) => {
      const isOn = this.#sort.by === by;
      const button = h(
        "button",
        { type: "button", "data-by": by, "data-way": isOn ? (this.#sort.descending ? "down" : "up") : null },
        visibleText(by.replace(/^metadata /, "")),
      );
      button.addEventListener("click", () => {
        this.#sort = isOn
          ? { by, descending: !this.#sort.descending }
          : { by, descending: by !== "run" && by !== "outcome" };
        this.update();
      });
      return h(
        "span",
        {
          role: "columnheader",
          class: className,
          "aria-sort": isOn ? (this.#sort.descending ? "descending" : "ascending") : "none",
        },
        button,
      );
    };
    const every = h("input", { type: "checkbox", "aria-label": "Choose all runs" });
    every.checked = this.runs.length > 0 && this.chosen.size === this.runs.length;
    every.indeterminate = this.chosen.size > 0 && !every.checked;
    every.addEventListener("change", () => {
      this.chosen = new Set(every.checked ? this.runs.map((run) => run.run_id) : []);
      this.update();
    });
    this.#heads.replaceChildren(
      h("span", { role: "columnheader" }, every),
      h("span", { role: "columnheader" }, h("span", { class: "visually-hidden" }, "state")),
      head("run", ""),
      head("outcome", ""),
      ...this.#keys.map((key) => head(`metadata ${key}`, "")),
      ...this.#scores.map((name) => head(name, "figure score")),
      head("time", "figure"),
      head("tokens", "figure"),
      head("cost", "figure"),
      head("started", "figure"),
    );
    if (focused)
      /** @type {HTMLElement | null} */ (this.#heads.querySelector(`[data-by="${CSS.escape(focused)}"]`))?.focus();
  }

  /** @type {Map<string, {element: HTMLElement, source: any}>} */
  #drawn = new Map();

  /** @param {boolean} [anew] */
  #draw(anew = false) {
    const seen = windowOf(this.#heights, this.#top, this.#viewport, OVERSCAN);
    const items = this.#items.slice(seen.first, seen.last + 1);
    const keep = new Set(items.map((item) => item.key));
    const hadFocus = this.#window.contains(document.activeElement);
    for (const [key, { element }] of this.#drawn)
      if (anew || !keep.has(key)) {
        element.remove();
        this.#drawn.delete(key);
      }
    this.#window.style.top = `${this.#heights.topOf(seen.first)}px`;
    let cursor = this.#window.firstElementChild;
    items.forEach((item, offset) => {
      let drawn = this.#drawn.get(item.key);
      if (!drawn) {
        drawn = { element: this.#element(item), source: item };
        this.#drawn.set(item.key, drawn);
      }
      drawn.element.toggleAttribute("data-at", seen.first + offset === this.#at);
      drawn.element.setAttribute("aria-rowindex", String(seen.first + offset + 2));
      if (drawn.element === cursor) cursor = cursor.nextElementSibling;
      else this.#window.insertBefore(drawn.element, cursor);
    });
    const active = this.#items[this.#at] ? this.#drawn.get(this.#items[this.#at].key) : undefined;
    if (active) this.#grid.setAttribute("aria-activedescendant", active.element.id);
    else this.#grid.removeAttribute("aria-activedescendant");
    // One box is in the order of Tab: that of the row with the cursor, else the first one.
    const held = active?.element ?? this.#window.firstElementChild;
    for (const { element } of this.#drawn.values()) {
      const box = element.querySelector("input");
      if (box) box.tabIndex = element === held ? 0 : -1;
    }
    // A row that is drawn anew has lost the focus it had.
    if (hadFocus && !this.#window.contains(document.activeElement)) {
      const box = held?.querySelector("input") ?? this.#grid;
      box.focus({ preventScroll: true });
    }
  }

  /** @param {TableItem} item */
  #element(item) {
    if (item.kind === "group") return this.#groupRow(item.group, item.isOpen);
    if (item.kind === "run") return this.#runRow(item.run, item.isGrouped);
    const words = `Show ${formatCount(item.rest)} more ${visibleText(item.group.label)} runs`;
    return h(
      "div",
      { class: "more-row", role: "row", id: rowId(item.key) },
      h(
        "span",
        { role: "gridcell" },
        h("button", { class: "link", type: "button", tabindex: "-1", "data-more": item.group.key }, words),
      ),
    );
  }

  /** @param {RunMeta} run @param {boolean} isGrouped */
  #runRow(run, isGrouped) {
    const { glyph: sign, tone, word } = standing(run);
    const isChosen = this.chosen.has(run.run_id);
    const scores = scoresOf(run);
    const session = run.metadata?.session_id;
    const n = this.inside[run.run_id];
    const cell = (/** @type {string} */ className, /** @type {(Node | string)[]} */ ...content) =>
      h("span", { class: content[0] === "–" ? `${className} quiet` : className, role: "gridcell" }, ...content);
    const box = h("input", {
      type: "checkbox",
      tabindex: "-1",
      "aria-label": `Choose ${nameOf(run)} ${run.run_id.slice(0, 8)}`,
      "data-choose": run.run_id,
    });
    box.checked = isChosen;
    const first =
      isGrouped && this.#by === "name"
        ? h("code", null, run.run_id.slice(0, 8))
        : h("span", { class: "cut", dir: "auto" }, visibleText(nameOf(run)));
    return h(
      "div",
      {
        class: "run-row",
        role: "row",
        "aria-level": isGrouped ? "2" : "1",
        "aria-selected": String(isChosen),
        id: rowId(run.run_id),
        "data-run-id": run.run_id,
        "data-tone": tone,
      },
      cell("", box),
      cell("sign", glyph(sign, { title: word })),
      cell("who", first, session === undefined ? "" : h("code", { class: "quiet cut" }, visibleText(String(session)))),
      cell(
        "outcome cut",
        ...(n ? [h("b", { class: "inside", title: "The words stand in this event" }, `in #${n}`), " "] : []),
        h("bdi", null, ...marked(run.headline || "", this.query)),
      ),
      ...this.#keys.map((key) => {
        const text = metadataText(run, key) ?? "";
        return cell("cut", h("code", { class: "quiet", title: text }, visibleText(text)));
      }),
      ...this.#scores.map((name) =>
        cell(
          "figure digits score",
          scores[name] === undefined
            ? "–"
            : h("span", { "data-low": isLowScore(name, scores[name]) }, scores[name].toFixed(2)),
        ),
      ),
      cell("figure digits took", hasTimes(run) ? formatDuration(run.duration_ms) : "–"),
      cell("figure digits", formatTokens(run.total_tokens)),
      cell("figure digits", formatCost(run.cost_usd)),
      cell("figure digits quiet", run.status === "running" ? "now" : formatStarted(startOf(run), Date.now())),
    );
  }

  /** @param {Group} group @param {boolean} isOpen */
  #groupRow(group, isOpen) {
    const { runs, counts, passed } = group;
    const cell = (/** @type {string} */ className, /** @type {(Node | string | null)[]} */ ...content) =>
      h("span", { class: className, role: "gridcell" }, ...content);
    const box = h("input", {
      type: "checkbox",
      tabindex: "-1",
      "aria-label": `Choose all runs of ${group.label}`,
      "data-choose-group": group.key,
    });
    const chosen = runs.filter((run) => this.chosen.has(run.run_id)).length;
    box.checked = chosen === runs.length;
    box.indeterminate = chosen > 0 && chosen < runs.length;
    const mean = (/** @type {string} */ name) => {
      const values = runs.flatMap((run) => (scoresOf(run)[name] === undefined ? [] : [scoresOf(run)[name]]));
      return values.length === 0 ? "–" : (values.reduce((sum, one) => sum + one, 0) / values.length).toFixed(2);
    };
    const sum = (/** @type {(run: RunMeta) => number | null | undefined} */ of) =>
      runs.reduce((total, run) => total + (of(run) ?? 0), 0);
    const costs = runs.flatMap((run) => (run.cost_usd === null || run.cost_usd === undefined ? [] : [run.cost_usd]));
    return h(
      "div",
      {
        class: "group-row",
        role: "row",
        "aria-level": "1",
        "aria-expanded": String(isOpen),
        id: rowId(`group ${group.key}`),
        "data-group": group.key,
      },
      cell("", box),
      cell("", glyph(isOpen ? "chevron-down" : "chevron-right")),
      cell(
        "who",
        h("b", { class: "cut", dir: "auto" }, visibleText(group.label)),
        h("span", { class: "quiet" }, `${formatCount(runs.length)} ${runs.length === 1 ? "run" : "runs"}`),
      ),
      cell("outcome", ...passBar(counts, passed)),
      ...this.#keys.map(() => cell("")),
      ...this.#scores.map((name) => cell("figure digits score", mean(name))),
      cell("figure digits", durationBars(runs)),
      cell("figure digits", formatTokens(sum((run) => run.total_tokens) || null)),
      cell("figure digits", costLine(costs)),
      cell("figure digits quiet", formatStarted(Math.max(...runs.map(startOf)), Date.now())),
    );
  }

  #drawBar() {
    this.#keep();
    const ids = [...this.chosen];
    this.#bar.hidden = ids.length === 0;
    const button = (
      /** @type {string} */ label,
      /** @type {string} */ key,
      /** @type {string} */ className,
      /** @type {() => void} */ act,
      disabled = false,
    ) =>
      h(
        "button",
        { class: `button ${className}`, type: "button", disabled, onclick: act },
        label,
        key && h("kbd", null, key),
      );
    this.#bar.replaceChildren(
      h("b", null, `${formatCount(ids.length)} chosen`),
      h(
        "span",
        { class: "quiet mono" },
        ids
          .slice(0, 2)
          .map((id) => id.slice(0, 8))
          .join(", ") + (ids.length > 2 ? " …" : ""),
      ),
      button("Compare", "d", "primary", () => this.#compare(), ids.length !== 2),
      button("Mark as passed", "+", "", () => emit(this, "mark-passed", { ids })),
      button("Mark as failed…", "-", "", () => emit(this, "mark-failed", { ids })),
      button("Clear mark", "0", "", () => emit(this, "mark-cleared", { ids })),
      button("Share as HTML", "", "", () => emit(this, "export-runs", { ids })),
      button("Delete", "Del", "danger", () => emit(this, "delete-runs", { ids })),
      button("Choose none", "Esc", "", () => this.clear()),
    );
  }

  /** The runs a key is about: those that are chosen, else the one with the cursor. @returns {string[]} */
  get meant() {
    const item = this.#items[this.#at];
    return this.chosen.size > 0 ? [...this.chosen] : item?.kind === "run" ? [item.run.run_id] : [];
  }

  /** Choose nothing any more. @returns {boolean} whether anything was chosen */
  clear() {
    const had = this.chosen.size > 0;
    this.chosen = new Set();
    this.update();
    return had;
  }

  #compare() {
    if (this.chosen.size !== 2) return;
    // The older one is A: what was there before is what the other is held against.
    const [a, b] = this.runs.filter((run) => this.chosen.has(run.run_id)).sort((x, y) => startOf(x) - startOf(y));
    emit(this, "compare-runs", { a: a.run_id, b: b.run_id });
  }

  /** @param {string[]} ids @param {boolean} [wanted] */
  #choose(ids, wanted) {
    for (const id of ids) {
      if (wanted ?? !this.chosen.has(id)) this.chosen.add(id);
      else this.chosen.delete(id);
    }
    this.#drawHeads();
    this.#drawBar();
    this.#draw(true);
  }

  /** A run, at the event where the words were found. @param {string} runId */
  #open(runId) {
    emit(this, "open-from-table", { runId, event: this.inside[runId] ? String(this.inside[runId]) : undefined });
  }

  /** @param {string} key */
  #toggleGroup(key) {
    if (!this.#closed.delete(key)) this.#closed.add(key);
    this.update();
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const row = /** @type {HTMLElement | null} */ (target.closest("[role=row]"));
    if (!row) return;
    this.#at = this.#items.findIndex((item) => rowId(item.key) === row.id);
    if (target.dataset.choose) this.#choose([target.dataset.choose]);
    else if (target.dataset.chooseGroup !== undefined) {
      const item = this.#items[this.#at];
      if (item.kind === "group")
        this.#choose(
          item.group.runs.map((run) => run.run_id),
          /** @type {HTMLInputElement} */ (target).checked,
        );
    } else if (target.dataset.more !== undefined) {
      this.#whole.add(target.dataset.more);
      this.update();
    } else if (row.dataset.group !== undefined) this.#toggleGroup(row.dataset.group);
    else if (row.dataset.runId) this.#open(row.dataset.runId);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const item = this.#items[this.#at];
    const moves = /** @type {Record<string, number>} */ ({
      ArrowDown: 1,
      ArrowUp: -1,
      j: 1,
      k: -1,
      PageDown: 15,
      PageUp: -15,
      Home: -1e9,
      End: 1e9,
    });
    if (event.key in moves) this.#move(moves[event.key], event.shiftKey);
    else if (event.key === " " && item?.kind === "run") this.#choose([item.run.run_id]);
    else if (event.key === " " && item?.kind === "group") this.#choose(item.group.runs.map((run) => run.run_id));
    else if (
      (event.key === "Enter" || event.key === "ArrowRight" || event.key === "ArrowLeft") &&
      item?.kind === "group"
    ) {
      if (event.key === "Enter" || (event.key === "ArrowRight") !== item.isOpen) this.#toggleGroup(item.group.key);
    } else if (event.key === "Enter" && item?.kind === "run") this.#open(item.run.run_id);
    else if (event.key === "Enter" && item?.kind === "more") {
      this.#whole.add(item.group.key);
      this.update();
    } else if (event.key === "d") this.#compare();
    else if (event.key === "Delete" && this.chosen.size > 0) emit(this, "delete-runs", { ids: [...this.chosen] });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} by @param {boolean} extend */
  #move(by, extend) {
    this.#at = Math.max(0, Math.min(this.#items.length - 1, this.#at + by));
    const item = this.#items[this.#at];
    if (extend && item?.kind === "run") this.#choose([item.run.run_id], true);
    const top = scrollToShow(this.#heights, this.#at, this.#top, this.#viewport, 8);
    if (top !== null) this.#scroller.scrollTop = top;
    this.#draw();
  }

  /** @param {KeyboardEvent} event */
  #fieldKey(event) {
    if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      clearTimeout(this.#typing);
      if (event.key === "Enter" && this.#field.value !== this.query) emit(this, "find-table", { q: this.#field.value });
      this.#grid.focus();
      if (this.#at < 0) this.#move(1, false);
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (this.#field.value) {
        this.#field.value = "";
        emit(this, "find-table", { q: "" });
      } else this.#grid.focus();
    }
  }
}

/** @param {string} key */
function rowId(key) {
  return `table-${key.replaceAll(/[^\w-]/g, "_")}`;
}

/** A headline with the words of the query marked. @param {string} text @param {string} query @returns {(Node | string)[]} */
function marked(text, query) {
  const word = query.split(/\s+/).find((one) => one && !/[=<>~:]/.test(one)) ?? "";
  return splitMatches(visibleText(text), word).map((piece) => (piece.hit ? h("mark", null, piece.text) : piece.text));
}

/** How many passed, as a figure, a bar and words. @param {Record<string, number>} counts @param {number | null} passed */
function passBar(counts, passed) {
  const words = [
    ["ok", "passed"],
    ["problem", "with problems"],
    ["error", "failed"],
    ["running", "live"],
    ["hold", "paused"],
  ].flatMap(([tone, word]) => (counts[tone] ? [`${formatCount(counts[tone])} ${word}`] : []));
  const bar = h("span", { class: "pass-bar", "aria-hidden": "true" });
  for (const tone of ["ok", "problem", "error"]) {
    if (!counts[tone]) continue;
    const part = h("span", { "data-tone": tone });
    part.style.flexGrow = String(counts[tone]);
    bar.append(part);
  }
  return [
    h("b", { class: "digits" }, passed === null ? "–" : `${Math.round(passed * 100)} %`),
    bar,
    h("span", { class: "quiet" }, words.join(", ")),
  ];
}

/** The last durations as bars, outliers in another colour, and their median. @param {RunMeta[]} runs */
function durationBars(runs) {
  const durations = runs
    .flatMap((run) => (typeof run.duration_ms === "number" && hasTimes(run) ? [run.duration_ms] : []))
    .slice(0, BARS)
    .reverse();
  const middle = median(durations);
  if (middle === null) return "–";
  const most = Math.max(...durations, 1);
  const bars = h("span", { class: "spark", "aria-hidden": "true" });
  for (const duration of durations) {
    const bar = h("i", { "data-far": duration > middle * 2 && duration > 1000 });
    bar.style.height = `${Math.max(2, (duration / most) * 18)}px`;
    bars.append(bar);
  }
  return h("span", { class: "spark-cell" }, bars, h("small", null, `median ${formatDuration(middle)}`));
}

const SVG = "http://www.w3.org/2000/svg";

/** What runs cost, as a line from three on, and in all. @param {number[]} costs newest first */
function costLine(costs) {
  const total = costs.reduce((sum, cost) => sum + cost, 0);
  const words = h("small", null, costs.length === 0 ? "–" : `${formatCost(total)} total`);
  if (costs.length < 3) return h("span", { class: "spark-cell" }, words);
  const shown = costs.slice(0, BARS).reverse();
  const most = Math.max(...shown, 1e-9);
  const points = shown
    .map((cost, at) => `${((at / (shown.length - 1)) * 62).toFixed(1)},${(16 - (cost / most) * 14).toFixed(1)}`)
    .join(" ");
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 62 18");
  svg.setAttribute("width", "62");
  svg.setAttribute("height", "18");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", points);
  line.setAttribute("fill", "none");
  line.setAttribute("stroke", "currentColor");
  svg.append(line);
  return h("span", { class: "spark-cell" }, svg, words);
}

customElements.define("runs-table", RunsTable);
