// @ts-check
/** What a paused call shows and what an answer to it says: pure functions over the pause and the text in the editor. */

import { KIND } from "./skeleton.js";

/**
 * @typedef {object} Pause
 * @property {string} pause_id
 * @property {"before" | "after" | "here"} when
 * @property {{kind: string, name: string, number: number, call_id: string}} call
 * @property {string | null} source
 * @property {string} lane
 * @property {string} reason
 * @property {string | null} error
 * @property {string} spent
 * @property {any} value
 * @property {string[]} can
 * @property {string[]} breaks
 * @property {number | null} until
 * @property {string} since
 */

/** What is edited: the arguments, the prompt or the outcome. @param {Pause} pause */
export function editedPart(pause) {
  if (pause.when === "after") return "Result";
  if (pause.when === "here") return "Values";
  return pause.call.kind === "tool" ? "Arguments" : "Prompt";
}

/** The bar's headline, the name apart from the words. @param {Pause} pause @returns {{words: string, name: string}} */
export function pauseTitle(pause) {
  if (pause.when === "here") return { words: "Breakpoint", name: pause.call.name };
  const kind = pause.call.kind === "llm" ? "model" : pause.call.kind;
  return { words: pause.when === "after" ? `After ${kind}` : `Before ${kind}`, name: pause.call.name };
}

/** How a run that waits is told in the list of runs. @param {Pause} pause */
export function pauseHeadline(pause) {
  if (pause.when === "here") return `Paused at ${pause.call.name}, waiting for you`;
  return `Paused ${pause.when} ${pause.call.name}, waiting for you`;
}

/** What the row of the call that waits says. @param {Pause} pause */
export function pauseOutcome(pause) {
  return pause.when === "before" ? "waiting at a breakpoint, not called yet" : "waiting at a breakpoint";
}

/** Where it waits, and what it cost so far. @param {Pause} pause */
export function pauseFacts(pause) {
  const facts = [pause.call.number ? `call ${pause.call.number}` : "", pause.source ?? "", pause.lane, pause.spent];
  return facts.filter((fact) => fact !== "").join(" · ");
}

/** @param {Pause} pause */
export function editorText(pause) {
  return JSON.stringify(pause.value ?? null, null, 2);
}

/**
 * What the text in the editor is: a value, or the line that cannot be read.
 * @param {string} text @returns {{value: any} | {problem: string}}
 */
export function readEditor(text) {
  try {
    return { value: JSON.parse(text) };
  } catch {
    const { at, expected } = firstProblem(text);
    return { problem: `Line ${text.slice(0, at).split("\n").length}: expected ${expected}` };
  }
}

const SCALAR = /"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const STRING = /"(?:[^"\\\n]|\\.)*"/y;

/**
 * Where a text stops being JSON, and what should stand there. Browsers say it each in their own words, or not at all.
 * @param {string} text @returns {{at: number, expected: string}}
 */
function firstProblem(text) {
  let at = 0;
  /** What the containers around wait for. @type {string[]} */
  const open = [];
  /** @type {"value" | "key" | "end"} */
  let wanted = "value";
  const take = (/** @type {RegExp} */ shape) => {
    shape.lastIndex = at;
    const found = shape.exec(text);
    if (found) at += found[0].length;
    return found !== null;
  };
  for (;;) {
    take(/\s*/y);
    const sign = text[at];
    if (wanted === "value" && (sign === "{" || sign === "[")) {
      open.push(sign === "{" ? "}" : "]");
      at += 1;
      take(/\s*/y);
      if (text[at] === open.at(-1)) wanted = "end";
      else wanted = sign === "{" ? "key" : "value";
    } else if (wanted === "value") {
      if (!take(SCALAR)) return { at, expected: open.length > 0 ? "a value" : "JSON" };
      wanted = "end";
    } else if (wanted === "key") {
      if (!take(STRING)) return { at, expected: "a name in double quotes" };
      if (!take(/\s*:/y)) return { at, expected: "a colon after the name" };
      wanted = "value";
    } else if (open.length === 0) {
      return { at, expected: "nothing more" };
    } else if (sign === open.at(-1)) {
      open.pop();
      at += 1;
    } else if (sign === ",") {
      at += 1;
      wanted = open.at(-1) === "}" ? "key" : "value";
    } else return { at, expected: `a comma or ${open.at(-1)}` };
  }
}

/**
 * The paths at which a value differs from what was shown.
 * @param {any} shown @param {any} value @param {string} [path] @returns {string[]}
 */
export function changedPaths(shown, value, path = "") {
  if (JSON.stringify(shown) === JSON.stringify(value)) return [];
  const isObject = (/** @type {any} */ one) => one !== null && typeof one === "object" && !Array.isArray(one);
  if (isObject(shown) && isObject(value)) {
    const keys = [...new Set([...Object.keys(shown), ...Object.keys(value)])];
    return keys.flatMap((key) => changedPaths(shown[key], value[key], path ? `${path}.${key}` : key));
  }
  if (Array.isArray(shown) && Array.isArray(value) && shown.length === value.length)
    return shown.flatMap((one, at) => changedPaths(one, value[at], `${path}[${at}]`));
  return [path || "all of it"];
}

/** @param {number} changes */
export function continueLabel(changes) {
  return changes === 0 ? "Continue" : changes === 1 ? "Continue with 1 change" : `Continue with ${changes} changes`;
}

/** What the page says of a pause that ends by itself. @param {Pause} pause @param {number} now milliseconds */
export function endsSoon(pause, now) {
  if (pause.until === null) return "";
  const left = Math.max(0, Math.round(pause.until - now / 1000));
  return left <= 60 ? `Goes on by itself in ${left} s` : "";
}

/** The breakpoint before the next call like this one: `tool:refund`; none for what is no call. @param {number} kind @param {import("./types.js").Row} row */
export function placeOf(kind, row) {
  if (kind === KIND.LLM) return `llm:${row.name}`;
  return kind === KIND.TOOL ? `tool:${row.name}` : "";
}
