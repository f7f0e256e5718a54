// @ts-check
/** What is done with two runs: choose them, compare them, and walk through what differs. */

import { nameOf, startOf } from "../model/runs.js";
import { CompareData } from "./compare-data.js";

/** @typedef {import("../model/compare.js").Comparison} Comparison */

export class CompareActions {
  /** @param {import("./actions.js").Actions} actions */
  constructor(actions) {
    this.actions = actions;
  }

  get #store() {
    return this.actions.store;
  }

  get #state() {
    return this.actions.store.state;
  }

  get isOpen() {
    return this.#state.compare !== null;
  }

  get isPicking() {
    return this.#state.picking !== null;
  }

  /** @returns {import("../views/compare/run-compare.js").RunCompare} */
  get #view() {
    return this.actions.screen.compare;
  }

  /** @returns {Comparison | null} */
  get #comparison() {
    return this.#state.compared?.comparison ?? null;
  }

  // Choosing

  /** Let the reader choose the other run from the list. */
  pick() {
    const { runId } = this.#state;
    if (runId === null) return;
    this.#store.set({ picking: runId, candidate: runId, rail: true });
    this.#store.flush();
    this.actions.screen.rail.reveal();
    this.actions.screen.rail.focusList();
  }

  cancelPick() {
    this.#store.set({ picking: null, candidate: null });
    this.#store.flush();
    if (this.isOpen) this.#view.rows.focusRows();
    else this.actions.screen.rows.focusRows();
  }

  /** The older run is A, so that the comparison reads as what changed since. @param {string} runId @param {{keepFocus?: boolean}} [options] `keepFocus`: go on choosing */
  choose(runId, { keepFocus = false } = {}) {
    const picking = /** @type {string} */ (this.#state.picking);
    this.#store.set({ candidate: runId });
    if (!keepFocus) this.#store.set({ picking: null, candidate: null });
    if (runId === picking) return;
    const known = [...this.actions.runs.runs, this.#state.data?.run];
    const started = (/** @type {string} */ id) => {
      const run = known.find((one) => one?.run_id === id);
      return run ? startOf(run) : 0;
    };
    const [a, b] = started(runId) <= started(picking) ? [runId, picking] : [picking, runId];
    this.open(a, b);
    if (!keepFocus && !matchMedia("(min-width: 1100px)").matches) this.#store.set({ rail: false });
    this.actions.address.remember({ replace: keepFocus });
  }

  /** @param {string} a @param {string} b @param {{q?: string, shown?: import("../model/compare.js").Shown}} [options] `q`: what to search for in both */
  open(a, b, { q = "", shown = "all" } = {}) {
    this.#state.compared?.stop();
    if (this.#state.runId !== a) this.actions.opener.open(a, null);
    const compared = new CompareData(this.actions.api, a, b);
    Object.assign(compared, { q, asked: shown });
    this.#store.set({ compare: b, compared });
    for (const what of ["loaded", "failed", "rows", "found"])
      compared.addEventListener(what, () => this.#came(compared, what));
    compared.load();
  }

  /** @param {CompareData} compared @param {string} what */
  #came(compared, what) {
    if (compared !== this.#state.compared) return;
    this.#store.touch("comparing");
    if (what === "rows" || what === "found" || this.isPicking) return;
    this.#store.flush();
    this.#view.rows?.focusRows();
  }

  close() {
    this.stop();
    this.actions.address.remember();
    this.#store.flush();
    this.actions.screen.rows.focusRows();
  }

  /** Leave the comparison for what comes instead of it. */
  stop() {
    this.#state.compared?.stop();
    this.#store.set({ compare: null, compared: null, picking: null, candidate: null });
  }

  swap() {
    const { runId, compare } = this.#state;
    if (runId === null || compare === null) return;
    this.open(compare, runId, { q: this.#state.compared?.q, shown: this.#state.compared?.shown });
    this.actions.address.remember({ replace: true });
  }

  /** From a row to the event itself. @param {string} runId @param {string} event */
  openEvent(runId, event) {
    this.stop();
    this.actions.opener.open(runId, event);
    this.actions.address.remember();
  }

  // Walking through it

  /** @param {number} row */
  #select(row) {
    const comparison = this.#comparison;
    if (!comparison || row < 0 || row >= comparison.length) return;
    comparison.reveal(row);
    this.actions.address.remember({ replace: true }); // a row that the filter hid has brought all of them back
    this.#view.rows.selected = row;
    this.#view.update();
    this.#view.rows.reveal(row);
  }

  /** To the next match while something is searched for, else to the next change. @param {1 | -1} direction */
  step(direction) {
    if (this.#state.compared?.q) this.stepMatch(direction);
    else this.stepChange(direction);
  }

  /** @param {1 | -1} direction */
  stepMatch(direction) {
    const row = this.#comparison?.nextMatch(this.#view.rows.selected, direction) ?? -1;
    if (row >= 0) this.#select(row);
  }

  /** @param {1 | -1} direction */
  stepChange(direction) {
    const comparison = this.#comparison;
    if (!comparison) return;
    const from = this.#view.rows.selected;
    // The first step goes to where the runs part, and says so; the others go through the changes in their order.
    const first = from < 0 && direction === 1 && comparison.isChange(comparison.first) ? comparison.first : -1;
    const row =
      first >= 0 ? first : comparison.nextChange(from < 0 && direction === -1 ? comparison.length : from, direction);
    if (row < 0)
      this.actions.screen.toasts.say(
        comparison.changes === 0 ? "Nothing changed but words." : "No more changes this way.",
      );
    else this.#select(row);
    this.#view.rows.focusRows();
  }

  /** By lines drawn, over folds. @param {number} by */
  move(by) {
    const comparison = this.#comparison;
    if (!comparison) return;
    const { lines } = comparison;
    const direction = Math.sign(by);
    const { selected } = this.#view.rows;
    let place = selected < 0 ? (direction > 0 ? -1 : lines.length) : comparison.placeOf(selected);
    place = Math.max(0, Math.min(lines.length - 1, place + by));
    while (place >= 0 && place < lines.length && lines[place] < 0) place += direction;
    if (lines[place] >= 0) this.#select(lines[place]);
  }

  /** @param {1 | -1} direction */
  movePage(direction) {
    this.move(direction * this.#view.rows.page);
  }

  /** @param {"first" | "last"} end */
  moveTo(end) {
    const lines = [...(this.#comparison?.lines ?? [])].filter((line) => line >= 0);
    if (lines.length > 0) this.#select(/** @type {number} */ (lines.at(end === "first" ? 0 : -1)));
  }

  /** @param {number} [row] */
  toggle(row = this.#view.rows.selected) {
    if (row < 0) return;
    this.#view.rows.opened = this.#view.rows.opened === row ? -1 : row;
    this.#select(row);
    this.#view.rows.focusRows();
  }

  /** @param {import("../model/compare.js").Shown} shown */
  show(shown) {
    // What is still being compared is shown that way when it is there.
    if (this.#state.compared) this.#state.compared.asked = shown;
    this.#comparison?.show(shown);
    this.actions.address.remember({ replace: true });
    this.#view.update();
    this.#view.rows.reveal(this.#view.rows.selected);
  }

  /** @param {number} first */
  unfold(first) {
    this.#comparison?.unfold(first);
    this.#view.update();
    this.#view.rows.focusRows();
  }

  /** @param {"a" | "b"} side @param {number} n */
  jump(side, n) {
    this.#select(this.#comparison?.rowOf(side, n) ?? -1);
    this.#view.rows.focusRows();
  }

  /** Search both runs. @param {string} q @param {{step?: boolean}} [options] `step`: go to the first match when it is found */
  search(q, { step = false } = {}) {
    const { compared } = this.#state;
    compared?.search(q.trim() === "" ? "" : q).then(() => step && this.stepMatch(1));
    this.actions.address.remember({ replace: true });
  }

  focusSearch() {
    this.#view.focusSearch?.();
  }

  leaveField() {
    this.#view.rows.focusRows();
  }

  escape() {
    const { rows } = this.#view;
    if (this.isPicking) this.cancelPick();
    else if (rows?.opened >= 0) this.toggle(rows.opened);
    else if (this.#state.compared?.q) this.search("");
    else if (this.#state.compared && this.#state.compared.shown !== "all") this.show("all");
    else this.close();
  }

  /** What the rail says while the reader chooses. */
  get picking() {
    const { picking } = this.#state;
    const run = picking === null ? null : (this.actions.runs.get(picking) ?? this.#state.data?.run ?? null);
    return run ? nameOf(run) : picking;
  }
}
