// @ts-check
/**
 * One run as the page knows it: its columns, the rows near what is read, its summary, and what arrives while it runs.
 *
 * The first rows are asked for before anything else, so they are painted before the columns are complete. Tells
 * `rows` (words arrived), `columns` (events or their place changed), `ready`, `summary`, `run` and `ended`.
 */

import { parseJson } from "../model/details/parse-json.js";
import { findingOf } from "../model/rounds.js";
import { RowCache, rowsQuery } from "../model/row-cache.js";
import { Skeleton } from "../model/skeleton.js";
import { painted } from "./dom.js";
import { embeddedRun } from "./embedded.js";
import { LiveSocket } from "./live.js";

/** @typedef {import("../model/types.js").Row} Row */
/** @typedef {import("../model/types.js").RunMeta} RunMeta */
/** @typedef {import("../model/types.js").Summary} Summary */
/** @typedef {import("../model/types.js").Finding} Finding */
/** @typedef {import("./api.js").Api} Api */

const FIRST_ROWS = 80;
/** A run of some thousand events is read in a blink, so its columns are asked for soon. */
const COLUMNS_SOON_MS = [40, 80, 160];
const COLUMNS_AGAIN_MS = { least: 60, most: 1000, unknown: 300 };
const SUMMARY_AGAIN_MS = 500;
const EVENTS_KEPT = 64;
const FINDINGS_SHOWN = 6;
const AROUND_FINDING = 240;
const VERDICT_MS = 300;
const VERDICT_ROUNDS = 10;
const RECENT = 2000;

export class RunData extends EventTarget {
  /** @param {Api} api @param {string} runId */
  constructor(api, runId) {
    super();
    this.api = api;
    this.runId = runId;
    this.skeleton = new Skeleton();
    this.rows = new RowCache();
    /** @type {RunMeta | null} */
    this.run = null;
    /** @type {Summary | null} */
    this.summary = null;
    /** The loops worth a bracket, with their rounds. @type {Finding[]} */
    this.findings = [];
    /** How far the server has read the run, 0 to 1. */
    this.progress = 0;
    this.complete = false;
    /** Whether there is something worth showing: rows, and what stands above them or the time to wait for it is over. */
    this.isReady = false;
    this.path = `/api/runs/${encodeURIComponent(runId)}`;
  }

  #stopped = new AbortController();
  /** @type {LiveSocket | null} */
  #live = null;
  /** @type {Map<number, Promise<any>>} */
  #events = new Map();
  #columnsFrom = 0;
  /** @type {() => void} */
  #cameSummary = () => {};
  #summaryCame = new Promise((resolve) => (this.#cameSummary = () => resolve(null)));
  /** Whoever waits for all columns. @type {((value: null) => void)[]} */
  #waitForAll = [];
  #findingsVersion = -1;

  /** What waits at a breakpoint, the longest first of several. @type {import("../model/pauses.js").Pause | null} */
  pause = null;

  /** Whether there is more to come; in a file nothing is. */
  get isRunning() {
    return this.run?.status === "running" && embeddedRun === null;
  }

  #around = 1;

  /** Load the run. @param {number} [around] an event number to begin near */
  start(around = 1) {
    this.#around = around;
    const first = Math.max(0, around - FIRST_ROWS / 2);
    const rows = this.#loadRows(`offset=${first}&limit=${FIRST_ROWS}`);
    const summary = this.#loadSummary();
    // The verdict stands above the rows: drawn a moment later, it would push them down under the reader's eyes.
    const ready = rows
      .then(() => Promise.race([this.#summaryCame, pause(VERDICT_MS, this.#stopped.signal)]))
      .then(() => {
        this.isReady = true;
        this.#tell("rows");
        this.#tell("columns");
        this.#tell("ready");
      });
    // All of the run is much to read; on a small machine the first rows would wait for it.
    const columns = ready.then(painted).then(() => this.#loadColumns());
    return Promise.all([rows, columns, summary]);
  }

  stop() {
    this.#stopped.abort();
    this.#live?.close();
    clearTimeout(this.#refreshTimer);
    clearTimeout(this.#needTimer);
  }

  /** @param {string} what @param {any} [detail] */
  #tell(what, detail) {
    if (!this.#stopped.signal.aborted) this.dispatchEvent(new CustomEvent(what, { detail }));
  }

  /** @param {string} path */
  #json(path) {
    return this.api.json(this.path + path, { signal: this.#stopped.signal });
  }

  // Rows

  /** @param {string} query @returns {Promise<Row[]>} */
  async #loadRows(query) {
    const answer = await this.#json(`/rows?${query}`);
    this.#takeRows(answer.rows);
    return answer.rows;
  }

  /** @param {Row[]} rows */
  #takeRows(rows) {
    this.rows.add(rows);
    // Until the columns are here, the rows themselves say where they stand.
    if (this.#columnsFrom === 0 && this.skeleton.applyRows(rows)) this.#tell("columns");
    this.#tell("rows", rows);
  }

  /** @type {Set<number>} */
  #needed = new Set();
  #needTimer = 0;
  #fetching = false;

  /** Ask for rows that are in sight and not here. The latest wish counts: what was scrolled past is not fetched. @param {number[]} numbers */
  need(numbers) {
    this.#needed = new Set(numbers.filter((n) => !this.rows.get(n)));
    if (this.#needed.size > 0 && !this.#fetching && !this.#needTimer) {
      this.#needTimer = window.setTimeout(() => this.#fetchNeeded(), 0);
    }
  }

  async #fetchNeeded() {
    this.#needTimer = 0;
    const numbers = [...this.#needed].filter((n) => !this.rows.get(n));
    if (numbers.length === 0 || this.#stopped.signal.aborted) return;
    this.#fetching = true;
    try {
      await this.#loadRows(rowsQuery(numbers));
    } catch {
      // The api tells of a server that is gone; rows are asked for again with the next movement.
      this.#needed.clear();
    }
    this.#fetching = false;
    const left = [...this.#needed].filter((n) => !this.rows.get(n) && !numbers.includes(n));
    if (left.length > 0) this.need(left);
  }

  /** One row, fetched if it is not here. @param {number} n @returns {Promise<Row | undefined>} */
  async getRow(n) {
    return this.rows.get(n) ?? (await this.#loadRows(`at=${n}`)).find((row) => row.n === n);
  }

  /** Several rows, in the order asked for. @param {number[]} numbers @returns {Promise<(Row | undefined)[]>} */
  async getRows(numbers) {
    const missing = numbers.filter((n) => !this.rows.get(n));
    /** @type {Map<number, Row>} */
    const fetched = new Map();
    for (let at = 0; at < missing.length; at += 500) {
      for (const row of await this.#loadRows(rowsQuery(missing.slice(at, at + 500)))) fetched.set(row.n, row);
    }
    return numbers.map((n) => fetched.get(n) ?? this.rows.get(n));
  }

  /** One whole event, its integers exact. @param {number} n @returns {Promise<any>} */
  fetchEvent(n) {
    let event = this.#events.get(n);
    if (!event) {
      event = this.api.text(`${this.path}/events/${n}`, { signal: this.#stopped.signal }).then(parseJson);
      event.catch(() => this.#events.delete(n));
      this.#events.set(n, event);
      if (this.#events.size > EVENTS_KEPT)
        this.#events.delete(/** @type {number} */ (this.#events.keys().next().value));
    }
    return event;
  }

  /** Where the values of an event came from. @param {number} n @returns {Promise<import("../model/details/origins.js").Value[]>} */
  async fetchOrigins(n) {
    return (await this.#json(`/origins?n=${n}`)).values;
  }

  /** One event with what the log cut, from the run's tape. @param {number} n @returns {Promise<{event: any, whole: string[], problem: string | null}>} */
  async fetchWhole(n) {
    const answer = await this.api
      .text(`${this.path}/events/${n}/full`, { signal: this.#stopped.signal })
      .then(parseJson);
    if (answer.whole?.length > 0) this.#events.set(n, Promise.resolve(answer.event));
    return answer;
  }

  /** The number of an event that is known by its id, or by its number. @param {string} wanted @returns {Promise<number | null>} */
  async numberOf(wanted) {
    if (/^\d+$/.test(wanted)) return Number(wanted);
    const response = await this.api.request(`${this.path}/events/${encodeURIComponent(wanted)}`, {
      signal: this.#stopped.signal,
    });
    return Number(response.headers.get("X-Event-Number")) || null;
  }

  /** @param {string} q @param {AbortSignal} signal @returns {Promise<{total: number, numbers: number[], complete: boolean}>} */
  search(q, signal) {
    return this.api.json(`${this.path}/search?q=${encodeURIComponent(q)}&limit=10000`, { signal });
  }

  /** The report for an assistant, as Markdown. */
  report() {
    return this.api.text(`${this.path}/report`);
  }

  // Columns and summary

  async #loadColumns() {
    const began = performance.now();
    for (let asked = 0; ; asked += 1) {
      const response = await this.api.request(`${this.path}/skeleton?from=${this.#columnsFrom}`, {
        signal: this.#stopped.signal,
      });
      const types = JSON.parse(response.headers.get("X-Types") ?? "[]");
      const { complete, count } = this.skeleton.applyColumns(await response.arrayBuffer(), types);
      this.#columnsFrom = count;
      this.#tell("columns");
      if (complete) break;
      await pause(COLUMNS_SOON_MS[asked] ?? this.#columnsAgain(performance.now() - began), this.#stopped.signal);
    }
    this.complete = true;
    for (const resolve of this.#waitForAll.splice(0)) resolve(null);
    this.#tell("columns");
    this.#followWhileRunning();
    this.#loadFindings();
  }

  /**
   * How long to wait before the columns are asked for again: putting a long run in order takes the page's time, and the
   * reader waits for the end. So seldom while much is left, and often when it is near. @param {number} elapsed
   */
  #columnsAgain(elapsed) {
    if (!this.progress) return COLUMNS_AGAIN_MS.unknown;
    const left = (elapsed * (1 - this.progress)) / this.progress;
    return Math.min(COLUMNS_AGAIN_MS.most, Math.max(COLUMNS_AGAIN_MS.least, left / 3));
  }

  async #loadSummary() {
    for (let left = VERDICT_ROUNDS; ;) {
      const knowsAll = this.complete;
      const summary = await this.#json("/summary");
      this.#takeSummary(summary);
      // How a replay went is written when its program is over, a moment after its run.
      const isJudged = summary.run.replay?.mode !== "replay" || "equal" in summary.run.replay || left-- === 0;
      if (summary.complete && (isJudged || this.isRunning)) return;
      if (this.complete && !knowsAll) continue; // the server has read all of it meanwhile
      const moment = pause(SUMMARY_AGAIN_MS, this.#stopped.signal);
      await (this.complete ? moment : Promise.race([moment, new Promise((resolve) => this.#waitForAll.push(resolve))]));
    }
  }

  /** @param {Summary} summary */
  #takeSummary(summary) {
    this.summary = summary;
    this.#cameSummary();
    this.progress = summary.progress;
    this.#takeRun(summary.run);
    this.#tell("summary");
    this.#loadFindings();
  }

  /** @param {RunMeta} run */
  #takeRun(run) {
    const ended = this.isRunning && run.status !== "running";
    this.run = { ...this.run, ...run };
    this.skeleton.setRunning(run.status === "running");
    this.#tell("run");
    if (this.isRunning) this.#followWhileRunning();
    else if (ended) this.#settle();
  }

  /** The run is over: what was provisional (open calls, parents still to come) is read once more. */
  async #settle() {
    this.#live?.close();
    this.#live = null;
    this.#columnsFrom = 0;
    this.rows.clear();
    await Promise.allSettled([this.#loadColumns(), this.#loadSummary()]);
    this.#tell("ended");
  }

  /** Find the rounds of the loops that need someone. */
  async #loadFindings() {
    if (!this.complete || this.#findingsVersion === this.skeleton.version) return;
    this.#findingsVersion = this.skeleton.version;
    if (this.summary?.findings) {
      this.findings = this.summary.findings;
      this.#tell("findings");
      return;
    }
    const { skeleton } = this;
    const warnings = [];
    for (let n = 1; n <= skeleton.count && warnings.length < FINDINGS_SHOWN; n += 1)
      if (skeleton.isLoop(n)) warnings.push(n);
    if (warnings.length === 0) return;
    const found = await Promise.all(warnings.map((n) => this.#finding(n).catch(() => null)));
    this.findings = found.filter((finding) => finding !== null);
    this.#tell("findings");
  }

  /** @param {number} n @returns {Promise<Finding | null>} */
  async #finding(n) {
    const from = Math.max(1, n - AROUND_FINDING);
    const to = Math.min(this.skeleton.count, n + AROUND_FINDING);
    const [event, answer] = await Promise.all([
      this.fetchEvent(n),
      this.#json(`/rows?offset=${from - 1}&limit=${to - from + 1}`),
    ]);
    return findingOf({ n, payload: event.payload ?? {} }, answer.rows);
  }

  // While the run goes on

  #followWhileRunning() {
    if (!this.isRunning || !this.complete || this.#live || this.#stopped.signal.aborted) return;
    this.#live = new LiveSocket({
      url: () => this.api.socketUrl(`/ws/run/${this.runId}?rows=1&from=${this.skeleton.count}`),
      onMessage: (message) => this.#receive(message),
      // What changed between the last answer and this connection was told to nobody.
      onOpen: () => this.#refreshFrom(this.skeleton.count - RECENT),
      poll: async () => {
        const answer = await this.#json(`/rows?offset=${this.skeleton.count}&limit=500`);
        if (answer.rows.length > 0) this.#refreshFrom(this.skeleton.count - RECENT);
        this.#receive({ type: "rows", data: answer.rows });
        this.#receive({ type: "summary", data: await this.#json("/summary") });
      },
    });
  }

  /** @param {{type: string, data: any, changed?: any[]}} message */
  #receive(message) {
    if (message.type === "rows") this.#takeLive(message.data, message.changed ?? []);
    else if (message.type === "summary") this.#takeSummary(message.data);
    else if (message.type === "run") this.#takeRun(message.data);
  }

  /**
   * New rows, and earlier events whose place became known: a span is written after its children, a call after its start.
   * @param {Row[]} rows @param {{n: number, parent_n: number | null, status: number}[]} changed
   */
  #takeLive(rows, changed) {
    const before = this.skeleton.count;
    const fresh = rows.filter((row) => row.n > before);
    this.rows.add(rows);
    if (fresh.length > 0 && fresh[0].n > before + 1) this.#refreshFrom(before);
    else this.skeleton.applyRows(fresh);
    this.skeleton.applyChanges(changed);
    this.#columnsFrom = this.skeleton.count;
    this.#tell("columns");
    this.#tell("arrived", fresh);
  }

  #refreshTimer = 0;
  #refreshedFrom = Infinity;

  /** Read the columns again from an event on, soon and once for all who ask. @param {number} from */
  #refreshFrom(from) {
    this.#refreshedFrom = Math.min(this.#refreshedFrom, Math.max(0, from));
    if (this.#refreshTimer) return;
    this.#refreshTimer = window.setTimeout(async () => {
      this.#refreshTimer = 0;
      const start = this.#refreshedFrom;
      this.#refreshedFrom = Infinity;
      try {
        const response = await this.api.request(`${this.path}/skeleton?from=${start}`, {
          signal: this.#stopped.signal,
        });
        this.skeleton.applyColumns(await response.arrayBuffer(), JSON.parse(response.headers.get("X-Types") ?? "[]"));
        this.#tell("columns");
      } catch {
        // Gone or stopped: the parents stay as they were known.
      }
    }, 250);
  }

  /** When the server came back, take up where it left. */
  resume() {
    if (this.#stopped.signal.aborted) return;
    this.#columnsFrom = this.complete ? this.skeleton.count : 0;
    this.complete = false;
    if (!this.isReady) {
      this.start(this.#around).catch(() => {}); // it went while the first rows were on their way
      return;
    }
    Promise.allSettled([this.#loadColumns(), this.#loadSummary()]);
  }
}

/** @param {number} ms @param {AbortSignal} signal */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("stopped", "AbortError"));
    });
  });
}
