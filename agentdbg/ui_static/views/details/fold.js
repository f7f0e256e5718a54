// @ts-check
/**
 * Text and parts that open on demand. What is folded is not built, so a megabyte costs no more than its first lines.
 */
import { h } from "../../core/dom.js";
import { size } from "../../model/details/format.js";
import { markedPieces } from "../../model/details/markers.js";
import { byteLength, foldPoint, insidePair, looksLaidOut, visibleText } from "../../model/details/text.js";

const CHUNK = 50_000;

/**
 * Text as a person reads it, its end folded away when it is long.
 * @param {string} text
 * @param {{ limit?: number, lines?: number, className?: string, mono?: boolean, cut?: number | null }} [options]
 * @returns {HTMLElement}
 */
export function foldedText(text, options = {}) {
  const { limit = 1200, lines = 14, className = "", cut = null } = options;
  const mono = options.mono ?? looksLaidOut(text);
  const body = h("span", { class: "words" });
  const more = h("span", { class: "more" });
  const element = h("div", { class: `prose ${mono ? "laid-out" : ""} ${className}`.trim(), dir: "auto" }, body, more);
  const point = foldPoint(text, limit, lines);
  const mark = () => (cut === null ? null : cutMark(cut));

  const fold = () => {
    body.replaceChildren(...textNodes(text.slice(0, point)));
    more.replaceChildren();
    if (point < text.length) more.append("\u2026 ", action(`show all, ${size(byteLength(text))}`, unfold));
    more.append(...present(mark()));
  };
  const unfold = () => {
    body.replaceChildren();
    showUpTo(0);
    const first = more.querySelector("button");
    first?.focus({ preventScroll: true });
  };
  /** @param {number} from */
  const showUpTo = (from) => {
    let end = Math.min(text.length, from + CHUNK);
    if (insidePair(text, end)) end -= 1;
    body.append(...textNodes(text.slice(from, end)));
    more.replaceChildren();
    if (end < text.length)
      more.append(
        "\u2026 ",
        action(`show more, ${size(byteLength(text.slice(end)))} left`, () => showUpTo(end)),
        " ",
      );
    else more.append(...present(mark()), " ");
    more.append(action("show less", fold));
  };
  fold();
  return element;
}

/**
 * A line with a triangle that opens what it stands for; the content is built the first time it is opened.
 * @param {(Node | string)[]} summary
 * @param {() => Node} build
 * @param {{ open?: boolean, className?: string, label?: string }} [options]
 */
export function foldable(summary, build, { open = false, className = "", label } = {}) {
  const button = h(
    "button",
    { type: "button", class: "fold", "aria-expanded": String(open), "aria-label": label },
    ...summary,
  );
  const element = h("div", { class: `foldable ${className}`.trim() }, button);
  /** @type {Node | null} */
  let content = null;
  /** @param {boolean} wanted */
  const show = (wanted) => {
    button.setAttribute("aria-expanded", String(wanted));
    if (wanted && content === null) {
      content = build();
      element.append(content);
    }
    if (content instanceof HTMLElement) content.hidden = !wanted;
  };
  button.addEventListener("click", () => show(button.getAttribute("aria-expanded") !== "true"));
  if (open) show(true);
  return element;
}

/** A quiet button that reads as a link. @param {string} label @param {() => void} run */
export function action(label, run) {
  return h("button", { type: "button", class: "link", onclick: run }, label);
}

/** The mark on a value that was cut short. @param {number | null} bytes */
export function cutMark(bytes) {
  return h(
    "span",
    { class: "truncated" },
    bytes === null ? "the rest was cut" : `cut at ${bytes.toLocaleString("en-US")} bytes`,
  );
}

/** The mark in the place of what was not stored. @param {string} text */
export function missingMark(text) {
  return h("span", { class: "truncated" }, visibleText(text));
}

/** The mark on a value that was taken out. */
export function redactedMark() {
  return h("span", { class: "redacted" }, "redacted");
}

/** Text with the marks for what was taken out of it or not stored. @param {string} text @returns {Node[]} */
export function textNodes(text) {
  return markedPieces(text).map((piece) => {
    if (piece.kind === "redacted") return redactedMark();
    return piece.kind === "text" ? document.createTextNode(visibleText(piece.text)) : missingMark(piece.text);
  });
}

/** @param {Node | null} node @returns {Node[]} */
function present(node) {
  return node === null ? [] : [" ", node].map((one) => (typeof one === "string" ? document.createTextNode(one) : one));
}
