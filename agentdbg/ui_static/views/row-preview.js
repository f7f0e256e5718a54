// @ts-check
/** What a row says: `input → outcome`, the error if there is one, and the search's matches marked. */

import { h } from "../core/dom.js";
import { matchRanges, shiftToMatch, splitMatches } from "../model/search.js";

/** @typedef {import("../model/types.js").Row} Row */
/** @typedef {import("../model/types.js").Part} Part */

const MARKERS = /(__REDACTED__|__TRUNCATED__)/;

/**
 * @param {HTMLElement} what @param {{view: string, query: string, hidesTools: boolean}} facts @param {Row} row
 */
export function fillPreview(what, { view, query, hidesTools }, row) {
  const preview = view !== "list" && row.preview.tree ? { ...row.preview, ...row.preview.tree } : row.preview;
  const input = inputSide(preview, query);
  const outcome = preview.error
    ? h("span", { class: "outcome error" }, ...marked(shiftToMatch(preview.error, query, 60), query))
    : outcomeSide(preview.outcome, query, hidesTools);
  if (input) what.append(input);
  if (input && outcome) what.append(h("span", { class: "arrow" }, "→"));
  if (outcome) what.append(outcome);
}

/** @param {Row["preview"]} preview @param {string} query */
function inputSide({ input, same_as: sameAs, rest_as: restAs }, query) {
  if (sameAs !== null) return h("span", { class: "input" }, `same call as #${sameAs}`);
  if (input.length === 0) return null;
  const side = h("span", { class: restAs === null ? "input" : "input changed" }, ...parts(input, query));
  if (restAs !== null) side.append(h("span", { class: "muted rest" }, `, the rest as in #${restAs}`));
  return side;
}

/** @param {Part[]} outcome @param {string} query @param {boolean} hidesTools */
function outcomeSide(outcome, query, hidesTools) {
  if (outcome.length === 0) return null;
  const side = h("span", { class: "outcome" });
  // A side whose match lies beyond the cut is begun later, so that the match can be seen.
  const [first] = outcome;
  const shifted = outcome.length === 1 ? [{ ...first, text: shiftToMatch(first.text, query, 60) }] : outcome;
  for (const part of shifted) {
    side.append(...partNodes(part, query));
    if (hidesTools && part.style === "call" && part.args) side.append(h("span", { class: "mono muted" }, ...marked(part.args, query)));
  }
  return side;
}

/** @param {Part[]} list @param {string} query */
function parts(list, query) {
  const text = list.map((part) => part.text).join("");
  const first = query ? matchRanges(text, query)[0] : undefined;
  if (!first || first[0] <= 24) return list.flatMap((part) => partNodes(part, query));
  return dropBefore(list, first[0] - 12).flatMap((part) => partNodes(part, query));
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
  return part.text.split(MARKERS).filter(Boolean).map((text) => {
    if (text === "__REDACTED__") return h("span", { class: "redacted" }, "redacted");
    if (text === "__TRUNCATED__") return h("span", { class: "truncated" }, "cut");
    return h("span", { class: part.style }, ...marked(text, query));
  });
}

/** @param {string} text @param {string} query @returns {(Node | string)[]} */
function marked(text, query) {
  return splitMatches(text, query).map((piece) => (piece.hit ? h("mark", null, piece.text) : piece.text));
}
