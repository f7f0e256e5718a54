// @ts-check
/** What is done with runs: open, rename, delete and bring back; and what happens when the server goes and returns. */

import { parseShown } from "../model/compare.js";
import { counted } from "../model/format.js";
import { nameOf } from "../model/runs.js";
import { EVERYTHING } from "../model/filters.js";
import { startClock } from "./clock.js";
import { painted } from "./dom.js";
import { embeddedRun } from "./embedded.js";
import { setPreference } from "./preferences.js";

/** @typedef {import("../model/address.js").Place} Place */

const WIDE = "(min-width: 1100px)";
const PHONE = "(max-width: 719.9px)";
const RETRY_MS = 2000;
const WHOLE_ID = 36;
const ONCE = { once: true };

export class RunActions {
  /** @param {import("./actions.js").Actions} actions */
  constructor(actions) {
    this.actions = actions;
    this.api = actions.api;
    this.runs = actions.runs;
    this.store = actions.store;
    this.screen = actions.screen;
    this.api.addEventListener("gone", () => this.#gone());
    this.api.addEventListener("back", () => this.#back());
  }

  get state() {
    return this.store.state;
  }

  /** A whole id for the first letters of one, as every command takes it. @param {string} id */
  async #wholeId(id) {
    const { runs } = await this.api.json(`/api/runs?q=${encodeURIComponent(id)}`).catch(() => ({ runs: [] }));
    const found = runs.filter((/** @type {{run_id: string}} */ run) => run.run_id.startsWith(id.toLowerCase()));
    return found.length === 1 ? found[0].run_id : id;
  }

  /** @param {Place} place */
  async start(place) {
    for (const key of /** @type {const} */ (["runId", "compare"])) {
      const id = place[key];
      if (id && id.length < WHOLE_ID && embeddedRun === null) place[key] = await this.#wholeId(id);
    }
    if (place.table) {
      this.store.set({ q: "" });
      this.actions.table.toggle(true, place.q);
    }
    const kept = place.runId && history.state?.runId === place.runId ? history.state : null;
    if (place.runId) this.actions.opener.open(place.runId, place.event, kept?.top);
    if (kept && !place.event) this.#takeUp(kept);
    if (place.runId && place.compare)
      this.actions.compare.open(place.runId, place.compare, { q: place.q, shown: parseShown(place.filter) });
    this.runs.addEventListener("change", () => {
      this.store.touch("runs");
      this.openLatest();
    });
    this.store.touch("rail");
    startClock(() => this.store.touch("clock"));
    try {
      if (place.runId) await painted(); // the reader waits for the rows of that run, not for the list of all
      await this.runs.load();
      this.api
        .json("/api/info")
        .then((info) => this.#takeInfo(info))
        .catch(() => {});
      if (embeddedRun === null) this.runs.follow();
    } catch {
      this.store.touch("gone");
    }
  }

  /** After a reload: the row that was selected, and where the list stood. @param {{selected: number, top: number}} kept */
  async #takeUp(kept) {
    const { data } = this.state;
    if (!data || !(kept.selected > 0 || kept.top > 0)) return;
    const reaches = () => data.skeleton.count >= kept.selected && this.screen.rows.height > kept.top;
    // Nothing can be scrolled to before it is drawn.
    while (!data.isReady || !(reaches() || data.complete))
      await new Promise((drawn) => {
        for (const name of ["ready", "columns"]) data.addEventListener(name, () => drawn(this.store.flush()), ONCE);
      });
    if (data !== this.state.data) return;
    if (kept.selected > 0 && kept.selected <= data.skeleton.count) this.actions.select(kept.selected);
    if (kept.top > 0) this.screen.rows.toTop(kept.top);
  }

  /** @param {{data_dir?: string}} info */
  #takeInfo(info) {
    if (info.data_dir) this.screen.empty.dataDir = info.data_dir;
    this.screen.empty.update();
  }

  /** Without a run in the address, a wide page opens the newest; a phone shows the runs. */
  openLatest() {
    if (
      this.actions.table.isOpen ||
      this.state.runId !== null ||
      this.runs.runs.length === 0 ||
      matchMedia(PHONE).matches
    )
      return;
    if (this.runs.q || this.runs.status) return;
    this.openRun(this.runs.runs[0].run_id, { replace: true });
  }

  /** @param {string} runId @param {{replace?: boolean, keepFocus?: boolean}} [options] */
  openRun(runId, { replace = false, keepFocus = false } = {}) {
    const narrow = !matchMedia(WIDE).matches;
    if (narrow && !keepFocus) this.store.set({ rail: false });
    if (runId === this.state.runId && !this.actions.compare.isOpen) return;
    this.actions.compare.stop();
    this.store.set({ filter: EVERYTHING, q: "" });
    this.actions.opener.open(runId, null);
    this.actions.address.remember({ replace });
    if (!keepFocus) this.screen.rows.focusRows();
  }

  closeRun() {
    this.actions.compare.stop();
    this.actions.opener.close();
    this.actions.address.remember();
  }

  /** @param {1 | -1} direction */
  stepRun(direction) {
    const runId = this.screen.rail.neighbour(direction);
    if (runId) this.openRun(runId);
  }

  findRun() {
    if (matchMedia(PHONE).matches) this.closeRun();
    else this.store.set({ rail: true });
    this.store.flush();
    this.screen.rail.focusField();
  }

  toggleRail() {
    this.store.set({ rail: !this.state.rail });
    if (matchMedia(WIDE).matches) setPreference("rail", this.state.rail ? "open" : "closed");
    if (this.state.rail) {
      this.store.flush();
      this.screen.rail.reveal();
      this.screen.rail.focusList();
    } else this.screen.rows.focusRows();
  }

  async renameRun() {
    const { data, runId } = this.state;
    if (!data || !runId) return;
    const name = await this.screen.verdict.rename();
    this.screen.rows.focusRows();
    if (name === null) return;
    try {
      await this.runs.rename(runId, name);
      if (data.run) data.run = { ...data.run, run_name: name };
      this.store.touch("run");
    } catch (problem) {
      this.screen.toasts.say(`The name could not be saved: ${/** @type {Error} */ (problem).message}`);
    }
  }

  /** Say of runs, or of the one that is open, whether they did their task. @param {"passed" | "failed" | ""} outcome @param {string[]} [ids] */
  async mark(outcome, ids = this.state.runId ? [this.state.runId] : []) {
    if (ids.length === 0) return;
    const which = ids.length === 1 ? "this run" : counted(ids.length, "run");
    const why = outcome === "failed" ? await this.screen.askWhy(`Mark ${which} as failed`, "Mark as failed") : "";
    if (why === null) return;
    const post = (/** @type {string} */ id) =>
      this.api.post(`/api/runs/${encodeURIComponent(id)}/mark`, { outcome, why }).then(
        () => 1,
        () => 0,
      );
    let done = 0;
    for (const id of ids) done += await post(id);
    const what = outcome ? `${counted(done, "run")} marked as ${outcome}.` : `${counted(done, "mark")} cleared.`;
    this.screen.toasts.say(done === ids.length ? what : `${what} ${ids.length - done} could not be changed.`);
    if (this.state.runId && ids.includes(this.state.runId)) this.state.data?.resume();
    await this.runs.load().catch(() => {});
  }

  /** @param {string | null} runId */
  async deleteRun(runId) {
    if (!runId) return;
    const run = this.runs.get(runId) ?? this.state.data?.run;
    const name = run ? nameOf(run) : "the run";
    const next = this.screen.rail.neighbour(1) ?? this.screen.rail.neighbour(-1);
    try {
      await this.runs.remove(runId);
    } catch (problem) {
      this.screen.toasts.say(`${name} could not be deleted: ${/** @type {Error} */ (problem).message}`);
      return;
    }
    if (runId === this.state.runId) {
      if (next && next !== runId) this.openRun(next, { replace: true, keepFocus: true });
      else {
        this.actions.opener.close();
        this.actions.address.remember({ replace: true });
      }
    }
    this.screen.toasts.say(`Deleted ${name}.`, {
      label: "Undo",
      run: async () => {
        try {
          await this.runs.restore(runId);
          this.openRun(runId);
        } catch (problem) {
          this.screen.toasts.say(`${name} could not be brought back: ${/** @type {Error} */ (problem).message}`);
        }
      },
    });
  }

  /** All events as JSON. */
  async saveRun() {
    const { data } = this.state;
    if (!data) return;
    const path = `${data.path}/events`;
    this.#save(
      embeddedRun === null ? path : URL.createObjectURL(await (await this.api.request(path)).blob()),
      `${data.runId}.json`,
    );
  }

  /** The run and this page in one file. */
  savePage() {
    const { data } = this.state;
    if (data) this.#save(`${data.path}/html`, `${data.runId}.html`);
  }

  /** @param {string} href @param {string} name */
  #save(href, name) {
    const link = document.createElement("a");
    link.href = href;
    link.download = name;
    link.click();
  }

  #retryTimer = 0;

  #gone() {
    this.store.touch("gone");
    if (!this.#retryTimer) this.#retryTimer = window.setInterval(() => this.retry(), RETRY_MS);
  }

  #back() {
    clearInterval(this.#retryTimer);
    this.#retryTimer = 0;
    this.store.touch("gone");
    this.runs.load().catch(() => {});
    this.state.data?.resume();
  }

  retry() {
    this.api.json("/api/runs?limit=1").catch(() => {});
  }
}
