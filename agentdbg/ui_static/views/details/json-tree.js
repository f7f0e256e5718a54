// @ts-check
/** Values as a tree: two levels open, small ones on a line of their own, the rest one click or one search away. */
import { h } from "../../core/dom.js";
import { exact, plural, size } from "../../model/details/format.js";
import { isGap, notRecorded } from "../../model/details/markers.js";
import { parseJson } from "../../model/details/parse-json.js";
import { byteLength, keyText } from "../../model/details/text.js";
import { classify, inline } from "../../model/details/values.js";
import { cutMark, foldable, missingMark, redactedMark, textNodes } from "./fold.js";
import { growing } from "./growing.js";
import { mediaView } from "./media-view.js";

const MOST_TEXT = 400_000;
const LINE = 84;
const FIRST = 40;
const FEW = 6;
const LEVELS = 2;

/** The object or list that a text holds; undefined when it holds none. @param {string} text @returns {any} */
export function parsedContainer(text) {
  const start = text.trimStart()[0];
  if ((start !== "{" && start !== "[") || text.length > MOST_TEXT) return undefined;
  try {
    const value = parseJson(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param {any} value an object or a list
 * @param {string | null} [text] the text it was read from, for its size
 * @returns {HTMLElement}
 */
export function jsonTree(value, text = null) {
  const title = text === null ? null : "JSON text, shown as the values it holds";
  if (text === null ? fitsOneLine(value) : text.length <= LINE)
    return h("div", { class: "tree", title }, h("div", { class: "leaf" }, ...inlineNodes(value)));
  return h("div", { class: "tree", title }, node(value, 0, text === null ? "" : `, ${size(byteLength(text))}`));
}

/** @param {any} value @param {number} depth @param {string} [measure] @param {string} [key] @returns {HTMLElement} */
function node(value, depth, measure = "", key) {
  const list = Array.isArray(value);
  const keys = list ? [] : Object.keys(value);
  const length = list ? value.length : keys.length;
  const name = key === undefined ? [] : [h("span", { class: "tree-key" }, `"${keyText(key)}": `)];
  if (depth > 0 && fitsOneLine(value)) return h("div", { class: "leaf" }, ...name, ...inlineNodes(value));
  const summary = `${list ? "[" : "{"} ${plural(length, list ? "item" : "key")}${measure}`;
  return foldable(
    [...name, h("span", { class: "when-folded" }, inline(value, LINE)), h("span", { class: "when-open" }, summary)],
    () => members(value, keys, length, depth),
    { open: depth < LEVELS && (depth === 0 || length <= FIRST) },
  );
}

/** @param {any} value @param {string[]} keys @param {number} length @param {number} depth */
function members(value, keys, length, depth) {
  const list = Array.isArray(value);
  const holder = h("div", { class: "members" });
  const add = (/** @type {number} */ from, /** @type {number} */ to) => {
    for (let at = from; at < Math.min(to, length); at += 1)
      holder.append(list ? member(value[at], depth + 1) : member(value[keys[at]], depth + 1, keys[at]));
  };
  growing(holder, length, list ? FEW : FIRST, add, (button) => [h("div", { class: "leaf" }, button)]);
  return holder;
}

/** @param {any} value @param {number} depth @param {string} [key] @returns {HTMLElement} */
function member(value, depth, key) {
  const shape = classify(value);
  const isContainer = typeof value === "object" && value !== null && Object.keys(value).length > 0;
  const isMedia = shape.kind === "image" || shape.kind === "audio";
  if (isContainer && !isMedia && shape.kind !== "missing") return node(value, depth, "", key);
  const name = key === undefined ? [] : [h("span", { class: "tree-key" }, `"${keyText(key)}": `)];
  const shown = isMedia
    ? [mediaView(shape)]
    : shape.kind === "missing"
      ? [missingMark(shape.text)]
      : inlineNodes(value);
  return h("div", { class: "leaf" }, ...name, ...shown);
}

/** @param {any} value */
function fitsOneLine(value) {
  return isFlat(value) && inline(value, 400).length <= LINE;
}

/** Whether a value holds nothing that itself holds values with values in them. @param {any} value */
function isFlat(value) {
  return Object.values(value).every(
    (one) =>
      typeof one !== "object" ||
      one === null ||
      Object.values(one).every((inner) => typeof inner !== "object" || inner === null),
  );
}

/** A value on one line, in colours. @param {any} value @returns {Node[]} */
function inlineNodes(value) {
  if (typeof value === "string") return stringNodes(value);
  if (typeof value !== "object" || value === null)
    return [
      h(
        "span",
        { class: typeof value === "number" || typeof value === "bigint" ? "code-num" : "code-key" },
        String(value),
      ),
    ];
  if (isGap(value)) return [missingMark(notRecorded(value))];
  const list = Array.isArray(value);
  const entries = Object.entries(value);
  /** @type {Node[]} */
  const nodes = [document.createTextNode(list ? "[" : "{")];
  entries.forEach(([key, member], at) => {
    if (at > 0) nodes.push(document.createTextNode(", "));
    if (!list) nodes.push(h("span", { class: "quiet" }, `${keyText(key)}: `));
    nodes.push(...inlineNodes(member));
  });
  nodes.push(document.createTextNode(list ? "]" : "}"));
  return nodes;
}

/** @param {string} text @returns {Node[]} */
function stringNodes(text) {
  const shape = classify(text);
  if (shape.kind === "redacted") return [redactedMark()];
  if (shape.kind === "cut") return [cutMark(shape.bytes)];
  if (text.length <= 240) return [h("span", { class: "code-str" }, '"', ...textNodes(text), '"')];
  const label = `${exact(text.length)} characters`;
  return [
    foldable(
      [h("span", { class: "code-str when-folded" }, inline(text, 200)), h("span", { class: "when-open" }, label)],
      () => h("div", { class: "code-str whole" }, ...textNodes(text)),
    ),
  ];
}
