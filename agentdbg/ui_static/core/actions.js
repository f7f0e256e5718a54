// @ts-check
/** What each intent of the reader does with the open run, whether it came from a key, a click or the address. */

import { EVERYTHING, isEverything, toggleChip } from "../model/filters.js";
import { formatDuration } from "../model/format.js";
import { nextWhere } from "../model/search.js";
import { KIND } from "../model/skeleton.js";
import { suspectsOf } from "../model/suspects.js";
import { zoomTo } from "../model/time-axis.js";
import { AddressBar } from "./address-bar.js";
import { CompareActions } from "./compare-actions.js";
import { Copying } from "./copying.js";
import { wantTab } from "./details-loader.js";
import { preference, setPreference } from "./preferences.js";
import { RunActions } from "./run-actions.js";
import { RunOpener } from "./run-opener.js";
import { TableActions } from "./table-actions.js";
import { placeOf } from "../model/pauses.js";

/** @typedef {import("../app.js").State} State */

/** Of a longer run, the first so many model calls are put in the order of their cost. */
const MOST_COSTS = 10_000;
const SIDE_FROM = "(min-width: 720px)";

export class Actions {
  /**
   * @param {object} parts
   * @param {import("./api.js").Api} parts.api
   * @param {import("./runs-data.js").RunsData} parts.runs
   * @param {import("./store.js").Store<State>} parts.store
   * @param {import("../views/screen.js").Screen} parts.screen
   */
  constructor({ api, runs, store, screen }) {
    this.api = api;
    this.runs = runs;
    this.store = store;
    this.screen = screen;
    this.opener = new RunOpener(this);
    this.address = new AddressBar(this);
    this.copying = new Copying(this);
    this.compare = new CompareActions(this);
    this.runActions = new RunActions(this);
    this.table = new TableActions(this);
  }

  get state() {
    return this.store.state;
  }

  // Selecting and opening

  /** @param {number} place */
  #selectPlace(place) {
    const { timeline } = this.state;
    if (!timeline || timeline.length === 0) return;
    const n = timeline.numbers[Math.max(0, Math.min(timeline.length - 1, place))];
    this.select(n);
  }

  /** @param {number} n @param {"nearest" | "before"} [where] */
  select(n, where = "nearest") {
    this.store.set({ selected: n });
    if (this.state.side && this.state.sideOpen > 0) this.store.set({ sideOpen: n });
    this.store.flush();
    this.screen.rows.reveal(n, where);
    this.address.remember({ replace: true });
  }

  /** @param {1 | -1} direction */
  move(direction) {
    const { timeline, selected } = this.state;
    const place = timeline?.placeOf(selected) ?? -1;
    if (place < 0) this.#selectPlace(this.screen.rows.firstInSight);
    else this.#selectPlace(place + direction);
  }

  /** @param {1 | -1} direction */
  movePage(direction) {
    const place = this.state.timeline?.placeOf(this.state.selected) ?? -1;
    this.#selectPlace((place < 0 ? this.screen.rows.firstInSight : place) + direction * this.screen.rows.page);
  }

  /** @param {"first" | "last"} end */
  moveTo(end) {
    const { timeline } = this.state;
    if (!timeline) return;
    this.#selectPlace(end === "first" ? 0 : timeline.length - 1);
    if (end === "first") return;
    this.store.set({ unseen: 0 });
    this.#goOnToLast();
  }

  /** More of a long run may be on its way: who asked for its end and has not moved since is taken there. */
  #goOnToLast() {
    const { data, selected } = this.state;
    if (!data || data.complete) return;
    const inSight = this.screen.rows.firstInSight;
    data.addEventListener(
      "columns",
      () => {
        this.store.flush();
        const hasMoved =
          data !== this.state.data || selected !== this.state.selected || inSight !== this.screen.rows.firstInSight;
        if (!hasMoved) this.moveTo("last");
      },
      { once: true },
    );
  }

  toggleSelected() {
    if (this.state.selected > 0) this.toggle(this.state.selected);
    else this.move(1);
  }

  /** Open an event, or close it. @param {number} n */
  toggle(n) {
    const { opened, side, sideOpen } = this.state;
    this.screen.rows.focusRows();
    if (side && matchMedia(SIDE_FROM).matches) {
      this.store.set({ selected: n, sideOpen: sideOpen === n ? 0 : n });
      this.address.remember();
      return;
    }
    const after = new Set(opened);
    if (!after.delete(n)) after.add(n);
    this.store.set({ selected: n, opened: after });
    this.store.flush();
    if (after.has(n)) this.screen.rows.reveal(n);
    this.address.remember();
  }

  /** Texts as they were meant, or as they were sent. */
  toggleFormat() {
    const open = /** @type {any} */ (document.querySelector("event-details"));
    open?.setMode(preference("format", "formatted") === "raw");
  }

  /** From in place to the side, and back. */
  toggleSide() {
    const { side, selected, sideOpen } = this.state;
    if (!matchMedia(SIDE_FROM).matches) return;
    if (side) this.#setSide(false, sideOpen || selected);
    else this.#setSide(true, selected);
  }

  /** @param {boolean} side @param {number} n */
  #setSide(side, n) {
    setPreference("side", side ? "on" : "off");
    const opened = new Set(side ? [] : n > 0 ? [n] : []);
    this.store.set({ side, sideOpen: side ? n : 0, opened, selected: n || this.state.selected });
    this.store.flush();
    if (n > 0) this.screen.rows.reveal(n);
    this.address.remember({ replace: true });
  }

  /** @param {"side" | "inline"} to @param {Element} from */
  moveDetails(to, from) {
    const n =
      Number(/** @type {HTMLElement | null} */ (from.closest(".body"))?.dataset.n) ||
      this.state.sideOpen ||
      this.state.selected;
    this.#setSide(to === "side", n);
  }

  /** Show an event wherever it is: unfolded, unfiltered if need be, with a little of what led to it above. @param {number} n */
  jump(n) {
    const { timeline } = this.state;
    if (!timeline) return;
    timeline.reveal(n);
    if (timeline.placeOf(n) < 0 && n <= timeline.skeleton.count) this.store.set({ filter: EVERYTHING });
    this.store.touch("columns");
    this.store.flush();
    this.select(n, "before");
    this.screen.rows.focusRows();
  }

  /** Open another event in the place of the open one, with a tab of its own. @param {number} n @param {string} tab */
  openTab(n, tab) {
    wantTab(tab);
    const { side } = this.state;
    this.store.set(side ? { sideOpen: n } : { opened: new Set([n]) });
    this.jump(n);
    this.address.remember();
  }

  /** @param {number} at ms since the run started */
  jumpToTime(at) {
    const { timeline } = this.state;
    if (!timeline || timeline.length === 0) return;
    const { skeleton, numbers } = timeline;
    let best = numbers[0];
    let nearest = Infinity;
    for (const n of numbers) {
      const distance = at < skeleton.start[n] ? skeleton.start[n] - at : Math.max(0, at - skeleton.endOf(n));
      // Among those that cover the moment, the shortest says most precisely what went on.
      const length = (skeleton.durationOf(n) ?? 0) / 1e9;
      if (distance + length < nearest) [best, nearest] = [n, distance + length];
    }
    this.jump(best);
  }

  // Stepping

  /** Move the cursor of time. @param {{by?: number, to?: "first" | "last", n?: number}} where */
  travel({ by, to, n }) {
    if (to) this.moveTo(to);
    else if (n) this.select(n);
    else if (by) this.move(by > 0 ? 1 : -1);
  }

  /** The next step that changed the state. @param {1 | -1} direction */
  travelToState(direction) {
    const { skeleton } = this.state.timeline ?? {};
    this.#step(direction, (n) => skeleton?.kind[n] === KIND.STATE, "No other state was recorded.");
  }

  /** @param {1 | -1} direction @param {(n: number) => boolean} test @param {string} nothing */
  #step(direction, test, nothing) {
    const { timeline, selected } = this.state;
    if (!timeline) return;
    const place = nextWhere(timeline.numbers, timeline.placeOf(selected), direction, test);
    if (place < 0) this.screen.toasts.say(nothing);
    else this.select(timeline.numbers[place], "before");
  }

  /** @param {1 | -1} direction */
  stepError(direction) {
    this.#step(
      direction,
      (n) => this.state.timeline?.skeleton.isFailure(n) ?? false,
      "Nothing failed among these events.",
    );
  }

  /** @param {1 | -1} direction */
  stepLoop(direction) {
    const skeleton = this.state.timeline?.skeleton;
    this.#step(direction, (n) => skeleton?.typeOf(n) === "LOOP_WARNING", "No loop was found among these events.");
  }

  /** @param {1 | -1} direction */
  stepMatch(direction) {
    const { timeline, selected } = this.state;
    const place = timeline?.matches?.step(timeline.placeOf(selected), direction) ?? -1;
    if (timeline && place >= 0) this.select(timeline.numbers[place], "before");
  }

  /** The slowest call, then the next slowest. @param {1 | -1} direction */
  stepSlowest(direction) {
    const { timeline, selected } = this.state;
    const slowest = timeline?.slowest ?? [];
    if (slowest.length === 0) {
      this.screen.toasts.say("None of these events took any time.");
      return;
    }
    const place = slowest.indexOf(selected);
    const next = place < 0 ? 0 : (place + direction + slowest.length) % slowest.length;
    this.jump(slowest[next]);
    const rank = next === 0 ? "Slowest call" : `Slowest call but ${next}`;
    this.screen.announce(`${rank}: ${formatDuration(timeline?.skeleton.durationOf(slowest[next]))}`);
  }

  /** Whatever needs someone: suspects first in their order, else failures, loops and what a rule found. @param {1 | -1} direction */
  stepProblem(direction) {
    const { timeline, data, selected } = this.state;
    const suspects = suspectsOf(data?.summary).map((suspect) => suspect.n);
    if (suspects.length > 0) {
      const place = suspects.indexOf(selected);
      const next =
        place < 0 ? (direction > 0 ? 0 : suspects.length - 1) : (place + direction + suspects.length) % suspects.length;
      this.jump(suspects[next]);
      return;
    }
    const found = new Set((data?.summary?.verdict.lines ?? []).map((line) => line.n));
    const { skeleton } = timeline ?? {};
    this.#step(
      direction,
      (n) => (skeleton?.isFailure(n) || skeleton?.isLoop(n) || found.has(n)) ?? false,
      "No problem was found among these events.",
    );
  }

  // What is shown

  /** Largest first, then smallest first, then as the run went. @param {import("../model/address.js").Sort["by"] | null} by */
  async sort(by) {
    const { sort, data, timeline } = this.state;
    const isOn = sort !== null && sort.by === by;
    this.store.set({ sort: by === null || (isOn && !sort.descending) ? null : { by, descending: !isOn } });
    if (by === "cost" && data && timeline && this.state.sort !== null) await this.#learnCosts(data, timeline);
    this.store.touch("columns");
    this.store.flush();
    if (by !== null) this.screen.rows.toTop();
    this.address.remember({ replace: true });
  }

  /** Costs stand in the rows' words, so those are fetched once. @param {import("./run-data.js").RunData} data @param {import("../model/timeline.js").Timeline} timeline */
  async #learnCosts(data, timeline) {
    const calls = Array.from(timeline.numbers).filter((n) => timeline.skeleton.kind[n] === KIND.LLM);
    const rows = await data.getRows(calls.filter((n) => !timeline.costs.has(n)).slice(0, MOST_COSTS)).catch(() => []);
    timeline.learnCosts(rows.flatMap((row) => (row ? [row] : [])));
  }

  /** @param {boolean} folds */
  foldTime(folds) {
    setPreference("scale", folds ? "folded" : "linear");
    this.store.set({ folds });
  }

  /** @param {import("../model/address.js").View} view */
  view(view) {
    this.store.set({ view });
    if (view === "travel" && this.state.selected === 0) this.move(1);
    this.store.flush();
    this.address.remember();
  }

  /** @param {string} chip */
  filter(chip) {
    this.store.set({ filter: toggleChip(this.state.filter, chip) });
    this.store.flush();
    this.address.remember({ replace: true });
  }

  /** Everything that a filter or a fold hides. */
  showHidden() {
    this.state.timeline?.unfoldAll();
    this.store.touch("columns");
    this.filter("all");
  }

  /** @param {number} n */
  fold(n) {
    const { timeline } = this.state;
    if (!timeline) return;
    timeline.setFolded(n, !timeline.folded.has(n));
    this.store.set({ selected: n });
    this.store.touch("columns");
  }

  /** Unfold, or go to the first child; fold, or go to the parent. @param {boolean} open */
  unfold(open) {
    if (this.state.view === "travel") {
      this.move(open ? 1 : -1);
      return;
    }
    const { timeline, selected } = this.state;
    if (!timeline?.isTree || selected === 0) return;
    const { tree } = timeline;
    const folded = timeline.folded.has(selected);
    if (open && tree.hasChildren(selected)) {
      if (folded) this.fold(selected);
      else this.move(1);
    } else if (!open && tree.hasChildren(selected) && !folded) this.fold(selected);
    else if (!open && tree.parent[selected] > 0) this.select(tree.parent[selected]);
  }

  /** @param {string} q @param {{remember?: boolean, step?: boolean}} [options] `step`: go to the first match when it is found */
  search(q, { remember = true, step = false } = {}) {
    this.store.set({ q: q.trim() === "" ? "" : q });
    this.opener.search().then(() => step && this.stepMatch(1));
    if (remember) this.address.remember({ replace: true });
  }

  focusSearch() {
    this.screen.toolBar.toggleAttribute("data-typing", true);
    this.screen.toolBar.focusSearch();
  }

  /** @param {{from: number, to: number} | null} zoom */
  zoom(zoom) {
    const extent = this.state.timeline?.skeleton.extent() ?? 0;
    this.store.set({ zoom: zoom ? zoomTo(zoom.from, zoom.to, extent) : null });
    if (zoom && this.state.view !== "waterfall") this.view("waterfall");
    if (zoom) this.store.flush();
  }

  /** @param {boolean} [wanted] */
  follow(wanted = !this.state.follow) {
    if (wanted && !this.state.data?.isRunning) return;
    this.store.set({ follow: wanted, unseen: wanted ? 0 : this.state.unseen });
  }

  /** What `B` does: pause before the next call like the selected one, or no longer. */
  toggleBreak() {
    const { data, selected } = this.state;
    const row = data?.rows.get(selected);
    const place = row ? placeOf(/** @type {any} */ (data).skeleton.kind[selected], row) : "";
    const say = (/** @type {string} */ text) => this.screen.toasts.say(text);
    if (!data?.isRunning) return say("Breakpoints are set in a run that goes on.");
    if (place === "") return say("Select a model or tool call to break before the next one like it.");
    if (this.screen.holdBar.breaks === null)
      return say(`This run was started without breakpoints. Start it with: agentdbg run --break ${place}`);
    void this.screen.holdBar.toggle(place);
  }

  /** What `p` does: a fork is compared with the run it came from. */
  compareParent() {
    const { runId } = this.state;
    const parent = this.screen.family.parentId;
    if (runId === null) return;
    if (parent === null) return this.screen.toasts.say("This run has no parent to compare with.");
    this.compare.open(parent, runId);
    this.address.remember();
  }

  /** What `f` does: a live run is followed, a finished one is forked from the selected step. */
  async followOrFork() {
    const { data, selected, runId } = this.state;
    if (data?.isRunning || !data || !runId) return this.follow();
    if (selected === 0) return this.screen.toasts.say("Select a model or tool call to fork from.");
    const [event, info] = await Promise.all([
      this.api.json(`/api/runs/${runId}/events/${selected}`),
      this.api.json("/api/info"),
    ]);
    if (event.event_type !== "LLM_CALL" && event.event_type !== "TOOL_CALL")
      return this.screen.toasts.say("Only a model or tool call can be forked from.");
    const replay = data.run?.replay;
    this.screen.forkDialog.open({ runId, event, n: selected, canRun: info.control, replay });
  }

  /** Show what a replay of this run would run; with --control it can be run from there. */
  async replay() {
    const { data, runId } = this.state;
    if (!data || !runId) return;
    if (data.isRunning) return this.screen.toasts.say("This run is still going on; replay it when it has ended.");
    this.screen.replayDialog.open(runId, await this.api.json(`/api/runs/${runId}/again`));
  }

  /** All of the verdict, or its first lines; where suspects stand under it, they are shown or hidden. */
  toggleVerdict() {
    if (this.state.view === "travel") {
      this.store.set({ hidesSuspects: false, isFull: !this.state.isFull });
      return;
    }
    if (suspectsOf(this.state.data?.summary).length > 0) {
      this.store.set({ hidesSuspects: !this.state.hidesSuspects, isFull: this.state.hidesSuspects });
      return;
    }
    const isSmall = matchMedia("(max-height: 719.9px)").matches;
    if (isSmall && this.state.isShort) this.store.set({ isShort: false });
    else if (isSmall) this.store.set({ isShort: true });
    else this.store.set({ isFull: !this.state.isFull });
  }

  cycleTheme() {
    const themes = ["system", "light", "dark"];
    const theme = themes[(themes.indexOf(this.state.theme) + 1) % 3];
    setPreference("theme", theme);
    this.store.set({ theme });
    this.store.flush();
    this.screen.strip.update(true);
  }

  help() {
    this.screen.keyHelp.toggle();
  }

  /** Undo the last layer: dialog, choosing, comparison, open event, search, filter, zoom. */
  escape() {
    if (document.querySelector("dialog[open], [popover]:popover-open")) {
      for (const open of document.querySelectorAll("[popover]:popover-open"))
        /** @type {HTMLElement} */ (open).hidePopover();
      /** @type {HTMLDialogElement | null} */ (document.querySelector("dialog[open]"))?.close();
      return;
    }
    if (this.table.isOpen) {
      this.table.escape();
      return;
    }
    if (this.compare.isPicking || this.compare.isOpen) {
      this.compare.escape();
      return;
    }
    const { opened, selected, sideOpen, q, filter, zoom, rail } = this.state;
    if (rail && !matchMedia("(min-width: 1100px)").matches) this.runActions.toggleRail();
    else if (sideOpen > 0) this.store.set({ sideOpen: 0 });
    else if (opened.has(selected)) this.toggle(selected);
    else if (opened.size > 0) this.toggle(/** @type {number} */ ([...opened].at(-1)));
    else if (q) this.search("");
    else if (!isEverything(filter)) this.filter("all");
    else if (zoom) this.zoom(null);
    this.address.remember({ replace: true });
  }

  /** @param {{from: number, to: number, below: number}} seen */
  rowsMoved({ from, to, below }) {
    this.screen.strip.seen = { from, to };
    this.address.rememberPlace();
    if (below === 0 && this.state.unseen > 0) this.store.set({ unseen: 0 });
    this.store.touch("seen");
  }
}
