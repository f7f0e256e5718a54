// @ts-check
/** What a row says: `input → outcome`, the error if there is one, and the search's matches marked. */

import { h } from "../core/dom.js";
import { visibleText } from "../model/details/text.js";
import { matchRanges, shiftToMatch, splitMatches } from "../model/search.js";

/** @typedef {import("../model/types.js").Row} Row */
/** @typedef {import("../model/types.js").Part} Part */

const PROSE = new Set(["plain", "role", "muted", "call"]);
/** Our own words say nothing of the way in which the text beside them is written. */
const OURS = new Set(["role", "muted"]);
const MARKERS = /(__REDACTED__|__TRUNCATED__)/;
/** How many letters may stand before a match before the text is begun later. */
const INPUT_LEAD = 24;
const OUTCOME_LEAD = 48;

/**
 * @param {HTMLElement} what @param {{view: string, query: string, hidesTools: boolean, held?: string}} facts @param {Row} row
 */
export function fillPreview(what, { view, query, hidesTools, held }, row) {
  const preview = view === "tree" ? { ...row.preview, ...spanInTree(row) } : row.preview;
  const input = inputSide(preview, query);
  const outcome = preview.error
    ? h(
        "span",
        { class: "outcome error", dir: "auto" },
        ...marked(shiftToMatch(preview.error, query, OUTCOME_LEAD), query),
      )
    : outcomeSide(held ? [{ text: held, style: "plain" }] : preview.outcome, query, hidesTools);
  // The arrow goes with the input: where an error takes all the room, both give way together.
  if (input) what.append(h("span", { class: "given" }, input, outcome ? h("span", { class: "arrow" }, "→") : null));
  if (outcome) what.append(outcome);
  what.classList.toggle("both", input !== null && outcome !== null);
  what.classList.toggle("fails", Boolean(preview.error));
}

/** How a span began and the outcome, which its children below it show; without either, what is inside. @param {Row} row */
function spanInTree({ preview: { tree } }) {
  return tree && tree.input.length + tree.outcome.length > 0 ? tree : null;
}

/** @param {Row["preview"]} preview @param {string} query */
function inputSide({ input, same_as: sameAs, rest_as: restAs }, query) {
  if (sameAs !== null) return h("span", { class: "input" }, `same call as #${sameAs}`);
  if (input.length === 0) return null;
  const side = h(
    "span",
    { class: restAs === null ? "input" : "input changed", dir: directionOf(input) },
    ...shifted(input, query, INPUT_LEAD).flatMap((part) => partNodes(part, query)),
  );
  if (restAs !== null) side.append(h("span", { class: "muted rest" }, `, the rest as in #${restAs}`));
  return side;
}

/** @param {Part[]} outcome @param {string} query @param {boolean} hidesTools */
function outcomeSide(outcome, query, hidesTools) {
  if (outcome.length === 0) return null;
  const side = h("span", { class: "outcome", dir: directionOf(outcome) });
  for (const part of shifted(outcome, query, OUTCOME_LEAD)) {
    side.append(...partNodes(part, query));
    if (hidesTools && part.style === "call" && part.args)
      side.append(h("span", { class: "mono muted" }, ...marked(part.args, query)));
  }
  return side;
}

/**
 * Prose goes the way it is written, so that it is cut at its end; keys and values stand in the order of the program.
 * @param {Part[]} parts
 */
function directionOf(parts) {
  return parts.every(({ style }) => PROSE.has(style)) ? "auto" : null;
}

/** A side whose match lies beyond the cut is begun later, so that the match can be seen. @param {Part[]} list @param {string} query @param {number} lead */
function shifted(list, query, lead) {
  if (!query) return list;
  const first = matchRanges(list.map((part) => part.text).join(""), query)[0];
  return !first || first[0] <= lead ? list : dropBefore(list, first[0] - lead / 2);
}

/** Parts without their first letters. @param {Part[]} list @param {number} count */
function dropBefore(list, count) {
  const kept = [];
  let left = count;
  for (const part of list) {
    if (left >= part.text.length) {
      left -= part.text.length;
      continue;
    }
    kept.push(left > 0 ? { ...part, text: `…${part.text.slice(left)}` } : part);
    left = 0;
  }
  return kept;
}

/** @param {Part} part @param {string} query */
function partNodes(part, query) {
  return part.text
    .split(MARKERS)
    .filter(Boolean)
    .map((text) => {
      if (text === "__REDACTED__") return h("span", { class: "redacted" }, "redacted");
      if (text === "__TRUNCATED__") return h("span", { class: "truncated" }, "cut");
      return h("span", { class: part.style, dir: OURS.has(part.style) ? "ltr" : null }, ...marked(text, query));
    });
}

/** Text with the search's matches marked. @param {string} text @param {string} query @returns {(Node | string)[]} */
export function marked(text, query) {
  return splitMatches(visibleText(text), query).map((piece) => (piece.hit ? h("mark", null, piece.text) : piece.text));
}
