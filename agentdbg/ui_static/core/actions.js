// @ts-check
/** What each intent of the reader does, whether it came from a key, a click or the address. */

import { formatAddress, deservesEntry, parseAddress } from "../model/address.js";
import { formatFilter, isEverything, parseFilter, toggleChip, EVERYTHING } from "../model/filters.js";
import { formatBytes } from "../model/format.js";
import { nextWhere } from "../model/search.js";
import { nameOf } from "../model/runs.js";
import { zoomTo } from "../model/time-axis.js";
import { stringifyJson } from "../model/details/parse-json.js";
import { copyText } from "./clipboard.js";
import { setPreference } from "./preferences.js";
import { RunOpener } from "./run-opener.js";

/** @typedef {import("../app.js").State} State */
/** @typedef {import("../model/address.js").Place} Place */

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
  }

  get state() {
    return this.store.state;
  }

  // Beginning

  /** @param {Place} place */
  async start(place) {
    if (place.runId) this.opener.open(place.runId, place.event);
    this.runs.addEventListener("change", () => this.store.touch("runs"));
    this.store.touch("rail");
    setInterval(() => this.store.touch("clock"), 1000);
    try {
      await this.runs.load();
      this.api.json("/api/info").then((info) => this.#takeInfo(info)).catch(() => {});
      this.runs.follow();
      this.#openLatest();
    } catch {
      this.store.touch("gone");
    }
  }

  /** @param {{data_dir?: string, can_import?: boolean}} info */
  #takeInfo(info) {
    if (info.data_dir) this.screen.empty.dataDir = info.data_dir;
    this.screen.empty.canImport = info.can_import ?? false;
    this.screen.empty.update();
  }

  /** Without a run in the address, a wide page opens the newest; a phone shows the runs. */
  #openLatest() {
    if (this.state.runId !== null || this.runs.runs.length === 0 || matchMedia("(max-width: 719.9px)").matches) return;
    if (this.runs.q || this.runs.status) return;
    this.openRun(this.runs.runs[0].run_id, { replace: true });
  }

  /** Connect what the views say to what is done. */
  listen() {
    const on = (/** @type {string} */ type, /** @type {(detail: any, event: CustomEvent) => void} */ act) =>
      document.addEventListener(type, (event) => act(/** @type {CustomEvent} */ (event).detail, /** @type {CustomEvent} */ (event)));
    on("open-run", ({ runId, keepFocus }) => this.openRun(runId, { keepFocus }));
    on("find-runs", ({ q, status }) => this.runs.find(q, status).catch(() => {}));
    on("more-runs", () => this.runs.more().catch(() => {}));
    on("theme", () => this.cycleTheme());
    on("help", () => this.help());
    on("rail", () => this.toggleRail());
    on("back", () => this.closeRun());
    on("navigate", ({ n }) => this.jump(n));
    on("toggle", (detail, event) => event instanceof CustomEvent && detail?.n && this.toggle(detail.n));
    on("fold", ({ n }) => this.fold(n));
    on("filter", ({ chip }) => this.filter(chip));
    on("view", ({ view }) => this.view(view));
    on("search", ({ q }) => this.search(q));
    on("step-match", ({ direction }) => this.stepMatch(direction));
    on("leave-field", () => this.screen.rows.focusRows());
    on("focus-search", () => this.focusSearch());
    on("follow", ({ on: wanted }) => this.follow(wanted));
    on("to-end", () => this.moveTo("last"));
    on("zoom", ({ zoom }) => this.zoom(zoom));
    on("jump-to-time", ({ at }) => this.jumpToTime(at));
    on("rows-moved", (detail) => this.#rowsMoved(detail));
    on("move", ({ to }, event) => this.#moveDetails(to, /** @type {Element} */ (event.target)));
    on("close-side", () => this.store.set({ sideOpen: 0 }));
    on("copy-report", () => this.copyReport());
    on("copy-id", () => this.copyRunId());
    on("verdict", () => this.toggleVerdict());
    on("rename-run", () => this.renameRun());
    on("delete-run", (detail) => this.deleteRun(detail?.runId ?? this.state.runId));
    on("save-run", () => this.saveRun());
    on("retry", () => this.retry());
    this.api.addEventListener("gone", () => this.#gone());
    this.api.addEventListener("back", () => this.#back());
    addEventListener("popstate", () => this.#visit(parseAddress(location.search)));
    document.querySelector(".veil")?.addEventListener("click", () => this.toggleRail());
  }

  // The address

  /** @returns {Place} */
  #place() {
    const { runId, view, filter, q, opened, sideOpen, side } = this.state;
    const event = side && sideOpen > 0 ? sideOpen : ([...opened].at(-1) ?? 0);
    return { runId, view, filter: formatFilter(filter), q, event: event > 0 ? String(event) : null, side: side && sideOpen > 0 };
  }

  /** Write the state into the address. @param {{replace?: boolean}} [options] */
  remember({ replace = false } = {}) {
    const place = this.#place();
    const address = formatAddress(place, location.search);
    const current = location.pathname + location.search;
    if (address === current) return;
    if (!replace && deservesEntry(parseAddress(location.search), place)) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }

  /** Go where the history says. @param {Place} place */
  #visit(place) {
    const filter = parseFilter(place.filter);
    this.store.set({ view: place.view, filter: isEverything(filter) ? EVERYTHING : filter, side: place.side || this.state.side });
    if (place.runId === null) {
      this.opener.close();
      this.#openLatest();
    } else if (place.runId !== this.state.runId) this.opener.open(place.runId, place.event);
    else if (place.event === null) this.store.set({ opened: new Set(), sideOpen: 0 });
    else this.opener.openEvent(place.event);
    if (place.q !== this.state.q) this.search(place.q, { remember: false });
  }

  // Runs

  /** @param {string} runId @param {{replace?: boolean, keepFocus?: boolean}} [options] */
  openRun(runId, { replace = false, keepFocus = false } = {}) {
    const narrow = !matchMedia("(min-width: 1100px)").matches;
    if (narrow && !keepFocus) this.store.set({ rail: false });
    if (runId === this.state.runId) return;
    this.store.set({ filter: EVERYTHING, q: "" });
    this.opener.open(runId, null);
    this.remember({ replace });
    if (!keepFocus) this.screen.rows.focusRows();
  }

  closeRun() {
    this.opener.close();
    this.remember();
  }

  /** @param {1 | -1} direction */
  stepRun(direction) {
    const runId = this.screen.rail.neighbour(direction);
    if (runId) this.openRun(runId);
  }

  findRun() {
    if (matchMedia("(max-width: 719.9px)").matches) this.closeRun();
    else this.store.set({ rail: true });
    this.store.flush();
    this.screen.rail.focusField();
  }

  toggleRail() {
    this.store.set({ rail: !this.state.rail });
    if (matchMedia("(min-width: 1100px)").matches) setPreference("rail", this.state.rail ? "open" : "closed");
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
        this.opener.close();
        this.remember({ replace: true });
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

  saveRun() {
    const { data } = this.state;
    if (!data) return;
    const link = document.createElement("a");
    link.href = `${data.path}/events`;
    link.download = `${data.runId}.json`;
    link.click();
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
    this.remember({ replace: true });
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
    if (end === "last") this.store.set({ unseen: 0 });
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
      this.remember();
      return;
    }
    const after = new Set(opened);
    if (!after.delete(n)) after.add(n);
    this.store.set({ selected: n, opened: after });
    this.store.flush();
    if (after.has(n)) this.screen.rows.reveal(n);
    this.remember();
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
    this.remember({ replace: true });
  }

  /** @param {"side" | "inline"} to @param {Element} from */
  #moveDetails(to, from) {
    const n = Number(/** @type {HTMLElement | null} */ (from.closest(".body"))?.dataset.n) || this.state.sideOpen || this.state.selected;
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
    this.#step(direction, (n) => this.state.timeline?.skeleton.isFailure(n) ?? false, "Nothing failed among these events.");
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

  // What is shown

  /** @param {import("../model/address.js").View} view */
  view(view) {
    this.store.set({ view });
    this.store.flush();
    this.remember();
  }

  /** @param {string} chip */
  filter(chip) {
    this.store.set({ filter: toggleChip(this.state.filter, chip) });
    this.store.flush();
    this.remember({ replace: true });
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

  /** @param {string} q @param {{remember?: boolean}} [options] */
  search(q, { remember = true } = {}) {
    this.store.set({ q: q.trim() === "" ? "" : q });
    this.opener.search();
    if (remember) this.remember({ replace: true });
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

  toggleVerdict() {
    this.store.set({ isShort: !this.state.isShort });
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

  /** Undo the last layer: open event, search, filter, zoom. */
  escape() {
    if (document.querySelector("dialog[open], [popover]:popover-open")) {
      for (const open of document.querySelectorAll("[popover]:popover-open")) /** @type {HTMLElement} */ (open).hidePopover();
      /** @type {HTMLDialogElement | null} */ (document.querySelector("dialog[open]"))?.close();
      return;
    }
    const { opened, selected, sideOpen, q, filter, zoom, rail } = this.state;
    if (rail && !matchMedia("(min-width: 1100px)").matches) this.toggleRail();
    else if (sideOpen > 0) this.store.set({ sideOpen: 0 });
    else if (opened.has(selected)) this.toggle(selected);
    else if (opened.size > 0) this.toggle(/** @type {number} */ ([...opened].at(-1)));
    else if (q) this.search("");
    else if (!isEverything(filter)) this.filter("all");
    else if (zoom) this.zoom(null);
    this.remember({ replace: true });
  }

  /** @param {{from: number, to: number, below: number}} seen */
  #rowsMoved({ from, to, below }) {
    this.screen.strip.seen = { from, to };
    if (below === 0 && this.state.unseen > 0) this.store.set({ unseen: 0 });
    this.store.touch("seen");
  }

  // Copying

  async copyReport() {
    const { data } = this.state;
    if (!data) return;
    try {
      const report = await data.report();
      const copied = await copyText(report);
      this.screen.verdict.answerReport(copied ? `Copied, ${formatBytes(new Blob([report]).size)}` : "The browser refused to copy");
    } catch (problem) {
      this.screen.toasts.say(`No report: ${/** @type {Error} */ (problem).message}`);
    }
  }

  /** @param {string} text @param {string} what */
  async #copy(text, what) {
    this.screen.toasts.say((await copyText(text)) ? `Copied ${what}.` : "The browser refused to copy.");
  }

  copyLink() {
    const { runId, selected, view } = this.state;
    if (!runId) return;
    const address = formatAddress({ runId, view, filter: "", q: "", event: selected > 0 ? String(selected) : null, side: false });
    this.#copy(new URL(address, location.href).href, selected > 0 ? `a link to #${selected}` : "a link to this run");
  }

  async copyEvent() {
    const { data, selected } = this.state;
    if (data && selected > 0) this.#copy(stringifyJson(await data.fetchEvent(selected), 2), `#${selected} as JSON`);
  }

  copyRunId() {
    if (this.state.runId) this.#copy(this.state.runId, "the run id");
  }

  // The server

  #retryTimer = 0;

  #gone() {
    this.store.touch("gone");
    if (!this.#retryTimer) this.#retryTimer = window.setInterval(() => this.retry(), 2000);
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
