// @ts-check
/**
 * Two runs side by side: which rows there are, which of them are shown, and where the next change is.
 *
 * A row is a letter and two event numbers: `=` same, `~` other words, `!` changed, `-` only in A, `+` only in B, `>`
 * the same step at another place. Long stretches in which nothing but words differs are folded into one line.
 */

import { hasTimes, programOf } from "./runs.js";

/** @typedef {{path: string, op: "changed" | "added" | "removed", was?: string, now?: string, wording: boolean}} ShortChange */
/** @typedef {{n: number, name: string, args: string}} Effect */
/** @typedef {{same: number, reworded: number, differ: number, changed: {name: string, a: number, b: number, changes: ShortChange[]}[], only_a: Effect[], only_b: Effect[]}} Calls */
/**
 * @typedef {object} Answer what the server says of two runs
 * @property {import("./types.js").RunMeta} a
 * @property {import("./types.js").RunMeta} b
 * @property {"same" | "same_effects" | "different_effects" | "unknown_effects"} verdict
 * @property {boolean} is_good nothing in it has to be looked at
 * @property {{a: number | null, b: number | null, parts: {text: string, style: "plain" | "code" | "quote"}[]}[]} sentences the outcome, with the events each speaks of
 * @property {string[]} notes
 * @property {number | null} first_difference
 * @property {number | null} first_divergence
 * @property {Record<"same" | "wording" | "changed" | "deleted" | "inserted" | "moved", number>} counts
 * @property {{a: Record<string, number | null>, b: Record<string, number | null>}} totals
 * @property {(ShortChange & {row: number})[]} context
 * @property {Calls & {same_order: boolean, unknown: Calls}} effects of the calls that change something, and of those of which nobody knows
 * @property {string} signs
 * @property {number[]} numbers_a
 * @property {number[]} numbers_b
 * @property {number[]} effect_rows of calls that change something, or of which nobody knows
 * @property {number[]} unknown_rows of those of which nobody knows
 * @property {number[]} diverging_rows
 */
/** @typedef {"all" | "changes" | "effects"} Shown */

/** Which rows an address asks for. @param {string} text @returns {Shown} */
export function parseShown(text) {
  return text === "changes" || text === "effects" ? text : "all";
}

/** @param {Shown} shown */
export function formatShown(shown) {
  return shown === "all" ? "" : shown;
}

/** A stretch shorter than this is not worth a fold. */
const LONG = 8;
/** How many rows stay around a change, so that one sees where it is. */
const AROUND = 3;

export class Comparison {
  /** @param {Answer} answer */
  constructor(answer) {
    this.answer = answer;
    this.length = answer.signs.length;
    /** @type {Shown} */
    this.shown = "all";
    this.#effects = new Set(answer.effect_rows);
    this.#unknown = new Set(answer.unknown_rows);
    this.#diverging = new Set(answer.diverging_rows);
    // Where the wording is all that differs, it is what the reader came for.
    this.#quiet = this.#diverging.size > 0 ? "=~" : "=";
  }

  #effects;
  #unknown;
  #diverging;
  #quiet;
  /** @type {Set<number>} the first rows of stretches that were unfolded */
  #unfolded = new Set();
  /** @type {{shown: Shown, lines: Int32Array, folds: Map<number, number>} | null} */
  #laidOut = null;

  /** @param {number} row */
  sign(row) {
    return this.answer.signs[row];
  }

  /** @param {number} row */
  isEffect(row) {
    return this.#effects.has(row);
  }

  /** Whether nobody knows what the call of a row changes. @param {number} row */
  isUnknown(row) {
    return this.#unknown.has(row);
  }

  /** @param {number} row */
  isChange(row) {
    return this.sign(row) !== "=" && this.sign(row) !== "~";
  }

  /** The number of the row's event in A, in B; 0 where that run has nothing. @param {number} row @param {"a" | "b"} side */
  number(row, side) {
    return (side === "a" ? this.answer.numbers_a : this.answer.numbers_b)[row];
  }

  /** The row in which an event stands; -1 when in none. @param {"a" | "b"} side @param {number} n */
  rowOf(side, n) {
    return (side === "a" ? this.answer.numbers_a : this.answer.numbers_b).indexOf(n);
  }

  /** Where the blue line stands: the first row in which the runs do different things, else in which they differ at all. */
  get first() {
    return this.answer.first_divergence ?? this.answer.first_difference ?? -1;
  }

  get changes() {
    let count = 0;
    for (let row = 0; row < this.length; row += 1) if (this.isChange(row)) count += 1;
    return count;
  }

  /** The rows in which a search found something, ascending; null while nothing is searched for. @type {number[] | null} */
  matches = null;
  /** @type {Set<number>} */
  #matching = new Set();

  /** Take note of the events of each run in which a search found something. @param {{a: number[], b: number[]} | null} found */
  setFound(found) {
    this.matches = null;
    this.#matching = new Set();
    if (!found) return;
    const [a, b] = [new Set(found.a), new Set(found.b)];
    for (let row = 0; row < this.length; row += 1) {
      if (a.has(this.number(row, "a")) || b.has(this.number(row, "b"))) this.#matching.add(row);
    }
    this.matches = [...this.#matching];
  }

  /** @param {number} row */
  isMatch(row) {
    return this.#matching.has(row);
  }

  /** The next match after a row, or before it, going round at the ends; -1 when there is none. @param {number} row -1 for none @param {1 | -1} direction */
  nextMatch(row, direction) {
    const matches = this.matches ?? [];
    const next = direction > 0 ? matches.find((match) => match > row) : matches.findLast((match) => match < row);
    return next ?? matches.at(direction > 0 ? 0 : -1) ?? -1;
  }

  /** What is drawn from top to bottom: rows by their number, and folds by the number of their first row, below zero. */
  get lines() {
    return this.#layOut().lines;
  }

  /** How many rows a fold hides. @param {number} first the fold's first row */
  foldedFrom(first) {
    return (this.#layOut().folds.get(first) ?? first) - first;
  }

  /** Whether all a fold hides is the same to the letter. @param {number} first */
  isSame(first) {
    return !this.answer.signs.slice(first, first + this.foldedFrom(first)).includes("~");
  }

  /** @param {number} first */
  unfold(first) {
    this.#unfolded.add(first);
    this.#laidOut = null;
  }

  /** @param {Shown} shown */
  show(shown) {
    this.shown = shown;
    this.#laidOut = null;
  }

  /** Where a row is drawn; -1 when it is hidden. @param {number} row */
  placeOf(row) {
    const { lines } = this;
    let low = 0;
    let high = lines.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = rowAt(lines[middle]);
      if (found === row) return lines[middle] >= 0 ? middle : -1;
      if (found < row) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  /** Make sure that a row is drawn. @param {number} row @returns {number} its place */
  reveal(row) {
    if (this.placeOf(row) < 0 && this.shown !== "all") this.show("all");
    for (const [first, end] of this.#layOut().folds) if (first <= row && row < end) this.unfold(first);
    return this.placeOf(row);
  }

  /** The next place where something changed: a stretch of changes counts once, and each effect that changed. @param {number} row -1 before the first @param {1 | -1} direction */
  nextChange(row, direction) {
    const starts = (/** @type {number} */ at) =>
      this.isChange(at) && (at === 0 || !this.isChange(at - 1) || this.isEffect(at));
    for (let at = row + direction; at >= 0 && at < this.length; at += direction) if (starts(at)) return at;
    return -1;
  }

  #layOut() {
    if (this.#laidOut) return this.#laidOut;
    const lines = [];
    const folds = new Map();
    for (let row = 0; row < this.length;) {
      const end = this.shown === "all" ? this.#quietUntil(row) : row;
      if (this.shown !== "all") {
        if (this.shown === "changes" ? this.isChange(row) : this.isEffect(row)) lines.push(row);
        row += 1;
      } else if (end === row) {
        lines.push(row);
        row += 1;
      } else {
        // What leads to a change and what follows one stays; at the ends of the run nothing does.
        const from = row === 0 ? row : row + AROUND;
        const to = end === this.length ? end : end - AROUND;
        const isFolded = to - from >= LONG && !this.#unfolded.has(from);
        for (let at = row; at < end; at += 1) {
          if (isFolded && at === from) {
            lines.push(-from - 1);
            folds.set(from, to);
            at = to - 1;
          } else lines.push(at);
        }
        row = end;
      }
    }
    this.#laidOut = { shown: this.shown, lines: Int32Array.from(lines), folds };
    return this.#laidOut;
  }

  /** The end of the stretch of quiet rows that begins here. @param {number} row */
  #quietUntil(row) {
    let end = row;
    while (end < this.length && this.#quiet.includes(this.sign(end))) end += 1;
    return end;
  }
}

/** The row a line stands for, or the first one it hides. @param {number} line */
export function rowAt(line) {
  return line >= 0 ? line : -line - 1;
}

/** @param {Answer["verdict"]} verdict */
export function verdictSign(verdict) {
  return { same: "=", same_effects: "≈", different_effects: "≠", unknown_effects: "?" }[verdict];
}

/** What the two runs are called; once, where both are called the same. @param {Pick<Answer, "a" | "b">} answer */
export function bothNames({ a, b }) {
  return [...new Set([programOf(a), programOf(b)])].join(" and ");
}

/** The outcome, in two words. @param {Answer["verdict"]} verdict */
export function verdictWords(verdict) {
  return {
    same: "Same",
    same_effects: "Same effects",
    different_effects: "Different effects",
    unknown_effects: "Effects unknown",
  }[verdict];
}

/**
 * The figures of both and their difference, in the order of the table.
 * @param {Pick<Answer, "a" | "b" | "totals">} answer @returns {{key: string, name: string, a: number | null, b: number | null, difference: number | null}[]}
 */
export function figures({ a: runA, b: runB, totals: { a, b } }) {
  const wanted = [
    ["duration_ms", "time"],
    ["llm_calls", "LLM calls"],
    ["tool_calls", "tool calls"],
    ["failed_calls", "failed"],
    ["total_tokens", "tokens"],
    ["cost_usd", "cost"],
  ];
  return wanted.flatMap(([key, name]) => {
    const isTold = (/** @type {import("./types.js").RunMeta} */ run) => key !== "duration_ms" || hasTimes(run);
    const [one, other] = [isTold(runA) ? (a[key] ?? null) : null, isTold(runB) ? (b[key] ?? null) : null];
    if (one === null && other === null) return [];
    if (key === "failed_calls" && !one && !other) return [];
    return [{ key, name, a: one, b: other, difference: one === null || other === null ? null : other - one }];
  });
}
