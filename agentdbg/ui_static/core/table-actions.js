// @ts-check
/** What is done in the table of all runs: find, open, compare, share, delete and bring back. */

import { counted } from "../model/format.js";

const MOST = 10_000;

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
    this.#view.focusField();
    await this.#load();
  }

  /** @param {string} q */
  find(q) {
    this.store.set({ table: q });
    this.actions.address.remember({ replace: true });
    return this.#load();
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
    Object.assign(view, { runs: answer.runs, total: answer.total, query: q, advice: answer.advice ?? null });
    view.all = q ? Math.max(view.all, answer.total, this.actions.runs.counts.all ?? 0) : answer.total;
    view.update();
  }

  /** @param {string} runId */
  open(runId) {
    this.store.set({ table: null });
    this.actions.runActions.openRun(runId);
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
