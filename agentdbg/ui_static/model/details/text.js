// @ts-check
/**
 * Text from a program, made safe to look at: nothing hidden, nothing that turns the line around, cut where it folds.
 */

/** Controls but tab and newline; bidi marks and overrides and what else has no width; half characters. */
const UNSEEN = new RegExp(
  [
    "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]",
    "[\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]",
    "[\\ud800-\\udbff](?![\\udc00-\\udfff])",
    "(?<![\\ud800-\\udbff])[\\udc00-\\udfff]",
  ].join("|"),
  "g",
);

/** The colours of a terminal: they say nothing themselves, and what they would conceal is shown. */
const COLOURS = /\u001b\[[\d;:]*m/g;

/**
 * The text with every character that hides or reorders others replaced by a sign for it.
 * A carriage return before a newline is Windows, not an attack, and goes.
 * @param {string} text
 */
export function visibleText(text) {
  return text
    .replace(/\r\n/g, "\n")
    .replace(COLOURS, "")
    .replace(UNSEEN, (character) => {
      const code = character.charCodeAt(0);
      if (code < 0x20) return String.fromCharCode(0x2400 + code);
      if (code === 0x7f) return "\u2421";
      return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
    });
}

/** The name of a key or an argument; one that would be nothing to see stands in quotes. @param {string} key */
export function keyText(key) {
  return key.trim() === "" ? JSON.stringify(key) : visibleText(key);
}

/** Like `visibleText`, for text inside JSON, where the escape is the sign and the text stays valid JSON. @param {string} json */
export function visibleJson(json) {
  return json.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Where to cut text so that at most `limit` characters and `lines` lines stay, never through a surrogate pair;
 * the whole length when only a little would be folded away.
 * @param {string} text
 * @param {number} limit
 * @param {number} lines
 */
export function foldPoint(text, limit, lines) {
  let end = Math.min(text.length, limit);
  let newline = -1;
  for (let count = 0; count < lines; count += 1) {
    newline = text.indexOf("\n", newline + 1);
    if (newline === -1 || newline >= end) break;
    if (count === lines - 1) end = newline;
  }
  if (text.length - end < Math.min(120, limit / 4) && !text.slice(end, -1).includes("\n")) return text.length;
  return insidePair(text, end) ? end - 1 : end;
}

/** Whether cutting here would separate the two halves of one character. @param {string} text @param {number} at */
export function insidePair(text, at) {
  const before = text.charCodeAt(at - 1);
  return at > 0 && at < text.length && before >= 0xd800 && before <= 0xdbff;
}

/** One line for a folded text: its first words. @param {string} text @param {number} limit */
export function oneLine(text, limit) {
  const flat = text
    .slice(0, limit * 4)
    .replace(/\s+/g, " ")
    .trim();
  if (flat.length <= limit) return text.length > limit * 4 ? `${flat}\u2026` : flat;
  const space = flat.lastIndexOf(" ", limit);
  const cut = space > limit - 12 ? space : insidePair(flat, limit) ? limit - 1 : limit;
  return `${flat.slice(0, cut).replace(/[\s,;:]+$/, "")}\u2026`;
}

/** The text without the signs of Markdown that no longer lay anything out on one line. @param {string} text */
export function withoutSigns(text) {
  return text.replace(/^[ \t]*```\w*|\*\*(?=\S)|(?<=\S)\*\*|`/gm, "").replace(/^#{1,6} /gm, "");
}

/** How many bytes the text takes as UTF-8. @param {string} text */
export function byteLength(text) {
  return new TextEncoder().encode(text).length;
}

/**
 * Whether text is laid out by its spaces (code, a listing, a table), so that it has to be set in mono.
 * @param {string} text
 */
export function looksLaidOut(text) {
  const lines = text.slice(0, 4000).split("\n");
  if (lines.length < 2) return false;
  const indented = lines.filter(
    (line) => /^(?: {2,}|\t|\d+[:|\t])\S/.test(line) || /\S(?: {3,}|\t)\S/.test(line),
  ).length;
  return indented >= 2 && indented / lines.length > 0.2;
}
