// @ts-check
/** Stored values the way a person would write them down: keys and values, small tables, prose, images. */
import { h } from "../../core/dom.js";
import { exact, plural, size } from "../../model/details/format.js";
import { parseJson } from "../../model/details/parse-json.js";
import { visibleText } from "../../model/details/text.js";
import { classify, inline } from "../../model/details/values.js";
import { action, cutMark, foldable, foldedText, redactedMark, textNodes } from "./fold.js";

/** @typedef {{ depth?: number, compact?: boolean }} ValueOptions */

const FEW_KEYS = 6;
const SOME_KEYS = 40;
const STEP = 200;
const ROWS = 12;
const LINE = 96;
const MOST_JSON_TEXT = 200_000;

/**
 * Any value. What is large comes folded.
 * @param {any} value
 * @param {ValueOptions} [options]
 * @returns {HTMLElement}
 */
export function valueView(value, options = {}) {
  const depth = options.depth ?? 0;
  const shape = classify(value);
  switch (shape.kind) {
    case "empty":
      return h("span", { class: "value quiet" }, shape.text);
    case "redacted":
      return redactedMark();
    case "cut":
      return cutMark(shape.bytes);
    case "scalar":
      return h("span", { class: `value ${shape.type}` }, shape.text);
    case "string":
      return h("span", { class: "value" }, '"', ...textNodes(shape.text), '"', shape.cut !== null && cutMark(shape.cut));
    case "prose":
      return proseView(shape.text, shape.cut, options);
    case "image":
      return imageView(shape);
    case "table":
      return tableView(shape.columns, shape.rows, shape.cut, { ...options, depth });
    case "list":
      return listView(shape.items, shape.cut, { ...options, depth });
    case "object":
      return objectView(value, shape.cut, { ...options, depth });
  }
}

/**
 * An object as two columns, keys and values.
 * @param {Record<string, any>} value
 * @param {ValueOptions} [options]
 * @returns {HTMLElement}
 */
export function pairsView(value, options = {}) {
  const depth = options.depth ?? 0;
  const shape = classify(value);
  if (shape.kind !== "object") return valueView(value, options);
  const list = h("dl", { class: "pairs" });
  /** @param {number} from @param {number} to */
  const add = (from, to) => {
    for (const key of shape.keys.slice(from, to)) {
      list.append(h("dt", { title: key.length > 24 ? visibleText(key.slice(0, 400)) : null }, visibleText(key.slice(0, 200))), h("dd", null, valueView(value[key], { ...options, depth: depth + 1 })));
    }
  };
  growing(list, shape.keys.length, options.compact ? FEW_KEYS : SOME_KEYS, add, (count) => [h("dt", null), h("dd", null, count)]);
  if (shape.cut) list.append(h("dt", null), h("dd", null, cutMark(null)));
  return list;
}

/** An image from the payload itself. @param {{ url: string, mediaType: string, bytes: number }} image @returns {HTMLElement} */
export function imageView(image) {
  const picture = h("img", { class: "picture", alt: `${image.mediaType}, ${size(image.bytes)}`, loading: "lazy", decoding: "async" });
  picture.addEventListener("error", () => picture.replaceWith(h("span", { class: "quiet" }, `An image that cannot be shown (${image.mediaType}, ${size(image.bytes)}).`)));
  picture.src = image.url;
  return picture;
}

/**
 * Add the first members now and the rest on demand.
 * @param {HTMLElement} list
 * @param {number} total
 * @param {number} first
 * @param {(from: number, to: number) => void} add
 * @param {(button: HTMLElement) => HTMLElement[]} wrap
 */
export function growing(list, total, first, add, wrap) {
  const shown = total - first <= 2 ? total : first;
  add(0, shown);
  /** @param {number} from */
  const offer = (from) => {
    if (from >= total) return;
    const rest = total - from;
    const wrapped = wrap(
      action(rest > STEP ? `${exact(STEP)} more of ${exact(rest)}` : `${exact(rest)} more`, () => {
        for (const node of wrapped) node.remove();
        add(from, from + STEP);
        offer(from + STEP);
      }),
    );
    list.append(...wrapped);
  };
  offer(shown);
}

/** @param {string} text @param {number | null} cut @param {ValueOptions} options @returns {HTMLElement} */
function proseView(text, cut, options) {
  const inside = cut === null ? jsonInside(text) : undefined;
  if (inside !== undefined) {
    return h("div", { class: "json-text", title: "JSON text, shown as the values it holds; the JSON tab has the text" }, valueView(inside, { ...options, depth: options.depth ?? 0 }));
  }
  const few = (options.depth ?? 0) > 0;
  // One endless word is no prose: the start of a file, a key, an encoded picture.
  const encoded = /\S{200}/.test(text.slice(0, 400));
  if (encoded) return foldedText(text, { cut, mono: true, limit: 60, lines: 2 });
  return foldedText(text, { cut, limit: few ? 240 : 1200, lines: few ? 5 : 14 });
}

/** The object or list that a text holds, undefined when it holds none. @param {string} text @returns {any} */
function jsonInside(text) {
  const start = text.trimStart()[0];
  if ((start !== "{" && start !== "[") || text.length > MOST_JSON_TEXT) return undefined;
  try {
    const value = parseJson(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** @param {any} value @param {boolean} cut @param {ValueOptions & { depth: number }} options @returns {HTMLElement} */
function objectView(value, cut, options) {
  if (options.depth === 0) return pairsView(value, options);
  const line = inline(value, 400);
  const small = line.length <= LINE && !cut;
  return foldable([line.length <= LINE ? line : inline(value, LINE)], () => pairsView(value, options), {
    open: !small && !options.compact && options.depth <= 2 && Object.keys(value).length <= ROWS,
    className: "nested",
  });
}

/** @param {any[]} items @param {boolean} cut @param {ValueOptions & { depth: number }} options @returns {HTMLElement} */
function listView(items, cut, options) {
  const flat = items.every((item) => typeof item !== "object" || item === null);
  const line = inline(items, 400);
  if (flat && line.length <= LINE && !cut) return h("span", { class: "value" }, line);
  const build = () => {
    const list = h("ol", { class: "items" });
    growing(
      list,
      items.length,
      options.compact ? FEW_KEYS : SOME_KEYS,
      (from, to) => {
        for (const item of items.slice(from, to)) list.append(h("li", null, valueView(item, { ...options, depth: options.depth + 1 })));
      },
      (button) => [h("li", { class: "rest" }, button)],
    );
    if (cut) list.append(h("li", { class: "rest" }, cutMark(null)));
    return list;
  };
  const summary = flat ? plural(items.length, "item") : `${exact(items.length)} \u00d7 ${inline(items[0], LINE)}`;
  return foldable([summary], build, { open: !options.compact && options.depth <= 1 && items.length <= ROWS && (flat || items.length > 1), className: "nested" });
}

/** @param {string[]} columns @param {any[]} rows @param {boolean} cut @param {ValueOptions & { depth: number }} options @returns {HTMLElement} */
function tableView(columns, rows, cut, options) {
  const build = () => {
    const body = h("tbody", null);
    const head = h("thead", { class: "visually-hidden" }, h("tr", null, ...columns.map((column) => h("th", { scope: "col" }, visibleText(column)))));
    growing(
      body,
      rows.length,
      options.compact ? FEW_KEYS : SOME_KEYS,
      (from, to) => {
        for (const row of rows.slice(from, to)) body.append(h("tr", null, ...columns.map((column) => cellView(row[column]))));
      },
      (button) => [h("tr", null, h("td", { colspan: columns.length }, button))],
    );
    if (cut) body.append(h("tr", null, h("td", { colspan: columns.length }, cutMark(null))));
    return h("table", { class: "alike" }, head, body);
  };
  const open = options.depth <= 1 && rows.length <= ROWS;
  const folded = h("span", { class: "when-folded" }, `${exact(rows.length)} \u00d7 ${inline(rows[0], LINE)}`);
  const unfolded = h("span", { class: "when-open" }, columns.map(visibleText).join(", "));
  return foldable([folded, unfolded], build, { open, className: "nested" });
}

/** A cell says its text without quotes; the column is clear. @param {any} value @returns {HTMLElement} */
function cellView(value) {
  const shape = classify(value);
  if (shape.kind === "scalar") return h("td", { class: shape.type }, shape.text);
  if (shape.kind === "string") return h("td", null, ...textNodes(shape.text));
  return h("td", null, valueView(value, { depth: 3 }));
}
