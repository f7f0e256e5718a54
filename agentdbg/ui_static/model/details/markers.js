// @ts-check
/** The marks that stand for what was not stored, and what they mean in words. */
import { size } from "./format.js";

export const REDACTED = "__REDACTED__";
export const TRUNCATED = "__TRUNCATED__";

const COUNT = /^(\d+) (?:message|item)/;
const MEDIA = /__MEDIA__ \S{1,100}, \d+ bytes(?:, sha256 [0-9a-f]{64})?/;
const MARKS = new RegExp(`(${REDACTED}|${TRUNCATED}|${MEDIA.source})`);
/** A mark that begins at `lastIndex`. */
export const MARK_AT = new RegExp(MARKS.source, "y");

/**
 * Whether an item of a list stands for items that were not stored: `{"__TRUNCATED__": "31 messages, 84 kB"}`, in older
 * runs the bare marker.
 * @param {any} item
 */
export function isGap(item) {
  if (typeof item !== "object" || item === null) return item === TRUNCATED;
  return typeof item[TRUNCATED] === "string" && Object.keys(item).length === 1;
}

/** What a gap means: `31 messages, 84 kB, were not recorded`. @param {any} gap */
export function notRecorded(gap) {
  const said = typeof gap === "object" ? gap[TRUNCATED] : "";
  const count = COUNT.exec(said);
  return count ? `${said}, ${count[1] === "1" ? "was" : "were"} not recorded` : "more was not recorded";
}

/**
 * A text as its pieces: words, and the marks of what was taken out or not stored.
 * @param {string} text
 * @returns {{ kind: "text" | "redacted" | "cut" | "media", text: string }[]}
 */
export function markedPieces(text) {
  return text
    .split(MARKS)
    .filter((piece) => piece !== "")
    .map((piece) => {
      if (piece === REDACTED) return { kind: "redacted", text: "redacted" };
      if (piece === TRUNCATED) return { kind: "cut", text: "not all of this text was recorded" };
      const media = /^__MEDIA__ (\S+), (\d+) bytes/.exec(piece);
      if (media) return { kind: "media", text: `${mediaWord(media[1])} not recorded (${size(Number(media[2]))})` };
      return { kind: "text", text: piece };
    });
}

/** @param {string} type */
function mediaWord(type) {
  const word = type.split("/")[0];
  if (word === "image" || word === "audio" || word === "video") return word[0].toUpperCase() + word.slice(1);
  return type === "application/pdf" ? "PDF" : "File";
}

/**
 * Whether two stored texts are the same as far as can be seen: of a long prompt, texts are stored in part, and in how
 * large a part depends on what stands around them.
 * @param {string} one
 * @param {string} other
 */
export function sameAsStored(one, other) {
  if (one === other) return true;
  const [left, right] = [ends(one), ends(other)];
  if (left === null && right === null) return false;
  const [head, tail] = left ?? [one, one];
  const [otherHead, otherTail] = right ?? [other, other];
  return (
    (head.startsWith(otherHead) || otherHead.startsWith(head)) && (tail.endsWith(otherTail) || otherTail.endsWith(tail))
  );
}

/** What is stored before and after the cut; null when the text is whole. @param {string} text @returns {[string, string] | null} */
function ends(text) {
  const at = text.indexOf(TRUNCATED);
  return at < 0 ? null : [text.slice(0, at), text.slice(at + TRUNCATED.length)];
}
