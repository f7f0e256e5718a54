// @ts-check
/**
 * The page: starts loading, then connects data to views. Data goes down by property, intent comes up by event; what
 * each intent does is in core/actions.js, what each view draws is its own.
 */

import { Actions } from "./core/actions.js";
import { Api } from "./core/api.js";
import { bindings } from "./core/bindings.js";
import { currentPlace, embeddedRun } from "./core/embedded.js";
import { listen } from "./core/intents.js";
import { Keys } from "./core/keys.js";
import { preference } from "./core/preferences.js";
import { RunsData } from "./core/runs-data.js";
import { Store } from "./core/store.js";
import { filterOf } from "./model/filters.js";
import { Screen } from "./views/screen.js";

/** @typedef {import("./core/run-data.js").RunData} RunData */

/**
 * @typedef {object} State
 * @property {string | null} runId
 * @property {import("./model/address.js").View} view
 * @property {import("./model/filters.js").Filter} filter
 * @property {string} q
 * @property {import("./model/address.js").Sort | null} sort by what the rows stand, null for the order of the run
 * @property {boolean} folds whether the waterfall folds long stretches in which nothing happens
 * @property {number} selected the selected event's number, 0 for none
 * @property {ReadonlySet<number>} opened events open in place, the latest last
 * @property {number} sideOpen the event open in the side panel, 0 for none
 * @property {boolean} side whether events open to the side
 * @property {boolean} follow
 * @property {number} unseen
 * @property {{from: number, to: number} | null} zoom
 * @property {boolean} isShort whether the verdict is reduced to its cause
 * @property {boolean} isFull whether every line of the verdict is shown whole
 * @property {boolean} hidesSuspects
 * @property {boolean} rail
 * @property {string} theme
 * @property {string | null} table what is looked for in the table of all runs; null while it is closed
 * @property {string | null} compare the run that the open one is compared with
 * @property {import("./core/compare-data.js").CompareData | null} compared
 * @property {string | null} picking the run to compare with one the reader is choosing
 * @property {string | null} candidate what the reader has chosen so far
 * @property {RunData | null} data
 * @property {import("./model/timeline.js").Timeline | null} timeline
 * @property {string | null} refusal
 * @property {boolean} isSearching
 */

/** @type {HTMLElement} */ (document.querySelector(".app")).hidden = false;

const place = currentPlace();
const api = new Api();
const runs = new RunsData(api);

const store = new Store(
  /** @type {State} */ ({
    runId: null,
    view: place.view,
    filter: filterOf(place),
    q: place.compare ? "" : place.q, // else it is searched for in both
    sort: place.sort ?? null,
    folds: preference("scale", "folded") === "folded",
    selected: 0,
    opened: new Set(),
    sideOpen: 0,
    side: place.side || preference("side", "off") === "on",
    follow: false,
    unseen: 0,
    zoom: null,
    isShort: matchMedia("(max-height: 719.9px)").matches,
    isFull: false,
    hidesSuspects: false,
    rail: embeddedRun === null && matchMedia("(min-width: 1100px)").matches && preference("rail", "open") === "open",
    theme: preference("theme", "system"),
    data: null,
    timeline: null,
    refusal: null,
    isSearching: false,
    table: null,
    compare: null,
    compared: null,
    picking: null,
    candidate: null,
  }),
  (state, changed) => screen.draw(state, changed),
);
const screen = new Screen({ api, runs });
const actions = new Actions({ api, runs, store, screen });
const keys = new Keys(bindings(actions));
screen.keyHelp.keys = keys;
listen(actions);
actions.runActions.start(place);
