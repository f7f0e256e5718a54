// @ts-check
/** An open row of two runs: every change with what it was and what it is, word by word where both are texts. */

import { emit, h } from "../../core/dom.js";
import { visibleText } from "../../model/details/text.js";
import { formatAddress } from "../../model/address.js";
import { pathOf } from "./compare-row.js";

/** @typedef {import("../../core/compare-data.js").CompareData} CompareData */
/** @typedef {import("../../core/compare-data.js").FullChange} FullChange */
/** @typedef {import("../../model/compare.js").Comparison} Comparison */

const PART_NAMES = /** @type {Record<string, string>} */ ({
  args: "arguments",
  response: "answer",
  appended: "new messages",
  calls: "calls",
});

/** An element that fills as soon as the changes are here. @param {CompareData} data @param {number} row */
export function makeDetails(data, row) {
  const comparison = /** @type {Comparison} */ (data.comparison);
  const body = h("div", { class: "changes" });
  const links = h("p", { class: "links" }, ...eventLinks(data, comparison, row));
  const sign = comparison.sign(row);
  if (sign === "!" || sign === "~") {
    data.allChanges(row).then(
      (changes) => body.replaceChildren(...changes.map(changeLine)),
      (problem) =>
        body.replaceChildren(h("p", { class: "quiet" }, `The changes could not be read: ${problem.message}.`)),
    );
  } else
    body.append(
      h(
        "p",
        { class: "quiet" },
        {
          "=": "The same in both, but for times and ids.",
          "-": "B has no such step.",
          "+": "A has no such step.",
          ">": "The same step, at another place in the other run.",
        }[sign] ?? "",
      ),
    );
  return h("div", { class: "opened" }, body, links);
}

/** @param {CompareData} data @param {Comparison} comparison @param {number} row */
function eventLinks(data, comparison, row) {
  return /** @type {const} */ (["a", "b"]).flatMap((side) => {
    const n = comparison.number(row, side);
    if (n === 0) return [];
    const href = formatAddress({ runId: data[side], view: "list", filter: "", q: "", event: String(n), side: false });
    const open = (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      emit(/** @type {Element} */ (event.currentTarget), "open-compared", { runId: data[side], event: String(n) });
    };
    return [h("a", { href, onclick: open }, `Open #${n} in ${side.toUpperCase()}`)];
  });
}

/** @param {FullChange} change */
function changeLine(change) {
  const part = change.path.split(/[.[]/, 1)[0];
  const rest = pathOf(change.path)
    .slice(part === "args" ? 0 : part.length)
    .replace(/^\./, "");
  const [was, now] = change.words
    ? wordSides(change.words)
    : [valueSide(change.was, "was"), valueSide(change.now, "now")];
  return h(
    "div",
    { class: "change" },
    h(
      "p",
      { class: "path" },
      h("span", { class: "part" }, PART_NAMES[part] ?? part),
      rest ? h("code", null, visibleText(rest)) : null,
      change.wording ? h("span", { class: "quiet" }, "other words") : null,
    ),
    h("div", { class: "value", "data-side": "a" }, h("b", { class: "side-name" }, "A"), was),
    h("div", { class: "value", "data-side": "b" }, h("b", { class: "side-name" }, "B"), now),
  );
}

/** @param {[string, string][]} words @returns {[HTMLElement, HTMLElement]} */
function wordSides(words) {
  const sideOf = (/** @type {"was" | "now"} */ own) =>
    h(
      "div",
      { class: "prose" },
      ...words
        .filter(([what]) => what === "same" || what === own)
        .map(([what, text]) =>
          what === "same" ? visibleText(text) : h(own === "was" ? "del" : "ins", { class: own }, visibleText(text)),
        ),
    );
  return [sideOf("was"), sideOf("now")];
}

/** @param {any} value @param {"was" | "now"} own */
function valueSide(value, own) {
  if (value === undefined) return h("span", { class: "quiet" }, "nothing");
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return h("pre", null, h(own === "was" ? "del" : "ins", { class: own }, visibleText(text)));
}
