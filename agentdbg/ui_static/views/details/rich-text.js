// @ts-check
/** Text as its author meant it: Markdown, code in colours, changes of files, JSON as a tree. Built from text alone. */
import { h, scrollable } from "../../core/dom.js";
import { size } from "../../model/details/format.js";
import { diffPieces, highlight, looksLikeDiff } from "../../model/details/highlight.js";
import { looksLikeMarkdown, parseMarkdown } from "../../model/details/markdown.js";
import { splitBlocks } from "../../model/details/markdown-split.js";
import { byteLength, looksLaidOut, visibleText } from "../../model/details/text.js";
import { imageOf } from "../../model/details/values.js";
import { copyFrom } from "./clipboard.js";
import { action, cutMark, foldedText, hide, textNodes } from "./fold.js";
import { jsonTree, parsedContainer } from "./json-tree.js";
import { imageView, missingMedia } from "./media-view.js";

/** @typedef {import("../../model/details/markdown.js").Block} Block */
/** @typedef {import("../../model/details/markdown.js").Inline} Inline */

/** Longer texts are folded, and show so much of their beginning. */
const LONG = 4096;
const SHOWN = 1500;
/** Markdown of this length is not worth its cost; it is shown as it is. */
const MOST = 400_000;

/**
 * A text, however it is best read.
 * @param {string} text
 * @param {{ certain?: boolean, long?: number, cut?: number | null }} [options] `certain`: people and models write
 * Markdown; what a tool gives may be anything, and is read as Markdown only where it looks like it
 * @returns {HTMLElement}
 */
export function richText(text, { certain = true, long = LONG, cut = null } = {}) {
  const inside = cut === null ? parsedContainer(text) : undefined;
  if (inside !== undefined) return jsonTree(inside, text);
  if (looksLikeDiff(text)) return fenceView(text, "diff");
  if (text.length > MOST || (!certain && (!looksLikeMarkdown(text) || numbered(text))))
    return foldedText(text, { cut, limit: SHOWN, lines: looksLaidOut(text) ? 20 : 28 });
  return foldedBlocks(parseMarkdown(text), text, text.length > long ? SHOWN : Infinity, cut);
}

/** Whether a text is a listing with numbers before its lines; its indents mean something. @param {string} text */
function numbered(text) {
  return looksLaidOut(text) && !/^```/m.test(text);
}

/** @param {Block[]} all @param {string} text @param {number} room @param {number | null} cut */
function foldedBlocks(all, text, room, cut) {
  const [head, rest] = splitBlocks(all, room);
  const element = h("div", { class: "rich", dir: "auto" }, ...head.map(blockView));
  if (rest.length === 0) {
    if (cut !== null) element.append(h("p", null, cutMark(cut)));
    return element;
  }
  const hidden = h("div", { class: "rich" }, ...rest.map(blockView));
  const foot = h("div", { class: "rich-foot" });
  const fold = () => {
    hide(hidden, unfold);
    foot.replaceChildren(
      action(`show all, ${size(byteLength(text))}`, unfold),
      ...(cut === null ? [] : [" ", cutMark(cut)]),
    );
  };
  const unfold = () => {
    hidden.hidden = false;
    foot.replaceChildren(action("show less", fold), ...(cut === null ? [] : [" ", cutMark(cut)]));
  };
  fold();
  element.append(hidden, foot);
  return element;
}

/** @param {Block} block @returns {HTMLElement} */
function blockView(block) {
  switch (block.type) {
    case "paragraph":
      return h("p", null, ...block.parts.map(inlineView));
    case "heading":
      // The page has headings of its own; a model's are read as such, below them.
      return h(
        "p",
        { class: "heading", "data-level": block.level, role: "heading", "aria-level": Math.min(6, block.level + 3) },
        ...block.parts.map(inlineView),
      );
    case "code":
      return fenceView(block.text, block.language);
    case "quote":
      return h("blockquote", null, ...block.blocks.map(blockView));
    case "rule":
      return h("hr");
    case "list": {
      const list = h(block.ordered ? "ol" : "ul", block.ordered && block.start !== 1 ? { start: block.start } : null);
      for (const item of block.items) list.append(h("li", null, ...item.map(blockView)));
      return list;
    }
    case "table":
      return tableView(block);
  }
}

/** @param {Extract<Block, { type: "table" }>} block */
function tableView({ align, head, rows }) {
  const cell = (/** @type {"th" | "td"} */ tag, /** @type {Inline[]} */ parts, /** @type {number} */ column) =>
    h(
      tag,
      { scope: tag === "th" ? "col" : null, "data-align": align[column] === "start" ? null : align[column] },
      ...parts.map(inlineView),
    );
  const table = h(
    "table",
    null,
    h("thead", null, h("tr", null, ...head.map((parts, column) => cell("th", parts, column)))),
    h("tbody", null, ...rows.map((row) => h("tr", null, ...row.map((parts, column) => cell("td", parts, column))))),
  );
  return scrollable(h("div", { class: "table" }, table), "Table");
}

/** @param {Inline} part @returns {Node} */
function inlineView(part) {
  switch (part.type) {
    case "text":
      return h("span", null, ...textNodes(part.text));
    case "code":
      return h("code", null, ...textNodes(part.text));
    case "strong":
      return h("strong", null, ...part.parts.map(inlineView));
    case "em":
      return h("em", null, ...part.parts.map(inlineView));
    case "strike":
      return h("s", null, ...part.parts.map(inlineView));
    case "link":
      return linkView(part);
    case "image": {
      const image = imageOf(part.href);
      return image
        ? imageView(image)
        : missingMedia(part.alt ? `Image not loaded: ${part.alt}` : "Image not loaded", part.href);
    }
  }
}

/** A link is followed only by a click, and says where it leads when its words do not. @param {Extract<Inline, { type: "link" }>} part */
function linkView({ href, parts }) {
  const words = parts.map(inlineView);
  const host = /^https?:\/\/([^/?#\s]+)/i.exec(href)?.[1];
  if (host === undefined) return h("span", { class: "no-link", title: visibleText(href.slice(0, 300)) }, ...words);
  const link = h(
    "a",
    { href, target: "_blank", rel: "noopener noreferrer nofollow", title: visibleText(href) },
    ...words,
  );
  if (link.textContent?.includes(host)) return link;
  return h("span", null, link, h("span", { class: "host" }, ` ${visibleText(host)}`));
}

/** Code on its own ground, its language said, to be copied. @param {string} text @param {string} language */
function fenceView(text, language) {
  const isDiff = language === "diff" || language === "patch" || (language === "" && looksLikeDiff(text));
  const code = h("code", null);
  const pre = h("pre", { "data-diff": isDiff }, code);
  const copy = h("button", { type: "button", class: "copy-code" }, "Copy");
  copy.addEventListener("click", () => void copyFrom(copy, () => text, "Copied"));
  const lines = text.split("\n");
  const from = lines.length > 60 ? lines.slice(0, 40).join("\n").length + 1 : text.length;
  const pieces = (/** @type {string} */ part) => (isDiff ? diffPieces(part) : highlight(part, language)).map(pieceView);
  code.append(...pieces(text.slice(0, from)));
  const figure = h(
    "figure",
    { class: "fence", dir: "ltr" },
    h("figcaption", null, copy, language && h("span", null, visibleText(language.slice(0, 24)))),
    scrollable(pre, language ? `${visibleText(language.slice(0, 24))} code` : "Code"),
  );
  if (from < text.length) foldCode(figure, code, pieces(text.slice(from)), lines.length - 40);
  return figure;
}

/** @param {HTMLElement} figure @param {HTMLElement} code @param {Node[]} rest @param {number} count */
function foldCode(figure, code, rest, count) {
  const hidden = h("span", { class: "rest" }, ...rest);
  const open = () => {
    hidden.hidden = false;
    more.remove();
  };
  const more = h("div", { class: "more" }, action(`${count.toLocaleString("en-US")} more lines`, open));
  hide(hidden, open);
  code.append(hidden);
  figure.append(more);
}

/** @param {import("../../model/details/highlight.js").Piece} piece @returns {Node} */
function pieceView({ text, kind }) {
  return kind === "" ? h("span", null, ...textNodes(text)) : h("span", { class: `code-${kind}` }, ...textNodes(text));
}
