// @ts-check
/** What is done in the table of all runs: find, open, compare, share, delete and bring back. */

import { EVERYTHING } from "../model/filters.js";
import { counted, formatCount } from "../model/format.js";
import { SteadyHeadlines } from "../model/steady.js";

const MOST = 10_000;
const MOST_INSIDE = 1_000;
const PAUSE_MS = 250;
/** @typedef {{runs: import("../model/types.js").RunMeta[], at: Record<string, number>, words: string}} Inside */
/** @type {Readonly<Inside>} */
const NOTHING_INSIDE = { runs: [], at: {}, words: "" };

export class TableActions {
  /** @param {import("./actions.js").Actions} actions */
  constructor(actions) {
    this.actions = actions;
    this.api = actions.api;
    this.store = actions.store;
    this.screen = actions.screen;
    actions.runs.addEventListener("change", () => this.isOpen && this.#loadSoon());
  }

  #request = 0;
  #timer = 0;

  get isOpen() {
    return this.store.state.table !== null;
  }

  get #view() {
    return this.screen.table;
  }

  /** @param {boolean} [on] @param {string} [q] */
  async toggle(on = !this.isOpen, q = "") {
    if (on === this.isOpen) return;
    this.store.set({ table: on ? q : null });
    this.store.flush();
    this.actions.address.remember();
    if (!on) {
      this.screen.rows.focusRows();
      return;
    }
    await this.screen.loadTable();
    this.#view.query = q;
    this.#view.opened();
    this.#inside = NOTHING_INSIDE;
    await this.#load();
    await this.#lookInside(q);
  }

  /** @param {string} q */
  async find(q) {
    this.store.set({ table: q });
    this.actions.address.remember({ replace: true });
    this.#inside = NOTHING_INSIDE;
    await this.#load();
    await this.#lookInside(q);
  }

  /** What was found in the events of runs; kept while runs come and go. @type {Inside} */
  #inside = NOTHING_INSIDE;

  /** Words that a run's own line does not hold may stand in its events: some runs are looked through at a time. @param {string} q */
  async #lookInside(q) {
    const isWanted = () => this.isOpen && this.store.state.table === q;
    await new Promise((done) => setTimeout(done, PAUSE_MS));
    /** @type {Inside} */
    const inside = { runs: [], at: {}, words: "" };
    this.#inside = inside;
    for (let offset = 0; q.trim() !== "" && isWanted() && this.#inside === inside;) {
      const query = new URLSearchParams({ q, offset: String(offset) });
      const answer = await this.api.json(`/api/find?${query}`).catch(() => null);
      if (!answer || !isWanted() || this.#inside !== inside) return;
      inside.runs.push(...answer.runs);
      Object.assign(inside.at, answer.at);
      const isDone = answer.next === null || inside.runs.length >= MOST_INSIDE;
      inside.words = isDone ? "" : `looking inside: ${formatCount(answer.searched)} of ${formatCount(answer.total)}`;
      this.#show();
      if (isDone) return;
      offset = answer.next;
    }
  }

  /** @type {{runs: any[], total: number, advice: string | null} | null} until the first answer nothing is known */
  #listed = null;
  #headlines = new SteadyHeadlines();

  #show() {
    const view = this.#view;
    if (!view || this.#listed === null) return;
    const { runs, total, advice } = this.#listed;
    const known = new Set(runs.map((run) => run.run_id));
    const more = this.#inside.runs.filter((run) => !known.has(run.run_id));
    const all = [...runs, ...more].sort((a, b) => (a.started_at < b.started_at ? 1 : -1));
    const shown = this.#headlines.settle(more.length > 0 ? all : runs, performance.now());
    Object.assign(view, { runs: shown, total: total + more.length, advice });
    Object.assign(view, { isLoaded: true, inside: this.#inside.at, looking: this.#inside.words });
    view.update();
  }

  #loadSoon() {
    if (this.#timer) return;
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      if (this.isOpen) this.#load();
    }, 1000);
  }

  async #load() {
    const q = this.store.state.table ?? "";
    const request = (this.#request += 1);
    const query = new URLSearchParams({ limit: String(MOST), ...(q ? { q } : {}) });
    const answer = await this.api.json(`/api/runs?${query}`).catch(() => null);
    const view = this.#view;
    if (!answer || !view || request !== this.#request) return;
    this.#listed = { runs: answer.runs, total: answer.total, advice: answer.advice ?? null };
    view.query = q;
    view.all = q ? Math.max(view.all, answer.total, this.actions.runs.counts.all ?? 0) : answer.total;
    this.#show();
  }

  /** @param {string} runId @param {string} [event] where in it the words were found */
  open(runId, event) {
    this.store.set({ table: null });
    if (event) {
      this.actions.compare.stop();
      this.store.set({ filter: EVERYTHING, q: "" });
      this.actions.opener.open(runId, event);
    } else this.actions.runActions.openRun(runId);
    this.store.flush();
    this.actions.address.remember();
    this.screen.rows.focusRows();
  }

  /** @param {string} a @param {string} b */
  compare(a, b) {
    this.store.set({ table: null });
    this.actions.runActions.openRun(a);
    this.actions.compare.open(a, b, {});
    this.actions.address.remember();
  }

  /** One file per run. @param {string[]} ids */
  share(ids) {
    for (const id of ids.slice(0, 20)) {
      const link = document.createElement("a");
      link.href = `/api/runs/${encodeURIComponent(id)}/html`;
      link.download = "";
      link.click();
    }
    if (ids.length > 20) this.screen.toasts.say("The first 20 are being saved; choose fewer to save the others.");
  }

  /** @param {string[]} ids */
  async remove(ids) {
    /** @type {string[]} */
    const done = [];
    for (const id of ids) {
      const isGone = await this.api.delete(`/api/runs/${encodeURIComponent(id)}`).then(
        () => true,
        () => false,
      );
      if (isGone) done.push(id);
    }
    this.#view?.clear();
    await this.#load();
    this.actions.runs.load().catch(() => {});
    this.screen.toasts.say(`Deleted ${counted(done.length, "run")}.`, {
      label: "Undo",
      run: async () => {
        for (const id of done) await this.api.post(`/api/runs/${encodeURIComponent(id)}/restore`).catch(() => {});
        await this.#load();
        this.actions.runs.load().catch(() => {});
      },
    });
  }

  /** Undo a layer: what is chosen, then the table. */
  escape() {
    if (!this.#view?.clear()) this.toggle(false);
  }
}
