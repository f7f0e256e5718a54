// @ts-check
/**
 * Two runs being compared, as the page knows them: how their rows stand, the words of those in sight, and what changed
 * in them, and what a search of both finds. Tells `loaded`, `failed`, `rows` (words arrived) and `found`.
 */

import { Comparison } from "../model/compare.js";
import { RowCache, rowsQuery } from "../model/row-cache.js";

/** @typedef {import("./api.js").Api} Api */
/** @typedef {import("../model/types.js").Row} Row */
/** @typedef {import("../model/compare.js").ShortChange} ShortChange */
/** @typedef {{path: string, op: string, was?: any, now?: any, wording: boolean, words?: [string, string][]}} FullChange */

const CHANGES_KEPT = 4000;
const MOST_FOUND = 10_000;

export class CompareData extends EventTarget {
  /** @param {Api} api @param {string} a @param {string} b */
  constructor(api, a, b) {
    super();
    this.api = api;
    this.a = a;
    this.b = b;
    /** @type {Comparison | null} */
    this.comparison = null;
    /** What the server said instead. @type {string | null} */
    this.refusal = null;
    /** What is searched for. */
    this.q = "";
    /** Which rows are wanted when it is there. @type {import("../model/compare.js").Shown} */
    this.asked = "all";
    this.isSearching = false;
    this.#rows = { a: new RowCache(), b: new RowCache() };
  }

  #rows;
  /** @type {Map<number, ShortChange[]>} */
  #changes = new Map();
  #stopped = new AbortController();
  /** @type {Map<number, Promise<FullChange[]>>} */
  #whole = new Map();

  get #pair() {
    return `a=${encodeURIComponent(this.a)}&b=${encodeURIComponent(this.b)}`;
  }

  async load() {
    try {
      const comparison = new Comparison(await this.#json(`/api/compare?${this.#pair}`));
      comparison.show(this.asked);
      this.comparison = comparison;
      this.#tell("loaded");
      if (this.q) this.search(this.q);
    } catch (problem) {
      if (this.#stopped.signal.aborted) return;
      this.refusal = /** @type {Error} */ (problem).message;
      this.#tell("failed");
    }
  }

  /** Which rows are shown. */
  get shown() {
    return this.comparison?.shown ?? this.asked;
  }

  stop() {
    this.#stopped.abort();
  }

  /** Ask for what both runs hold of some text; the latest question counts. @param {string} q */
  async search(q) {
    this.q = q;
    this.isSearching = q !== "" && this.comparison !== null;
    this.#tell("found");
    if (!this.comparison) return; // asked when it is there
    const ask = (/** @type {string} */ runId) =>
      this.#json(`/api/runs/${encodeURIComponent(runId)}/search?q=${encodeURIComponent(q)}&limit=${MOST_FOUND}`);
    const found = q ? await Promise.all([ask(this.a), ask(this.b)]).catch(() => null) : null;
    if (q !== this.q) return;
    this.isSearching = false;
    this.comparison.setFound(found && { a: found[0].numbers, b: found[1].numbers });
    this.#tell("found");
  }

  /** The words of an event. @param {"a" | "b"} side @param {number} n @returns {Row | undefined} */
  row(side, n) {
    return this.#rows[side].get(n);
  }

  /** What changed in a row, in short; undefined until it is here. @param {number} row */
  changes(row) {
    return this.#changes.get(row);
  }

  /** All that changed in a row. @param {number} row */
  allChanges(row) {
    let whole = this.#whole.get(row);
    if (!whole) {
      whole = this.#json(`/api/compare/row?${this.#pair}&row=${row}`).then((answer) => answer.changes);
      whole.catch(() => this.#whole.delete(row));
      this.#whole.set(row, whole);
    }
    return whole;
  }

  /** @type {number[]} */
  #wanted = [];
  #busy = false;

  /** Ask for the words of rows in sight. The latest wish counts: what was scrolled past is not fetched. @param {number[]} rows */
  need(rows) {
    this.#wanted = rows;
    if (!this.#busy) this.#fetch();
  }

  async #fetch() {
    this.#busy = true;
    try {
      for (let wanted = this.#missing(); wanted.length > 0 && !this.#stopped.signal.aborted; wanted = this.#missing()) {
        const asked = wanted.slice(0, 200);
        await this.#fetchAll(asked);
        this.#tell("rows");
        // What the server does not know will not come by asking again.
        this.#wanted = this.#wanted.filter((row) => !asked.includes(row));
      }
    } catch {
      this.#wanted = []; // gone: the api has told the page; rows are asked for again with the next movement
    }
    this.#busy = false;
  }

  #missing() {
    const { comparison } = this;
    if (!comparison) return [];
    const lacks = (/** @type {"a" | "b"} */ side, /** @type {number} */ row) =>
      comparison.number(row, side) > 0 && !this.row(side, comparison.number(row, side));
    return this.#wanted.filter(
      (row) => lacks("a", row) || lacks("b", row) || (comparison.sign(row) === "!" && !this.#changes.has(row)),
    );
  }

  /** @param {number[]} rows */
  async #fetchAll(rows) {
    const comparison = /** @type {Comparison} */ (this.comparison);
    const numbers = (/** @type {"a" | "b"} */ side) =>
      rows.map((row) => comparison.number(row, side)).filter((n) => n > 0 && !this.row(side, n));
    const changed = rows.filter((row) => comparison.sign(row) === "!" && !this.#changes.has(row));
    await Promise.all([
      this.#fetchRows("a", numbers("a")),
      this.#fetchRows("b", numbers("b")),
      this.#fetchChanges(changed),
    ]);
  }

  /** @param {"a" | "b"} side @param {number[]} numbers */
  async #fetchRows(side, numbers) {
    if (numbers.length === 0) return;
    const answer = await this.#json(`/api/runs/${encodeURIComponent(this[side])}/rows?${rowsQuery(numbers)}`);
    this.#rows[side].add(answer.rows);
  }

  /** @param {number[]} rows */
  async #fetchChanges(rows) {
    if (rows.length === 0) return;
    const answer = await this.#json(`/api/compare/rows?${this.#pair}&at=${rows.join(",")}`);
    for (const { row, changes } of answer.rows) this.#changes.set(row, changes);
    if (this.#changes.size > CHANGES_KEPT)
      for (const row of [...this.#changes.keys()].slice(0, CHANGES_KEPT / 2)) this.#changes.delete(row);
  }

  /** @param {string} path */
  #json(path) {
    return this.api.json(path, { signal: this.#stopped.signal });
  }

  /** @param {string} what */
  #tell(what) {
    if (!this.#stopped.signal.aborted) this.dispatchEvent(new Event(what));
  }
}
