// @ts-check
/**
 * Text and parts that open on demand. What is folded stands in the page where it is not too long, hidden in a way that
 * the browser's own search reaches: a word found in a fold opens it.
 */
import { h } from "../../core/dom.js";
import { size } from "../../model/details/format.js";
import { markedPieces } from "../../model/details/markers.js";
import { byteLength, foldPoint, insidePair, looksLaidOut, visibleText } from "../../model/details/text.js";

const CHUNK = 50_000;
/** So much of a folded text is there to be found; the rest is built when it is asked for. */
const FOUND_WITHIN = 200_000;
/** So many folds of one open event are built before they are opened, when the browser has nothing better to do. */
const MOST_AHEAD = 400;

/**
 * Text as a person reads it, its end folded away when it is long.
 * @param {string} text
 * @param {{ limit?: number, lines?: number, className?: string, mono?: boolean, cut?: number | null }} [options]
 * @returns {HTMLElement}
 */
export function foldedText(text, options = {}) {
  const { limit = 1200, lines = 14, className = "", cut = null } = options;
  const mono = options.mono ?? looksLaidOut(text);
  const point = foldPoint(text, limit, lines);
  const rest = h("span", { class: "rest" });
  const more = h("span", { class: "more" });
  const element = h(
    "div",
    { class: `prose ${mono ? "laid-out" : ""} ${className}`.trim(), dir: "auto" },
    h("span", { class: "words" }, ...textNodes(text.slice(0, point))),
    rest,
    more,
  );
  const mark = () => (cut === null ? null : cutMark(cut));
  let shown = point;
  /** @param {number} to */
  const write = (to) => {
    const end = insidePair(text, to) ? to - 1 : Math.min(to, text.length);
    rest.append(...textNodes(text.slice(shown, end)));
    shown = end;
  };

  const fold = () => {
    more.replaceChildren();
    if (point < text.length)
      more.append(
        "\u2026 ",
        action(`show all, ${size(byteLength(text))}`, () => unfold(true)),
      );
    more.append(...present(mark()));
    hide(rest, unfold);
  };
  /** @param {boolean} [focus] */
  const unfold = (focus = false) => {
    if (shown === point) write(point + CHUNK);
    rest.hidden = false;
    more.replaceChildren();
    if (shown < text.length)
      more.append(
        "\u2026 ",
        action(`show more, ${size(byteLength(text.slice(shown)))} left`, () => {
          write(shown + CHUNK);
          unfold();
        }),
        " ",
      );
    else more.append(...present(mark()), " ");
    more.append(action("show less", fold));
    if (focus) more.querySelector("button")?.focus({ preventScroll: true });
  };
  if (text.length - point <= FOUND_WITHIN) write(text.length);
  fold();
  return element;
}

/**
 * Hide something so that the browser's search still finds words in it; finding one calls `open`.
 * @param {HTMLElement} element
 * @param {() => void} open
 */
export function hide(element, open) {
  element.setAttribute("hidden", "until-found");
  element.addEventListener("beforematch", () => open(), { once: true });
}

/**
 * A line with a triangle that opens what it stands for. The content is built when it is opened, or ahead of that so
 * that the browser's search reaches it.
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
  /** @type {HTMLElement | null} */
  let content = null;
  const make = () => {
    if (content !== null) return content;
    const built = build();
    content = built instanceof HTMLElement ? built : h("div", null, built);
    element.append(content);
    return content;
  };
  /** @param {boolean} wanted */
  const show = (wanted) => {
    button.setAttribute("aria-expanded", String(wanted));
    if (wanted) make().hidden = false;
    else if (content !== null) hide(content, () => show(true));
  };
  button.addEventListener("click", () => show(button.getAttribute("aria-expanded") !== "true"));
  if (open) show(true);
  else
    ahead(() => {
      if (content !== null || !element.isConnected) return;
      hide(make(), () => show(true));
    });
  return element;
}

/** What waits to be built ahead, and how much more of it may be. @type {{list: (() => void)[], left: number, scheduled: boolean}} */
const waiting = { list: [], left: MOST_AHEAD, scheduled: false };

/** Another event was opened: its folds may be built ahead too. */
export function allowAhead() {
  waiting.left = MOST_AHEAD;
}

/** @param {() => void} build */
function ahead(build) {
  if (waiting.left <= 0) return;
  waiting.left -= 1;
  waiting.list.push(build);
  scheduleAhead();
}

function scheduleAhead() {
  if (waiting.scheduled || waiting.list.length === 0) return;
  waiting.scheduled = true;
  const idle = window.requestIdleCallback ?? ((/** @type {any} */ act) => setTimeout(act, 200));
  idle(() => {
    waiting.scheduled = false;
    const until = performance.now() + 8;
    while (waiting.list.length > 0 && performance.now() < until) waiting.list.shift()?.();
    scheduleAhead();
  });
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
