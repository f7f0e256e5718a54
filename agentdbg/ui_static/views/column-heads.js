// @ts-check
/** The names over the columns, and over the waterfall the time. */

import { h } from "../core/dom.js";
import { ticks } from "../model/time-axis.js";

/**
 * @param {import("../model/timeline.js").Timeline} timeline @param {{from: number, to: number}} range @param {number} width of the waterfall, pixels
 * @returns {Node[]}
 */
export function columnHeads(timeline, range, width) {
  const heads = [
    h("span", { class: "gutter" }),
    h("span", { class: "number" }, "#"),
    h("span", { class: "sign" }),
    h("span", { class: "name" }, "event"),
    h("span", { class: "what" }, "what happened"),
  ];
  if (timeline.view !== "waterfall") {
    return [
      ...heads,
      h("span", { class: "time" }, "time"),
      h("span", { class: "tokens" }, "tokens"),
      h("span", { class: "at" }, "at"),
    ];
  }
  const axis = h("span", { class: "waterfall" });
  for (const { at, label } of ticks(range.from, range.to, width)) {
    const isLast = (at - range.from) / (range.to - range.from) > 0.96;
    axis.append(placed(h("span", { class: isLast ? "tick last digits" : "tick digits" }, label), at, at, range));
  }
  return [...heads, axis];
}

/**
 * What lies behind the waterfall: a line at each tick, a tint where a loop went on.
 * @param {import("../model/skeleton.js").Skeleton} skeleton @param {import("../model/types.js").Finding[]} findings
 * @param {{from: number, to: number}} range @param {number} width
 * @returns {Node[]}
 */
export function timeLines(skeleton, findings, range, width) {
  const bands = findings.map(({ first_n: first, last_n: last, severity }) =>
    placed(h("span", { class: "band", "data-severity": severity }), skeleton.start[first], skeleton.endOf(last), range),
  );
  return [
    ...bands,
    ...ticks(range.from, range.to, width).map(({ at }) => placed(h("span", { class: "line" }), at, at, range)),
  ];
}

/** @template {HTMLElement} Node @param {Node} node @param {number} start @param {number} end @param {{from: number, to: number}} range @returns {Node} */
function placed(node, start, end, { from, to }) {
  const share = (/** @type {number} */ at) => Math.max(0, Math.min(1, (at - from) / Math.max(1, to - from)));
  node.style.setProperty("--left", String(share(start)));
  node.style.setProperty("--width", String(share(end) - share(start)));
  return node;
}
