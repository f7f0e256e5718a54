// @ts-check
/**
 * Markdown as a model writes it, read into blocks: never into markup. HTML in it stays text, links and pictures are
 * told apart so that the page can decide; nothing here fetches or builds anything.
 *
 * Where Markdown and data differ, data wins: a newline stays a newline, `__init__` is a name, `a*b*c` is a sum.
 *
 * @typedef {{ type: "text", text: string } | { type: "code", text: string }
 *   | { type: "strong" | "em" | "strike", parts: Inline[] }
 *   | { type: "link", href: string, parts: Inline[] } | { type: "image", href: string, alt: string }} Inline
 * @typedef {{ type: "paragraph", parts: Inline[] } | { type: "heading", level: number, parts: Inline[] }
 *   | { type: "code", language: string, text: string } | { type: "quote", blocks: Block[] } | { type: "rule" }
 *   | { type: "list", ordered: boolean, start: number, items: Block[][] }
 *   | { type: "table", align: ("start" | "end" | "center")[], head: Inline[][], rows: Inline[][][] }} Block
 */
import { inlineParts } from "./markdown-inline.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*$/;
const UNDERLINE = /^ {0,3}={2,}[ \t]*$/;
const TASK = /^\[([ xX])\][ \t]+(?=\S)/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const ITEM = /^([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|$)/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const TABLE_LINE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const MOST_DEPTH = 8;
const MOST_COLUMNS = 40;

/** @param {string} text @returns {Block[]} */
export function parseMarkdown(text) {
  return blocksOf(text.replace(/\r\n/g, "\n").split("\n"), 0);
}

/**
 * Whether a text that nobody called Markdown is better read as such: it has headings, fences, a table, or a list.
 * @param {string} text
 */
export function looksLikeMarkdown(text) {
  const lines = text.slice(0, 8000).split("\n");
  if (lines.some((line, at) => FENCE.test(line) || (at > 0 && TABLE_LINE.test(line) && isTableHead(lines[at - 1]))))
    return true;
  const headings = lines.filter((line) => HEADING.test(line)).length;
  const items = lines.filter((line) => /^ {0,3}(?:[-*+]|\d{1,3}\.) \S/.test(line)).length;
  return (headings > 0 && headings + items > 1) || items > 2 || /\*\*[^\s*][^*\n]*\*\*/.test(text.slice(0, 8000));
}

/** @param {string[]} lines @param {number} depth @returns {Block[]} */
function blocksOf(lines, depth) {
  /** @type {Block[]} */
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === "") {
      at += 1;
      continue;
    }
    const [block, next] = takeBlock(lines, at, depth);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {[Block, number]} */
function takeBlock(lines, at, depth) {
  const line = lines[at];
  const fence = FENCE.exec(line);
  if (fence) return takeFence(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading) return [{ type: "heading", level: heading[1].length, parts: inlineParts(heading[2]) }, at + 1];
  if (RULE.test(line)) return [{ type: "rule" }, at + 1];
  if (isTableHead(line) && at + 1 < lines.length && TABLE_LINE.test(lines[at + 1])) return takeTable(lines, at);
  if (depth < MOST_DEPTH && QUOTE.test(line)) return takeQuote(lines, at, depth);
  if (depth < MOST_DEPTH && ITEM.test(line)) return takeList(lines, at, depth);
  return takeParagraph(lines, at, depth);
}

/** @param {string[]} lines @param {number} at @param {RegExpExecArray} fence @returns {[Block, number]} */
function takeFence(lines, at, fence) {
  const indent = lines[at].length - lines[at].trimStart().length;
  const closing = new RegExp(`^ {0,3}${fence[1][0]}{${fence[1].length},}[ \\t]*$`);
  let end = at + 1;
  while (end < lines.length && !closing.test(lines[end])) end += 1;
  const inside = lines.slice(at + 1, end).map((line) => line.slice(Math.min(indent, leading(line))));
  return [{ type: "code", language: fence[2].toLowerCase(), text: inside.join("\n") }, end + 1];
}

/** @param {string[]} lines @param {number} at @returns {[Block, number]} */
function takeTable(lines, at) {
  const align = cells(lines[at + 1]).map((cell) => {
    if (!cell.endsWith(":")) return "start";
    return cell.startsWith(":") ? "center" : "end";
  });
  const head = cells(lines[at]);
  const width = Math.min(MOST_COLUMNS, Math.max(head.length, align.length));
  const row = (/** @type {string[]} */ texts) =>
    Array.from({ length: width }, (_, column) => inlineParts(texts[column] ?? ""));
  const rows = [];
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && lines[end].trim() !== "") {
    rows.push(row(cells(lines[end])));
    end += 1;
  }
  return [{ type: "table", align: /** @type {any} */ (align), head: row(head), rows }, end];
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {[Block, number]} */
function takeQuote(lines, at, depth) {
  const inside = [];
  let end = at;
  for (let found = QUOTE.exec(lines[end]); found; found = end < lines.length ? QUOTE.exec(lines[end]) : null) {
    inside.push(found[1]);
    end += 1;
  }
  return [{ type: "quote", blocks: blocksOf(inside, depth + 1) }, end];
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {[Block, number]} */
function takeList(lines, at, depth) {
  const first = /** @type {RegExpExecArray} */ (ITEM.exec(lines[at]));
  const ordered = /\d/.test(first[2]);
  const margin = leading(first[1]);
  /** @type {Block[][]} */
  const items = [];
  let end = at;
  for (let found = /** @type {RegExpExecArray | null} */ (first); found;) {
    const inside = [(found[3] ?? "").replace(TASK, (_, mark) => (mark === " " ? "☐ " : "☑ "))];
    // An item's own text may go on under its first letter, or under its sign for those who count less carefully.
    const content = margin + Math.min(2, found[2].length);
    end += 1;
    while (end < lines.length && belongs(lines, end, content)) {
      inside.push(dedent(lines[end], content + (leading(lines[end]) > content ? found[2].length - 1 : 0)));
      end += 1;
    }
    items.push(blocksOf(inside, depth + 1));
    while (end < lines.length && lines[end].trim() === "" && isItem(lines[end + 1], ordered, margin)) end += 1;
    found = end < lines.length && isItem(lines[end], ordered, margin) ? ITEM.exec(lines[end]) : null;
  }
  const start = ordered ? Number.parseInt(first[2], 10) : 1;
  return [{ type: "list", ordered, start, items }, end];
}

/** @param {string | undefined} line @param {boolean} ordered @param {number} margin */
function isItem(line, ordered, margin) {
  const found = line === undefined ? null : ITEM.exec(line);
  return found !== null && leading(found[1]) < margin + 2 && /\d/.test(found[2]) === ordered && !RULE.test(found[0]);
}

/** Whether a line is still part of the item above it. @param {string[]} lines @param {number} at @param {number} content */
function belongs(lines, at, content) {
  const line = lines[at];
  if (line.trim() === "")
    return at + 1 < lines.length && leading(lines[at + 1]) >= content && lines[at + 1].trim() !== "";
  if (leading(line) >= content) return true;
  return lines[at - 1].trim() !== "" && !startsBlock(lines, at);
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {[Block, number]} */
function takeParagraph(lines, at, depth) {
  if (UNDERLINE.test(lines[at + 1] ?? ""))
    return [{ type: "heading", level: 1, parts: inlineParts(lines[at].trim()) }, at + 2];
  let end = at + 1;
  while (end < lines.length && lines[end].trim() !== "" && !(startsBlock(lines, end) && depth < MOST_DEPTH)) end += 1;
  const inside = lines.slice(at, end).map((line) => (depth > 0 ? line.trim() : line.trimEnd()));
  return [{ type: "paragraph", parts: inlineParts(inside.join("\n")) }, end];
}

/** @param {string[]} lines @param {number} at */
function startsBlock(lines, at) {
  const line = lines[at];
  return (
    FENCE.test(line) ||
    HEADING.test(line) ||
    RULE.test(line) ||
    QUOTE.test(line) ||
    ITEM.test(line) ||
    (isTableHead(line) && at + 1 < lines.length && TABLE_LINE.test(lines[at + 1]))
  );
}

/** @param {string} line */
function isTableHead(line) {
  return line.includes("|") && line.trim() !== "|";
}

/** The cells of a table's line; `\|` is a letter. @param {string} line */
function cells(line) {
  const inner = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** How far a line is indented. @param {string} line */
function leading(line) {
  let width = 0;
  for (const character of line) {
    if (character === " ") width += 1;
    else if (character === "\t") width += 4;
    else break;
  }
  return width;
}

/** @param {string} line @param {number} width */
function dedent(line, width) {
  let left = width;
  let at = 0;
  while (left > 0 && (line[at] === " " || line[at] === "\t")) {
    left -= line[at] === "\t" ? 4 : 1;
    at += 1;
  }
  return line.slice(at);
}
