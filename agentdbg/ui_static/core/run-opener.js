// @ts-check
/** Opens one run at a time: its data, its timeline, the event the address names, and its search. */

import { Timeline } from "../model/timeline.js";
import { KIND } from "../model/skeleton.js";
import { ApiError } from "./api.js";
import { RunData } from "./run-data.js";

const RESEARCH_MS = 600;

export class RunOpener {
  /** @param {import("./actions.js").Actions} actions */
  constructor(actions) {
    this.actions = actions;
  }

  #searching = new AbortController();
  #again = 0;

  get #store() {
    return this.actions.store;
  }

  /** @param {string} runId @param {string | null} event the number or the id of an event to open @param {number} [top] where the list stood */
  open(runId, event, top = 0) {
    this.#store.state.data?.stop();
    const data = new RunData(this.actions.api, runId);
    data.run = this.actions.runs.get(runId) ?? null;
    const timeline = new Timeline(data.skeleton);
    const number = event && /^\d+$/.test(event) ? Number(event) : 1;
    this.#store.set({
      runId,
      data,
      timeline,
      selected: 0,
      opened: new Set(),
      sideOpen: 0,
      follow: false,
      unseen: 0,
      zoom: null,
      refusal: null,
      isSearching: false,
    });
    this.#listen(data);
    data.start(number).catch((problem) => this.#refused(data, problem));
    if (event) this.#openWhenThere(data, event, top);
    if (this.#store.state.q) this.search();
  }

  close() {
    this.#store.state.data?.stop();
    this.#store.set({
      runId: null,
      data: null,
      timeline: null,
      selected: 0,
      opened: new Set(),
      sideOpen: 0,
      follow: false,
      refusal: null,
    });
  }

  /** @param {RunData} data */
  #listen(data) {
    const touch = (/** @type {string} */ name) => data === this.#store.state.data && this.#store.touch(name);
    for (const name of ["rows", "columns", "summary", "findings"]) data.addEventListener(name, () => touch(name));
    data.addEventListener("run", () => {
      touch("run");
      if (data.run) this.actions.runs.update(data.run);
    });
    // The first rows wait for no frame: there is nothing yet that a second drawing could spare.
    data.addEventListener("ready", () => data === this.#store.state.data && this.#store.flush());
    data.addEventListener("arrived", (event) => this.#arrived(data, /** @type {CustomEvent} */ (event).detail));
    data.addEventListener("ended", () => {
      this.#store.set({ follow: false, unseen: 0 });
      this.actions.screen.announce(data.run?.status === "ok" ? "The run has finished." : "The run has failed.");
    });
  }

  /** @param {RunData} data @param {import("../model/types.js").Row[]} rows */
  #arrived(data, rows) {
    const state = this.#store.state;
    if (data !== state.data) return;
    const shown = rows.filter((row) => data.skeleton.isShown(row.n));
    this.actions.screen.rows.markArrived(shown.map((row) => row.n));
    this.#store.set({
      unseen: state.follow ? 0 : state.unseen + shown.filter((row) => row.kind !== "call_start").length,
    });
    const failed = shown.filter(
      (row) => data.skeleton.isFailure(row.n) && data.skeleton.kind[row.n] !== KIND.CALL_START,
    );
    if (failed.length > 0) this.actions.screen.announce(`${failed[0].name} failed.`);
    if (state.q && !this.#again) {
      this.#again = window.setTimeout(() => {
        this.#again = 0;
        this.search();
      }, RESEARCH_MS);
    }
  }

  /** @param {RunData} data @param {unknown} problem */
  #refused(data, problem) {
    if (data !== this.#store.state.data || !(problem instanceof ApiError)) return;
    this.#store.set({ refusal: problem.message });
  }

  /** @param {RunData} data @param {string} event @param {number} top */
  async #openWhenThere(data, event, top) {
    const n = await data.numberOf(event).catch(() => null);
    if (n === null || data !== this.#store.state.data) return;
    // Beyond what the first rows brought, the columns must have come first; and nothing can be scrolled to before it is drawn.
    while ((data.skeleton.count < n && !data.complete) || !data.isReady)
      await new Promise((resolve) => data.addEventListener("columns", resolve, { once: true }));
    if (data !== this.#store.state.data || n > data.skeleton.count) return;
    this.#show(n);
    if (top > 0) this.actions.screen.rows.toTop(top);
  }

  /** @param {string} event the number or id of an event of the open run */
  async openEvent(event) {
    const { data } = this.#store.state;
    const n = data ? await data.numberOf(event).catch(() => null) : null;
    if (n !== null) this.#show(n);
  }

  /** @param {number} n */
  #show(n) {
    const { side, opened, data } = this.#store.state;
    if (!data?.skeleton.isShown(n)) return;
    if (side) this.#store.set({ sideOpen: n });
    else if (!opened.has(n)) this.#store.set({ opened: new Set([...opened, n]) });
    this.#store.touch("columns");
    this.#store.flush();
    this.actions.jump(n);
  }

  /** Ask for what the state's query finds. */
  async search() {
    const { data, timeline, q } = this.#store.state;
    this.#searching.abort();
    this.#searching = new AbortController();
    const { signal } = this.#searching;
    if (!data || !timeline) return;
    if (!q) {
      timeline.found = null;
      this.#store.set({ isSearching: false });
      this.#store.touch("found");
      return;
    }
    this.#store.set({ isSearching: true });
    try {
      const found = await data.search(q, signal);
      timeline.found = { q, ...found };
      this.#store.set({ isSearching: false });
      this.#store.touch("found");
      if (!found.complete)
        this.#again ||= window.setTimeout(() => {
          this.#again = 0;
          this.search();
        }, RESEARCH_MS);
    } catch {
      if (!signal.aborted) this.#store.set({ isSearching: false });
    }
  }
}
