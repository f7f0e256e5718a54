// @ts-check
/**
 * What changed in a state, as lines: a sign, the path, the value before and after.
 *
 * @typedef {{ sign: "~" | "+" | "\u2212", path: string, before?: any, after?: any }} Change
 */
import { TRUNCATED } from "./markers.js";
import { sameValue } from "./values.js";

const MOST = 2000;
const DEPTH = 12;

/**
 * The changes a stored `diff` tells, or null when it tells none in a form we know. Known: the plain form, new values by
 * key and null for what is gone, which only the state beside it tells from what became null; and added/removed/changed,
 * with the pairs written as from/to, old/new, before/after or [old, new].
 * @param {any} diff
 * @param {any} [state] the state after
 * @returns {Change[] | null}
 */
export function changesOf(diff, state) {
  if (typeof diff !== "object" || diff === null || Array.isArray(diff)) return null;
  const grouped = ["added", "removed", "changed", "modified"].filter(
    (key) => isObject(diff[key]) || Array.isArray(diff[key]),
  );
  if (
    grouped.length === 0 ||
    Object.keys(diff).some((key) => !grouped.includes(key) && key !== TRUNCATED && !isEmpty(diff[key]))
  ) {
    const gone = (/** @type {string} */ key) => diff[key] === null && isObject(state) && !Object.hasOwn(state, key);
    return Object.keys(diff)
      .filter((key) => key !== TRUNCATED)
      .map((key) => (gone(key) ? { sign: "\u2212", path: key } : { sign: "~", path: key, after: diff[key] }));
  }
  /** @type {Change[]} */
  const changes = [];
  for (const [path, pair] of entries(diff.changed ?? diff.modified)) {
    const both = readPair(pair);
    if (both === null) changes.push({ sign: "~", path, after: pair });
    else compare(both[0], both[1], path, changes, 0);
  }
  for (const [path, after] of entries(diff.added)) changes.push({ sign: "+", path, after });
  for (const [path, before] of entries(diff.removed)) changes.push({ sign: "\u2212", path, before });
  return changes;
}

/**
 * What differs between two values, path by path.
 * @param {any} before
 * @param {any} after
 * @returns {Change[]}
 */
export function differences(before, after) {
  /** @type {Change[]} */
  const changes = [];
  compare(before, after, "", changes, 0);
  return changes;
}

/** @param {any} before @param {any} after @param {string} path @param {Change[]} changes @param {number} depth */
function compare(before, after, path, changes, depth) {
  if (changes.length >= MOST || sameValue(before, after)) return;
  if (!isObject(before) || !isObject(after) || depth > DEPTH) {
    changes.push({ sign: "~", path, before, after });
    return;
  }
  // What one of them does not hold because it was cut was neither added nor removed.
  const [cutBefore, cutAfter] = [Object.hasOwn(before, TRUNCATED), Object.hasOwn(after, TRUNCATED)];
  for (const key of Object.keys(after)) {
    if (key === TRUNCATED) continue;
    const inner = path === "" ? key : `${path}.${key}`;
    if (Object.hasOwn(before, key)) compare(before[key], after[key], inner, changes, depth + 1);
    else if (!cutBefore) changes.push({ sign: "+", path: inner, after: after[key] });
  }
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key) && !cutAfter && key !== TRUNCATED)
      changes.push({ sign: "\u2212", path: path === "" ? key : `${path}.${key}`, before: before[key] });
  }
}

/** @param {any} pair @returns {[any, any] | null} */
function readPair(pair) {
  if (Array.isArray(pair)) return pair.length === 2 ? [pair[0], pair[1]] : null;
  if (!isObject(pair)) return null;
  for (const [from, to] of [
    ["from", "to"],
    ["old", "new"],
    ["before", "after"],
    ["old_value", "new_value"],
  ]) {
    if (Object.hasOwn(pair, from) && Object.hasOwn(pair, to)) return [pair[from], pair[to]];
  }
  return null;
}

/**
 * Entries of an object; a list of names counts as names without values.
 * @param {any} group
 * @returns {[string, any][]}
 */
function entries(group) {
  if (Array.isArray(group)) return group.map((name) => [String(name), undefined]);
  return isObject(group) ? Object.entries(group) : [];
}

/** @param {any} value */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {any} value */
function isEmpty(value) {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}
