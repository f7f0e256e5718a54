// @ts-check
/** What a run that goes on is doing, said so that it can be read: what has not stood for two seconds is no news. */

/** @typedef {import("./types.js").RunMeta} RunMeta */

export const PACE_MS = 2000;

/** One thing that changes faster than anybody reads. @template T */
export class Steady {
  /** @type {T | null} */
  #shown = null;
  /** @type {T | null} */
  #next = null;
  #since = 0;

  /** What to show for what is the case now; nothing at all is never news. @param {T | null} value @param {number} now @returns {T | null} */
  of(value, now) {
    const given = value || this.#shown;
    if (given !== this.#next) [this.#next, this.#since] = [given, now];
    if (this.#shown === null || now - this.#since >= PACE_MS) this.#shown = this.#next;
    return this.#shown;
  }

  /** Whether something waits to be shown. */
  get isWaiting() {
    return this.#shown !== this.#next;
  }
}

/** The headlines of a list of runs. */
export class SteadyHeadlines {
  /** @type {Map<string, Steady<string>>} */
  #known = new Map();

  /** The runs with the headlines to show. @param {RunMeta[]} runs @param {number} now @returns {RunMeta[]} */
  settle(runs, now) {
    /** @type {Map<string, Steady<string>>} */
    const known = new Map();
    const settled = runs.map((run) => {
      if (run.status !== "running" || run.state === "paused") return run;
      const steady = this.#known.get(run.run_id) ?? new Steady();
      known.set(run.run_id, steady);
      const headline = steady.of(run.headline ?? null, now);
      return headline === run.headline ? run : { ...run, headline };
    });
    this.#known = known;
    return settled;
  }

  get isWaiting() {
    return [...this.#known.values()].some((steady) => steady.isWaiting);
  }
}
