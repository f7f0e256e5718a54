// @ts-check
/**
 * What the JSON tab draws: the text of JSON.stringify(value, null, 2), piece by piece, and which pieces start open.
 * As much is open as fits a budget of lines, the outer levels first, so a small event stands there whole and a large
 * one costs no more than a small one.
 */
import { plural } from "./format.js";
import { oneLine, visibleJson } from "./text.js";
import { writeScalar } from "./parse-json.js";
import { openWithin } from "./values.js";

export const LINES = 240;
export const CHUNK = 100;
export const LONG_STRING = 1000;

/** @typedef {{ opening: string, closing: string, keys: string[] | null, length: number, summary: string }} Container */

/**
 * A container's brackets, members and folded summary; null for a scalar or an empty container.
 * @param {any} value
 * @returns {Container | null}
 */
export function containerOf(value) {
  if (typeof value !== "object" || value === null) return null;
  if (Array.isArray(value)) {
    if (value.length === 0) return null;
    return {
      opening: "[",
      closing: "]",
      keys: null,
      length: value.length,
      summary: `[ ${plural(value.length, "item")} ]`,
    };
  }
  const keys = Object.keys(value);
  if (keys.length === 0) return null;
  return { opening: "{", closing: "}", keys, length: keys.length, summary: `{ ${plural(keys.length, "key")} }` };
}

/** The member at a position. @param {any} value @param {Container} container @param {number} index */
export function memberOf(value, container, index) {
  return container.keys ? value[container.keys[index]] : value[index];
}

/** A scalar or an empty container as JSON, with nothing unseen in it. @param {any} value */
export function scalarText(value) {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "[]" : "{}";
  return visibleJson(writeScalar(value));
}

/** A key as JSON. @param {string} key */
export function keyText(key) {
  return visibleJson(JSON.stringify(key));
}

/** A long string folded: its beginning, and how much there is. @param {string} text */
export function foldedString(text) {
  const lines = text.split("\n", 100_000).length;
  const measure = lines > 1 ? plural(lines, "line") : plural(text.length, "character");
  return visibleJson(JSON.stringify(oneLine(text, 80)).replace(/(\u2026)?"$/, `\u2026 ${measure}"`));
}

/** The containers that start open, as many as the lines allow. @param {any} root @returns {Set<any>} */
export function initiallyOpen(root) {
  return openWithin(root, LINES, CHUNK);
}
