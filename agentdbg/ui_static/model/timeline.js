// @ts-check
/**
 * The rows of the open run in the order the reader asked for: view, filter and folds applied to the skeleton.
 *
 * Everything is derived, and derived again only when what it comes from has changed.
 */

import { EVERYTHING, isEverything, matcher } from "./filters.js";
import { Tree, listOrder, positionsIn } from "./order.js";
import { Matches } from "./search.js";
import { KIND } from "./skeleton.js";

/** @typedef {import("./skeleton.js").Skeleton} Skeleton */
/** @typedef {import("./filters.js").Filter} Filter */
/** @typedef {import("./order.js").Order} Order */
/** @typedef {import("./address.js").View} View */

export class Timeline {
  /** @param {Skeleton} skeleton */
  constructor(skeleton) {
    this.skeleton = skeleton;
    /** @type {View} */
    this.view = "list";
    /** @type {Filter} */
    this.filter = EVERYTHING;
    /** Whose children are folded away in the tree. @type {Set<number>} */
    this.folded = new Set();
    /** What the server found for the query. @type {{q: string, numbers: number[], total: number, complete: boolean} | null} */
    this.found = null;
  }

  /** @type {Tree | null} */
  #tree = null;
  /** @type {{key: string, filter: Filter, order: Order, positions: Uint32Array, matches: Matches | null, found: any} | null} */
  #derived = null;
  #foldVersion = 0;
  /** @type {{version: number, call: number, span: number} | null} */
  #scale = null;

  get isTree() {
    return this.view !== "list";
  }

  get tree() {
    if (this.#tree?.version !== this.skeleton.version) this.#tree = new Tree(this.skeleton);
    return this.#tree;
  }

  #derive() {
    const key = `${this.skeleton.version} ${this.isTree} ${this.isTree ? this.#foldVersion : 0}`;
    if (this.#derived?.key !== key || this.#derived.filter !== this.filter) {
      const wanted = matcher(this.skeleton, this.filter);
      const order = this.isTree
        ? this.tree.order(wanted, isEverything(this.filter), this.folded)
        : listOrder(this.skeleton, wanted);
      this.#derived = {
        key,
        filter: this.filter,
        order,
        positions: positionsIn(order.numbers, this.skeleton.count),
        matches: null,
        found: null,
      };
    }
    return this.#derived;
  }

  get numbers() {
    return this.#derive().order.numbers;
  }

  get length() {
    return this.numbers.length;
  }

  /** Where an event stands among the rows; -1 when it is filtered or folded away. @param {number} n */
  placeOf(n) {
    const { positions } = this.#derive();
    return n < positions.length ? positions[n] - 1 : -1;
  }

  /** How deep the row at a place hangs. @param {number} place */
  depthAt(place) {
    return this.#derive().order.depths?.[place] ?? 0;
  }

  /** Is this row here only because something under it is wanted? @param {number} n */
  isContext(n) {
    return this.isTree && !isEverything(this.filter) && !matcher(this.skeleton, this.filter)(n);
  }

  /** @returns {Matches | null} */
  get matches() {
    if (this.found === null) return null;
    const derived = this.#derive();
    if (derived.matches === null || derived.found !== this.found) {
      // The start of a call that has ended has no row anywhere; its end holds the same words and has one.
      const numbers = this.found.numbers.filter((n) => this.skeleton.isShown(n));
      const total = this.found.total - (this.found.numbers.length - numbers.length);
      derived.matches = new Matches(numbers, total, derived.order.numbers, derived.positions);
      derived.found = this.found;
    }
    return derived.matches;
  }

  /** @param {number} n @param {boolean} fold */
  setFolded(n, fold) {
    if (fold) this.folded.add(n);
    else this.folded.delete(n);
    this.#foldVersion += 1;
  }

  unfoldAll() {
    this.folded.clear();
    this.#foldVersion += 1;
  }

  /** Unfold whatever hides an event. @param {number} n @returns {boolean} whether anything had to open */
  reveal(n) {
    if (!this.isTree || this.folded.size === 0) return false;
    const hiding = this.tree.ancestors(n).filter((above) => this.folded.has(above));
    for (const above of hiding) this.setFolded(above, false);
    return hiding.length > 0;
  }

  /**
   * The duration that fills a bar in the list: nearly the longest, so that one outlier does not flatten the rest.
   * @returns {{call: number, span: number}}
   */
  get scale() {
    if (this.#scale?.version !== this.skeleton.version) {
      const calls = [];
      const spans = [];
      const step = Math.max(1, Math.floor(this.skeleton.count / 4096));
      for (let n = 1; n <= this.skeleton.count; n += step) {
        const duration = this.skeleton.durationOf(n);
        if (duration === null) continue;
        if (this.skeleton.kind[n] === KIND.SPAN) spans.push(duration);
        else if (this.skeleton.kind[n] !== KIND.END) calls.push(duration);
      }
      this.#scale = { version: this.skeleton.version, call: nearlyLongest(calls), span: nearlyLongest(spans) };
    }
    return this.#scale;
  }
}

/** @param {number[]} durations */
function nearlyLongest(durations) {
  if (durations.length === 0) return 1;
  durations.sort((a, b) => a - b);
  return Math.max(1, durations[Math.ceil(durations.length * 0.98) - 1]);
}
