// @ts-check
/** The names over the columns: sort by them, drag their edges; and over the waterfall the time. */

import { emit, h } from "../core/dom.js";
import { formatDuration } from "../model/format.js";

/** @typedef {import("../model/time-axis.js").TimeScale} TimeScale */
/** @typedef {import("../model/address.js").Sort} Sort */

const STEP = 8;
const NUMBERS =
  "The event's line in the run's log. A call has two lines, its start and its end, and goes by the second, so some numbers have no row.";
const WORDS = {
  time: ["longest first", "shortest first"],
  tokens: ["most first", "fewest first"],
  cost: ["dearest first", "cheapest first"],
  at: ["latest first", "earliest first"],
};

/**
 * @param {import("../model/timeline.js").Timeline} timeline @param {TimeScale} scale @param {number} width of the waterfall, pixels
 * @param {ReadonlySet<string>} columns the figures that this run has
 * @param {Separator[]} separators what can be dragged
 * @returns {Node[]}
 */
export function columnHeads(timeline, scale, width, columns, separators) {
  const isWaterfall = timeline.view === "waterfall";
  const heads = [
    h("span", { class: "gutter" }),
    h("span", { class: "number", title: NUMBERS }, "#"),
    h("span", { class: "sign" }),
    h("span", { class: "name" }, "event", separators[0]?.element),
    h("span", { class: "what" }, "what happened", separators[1]?.element),
    ...["time", "tokens", "cost"].filter((by) => columns.has(by)).map((by) => sortHead(timeline.sort, by)),
  ];
  if (!isWaterfall) return columns.has("at") ? [...heads, sortHead(timeline.sort, "at")] : heads;
  const axis = h("span", { class: "waterfall" });
  for (const { at, label } of scale.ticks(width)) {
    const isLast = scale.share(at) > 0.96;
    axis.append(placed(h("span", { class: isLast ? "tick last digits" : "tick digits" }, label), at, at, scale));
  }
  for (const { from, to } of scale.cuts)
    axis.append(
      placed(h("span", { class: "folded-time digits" }, `${formatDuration(to - from)} folded`), from, to, scale),
    );
  return [...heads, axis];
}

/** A head that sorts: the largest first, then the smallest, then as the run went. @param {Sort | null} sort @param {string} by */
function sortHead(sort, by) {
  const way = /** @type {Sort["by"]} */ (by);
  const isOn = sort?.by === way;
  const words = isOn ? WORDS[way][sort.descending ? 0 : 1] : null;
  const button = h(
    "button",
    {
      type: "button",
      "data-sort": by,
      "data-way": isOn ? (sort.descending ? "down" : "up") : null,
      "aria-label": words ? `${by}, ${words}` : `Sort by ${by}`,
      title: words ?? `Sort by ${by}: ${WORDS[way][0]}`,
    },
    by,
  );
  button.addEventListener("click", () => emit(button, "sort", { by: way }));
  return h("span", { class: by }, button);
}

/** The edge of a column that can be moved: dragged, by arrows, and fitted by a double click. */
export class Separator {
  /**
   * @param {object} options
   * @param {string} options.label
   * @param {() => number} options.read the width now
   * @param {(width: number) => void} options.write
   * @param {() => number} [options.fit] the width that shows everything
   * @param {{least: number, most: number}} options.bounds
   */
  constructor({ label, read, write, fit, bounds }) {
    this.element = h("span", {
      class: "edge",
      role: "separator",
      tabindex: "0",
      "aria-orientation": "vertical",
      "aria-label": label,
      title: `${label}: drag, or use the arrow keys`,
      "data-own-arrows": true,
    });
    const set = (/** @type {number} */ width) => {
      write(Math.round(Math.max(bounds.least, Math.min(bounds.most, width))));
      this.tell(read());
    };
    this.element.setAttribute("aria-valuemin", String(bounds.least));
    this.element.setAttribute("aria-valuemax", String(bounds.most));
    this.tell(read());
    this.element.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.element.setPointerCapture(event.pointerId);
      const [start, from] = [event.clientX, read()];
      const move = (/** @type {PointerEvent} */ at) => set(from + at.clientX - start);
      this.element.addEventListener("pointermove", move);
      this.element.addEventListener("lostpointercapture", () => this.element.removeEventListener("pointermove", move), {
        once: true,
      });
    });
    this.element.addEventListener("dblclick", () => fit && set(fit()));
    this.element.addEventListener("keydown", (event) => {
      const moves = /** @type {Record<string, number>} */ ({ ArrowLeft: -STEP, ArrowRight: STEP });
      if (event.key in moves) set(read() + moves[event.key]);
      else if (event.key === "Enter" && fit) set(fit());
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /** @param {number} width */
  tell(width) {
    this.element.setAttribute("aria-valuenow", String(Math.round(width)));
  }
}

/**
 * What lies behind the waterfall: a line at each tick, a tint where a loop went on, hatching where time is folded.
 * @param {import("../model/skeleton.js").Skeleton} skeleton @param {import("../model/types.js").Finding[]} findings
 * @param {TimeScale} scale @param {number} width
 * @returns {Node[]}
 */
export function timeLines(skeleton, findings, scale, width) {
  const bands = findings.map(({ first_n: first, last_n: last, severity }) =>
    placed(h("span", { class: "band", "data-severity": severity }), skeleton.start[first], skeleton.endOf(last), scale),
  );
  return [
    ...bands,
    ...scale.cuts.map(({ from, to }) => placed(h("span", { class: "cut-time" }), from, to, scale)),
    ...scale.ticks(width).map(({ at }) => placed(h("span", { class: "line" }), at, at, scale)),
  ];
}

/** @template {HTMLElement} Node @param {Node} node @param {number} start @param {number} end @param {TimeScale} scale @returns {Node} */
function placed(node, start, end, scale) {
  const share = (/** @type {number} */ at) => Math.max(0, Math.min(1, scale.share(at)));
  node.style.setProperty("--left", String(share(start)));
  node.style.setProperty("--width", String(share(end) - share(start)));
  return node;
}
