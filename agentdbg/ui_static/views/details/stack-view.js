// @ts-check
/**
 * An error as a person reads it: what it says, then how it came there, their own lines strong, the libraries' folded.
 */
import { h } from "../../core/dom.js";
import { plural } from "../../model/details/format.js";
import { parseStack, shortPath } from "../../model/details/stack.js";
import { startFolder } from "../../model/details/lookups.js";
import { visibleText } from "../../model/details/text.js";
import { foldable, foldedText, textNodes } from "./fold.js";
import { editorLink } from "./links.js";
import { pairsView } from "./value-view.js";

/** @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext */
/** @typedef {import("../../model/details/stack.js").Frame} Frame */
/** @typedef {import("../../model/details/stack.js").StackPiece} StackPiece */

/**
 * @param {any} error the stored object, or whatever stands in its place
 * @param {DetailsContext} context
 * @param {{ headline?: boolean }} [options] whether the message also stands above the stack
 * @returns {HTMLElement}
 */
export function errorView(error, context, { headline = false } = {}) {
  const whole = typeof error === "object" && error !== null ? error : { message: error };
  const type = stringOf(whole.error_type ?? whole.type);
  const message = stringOf(whole.message);
  const stack = whole.stack ?? whole.stack_trace ?? null;
  const pieces = parseStack(stack);
  const told = pieces?.some(
    (piece) => piece.type === "error" && message !== "" && piece.text.includes(message.split("\n")[0]),
  );
  const view = h("div", { class: "failure" });
  if (headline || !told) view.append(messageView(type, message));
  if (pieces) view.append(stackView(pieces, context));
  else if (typeof stack === "string" && stack.trim() !== "")
    view.append(foldedText(stack, { mono: true, limit: 4000, lines: 40 }));
  if (isFilled(whole.details)) view.append(section("details", pairsView(whole.details)));
  return view;
}

/** A labelled part of a panel. @param {string} title @param {...Node} content */
export function section(title, ...content) {
  return h("section", { class: "part" }, h("h3", { class: "part-title" }, title), ...content);
}

/** Whether a value has anything in it. @param {any} value */
export function isFilled(value) {
  if (value === null || value === undefined || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}

/** @param {string} type @param {string} message */
function messageView(type, message) {
  // A bare `Exception` says nothing, and a message that names its class needs it no second time.
  const named = type !== "" && type !== "Exception" && type !== "Error" && !message.startsWith(type);
  const text = named ? (message === "" ? type : `${type}: ${message}`) : message || type || "failed without a message";
  return foldedText(text, { className: "failure-message", limit: 2000, lines: 20, mono: false });
}

/** @param {StackPiece[]} pieces @param {DetailsContext} context */
function stackView(pieces, context) {
  const list = h("div", { class: "stack" });
  for (const piece of pieces) {
    if (piece.type === "text") list.append(h("div", { class: "quiet" }, visibleText(piece.text)));
    else if (piece.type === "error") list.append(h("div", { class: "stack-error" }, ...textNodes(piece.text)));
    else if (piece.type === "frame") list.append(frameView(piece.frame, context));
    else {
      const libraries = `${piece.libraries.slice(0, 4).join(", ")}${piece.libraries.length > 4 ? " \u2026" : ""}`;
      const summary = `${plural(piece.frames.length, "frame")} in ${libraries}`;
      list.append(
        foldable(
          [visibleText(summary)],
          () => h("div", null, ...piece.frames.slice(0, 200).map((frame) => frameView(frame, context))),
          { className: "library" },
        ),
      );
    }
  }
  return list;
}

/** @param {Frame} frame @param {DetailsContext} context */
function frameView(frame, context) {
  const at = (/** @type {string | null} */ folder) =>
    `${shortPath(frame.file, folder)}${frame.line === null ? "" : `:${frame.line}`}`;
  const link = editorLink(context, frame, at(null));
  void startFolder(context).then((folder) => {
    link.textContent = visibleText(at(folder));
  });
  return h(
    "div",
    { class: frame.mine ? "frame mine" : "frame" },
    h("div", null, link, frame.name ? ` in ${visibleText(frame.name)}` : ""),
    ...frame.code.slice(0, 20).map((line) => h("div", { class: "frame-code" }, ...textNodes(line.slice(0, 2000)))),
  );
}

/** @param {any} value */
function stringOf(value) {
  return value === null || value === undefined ? "" : String(value);
}
