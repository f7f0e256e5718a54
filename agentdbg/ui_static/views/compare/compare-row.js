// @ts-check
/** One row of two runs side by side: what A did, how it compares, what B did. */

import { h } from "../../core/dom.js";
import { glyph } from "../../core/glyphs.js";
import { diffWords } from "../../model/details/text-diff.js";
import { visibleText } from "../../model/details/text.js";
import { formatCount, formatDuration } from "../../model/format.js";
import { fillPreview, marked } from "../row-preview.js";

/** Shorter values are marked whole. */
const LONG_VALUE = 24;
/** So much of what both have stands before the part that differs. */
const LEAD = 18;

/** @typedef {import("../../model/types.js").Row} Row */
/** @typedef {import("../../model/compare.js").ShortChange} ShortChange */
/** @typedef {import("../../model/compare.js").Comparison} Comparison */
/** @typedef {import("../../core/compare-data.js").CompareData} CompareData */

/** The sign of a row, and what it means in words. @type {Record<string, [string, string]>} */
export const SIGNS = {
  "=": ["=", "same"],
  "~": ["≈", "other words"],
  "!": ["≠", "changed"],
  "-": ["−", "only in A"],
  "+": ["+", "only in B"],
  ">": ["↕", "at another place"],
};

/** @param {HTMLElement} element @param {CompareData} data @param {number} row */
export function fillRow(element, data, row) {
  const comparison = /** @type {Comparison} */ (data.comparison);
  const sign = comparison.sign(row);
  const [mark, meaning] = SIGNS[sign];
  const changes = sign === "!" ? data.changes(row) : undefined;
  const [a, b] = sides(comparison, row).map(([side, n]) => ({ side, n, row: n > 0 ? data.row(side, n) : undefined }));
  element.className = "pair";
  element.id = `pair-${row}`;
  element.dataset.row = String(row);
  element.dataset.sign = sign;
  element.toggleAttribute("data-effect", comparison.isEffect(row));
  element.toggleAttribute("data-first", row === comparison.first);
  element.setAttribute("aria-label", labelOf(meaning, a.row, b.row, changes, effectWords(comparison, row)));
  const first = row === comparison.first ? firstWords(sign) : "";
  const query = comparison.isMatch(row) ? data.q : "";
  element.replaceChildren(
    half("a", a.n, a.row, changes, a.n === 0 ? first : "", query, sign === "~" ? b.row : undefined),
    h("span", { class: "sign", role: "gridcell", title: meaning }, mark),
    half("b", b.n, b.row, changes, b.n === 0 ? first : "", query, sign === "~" ? a.row : undefined),
  );
  // A match that neither side can show is marked at the numbers.
  if (query && !element.querySelector("mark"))
    for (const number of element.querySelectorAll(".number"))
      number.replaceChildren(h("mark", { title: "matches inside" }, number.textContent));
}

/** @param {Comparison} comparison @param {number} row @returns {["a" | "b", number][]} */
function sides(comparison, row) {
  return [
    ["a", comparison.number(row, "a")],
    ["b", comparison.number(row, "b")],
  ];
}

/** @param {string} sign */
function firstWords(sign) {
  return `First difference (${SIGNS[sign][1]})`;
}

/** @param {"a" | "b"} side @param {number} n @param {Row | undefined} row @param {ShortChange[] | undefined} changes @param {string} note what stands where this run has nothing @param {string} query @param {Row} [other] says the same in other words */
function half(side, n, row, changes, note, query, other) {
  const element = h("span", { class: "half", role: "gridcell", "data-side": side });
  if (n === 0) {
    element.classList.add("none");
    if (note) element.append(h("span", { class: "note" }, note));
    return element;
  }
  if (row?.status === "error") element.dataset.state = "failed";
  const what = h("span", { class: "what" });
  what.classList.toggle("changed", (changes ?? []).length > 0);
  const [own, others] = [proseOf(row), proseOf(other)];
  if (changes && changes.length > 0) what.append(...changeParts(side, changes, query));
  else if (own !== null && others !== null && !query)
    what.append(h("span", { class: "outcome other" }, ...differing(own, others)));
  else if (row) fillPreview(what, { view: "list", query, hidesTools: false }, row);
  element.append(
    h("b", { class: "side-name" }, side.toUpperCase()),
    h("span", { class: "number digits" }, n),
    h(
      "span",
      { class: "glyph-cell", "data-kind": row?.kind },
      row ? glyph(row.kind === "call_start" ? (row.call_kind ?? "call_start") : row.kind) : null,
    ),
    h("span", { class: "name cut", title: row?.name }, ...marked(row?.name ?? "", query)),
    what,
    h(
      "span",
      { class: "time digits", title: row?.duration_ms ? `${formatCount(row.duration_ms)} ms` : null },
      row && row.duration_ms !== null && row.kind !== "end" ? formatDuration(row.duration_ms) : "",
    ),
  );
  return element;
}

/** A changed row shows what changed, and leaves out what did not. @param {"a" | "b"} side @param {ShortChange[]} changes @param {string} query */
function changeParts(side, changes, query) {
  return changes.flatMap((change, place) => {
    const text = side === "a" ? change.was : change.now;
    const gone = text === undefined;
    return [
      place > 0 ? h("span", { class: "muted" }, " · ") : null,
      h("span", { class: "key" }, `${visibleText(pathOf(change.path))}: `),
      h(
        "span",
        { class: gone ? "muted" : side === "a" ? "was" : "now" },
        ...(gone ? ["nothing"] : query ? marked(text, query) : differing(text, side === "a" ? change.now : change.was)),
      ),
    ].filter((node) => node !== null);
  });
}

/** What a row says, when that is nothing but a text. @param {Row | undefined} row */
function proseOf(row) {
  const outcome = row?.preview.error ? [] : (row?.preview.outcome ?? []);
  const isProse = outcome.length > 0 && outcome.every((part) => part.style === "plain");
  return isProse ? outcome.map((part) => part.text).join("") : null;
}

/** Of a long text, the words that differ, with a little of what both have before them. @param {string} own @param {string | undefined} other @returns {(Node | string)[]} */
export function differing(own, other) {
  if (other === undefined || own.length < LONG_VALUE) return marked(own, "");
  const pieces = diffWords(own, other);
  const [{ kind: begins, text: begin }] = pieces;
  if (begins === "same" && begin.length > LEAD && pieces.length > 1)
    pieces[0].text = `…${begin.slice(begin.lastIndexOf(" ", begin.length - LEAD) + 1)}`;
  const shown = pieces.filter(({ kind }) => kind !== "add");
  // Of a word that was cut nobody knows whether it differs.
  const last = /…"?$/.test(own) ? shown.findLast(({ text }) => !/^[…"]*$/.test(text)) : undefined;
  if (last && last !== shown[0] && /^\s*\S+$/.test(last.text)) last.kind = "same";
  return shown.map(({ kind, text }) =>
    kind === "same" ? h("span", { class: "muted" }, visibleText(text)) : h("b", null, visibleText(text)),
  );
}

/** `args.flights[1].number` as `flights[1].number`: where it is, the glyph already says. @param {string} path */
export function pathOf(path) {
  return path.replace(/^args\.(?=.)/, "");
}

/** @param {Comparison} comparison @param {number} row */
function effectWords(comparison, row) {
  if (comparison.isUnknown(row)) return ", side effects unknown";
  return comparison.isEffect(row) ? ", a side effect" : "";
}

/** @param {string} meaning @param {Row | undefined} a @param {Row | undefined} b @param {ShortChange[] | undefined} changes @param {string} effect */
function labelOf(meaning, a, b, changes, effect) {
  const words = [`${meaning}${effect}`];
  if (a) words.push(`A: ${a.label}`);
  if (b && (meaning !== "same" || !a)) words.push(`B: ${b.label}`);
  for (const change of changes ?? [])
    words.push(`${pathOf(change.path)} was ${change.was ?? "nothing"}, is ${change.now ?? "nothing"}`);
  return words.join(". ");
}
