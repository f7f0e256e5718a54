// @ts-check
/** The rows fetched lately, by number, bounded: a reader who walks through a million events keeps the last few thousand. */

/** @typedef {import("./types.js").Row} Row */

export class RowCache {
  /** @param {number} limit */
  constructor(limit = 4000) {
    this.limit = limit;
    /** @type {Map<number, Row>} */
    this.#rows = new Map();
  }

  #rows;

  get size() {
    return this.#rows.size;
  }

  /** @param {number} n */
  get(n) {
    return this.#rows.get(n);
  }

  /** @param {Row[]} rows */
  add(rows) {
    for (const row of rows) {
      this.#rows.delete(row.n);
      this.#rows.set(row.n, row);
    }
    const surplus = this.#rows.size - this.limit;
    if (surplus <= 0) return;
    let dropped = 0;
    for (const n of this.#rows.keys()) {
      if (dropped++ >= surplus) break;
      this.#rows.delete(n);
    }
  }

  clear() {
    this.#rows.clear();
  }
}

/**
 * The cheapest way to ask for some rows: as one stretch when they lie close together, else by number.
 * @param {number[]} numbers ascending or not, at least one @param {number} most how many one answer may hold
 * @returns {string} the query of the request
 */
export function rowsQuery(numbers, most = 500) {
  const wanted = numbers.slice(0, most);
  const first = Math.min(...wanted);
  const last = Math.max(...wanted);
  if (last - first < Math.max(60, wanted.length * 2) && last - first < most)
    return `offset=${first - 1}&limit=${last - first + 1}`;
  return `at=${wanted.sort((a, b) => a - b).join(",")}`;
}
