// @ts-check
/**
 * In which order the rows stand: as they were written (list), or under what caused them (tree and waterfall).
 *
 * Any parent is accepted: none, one that never came, itself, a circle. Every shown event has exactly one place.
 */

import { KIND } from "./skeleton.js";

/** @typedef {import("./skeleton.js").Skeleton} Skeleton */
/** @typedef {{numbers: Uint32Array, depths: Uint8Array | null}} Order numbers from top to bottom, and how deep each hangs */

const MAX_DEPTH = 255;

/** The flat list. @param {Skeleton} skeleton @param {(n: number) => boolean} wanted @returns {Order} */
export function listOrder(skeleton, wanted) {
  const numbers = new Uint32Array(skeleton.count);
  let length = 0;
  for (let n = 1; n <= skeleton.count; n += 1) if (wanted(n)) numbers[length++] = n;
  return { numbers: numbers.subarray(0, length), depths: null };
}

/** Who hangs under whom, siblings in the order in which they started. Built once per state of the skeleton. */
export class Tree {
  /** @param {Skeleton} skeleton @param {SortKeys | null} [keys] by which siblings stand, largest first; else by their start */
  constructor(skeleton, keys = null) {
    this.version = skeleton.version;
    this.keys = keys;
    this.count = skeleton.count;
    const size = skeleton.count + 1;
    /** @type {Uint32Array} the parent shown; 0 is the root */
    this.parent = new Uint32Array(size);
    this.firstChild = new Uint32Array(size);
    this.nextSibling = new Uint32Array(size);
    this.#findParents(skeleton);
    const ordered = keys === null ? sortedByStart(skeleton) : sortedByKey(allNumbers(skeleton.count), keys);
    this.#link(ordered);
    this.#breakCircles(ordered);
  }

  /** @param {number} n */
  hasChildren(n) {
    return n < this.firstChild.length && this.firstChild[n] !== 0;
  }

  /** The chain above an event, nearest first. @param {number} n @returns {number[]} */
  ancestors(n) {
    const chain = [];
    for (let above = this.parent[n]; above > 0; above = this.parent[above]) chain.push(above);
    return chain;
  }

  /**
   * The rows in sight: what is wanted, under its ancestors, without what is folded away.
   * @param {(n: number) => boolean} wanted @param {boolean} everything whether `wanted` is always true for shown events
   * @param {ReadonlySet<number>} folded
   * @returns {Order}
   */
  order(wanted, everything, folded) {
    const keep = everything ? null : this.#withAncestors(wanted);
    const numbers = new Uint32Array(this.count);
    const depths = new Uint8Array(this.count);
    let length = 0;
    let depth = 0;
    let n = this.firstChild[0];
    while (n !== 0) {
      const kept = keep === null ? wanted(n) : keep[n] === 1;
      if (kept) {
        numbers[length] = n;
        depths[length++] = Math.min(depth, MAX_DEPTH);
        if (this.firstChild[n] !== 0 && !folded.has(n)) {
          n = this.firstChild[n];
          depth += 1;
          continue;
        }
      }
      while (n !== 0 && this.nextSibling[n] === 0) {
        n = this.parent[n];
        depth -= 1;
      }
      n = n === 0 ? 0 : this.nextSibling[n];
    }
    return { numbers: numbers.subarray(0, length), depths: depths.subarray(0, length) };
  }

  /** @param {(n: number) => boolean} wanted */
  #withAncestors(wanted) {
    const keep = new Uint8Array(this.count + 1);
    for (let n = 1; n <= this.count; n += 1) {
      if (!wanted(n)) continue;
      for (let above = n; above !== 0 && keep[above] === 0; above = this.parent[above]) keep[above] = 1;
    }
    return keep;
  }

  /** RUN_START is everyone's ancestor, so saying it says nothing. @param {Skeleton} skeleton */
  #findParents(skeleton) {
    for (let n = 1; n <= this.count; n += 1) {
      let above = skeleton.parent[n];
      // The start of a call that ended has no row; what points at it hangs under whatever is above it.
      for (let steps = 0; above !== 0 && above <= this.count && !skeleton.isShown(above) && steps < 64; steps += 1) {
        above = skeleton.parent[above];
      }
      const usable =
        above !== n && above <= this.count && skeleton.kind[above] !== KIND.START && skeleton.isShown(above);
      this.parent[n] = usable ? above : 0;
    }
    this.parent[0] = 0;
  }

  /** @param {Uint32Array} byStart */
  #link(byStart) {
    for (let index = byStart.length - 1; index >= 0; index -= 1) {
      const n = byStart[index];
      this.nextSibling[n] = this.firstChild[this.parent[n]];
      this.firstChild[this.parent[n]] = n;
    }
  }

  /** What cannot be reached from the root hangs in a circle: the member met first becomes a root. @param {Uint32Array} byStart */
  #breakCircles(byStart) {
    const state = new Uint8Array(this.count + 1); // 0 unseen, 1 on the way up, 2 known to reach the root
    state[0] = 2;
    let found = false;
    for (const n of byStart) {
      const path = [];
      let above = n;
      while (state[above] === 0) {
        state[above] = 1;
        path.push(above);
        above = this.parent[above];
      }
      if (state[above] === 1) {
        found = true;
        this.parent[above] = 0;
      }
      for (const step of path) state[step] = 2;
    }
    if (!found) return;
    this.firstChild.fill(0);
    this.nextSibling.fill(0);
    this.#link(byStart);
  }
}

/** Event numbers in the order in which they started, ties by number. @param {Skeleton} skeleton @returns {Uint32Array} */
function sortedByStart(skeleton) {
  const { count, start } = skeleton;
  const numbers = new Uint32Array(count);
  let sorted = true;
  for (let n = 1; n <= count; n += 1) {
    numbers[n - 1] = n;
    if (n > 1 && start[n] < start[n - 1]) sorted = false;
  }
  if (sorted) return numbers;
  // One number holds both: typed arrays sort numbers far faster than they sort with a comparison.
  const radix = 2 ** Math.ceil(Math.log2(count + 1));
  const keys = new Float64Array(count);
  for (let n = 1; n <= count; n += 1) keys[n - 1] = start[n] * radix + n;
  keys.sort();
  for (let index = 0; index < count; index += 1) numbers[index] = keys[index] % radix;
  return numbers;
}

/** @typedef {Float64Array} SortKeys a key per event number; the largest comes first, ties in the order of numbers */

/** The flat list by a key. @param {Uint32Array} numbers @param {SortKeys} keys */
export function sortedByKey(numbers, keys) {
  return numbers.slice().sort((a, b) => keys[b] - keys[a] || a - b);
}

/** @param {number} count */
function allNumbers(count) {
  return Uint32Array.from({ length: count }, (_, index) => index + 1);
}

/** Where each event number stands in an order: position + 1, or 0 when it is not in it. @param {Uint32Array} numbers @param {number} count */
export function positionsIn(numbers, count) {
  const positions = new Uint32Array(count + 1);
  for (let index = 0; index < numbers.length; index += 1) positions[numbers[index]] = index + 1;
  return positions;
}
