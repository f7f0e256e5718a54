// @ts-check
/** What changed in a state, one line per path: `~` changed, `+` new, `−` gone. */
import { h } from "../../core/dom.js";
import { plural } from "../../model/details/format.js";
import { visibleText } from "../../model/details/text.js";
import { classify, inline } from "../../model/details/values.js";
import { foldable } from "./fold.js";
import { growing } from "./growing.js";
import { valueView } from "./value-view.js";

/** @typedef {import("../../model/details/state-diff.js").Change} Change */

const LINE = 64;
/** @type {Record<Change["sign"], [name: string, word: string]>} */
const SIGNS = { "~": ["changed", "changed"], "+": ["added", "added"], "\u2212": ["removed", "removed"] };

/** @param {Change[]} changes @returns {HTMLElement} */
export function changesView(changes) {
  if (changes.length === 0) return h("p", { class: "quiet" }, "Nothing changed.");
  const list = h("div", { class: "changes" });
  growing(
    list,
    changes.length,
    100,
    (from, to) => {
      for (const change of changes.slice(from, to)) list.append(...changeView(change));
    },
    (button) => [h("span", null), h("span", null), h("span", null, button)],
  );
  return list;
}

/** @param {Change} change */
function changeView(change) {
  const [name, word] = SIGNS[change.sign];
  const values = h("div", { class: "change-values" });
  if (Object.hasOwn(change, "before") && change.before !== undefined) values.append(sideView(change.before, "before"));
  if (change.sign === "~" && values.childNodes.length > 0)
    values.append(h("span", { class: "quiet arrow" }, " \u2192 "));
  if (Object.hasOwn(change, "after") && change.after !== undefined) values.append(sideView(change.after, "after"));
  return [
    h(
      "span",
      { class: "change-sign", "data-change": name },
      h("span", { "aria-hidden": "true" }, change.sign),
      h("span", { class: "visually-hidden" }, word),
    ),
    h("span", { class: "change-path" }, visibleText(change.path.slice(0, 400)) || "the whole state"),
    values,
  ];
}

/** @param {any} value @param {"before" | "after"} side */
function sideView(value, side) {
  const kind = classify(value).kind;
  if (kind === "redacted" || kind === "cut" || kind === "image" || kind === "audio") return valueView(value);
  const line = inline(value, LINE);
  if (inline(value, LINE * 4) === line) return h("span", { class: `change-value ${side}` }, line);
  const what = Array.isArray(value) ? plural(value.length, "item") : line;
  return foldable(
    [h("span", { class: `change-value ${side}` }, Array.isArray(value) ? `${what} ${line}` : line)],
    () => valueView(value, { depth: 0 }),
    { className: "nested" },
  );
}
