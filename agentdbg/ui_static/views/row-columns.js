// @ts-check
/** The columns of the rows: which there are, how wide, and the heads over them. */

import { emit, h } from "../core/dom.js";
import { preference, setPreference } from "../core/preferences.js";
import { visibleText } from "../model/details/text.js";
import { hasTimes } from "../model/runs.js";
import { Separator, columnHeads, timeLines } from "./column-heads.js";

/** @typedef {import("../core/run-data.js").RunData} RunData */
/** @typedef {import("../model/timeline.js").Timeline} Timeline */
/** @typedef {import("../model/time-axis.js").TimeScale} TimeScale */

/** Widths the reader may change: the preference's name, what it is at first, and what it is where there is little room. */
const NAMES = {
  list: { key: "listname", first: 176, narrow: 138 },
  tree: { key: "treename", first: 250, narrow: 190 },
  waterfall: { key: "fallname", first: 290, narrow: 220 },
  travel: { key: "listname", first: 176, narrow: 138 },
};
const WHAT = { key: "fallwhat", first: 150 };
const WIDTHS = { time: 158, tokens: 58, cost: 76, at: 72 };
const TIME_WITHOUT_BAR = 80;
const BOUNDS = { least: 96, most: 640 };
/** Below these widths of the rows a column gives way. */
const ROOM = { cost: 1020, tokens: 900, at: 900, bar: 900, what: 900 };
const SHORT_RUN_MS = 10_000;

export class RowColumns {
  /** @param {HTMLElement} host the element whose rows these are */
  constructor(host) {
    this.#host = host;
  }

  heads = h("div", { class: "heads", role: "group", "aria-label": "Columns" });
  lines = h("div", { class: "lines", "aria-hidden": "true" });
  /** Where the selected row stands in the tree. */
  path = h("nav", { class: "path", "aria-label": "Where the selected event stands", hidden: true });

  #host;
  #drawn = "";
  #pathDrawn = "";
  /** @type {Separator[]} */
  #separators = [];
  /** @type {string | null} */
  #separatorsOf = null;
  /** Drawn again when an edge was moved. @type {() => void} */
  #again = () => {};

  /** Whether moments are told in milliseconds: in a run of seconds, tenths of them say nothing. @param {Timeline} timeline */
  static isShort(timeline) {
    return timeline.skeleton.extent() < SHORT_RUN_MS && !timeline.skeleton.running;
  }

  /** @param {Timeline} timeline @param {RunData} data @param {TimeScale} scale @param {number} width of the rows */
  draw(timeline, data, scale, width) {
    this.#again = () => this.draw(timeline, data, scale, width);
    const { view } = timeline;
    const columns = this.#present(timeline, data, width);
    const isWaterfall = view === "waterfall";
    const widths = [...columns].map((name) =>
      name === "time" && (isWaterfall || width < ROOM.bar)
        ? TIME_WITHOUT_BAR
        : WIDTHS[/** @type {keyof typeof WIDTHS} */ (name)],
    );
    const name = this.#nameWidth(view, width);
    const what = width < ROOM.what ? 0 : Number(preference(WHAT.key, String(WHAT.first)));
    const figures = widths.reduce((sum, one) => sum + one, 0);
    const { style, dataset } = this.#host;
    style.setProperty("--digits", String(String(timeline.skeleton.count).length));
    style.setProperty("--name", `${name}px`);
    style.setProperty("--what", `${what}px`);
    style.setProperty("--figures", widths.map((one) => `${one}px`).join(" ") || "0px");
    style.setProperty("--figures-width", `${figures}px`);
    style.setProperty("--through", String(1 + widths.length - (columns.has("at") ? 1 : 0)));
    dataset.columns = [...columns].join(" ");
    dataset.shownAs = view;
    this.#drawHeads(timeline, data, scale, Math.max(120, width - 100 - name - what - figures), columns);
  }

  /** The figures that this run has and that there is room for. @param {Timeline} timeline @param {RunData} data @param {number} width */
  #present({ skeleton, view }, data, width) {
    const { hasDurations, hasTokens } = skeleton.figures();
    const times = data.run === null || hasTimes(data.run);
    const cost = data.summary?.figures.cost_usd ?? data.run?.cost_usd ?? null;
    /** @type {Set<string>} */
    const columns = new Set();
    if (hasDurations || skeleton.running) columns.add("time");
    if (hasTokens && width >= ROOM.tokens) columns.add("tokens");
    if (cost !== null && cost > 0 && width >= ROOM.cost) columns.add("cost");
    if (times && view !== "waterfall" && width >= ROOM.at) columns.add("at");
    return columns;
  }

  /** @param {keyof typeof NAMES} view @param {number} width */
  #nameWidth(view, width) {
    const { key, first, narrow } = NAMES[view];
    const chosen = Number(preference(key, String(first))) || first;
    return width < ROOM.what ? Math.min(chosen, narrow) : Math.min(chosen, Math.max(first, width * 0.5));
  }

  /** @param {Timeline} timeline @param {RunData} data @param {TimeScale} scale @param {number} width @param {ReadonlySet<string>} columns */
  #drawHeads(timeline, data, scale, width, columns) {
    const { view, sort, skeleton } = timeline;
    const findings = view === "waterfall" ? data.findings : [];
    const time = view === "waterfall" ? [scale.from, scale.to, scale.cuts, width] : [];
    const key = JSON.stringify([view, sort, [...columns], time, findings, width < 300]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    const focused = /** @type {HTMLElement | null} */ (this.heads.querySelector(":focus"))?.dataset.sort;
    this.#makeSeparators(view);
    this.heads.replaceChildren(...columnHeads(timeline, scale, width, columns, this.#separators));
    this.lines.replaceChildren(...(view === "waterfall" ? timeLines(skeleton, findings, scale, width) : []));
    if (focused) /** @type {HTMLElement | null} */ (this.heads.querySelector(`[data-sort="${focused}"]`))?.focus();
  }

  /** @param {keyof typeof NAMES} view */
  #makeSeparators(view) {
    if (this.#separatorsOf === view) return;
    this.#separatorsOf = view;
    const edge = (
      /** @type {string} */ label,
      /** @type {{key: string, first: number}} */ { key, first },
      /** @type {string} */ part,
    ) =>
      new Separator({
        label,
        bounds: BOUNDS,
        read: () => Number(preference(key, String(first))) || first,
        write: (width) => {
          setPreference(key, String(width));
          this.#again();
        },
        fit: () => this.#fitting(part),
      });
    this.#separators = [edge("Width of the names", NAMES[view], ".name")];
    if (view === "waterfall") this.#separators.push(edge("Width of what happened", WHAT, ".what"));
  }

  /** The width that shows the widest of the cells in sight. @param {string} part */
  #fitting(part) {
    const cells = /** @type {HTMLElement[]} */ ([...this.#host.querySelectorAll(`.row ${part}`)]);
    return Math.max(
      BOUNDS.least,
      ...cells.map((cell) => [...cell.children].reduce((sum, child) => sum + child.scrollWidth, 26)),
    );
  }

  /** Say where a row stands: the spans it is in, each a jump. @param {Timeline} timeline @param {RunData} data @param {number} selected */
  drawPath(timeline, data, selected) {
    this.path.hidden = !timeline.isTree || !timeline.isDeep;
    if (this.path.hidden) return;
    const above = selected > 0 ? timeline.tree.ancestors(selected).reverse() : [];
    const names = above.map((n) => data.rows.get(n)?.name ?? null);
    const key = JSON.stringify([selected, above, names]);
    if (key === this.#pathDrawn) return;
    this.#pathDrawn = key;
    if (names.includes(null))
      data.getRows(above).then(
        () => this.drawPath(timeline, data, selected),
        () => {},
      );
    const links = above.flatMap((n, at) => [
      ...(at > 0 ? [h("span", { class: "quiet", "aria-hidden": "true" }, "›")] : []),
      h(
        "button",
        { type: "button", class: "cut", onclick: () => emit(this.path, "navigate", { n }) },
        visibleText(names[at] ?? `#${n}`),
      ),
    ]);
    const lead =
      selected === 0
        ? "Select a row to see what it is in."
        : above.length > 0
          ? `#${selected} is in`
          : `#${selected} is at the top level.`;
    this.path.replaceChildren(h("span", { class: "quiet digits" }, lead), ...links);
  }
}
