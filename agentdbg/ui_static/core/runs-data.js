// @ts-check
/** The list of runs: loaded in pages, searched by the server, changed as runs begin, go on and end. Tells `change`. */

import { mergeRuns } from "../model/runs.js";
import { PACE_MS, SteadyHeadlines } from "../model/steady.js";
import { LiveSocket } from "./live.js";

/** @typedef {import("../model/types.js").RunMeta} RunMeta */
/** @typedef {import("./api.js").Api} Api */

const FIRST_PAGE = 200;
const NEXT_PAGE = 1000;
const SETTLE_MS = 400;

export class RunsData extends EventTarget {
  /** @param {Api} api */
  constructor(api) {
    super();
    this.api = api;
    this.total = 0;
    /** @type {Record<string, number>} */
    this.counts = {};
    this.q = "";
    this.status = "";
    this.isLoaded = false;
  }

  /** As the server told them. @type {RunMeta[]} */
  #told = [];
  /** @type {RunMeta[]} */
  #shown = [];
  #headlines = new SteadyHeadlines();
  #pace = 0;

  /** The runs, with headlines that stand long enough to be read. @returns {RunMeta[]} */
  get runs() {
    return this.#shown;
  }

  /** @param {RunMeta[]} runs as the server told them */
  set runs(runs) {
    this.#told = runs;
    this.#shown = this.#headlines.settle(runs, performance.now());
    clearTimeout(this.#pace);
    if (!this.#headlines.isWaiting) return;
    this.#pace = window.setTimeout(() => {
      this.runs = this.#told;
      this.dispatchEvent(new Event("change"));
    }, PACE_MS);
  }

  /** Changes when the runs that came from a run, or those it came from, have. @param {string} runId */
  familyStamp(runId) {
    const root = (/** @type {RunMeta | undefined} */ run) => run?.replay?.root_run_id ?? run?.run_id ?? runId;
    const own = root(this.runs.find((run) => run.run_id === runId));
    const family = this.runs.filter((run) => root(run) === own);
    return family.map((run) => `${run.run_id} ${run.status} ${run.replay?.live ?? ""}`).join();
  }

  #request = 0;
  #loadingMore = false;
  #timer = 0;

  /** @param {number} [limit] */
  async load(limit = FIRST_PAGE) {
    this.#request += 1;
    const request = this.#request;
    const answer = await this.api.json(`/api/runs?${this.#query(limit, 0)}`);
    if (request !== this.#request) return;
    this.runs = answer.runs;
    this.#take(answer);
    this.isLoaded = true;
    this.dispatchEvent(new Event("change"));
  }

  /** The next page, for a reader who scrolls down. */
  async more() {
    if (this.#loadingMore || this.runs.length >= this.total) return;
    this.#loadingMore = true;
    try {
      const request = this.#request;
      const answer = await this.api.json(`/api/runs?${this.#query(NEXT_PAGE, this.runs.length)}`);
      if (request === this.#request) {
        const known = new Set(this.runs.map((run) => run.run_id));
        this.runs = [...this.#told, ...answer.runs.filter((/** @type {RunMeta} */ run) => !known.has(run.run_id))];
        this.#take(answer);
        if (answer.runs.length === 0) this.total = this.runs.length;
        this.dispatchEvent(new Event("change"));
      }
    } finally {
      this.#loadingMore = false;
    }
  }

  /** @param {string} q @param {string} status */
  find(q, status) {
    this.q = q;
    this.status = status;
    return this.load();
  }

  /** @param {string} runId */
  get(runId) {
    return this.runs.find((run) => run.run_id === runId);
  }

  follow() {
    return new LiveSocket({
      url: () => this.api.socketUrl("/ws/runs"),
      onMessage: (message) => message.type === "runs" && this.#changed(message.data ?? [], message.removed ?? []),
      poll: () => this.load(Math.max(FIRST_PAGE, Math.min(NEXT_PAGE, this.runs.length))),
    });
  }

  /** @param {RunMeta[]} runs @param {string[]} removed */
  #changed(runs, removed) {
    if (!this.q && !this.status) {
      const before = this.runs.length;
      this.runs = mergeRuns(this.#told, runs, removed);
      this.total = Math.max(this.runs.length, this.total + this.runs.length - before);
      this.dispatchEvent(new Event("change"));
    }
    // Counts, and what a search finds, are the server's to say.
    if (!this.#timer) {
      this.#timer = window.setTimeout(() => {
        this.#timer = 0;
        this.load(Math.max(FIRST_PAGE, Math.min(NEXT_PAGE, this.runs.length))).catch(() => {});
      }, SETTLE_MS);
    }
  }

  /** What another view learnt about a run. @param {RunMeta} run */
  update(run) {
    const known = this.get(run.run_id);
    if (!known || (known.status === run.status && known.run_name === run.run_name)) return;
    this.runs = mergeRuns(this.#told, [run]);
    this.dispatchEvent(new Event("change"));
  }

  /** @param {string} runId @param {string} name @returns {Promise<void>} */
  async rename(runId, name) {
    await this.api.post(`/api/runs/${runId}/rename`, { run_name: name });
    const run = this.#told.find((one) => one.run_id === runId);
    if (run) this.runs = mergeRuns(this.#told, [{ ...run, run_name: name }]);
    this.dispatchEvent(new Event("change"));
  }

  /** @param {string} runId */
  async remove(runId) {
    await this.api.delete(`/api/runs/${runId}`);
    this.runs = mergeRuns(this.#told, [], [runId]);
    this.total = Math.max(0, this.total - 1);
    this.dispatchEvent(new Event("change"));
    this.load().catch(() => {});
  }

  /** @param {string} runId */
  async restore(runId) {
    await this.api.post(`/api/runs/${runId}/restore`);
    await this.load();
  }

  /** @param {number} limit @param {number} offset */
  #query(limit, offset) {
    const query = new URLSearchParams({ limit: String(limit), offset: String(offset) });
    if (this.q) query.set("q", this.q);
    if (this.status) query.set("status", this.status);
    return query;
  }

  /** @param {{total: number, counts_by_status?: Record<string, number>}} answer */
  #take(answer) {
    this.total = answer.total;
    if (answer.counts_by_status) this.counts = answer.counts_by_status;
  }
}
