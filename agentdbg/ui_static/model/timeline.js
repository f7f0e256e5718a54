// @ts-check
/**
 * The rows of the open run in the order the reader asked for: view, filter and folds applied to the skeleton.
 *
 * Everything is derived, and derived again only when what it comes from has changed.
 */

import { EVERYTHING, isEverything, matcher } from "./filters.js";
import { Tree, listOrder, positionsIn, sortedByKey } from "./order.js";
import { Matches } from "./search.js";
import { KIND } from "./skeleton.js";
import { TimeScale, quietStretches } from "./time-axis.js";

/** @typedef {import("./skeleton.js").Skeleton} Skeleton */
/** @typedef {import("./filters.js").Filter} Filter */
/** @typedef {import("./order.js").Order} Order */
/** @typedef {import("./address.js").View} View */
/** @typedef {import("./address.js").Sort} Sort */

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
    /** By what the rows stand, null for the order of the run. @type {Sort | null} */
    this.sort = null;
    /** What model calls cost, as far as it is known. @type {Map<number, number>} */
    this.costs = new Map();
    /** Whether long stretches in which nothing happens are taken out of the waterfall. */
    this.folds = true;
    /** What waits at a breakpoint. @type {import("./pauses.js").Pause | null} */
    this.pause = null;
    /** Where the run pauses, while that can be changed. @type {Set<string> | null} */
    this.breaks = null;
  }

  #costsVersion = 0;

  /** @param {Iterable<{n: number, cost_usd: number | null}>} rows */
  learnCosts(rows) {
    for (const { n, cost_usd: cost } of rows) if (cost !== null && cost !== undefined) this.costs.set(n, cost);
    this.#costsVersion += 1;
  }

  /** The key of each event under the sort, largest first. @returns {Float64Array | null} */
  get #keys() {
    const { sort, skeleton } = this;
    if (sort === null) return null;
    const keys = new Float64Array(skeleton.count + 1);
    const sign = sort.descending ? 1 : -1;
    for (let n = 1; n <= skeleton.count; n += 1) {
      const value = this.#valueOf(n, sort.by);
      // What has no such figure stands at the end, whichever way the rest goes.
      keys[n] = value === null ? -Number.MAX_VALUE : sign * value;
    }
    return keys;
  }

  /** @param {number} n @param {Sort["by"]} by @returns {number | null} */
  #valueOf(n, by) {
    const { skeleton } = this;
    if (by === "at") return skeleton.start[n];
    if (by === "tokens") return skeleton.tokensOf(n);
    if (by === "cost") return this.costs.get(n) ?? null;
    return skeleton.kind[n] === KIND.END ? null : skeleton.durationOf(n);
  }

  /** Model and tool calls among the rows, the longest first. @returns {number[]} */
  get slowest() {
    const { skeleton } = this;
    const isCall = (/** @type {number} */ n) => skeleton.kind[n] === KIND.LLM || skeleton.kind[n] === KIND.TOOL;
    const calls = Array.from(this.numbers).filter((n) => isCall(n) && (skeleton.durationOf(n) ?? 0) > 0);
    return calls.sort((a, b) => (skeleton.durationOf(b) ?? 0) - (skeleton.durationOf(a) ?? 0) || a - b).slice(0, 1000);
  }

  /** @type {{key: string, scale: TimeScale} | null} */
  #timeScale = null;

  /** The time that the waterfall shows. @param {{from: number, to: number}} range */
  timeScale({ from, to }) {
    const folds = this.folds && this.view === "waterfall" && !this.skeleton.running;
    const key = `${this.skeleton.version} ${from} ${to} ${folds}`;
    if (this.#timeScale?.key !== key)
      this.#timeScale = { key, scale: new TimeScale(from, to, folds ? quietStretches(this.skeleton, from, to) : []) };
    return this.#timeScale.scale;
  }

  /** @type {Tree | null} */
  #tree = null;
  /** @type {{key: string, filter: Filter, order: Order, positions: Uint32Array, matches: Matches | null, found: any} | null} */
  #derived = null;
  #foldVersion = 0;
  /** @type {{version: number, call: number, span: number} | null} */
  #scale = null;

  get isTree() {
    return this.view === "tree" || this.view === "waterfall";
  }

  get tree() {
    if (this.#tree?.version !== this.skeleton.version) this.#tree = new Tree(this.skeleton);
    return this.#tree;
  }

  /** Whether the run has long stretches in which nothing happens, which the waterfall can fold. */
  get hasQuietStretches() {
    return !this.skeleton.running && quietStretches(this.skeleton, 0, this.skeleton.extent()).length > 0;
  }

  /** Whether anything stands in something that itself stands in something. */
  get isDeep() {
    return this.#derive().order.depths?.some((depth) => depth > 1) ?? false;
  }

  #derive() {
    const sorted = this.sort === null ? "" : `${this.sort.by} ${this.sort.descending} ${this.#costsVersion}`;
    const key = `${this.skeleton.version} ${this.isTree} ${this.isTree ? this.#foldVersion : 0} ${sorted}`;
    if (this.#derived?.key !== key || this.#derived.filter !== this.filter) {
      const wanted = matcher(this.skeleton, this.filter);
      const order = this.isTree
        ? this.#sortedTree(sorted).order(wanted, isEverything(this.filter), this.folded)
        : this.#sortedList(listOrder(this.skeleton, wanted));
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

  /** @param {Order} order @returns {Order} */
  #sortedList(order) {
    const keys = this.#keys;
    return keys === null ? order : { ...order, numbers: sortedByKey(order.numbers, keys) };
  }

  /** Siblings by the sort. @param {string} sorted */
  #sortedTree(sorted) {
    return sorted === "" ? this.tree : new Tree(this.skeleton, this.#keys);
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
   * The duration that fills a bar in the list: a little more than that of nearly all calls. A bar that would be longer
   * is torn, so that it is not taken for one that just fits.
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
  const usual = durations[Math.floor((durations.length - 1) * 0.95)];
  const longest = durations[durations.length - 1];
  // One that is not much longer than the rest leaves them enough of a bar, and two or three calls have no usual one.
  return Math.max(1, durations.length < 4 || longest <= usual * 3 ? longest : usual * 1.25);
}
