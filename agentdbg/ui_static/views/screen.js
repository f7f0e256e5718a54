// @ts-check
/** All views together: hands each what it shows when that changed, and carries the state into title and address. */

import { emit, h } from "../core/dom.js";
import { glyph } from "../core/glyphs.js";
import { loadDetailsAhead, makeDetails } from "../core/details-loader.js";
import { embeddedRun } from "../core/embedded.js";
import { bothNames, verdictSign } from "../model/compare.js";
import { describeFilter, isEverything } from "../model/filters.js";
import { formatCount } from "../model/format.js";
import { pauseHeadline } from "../model/pauses.js";
import { nameOf, standing } from "../model/runs.js";
import { isProblem } from "../model/suspects.js";
import "./empty-state.js";
import "./event-rows.js";
import "./fork-dialog.js";
import "./replay-dialog.js";
import "./hold-bar.js";
import "./key-help.js";
import "./live-bar.js";
import "./page-notices.js";
import "./run-rail.js";
import "./run-strip.js";
import "./run-family.js";
import "./run-suspects.js";
import "./run-verdict.js";
import "./toast-stack.js";
import "./tool-bar.js";

/** @typedef {import("../app.js").State} State */

const ANNOUNCE_MS = 150;
const AHEAD_MS = 400;
/** Changes that leave the rows as they are. */
const BESIDE_ROWS = new Set([
  "clock",
  "runs",
  "gone",
  "summary",
  "rail",
  "theme",
  "isShort",
  "isFull",
  "hidesSuspects",
  "unseen",
  "refusal",
  "isSearching",
  "seen",
  "table",
]);

export class Screen {
  /** @param {{api: import("../core/api.js").Api, runs: import("../core/runs-data.js").RunsData}} sources */
  constructor({ api, runs }) {
    this.api = api;
    this.runs = runs;
    this.app = /** @type {HTMLElement} */ (document.querySelector(".app"));
    this.rail = /** @type {import("./run-rail.js").RunRail} */ (document.querySelector("run-rail"));
    this.verdict = /** @type {import("./run-verdict.js").RunVerdict} */ (document.querySelector("run-verdict"));
    this.holdBar = /** @type {import("./hold-bar.js").HoldBar} */ (document.querySelector("hold-bar"));
    this.family = /** @type {import("./run-family.js").RunFamily} */ (document.querySelector("run-family"));
    this.suspects = /** @type {import("./run-suspects.js").RunSuspects} */ (document.querySelector("run-suspects"));
    this.forkDialog = /** @type {import("./fork-dialog.js").ForkDialog} */ (document.querySelector("fork-dialog"));
    this.forkDialog.api = api;
    this.replayDialog = /** @type {import("./replay-dialog.js").ReplayDialog} */ (
      document.querySelector("replay-dialog")
    );
    this.replayDialog.api = api;
    this.strip = /** @type {import("./run-strip.js").RunStrip} */ (document.querySelector("run-strip"));
    this.toolBar = /** @type {import("./tool-bar.js").ToolBar} */ (document.querySelector("tool-bar"));
    this.rows = /** @type {import("./event-rows.js").EventRows} */ (document.querySelector("event-rows"));
    this.liveBar = /** @type {import("./live-bar.js").LiveBar} */ (document.querySelector("live-bar"));
    this.compare = /** @type {import("./compare/run-compare.js").RunCompare} */ (document.querySelector("run-compare"));
    this.table = /** @type {import("./runs-table.js").RunsTable} */ (document.querySelector("runs-table"));
    this.travel = /** @type {import("./travel/time-travel.js").TimeTravel} */ (document.querySelector("time-travel"));
    this.notices = /** @type {import("./page-notices.js").PageNotices} */ (document.querySelector("page-notices"));
    this.empty = /** @type {import("./empty-state.js").EmptyState} */ (document.querySelector("empty-state"));
    this.keyHelp = /** @type {import("./key-help.js").KeyHelp} */ (document.querySelector("key-help"));
    this.toasts = /** @type {import("./toast-stack.js").ToastStack} */ (document.querySelector("toast-stack"));
    this.side = /** @type {HTMLElement} */ (document.querySelector(".side"));
    this.progress = /** @type {HTMLElement} */ (document.querySelector(".progress"));
    this.announcer = /** @type {HTMLElement} */ (document.querySelector("#announcer"));
  }

  #sideShown = "";
  /** @type {import("../core/run-data.js").RunData | null} */
  #drawnData = null;

  /** @param {State} state @param {Set<string>} changed */
  draw(state, changed) {
    const { data, timeline } = state;
    // Under a comparison nothing is drawn; what is there when it closes is drawn anew.
    if (state.compare !== null) this.#drawnData = null;
    const isNew = data !== null && data.isReady && this.#drawnData !== data && state.compare === null;
    if (isNew) {
      this.#drawnData = data;
      for (const name of ["data", "columns", "summary", "run", "findings"]) changed.add(name);
    }
    const has = (/** @type {string[]} */ ...names) => names.some((name) => changed.has(name));
    if (has("rail", "runId", "runs", "theme", "compare", "picking", "table")) this.#drawFrame(state);
    if (has("runs", "runId", "theme", "clock", "compare", "picking", "candidate")) this.#drawRail(state);
    if (
      has("data", "run", "summary", "isShort", "isFull", "hidesSuspects", "clock", "compare", "view") &&
      state.compare === null
    )
      this.#drawVerdict(state);
    if (has("gone", "refusal", "summary", "data", "compare")) this.#drawNotices(state);
    if (has("compare", "compared", "comparing")) this.#drawCompare(state);
    if (state.compare !== null) return;
    if (!data || !timeline) return;
    timeline.view = state.view;
    const travels = state.view === "travel";
    this.rows.hidden = travels;
    this.travel.hidden = !travels;
    this.strip.scrubs = travels;
    timeline.filter = state.filter;
    timeline.sort = state.sort;
    timeline.folds = state.folds;
    timeline.breaks = this.holdBar.breaks;
    timeline.pause = data.pause;
    this.#drawProgress(state);
    // A slow answer keeps the old content; a run that cannot be shown leaves an empty place.
    if (!data.isReady && state.refusal === null) return;
    if (this.app.hasAttribute("data-loading")) this.#begin();
    this.toolBar.timeline = timeline;
    this.toolBar.query = state.q;
    this.toolBar.isSearching = state.isSearching;
    this.toolBar.sort = state.sort;
    this.toolBar.folds = state.folds;
    this.toolBar.rank = timeline.matches?.rankOf(timeline.placeOf(state.selected)) ?? 0;
    if (has("data", "columns", "view", "filter", "q", "found", "selected", "isSearching", "run", "sort", "folds"))
      this.toolBar.update();
    this.#drawStrip(state);
    if (embeddedRun === null) {
      this.holdBar.api = this.api;
      this.holdBar.data = data;
      if (has("data", "run")) this.holdBar.update();
      this.family.api = this.api;
      this.family.data = data;
      if (has("data", "run", "runs")) void this.family.update(this.runs.familyStamp(data.runId));
    }
    this.liveBar.data = data;
    this.liveBar.follow = state.follow;
    this.liveBar.unseen = state.unseen;
    if (has("data", "run", "follow", "unseen", "clock")) this.liveBar.update();
    if (has("data", "sideOpen", "side")) this.#drawSide(state);
    // Last, because how many rows fit depends on what stands above and below them.
    if (travels) this.#drawTravel(state);
    else if ([...changed].some((name) => !BESIDE_ROWS.has(name))) this.#drawRows(state, changed);
    else if (has("clock")) this.rows.tick();
  }

  /** The first rows are about to be seen; what an open event needs is fetched while they are read, not before. */
  #begin() {
    this.app.removeAttribute("data-loading");
    setTimeout(loadDetailsAhead, AHEAD_MS);
  }

  /** @param {State} state */
  #drawFrame({ rail, runId, theme, compare, picking, table }) {
    this.table.hidden = table === null;
    this.app.toggleAttribute("data-table", table !== null);
    if (table !== null) document.title = "All runs · AgentDbg";
    const nothing =
      this.runs.isLoaded && this.runs.runs.length === 0 && !this.runs.q && !this.runs.status && runId === null;
    this.app.dataset.rail = rail ? "open" : "closed";
    this.app.dataset.pane = (runId === null && !nothing) || picking !== null ? "runs" : "run";
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    if (nothing) this.app.removeAttribute("data-loading");
    this.app.toggleAttribute("data-empty", nothing);
    if (this.empty.hidden === nothing) {
      this.empty.hidden = !nothing;
      this.empty.update();
    }
    this.app.toggleAttribute("data-comparing", compare !== null);
    for (const part of [this.verdict, this.toolBar, this.rows.parentElement])
      part?.toggleAttribute("hidden", runId === null);
    if (runId === null) {
      this.strip.hidden = true;
      this.suspects.hidden = true;
      this.family.hidden = true;
      this.liveBar.hidden = true;
      document.title = "AgentDbg";
    }
  }

  /** @param {State} state */
  #drawRail({ runId, theme, compare, picking, candidate, data }) {
    const before = this.rail.selectedId;
    const selectedId = picking === null ? runId : candidate;
    const badges = new Map(
      compare === null
        ? []
        : [
            [compare, "B"],
            [runId, "A"],
          ],
    );
    const run = picking === null ? null : (this.runs.get(picking) ?? data?.run);
    Object.assign(this.rail, {
      held: data?.pause
        ? { runId: data.runId, headline: pauseHeadline(data.pause), since: Date.parse(data.pause.since) }
        : null,
      runs: this.runs.runs,
      total: this.runs.total,
      counts: this.runs.counts,
      q: this.runs.q,
      status: this.runs.status,
      selectedId,
      theme,
      badges,
      picking: run ? nameOf(run) : null,
    });
    this.rail.update();
    if (before !== selectedId || !this.#railShown) this.rail.reveal();
    this.#railShown = this.runs.isLoaded;
  }

  /** Whether the rail has had runs to show the selected one among. */
  #railShown = false;
  #compareCode = false;

  /** @param {State} state */
  #drawCompare(state) {
    const { compare, compared } = state;
    this.compare.hidden = compare === null;
    if (compare === null) return;
    this.app.removeAttribute("data-loading");
    if (!this.#compareCode) {
      import("./compare/run-compare.js").then(() => {
        this.#compareCode = true;
        this.#drawCompare(state); // as it is by then
      });
      return;
    }
    this.compare.data = compared;
    this.compare.update();
    this.progress.toggleAttribute(
      "data-on",
      compared !== null && compared.comparison === null && compared.refusal === null,
    );
    this.progress.style.setProperty("--done", "0.6");
    const answer = compared?.comparison?.answer;
    if (answer) document.title = `${verdictSign(answer.verdict)} ${bothNames(answer)} · AgentDbg`;
  }

  /** Why the reader marks runs; null when they would rather not. @param {string} question @param {string} label @returns {Promise<string | null>} */
  async askWhy(question, label) {
    return (await import("./mark-dialog.js")).askWhy(question, label);
  }

  /** The table's code, which most visits never need. */
  loadTable() {
    return import("./runs-table.js");
  }

  /** @param {State} state */
  #drawVerdict({ data, isShort, isFull, hidesSuspects, table, view }) {
    this.verdict.data = data;
    // Time travel needs the room; `v` brings all of it back.
    this.verdict.isShort = isShort || (view === "travel" && !isFull);
    this.verdict.isFull = isFull;
    this.verdict.update();
    this.suspects.data = data;
    this.suspects.isHidden = hidesSuspects || (view === "travel" && !isFull);
    this.suspects.update();
    if (!data?.run) return;
    const { tone, word } = isProblem(data.summary)
      ? { tone: /** @type {const} */ ("problem"), word: "Finished with problems" }
      : standing(data.run);
    const sign = { ok: "✓", error: "✕", running: "●", hold: "●", problem: "!" }[tone];
    const isPaused = data.pause !== null;
    this.app.toggleAttribute("data-paused", isPaused);
    if (table === null)
      document.title = isPaused ? `Paused: ${nameOf(data.run)}` : `${sign} ${nameOf(data.run)} · AgentDbg`;
    const icon = /** @type {HTMLLinkElement} */ (document.querySelector("link[rel=icon]"));
    const href = `/static/icons/${isPaused || tone === "hold" ? "paused" : tone}.svg`;
    if (embeddedRun === null && icon.getAttribute("href") !== href) icon.setAttribute("href", href);
    this.verdict.setAttribute("aria-label", isPaused ? "Paused" : word);
  }

  /** @param {State} state */
  #drawNotices({ data, refusal }) {
    this.notices.isGone = this.api.isGone;
    this.notices.refusal = refusal;
    this.app.toggleAttribute("data-refused", refusal !== null);
    this.verdict.toggleAttribute("data-unknown", refusal !== null && !data?.run);
    this.notices.summary = data?.summary ?? null;
    this.notices.update();
  }

  #travelCode = false;

  /** @param {State} state */
  #drawTravel(state) {
    if (!this.#travelCode) {
      import("./travel/time-travel.js").then(() => {
        this.#travelCode = true;
        if (!this.travel.hidden) this.#drawTravel(state);
      });
      return;
    }
    Object.assign(this.travel, { data: state.data, timeline: state.timeline, selected: state.selected });
    this.travel.update();
  }

  /** @param {State} state @param {Set<string>} changed */
  #drawRows(state, changed) {
    const { rows } = this;
    const data = /** @type {import("../core/run-data.js").RunData} */ (state.data);
    const timeline = /** @type {import("../model/timeline.js").Timeline} */ (state.timeline);
    rows.selected = state.selected;
    rows.opened = state.opened;
    this.app.toggleAttribute("data-reading", state.opened.size > 0);
    rows.query = state.q;
    rows.zoom = state.zoom;
    rows.follow = state.follow;
    rows.makeDetails = (n) => makeDetails(data, n, "inline");
    if (rows.data !== data) rows.show(data, timeline);
    if (changed.has("findings") || changed.has("summary")) rows.setFindings();
    this.#drawNote(state);
    rows.update();
  }

  /** What the filter hides and the search finds, above the rows. @param {State} state */
  #drawNote({ filter, q, timeline, zoom, view }) {
    if (!timeline) return;
    const { note } = this.rows;
    const matches = q ? timeline.matches : null;
    const filtered = !isEverything(filter);
    const words = [];
    if (filtered && timeline.length > 0)
      words.push(
        `${formatCount(timeline.numbers.length)} of ${formatCount(timeline.skeleton.shownTotal())} events: ${describeFilter(filter)}. `,
      );
    if (filtered && timeline.length === 0 && timeline.skeleton.count > 0)
      words.push(
        h("span", { class: "nothing" }, `No events: ${describeFilter(filter)}. `),
        this.#link("Show all events", () => emit(this.toolBar, "filter", { chip: "all" })),
      );
    if (matches && timeline.found?.q === q) {
      const among = filtered ? ` among ${describeFilter(filter)}` : "";
      if (matches.shown > 0 && filtered)
        words.push(h("b", null, matches.shown === 1 ? "1 match" : `${formatCount(matches.shown)} matches`), " here");
      if (matches.shown === 0) words.push(h("span", { class: "nothing" }, `No event matches ${q}${among}. `));
      if (matches.hidden > 0) {
        const show = this.#link(
          matches.shown > 0
            ? `${formatCount(matches.hidden)} more`
            : `${formatCount(matches.hidden)} ${matches.hidden === 1 ? "match" : "matches"}`,
          () => emit(this.toolBar, "show-hidden"),
        );
        words.push(
          matches.shown > 0 && filtered ? ", " : "",
          show,
          matches.shown > 0 ? " in hidden events." : " in other events.",
        );
      } else if (matches.shown > 0 && filtered) words.push(".");
    }
    if (zoom && view === "waterfall")
      words.push(
        words.length > 0 ? " " : "",
        "The waterfall shows a part of the run. ",
        this.#link("Show all of it", () => emit(this.strip, "zoom", { zoom: null })),
      );
    const text = words.map((word) => (typeof word === "string" ? word : word.textContent)).join("");
    note.hidden = words.length === 0;
    if (note.textContent !== text) note.replaceChildren(h("span", null, ...words));
  }

  /** @param {string} text @param {() => void} act */
  #link(text, act) {
    return h("button", { class: "link", type: "button", onclick: act }, text);
  }

  /** @param {State} state */
  #drawStrip({ data, selected, zoom }) {
    this.strip.data = data;
    this.strip.selected = selected;
    this.strip.zoom = zoom;
    this.strip.update();
  }

  /** @param {State} state */
  #drawSide({ data, sideOpen, side }) {
    const shown = data && side && sideOpen > 0 ? `${data.runId} ${sideOpen}` : "";
    if (shown === this.#sideShown) return;
    this.#sideShown = shown;
    this.side.hidden = shown === "";
    if (!data || shown === "") {
      this.side.replaceChildren();
      return;
    }
    const close = h(
      "button",
      {
        class: "icon-button close-side",
        type: "button",
        "aria-label": "Close",
        onclick: () => emit(this.side, "close-side"),
      },
      glyph("close"),
    );
    this.side.replaceChildren(
      close,
      h("div", { class: "side-body", tabindex: "-1" }, makeDetails(data, sideOpen, "side")),
    );
  }

  /** @param {State} state */
  #drawProgress({ data, isSearching, refusal }) {
    const indexing = data !== null && !data.complete && !this.api.isGone && refusal === null;
    this.progress.toggleAttribute("data-on", indexing || isSearching);
    this.progress.style.setProperty("--done", String(isSearching ? 0.6 : (data?.progress ?? 0)));
  }

  /** @param {string} text */
  announce(text) {
    this.announcer.textContent = "";
    setTimeout(() => (this.announcer.textContent = text), ANNOUNCE_MS);
  }
}
