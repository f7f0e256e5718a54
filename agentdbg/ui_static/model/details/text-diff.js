// @ts-check
/** What differs between two texts: by lines, and inside lines that changed by words. */
import { alignLists } from "./align-lists.js";

/** @typedef {{ kind: "same" | "add" | "del", text: string }} Piece */

/** Words beyond this are compared as whole lines. */
const MOST_WORDS = 1500;

/** @param {string} before @param {string} after @returns {Piece[]} */
export function diffText(before, after) {
  const [old, now] = [linesOf(before), linesOf(after)];
  /** @type {Piece[]} */
  const pieces = [];
  let gone = "";
  let come = "";
  const flush = () => {
    if (gone && come) pieces.push(...diffWords(gone, come));
    else if (gone) pieces.push({ kind: "del", text: gone });
    else if (come) pieces.push({ kind: "add", text: come });
    [gone, come] = ["", ""];
  };
  for (const step of alignLists(old.length, now.length, (a, b) => old[a] === now[b])) {
    if (step.before !== null && step.after !== null) {
      flush();
      pieces.push({ kind: "same", text: old[step.before] });
    } else if (step.before !== null) gone += old[step.before];
    else if (step.after !== null) come += now[step.after];
  }
  flush();
  return joined(pieces);
}

/** @param {string} before @param {string} after @returns {Piece[]} */
export function diffWords(before, after) {
  const [old, now] = [wordsOf(before), wordsOf(after)];
  if (old.length > MOST_WORDS || now.length > MOST_WORDS)
    return [
      { kind: "del", text: before },
      { kind: "add", text: after },
    ];
  const steps = alignLists(old.length, now.length, (a, b) => old[a] === now[b]);
  return calmed(
    joined(
      steps.map((step) => {
        if (step.before !== null && step.after !== null) return { kind: "same", text: old[step.before] };
        return step.before !== null
          ? { kind: "del", text: old[step.before] }
          : { kind: "add", text: now[/** @type {number} */ (step.after)] };
      }),
    ),
  );
}

/** A lone space or comma between two changes is read as part of them. @param {Piece[]} pieces @returns {Piece[]} */
function calmed(pieces) {
  /** @type {Piece[]} */
  const calm = [];
  let [gone, come] = ["", ""];
  const flush = () => {
    if (gone) calm.push({ kind: "del", text: gone });
    if (come) calm.push({ kind: "add", text: come });
    [gone, come] = ["", ""];
  };
  pieces.forEach((piece, at) => {
    const between = piece.kind === "same" && /^[\s,.;:]*$/.test(piece.text) && at > 0 && at < pieces.length - 1;
    if (piece.kind === "del" || between) gone += piece.text;
    if (piece.kind === "add" || between) come += piece.text;
    if (piece.kind === "same" && !between) {
      flush();
      calm.push(piece);
    }
  });
  flush();
  return joined(calm);
}

/** @param {string} text */
function linesOf(text) {
  return text.split(/(?<=\n)/);
}

/** @param {string} text */
function wordsOf(text) {
  return text.match(/\w+|\s+|[^\w\s]/gu) ?? [];
}

/** @param {Piece[]} pieces @returns {Piece[]} */
function joined(pieces) {
  /** @type {Piece[]} */
  const whole = [];
  for (const piece of pieces) {
    const last = whole.at(-1);
    if (last?.kind === piece.kind) last.text += piece.text;
    else whole.push({ ...piece });
  }
  return whole;
}
