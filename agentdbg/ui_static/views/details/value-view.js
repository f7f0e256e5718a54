// @ts-check
/** Stored values the way a person would write them down: keys and values, small tables, prose, images. */
import { h, scrollable } from "../../core/dom.js";
import { exact, plural } from "../../model/details/format.js";
import { isGap, notRecorded } from "../../model/details/markers.js";
import { keyText, visibleText } from "../../model/details/text.js";
import { classify, inline, openWithin } from "../../model/details/values.js";
import { cutMark, foldable, foldedText, missingMark, redactedMark, textNodes } from "./fold.js";
import { growing } from "./growing.js";
import { parsedContainer } from "./json-tree.js";
import { mediaView } from "./media-view.js";
import { richText } from "./rich-text.js";
import { isFormatted } from "./reading-mode.js";

/**
 * `compact` is for values beside others: fewer keys, nothing but the outermost level open. `open` is found out once, at
 * the outermost value, and says which containers inside start open.
 * @typedef {{ depth?: number, compact?: boolean, open?: Set<any> }} ValueOptions
 */

const FEW_KEYS = 6;
const SOME_KEYS = 40;
const ROWS = 12;
const LINE = 96;
const OPEN_LINES = 40;

/**
 * Any value. What is large comes folded.
 * @param {any} value
 * @param {ValueOptions} [options]
 * @returns {HTMLElement}
 */
export function valueView(value, options = {}) {
  const depth = options.depth ?? 0;
  const shape = classify(value);
  const inside = { ...options, depth, open: options.open ?? openWithin(value, options.compact ? ROWS : OPEN_LINES) };
  switch (shape.kind) {
    case "empty":
      return h("span", { class: "value quiet" }, shape.text);
    case "redacted":
      return redactedMark();
    case "missing":
      return missingMark(shape.text);
    case "cut":
      return cutMark(shape.bytes);
    case "scalar":
      return h("span", { class: `value ${shape.type}` }, shape.text);
    case "string":
      return (
        jsonTextView(shape.text, shape.cut, options) ??
        h("span", { class: "value" }, '"', ...textNodes(shape.text), '"', shape.cut !== null && cutMark(shape.cut))
      );
    case "prose":
      return proseView(shape.text, shape.cut, { ...options, depth });
    case "image":
    case "audio":
      return mediaView(shape);
    case "table":
      return tableView(shape.columns, shape.rows, shape.cut, inside);
    case "list":
      return listView(value, shape.items, shape.cut, inside);
    case "object":
      return objectView(value, shape.cut, inside);
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
  const open = options.open ?? openWithin(value, options.compact ? ROWS : OPEN_LINES);
  const list = h("dl", { class: "pairs" });
  /** @param {number} from @param {number} to */
  const add = (from, to) => {
    for (const key of shape.keys.slice(from, to)) {
      list.append(
        h("dt", null, ...keyNodes(key)),
        h("dd", null, valueView(value[key], { ...options, open, depth: depth + 1 })),
      );
    }
  };
  growing(list, shape.keys.length, options.compact ? FEW_KEYS : SOME_KEYS, add, (count) => [
    h("dt", null),
    h("dd", null, count),
  ]);
  if (shape.cut) list.append(h("dt", null), h("dd", null, cutMark(null)));
  return list;
}

/** A key that may break where its words do. @param {string} key @returns {Node[]} */
function keyNodes(key) {
  const words = keyText(key.slice(0, 200)).split(/(?<=[_.\-/])/, 40);
  return words.flatMap((word, index) => [
    ...(index > 0 ? [document.createElement("wbr")] : []),
    document.createTextNode(word),
  ]);
}

/** Text that is JSON, as the values it holds; null for other text. @param {string} text @param {number | null} cut @param {ValueOptions} options */
function jsonTextView(text, cut, options) {
  const inside = cut === null && isFormatted() ? parsedContainer(text) : undefined;
  // `[1, 2]` says no more without its quotes; keys and objects are worth the room.
  const holds = Array.isArray(inside) ? inside.some((item) => typeof item === "object" && item) : inside;
  if (!holds || Object.keys(inside).length === 0) return null;
  return h(
    "div",
    { class: "json-text", title: "JSON text, shown as the values it holds; the JSON tab has the text" },
    valueView(inside, options),
  );
}

/** @param {string} text @param {number | null} cut @param {ValueOptions} options @returns {HTMLElement} */
function proseView(text, cut, options) {
  const inside = jsonTextView(text, cut, options);
  if (inside !== null) return inside;
  const few = (options.depth ?? 0) > 0;
  // One endless word is no prose: the start of a file, a key, an encoded picture.
  const encoded = /\S{200}/.test(text.slice(0, 400));
  if (encoded) return foldedText(text, { cut, mono: true, limit: 60, lines: 2 });
  if (!few && isFormatted()) return richText(text, { certain: false, cut });
  return foldedText(text, { cut, limit: few ? 240 : 1200, lines: few ? 5 : 14 });
}

/** @typedef {ValueOptions & { depth: number, open: Set<any> }} InsideOptions */

/** @param {any} value @param {boolean} cut @param {InsideOptions} options @returns {HTMLElement} */
function objectView(value, cut, options) {
  if (options.depth === 0) return pairsView(value, options);
  const line = inline(value, 400);
  const small = line.length <= LINE && !cut;
  const open = !small && !options.compact && options.open.has(value);
  return foldable(
    summaryOf(inline(value, LINE), plural(Object.keys(value).length, "key")),
    () => pairsView(value, options),
    { open, className: "nested" },
  );
}

/**
 * What a fold says while it is closed, and the less it says once its content stands below.
 * @param {string} folded
 * @param {string} open
 */
function summaryOf(folded, open) {
  return [h("span", { class: "when-folded" }, folded), h("span", { class: "when-open" }, open)];
}

/**
 * @param {any[]} value
 * @param {any[]} items
 * @param {boolean} cut
 * @param {InsideOptions} options
 * @returns {HTMLElement}
 */
function listView(value, items, cut, options) {
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
        for (const item of items.slice(from, to))
          list.append(h("li", null, valueView(item, { ...options, depth: options.depth + 1 })));
      },
      (button) => [h("li", { class: "rest" }, button)],
    );
    if (cut) list.append(h("li", { class: "rest" }, cutMark(null)));
    return list;
  };
  const count = plural(items.length, "item");
  const open = !options.compact && options.open.has(value) && (items.length > 1 || line.length > LINE);
  return foldable(summaryOf(flat ? count : `${exact(items.length)} \u00d7 ${inline(items[0], LINE)}`, count), build, {
    open,
    className: "nested",
  });
}

/**
 * @param {string[]} columns
 * @param {any[]} rows
 * @param {boolean} cut
 * @param {InsideOptions} options
 * @returns {HTMLElement}
 */
function tableView(columns, rows, cut, options) {
  const build = () => {
    const body = h("tbody", null);
    const head = h(
      "thead",
      { class: "visually-hidden" },
      h("tr", null, ...columns.map((column) => h("th", { scope: "col" }, keyText(column)))),
    );
    growing(
      body,
      rows.length,
      options.compact ? FEW_KEYS : SOME_KEYS,
      (from, to) => {
        for (const row of rows.slice(from, to))
          body.append(
            isGap(row)
              ? h("tr", null, h("td", { colspan: columns.length }, missingMark(notRecorded(row))))
              : h("tr", null, ...columns.map((column) => cellView(row[column]))),
          );
      },
      (button) => [h("tr", null, h("td", { colspan: columns.length }, button))],
    );
    if (cut) body.append(h("tr", null, h("td", { colspan: columns.length }, cutMark(null))));
    return scrolling(h("table", { class: "alike" }, head, body), columns.join(", "));
  };
  const open = options.depth <= 1 && rows.length <= ROWS;
  return foldable(
    summaryOf(`${exact(rows.length)} \u00d7 ${inline(rows[0], LINE)}`, columns.map(keyText).join(", ")),
    build,
    { open, className: "nested" },
  );
}

/**
 * A table that scrolls sideways where it does not fit, then also by keyboard.
 * @param {HTMLElement} table
 * @param {string} label
 */
function scrolling(table, label) {
  return scrollable(h("div", { class: "sideways" }, table), visibleText(label));
}

/** A cell says its text without quotes; the column is clear. @param {any} value @returns {HTMLElement} */
function cellView(value) {
  const shape = classify(value);
  if (shape.kind === "scalar") return h("td", { class: shape.type }, shape.text);
  if (shape.kind === "string") return h("td", null, ...textNodes(shape.text));
  return h("td", null, valueView(value, { depth: 3 }));
}
