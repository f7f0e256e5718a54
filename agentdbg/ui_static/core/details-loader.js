// @ts-check
/** Makes open events. */

import { h } from "./dom.js";
import { embeddedRun, hrefOf } from "./embedded.js";
import { formatAddress } from "../model/address.js";
import { KINDS } from "../model/skeleton.js";

/** @typedef {import("./run-data.js").RunData} RunData */

/** Their code is first run when somebody opens an event, or when the page has nothing better to do. */
function loadDetails() {
  return import("../views/details/event-details.js");
}

/** Load them without anyone waiting for it. */
export function loadDetailsAhead() {
  loadDetails().catch(() => {});
}

/** The tab that the next open event shows. */
const wanted = { tab: "" };

/** @param {string} tab */
export function wantTab(tab) {
  wanted.tab = tab;
}

/**
 * An element that becomes the open event as soon as its words are here.
 * @param {RunData} data @param {number} n @param {"inline" | "side"} placement
 */
export function makeDetails(data, n, placement) {
  const holder = h("div", { class: "details-holder" });
  const failed = (/** @type {Error} */ problem) =>
    holder.replaceChildren(h("p", { class: "quiet" }, `This event could not be read: ${problem.message}.`));
  Promise.all([loadDetails(), data.fetchEvent(n), data.getRow(n)])
    .then(([, event, row]) => {
      const details = /** @type {any} */ (document.createElement("event-details"));
      details.context = contextOf(data, placement);
      if (wanted.tab) details.tab = wanted.tab;
      wanted.tab = "";
      details.row = row;
      details.event = event;
      holder.replaceChildren(details);
    })
    .catch(failed);
  return holder;
}

const CALLS_AROUND = 200;

/** The numbers of the events of a kind near one of them. @param {RunData} data @param {number} kind @param {number} n */
function callsAround({ skeleton }, kind, n) {
  const calls = [];
  for (let at = n; at >= 1 && calls.length < CALLS_AROUND; at -= 1) if (skeleton.kind[at] === kind) calls.unshift(at);
  for (let at = n + 1; at <= skeleton.count && calls.length < 2 * CALLS_AROUND; at += 1)
    if (skeleton.kind[at] === kind) calls.push(at);
  return calls;
}

/** @param {RunData} data @param {"inline" | "side"} placement */
export function contextOf(data, placement) {
  return {
    runId: data.runId,
    run: data.run,
    total: data.skeleton.count,
    placement,
    getRow: (/** @type {number} */ n) => data.getRow(n),
    getRows: (/** @type {number[]} */ numbers) => data.getRows(numbers),
    fetchEvent: (/** @type {number} */ n) => data.fetchEvent(n),
    fetchOrigins: embeddedRun === null ? (/** @type {number} */ n) => data.fetchOrigins(n) : undefined,
    fetchWhole: embeddedRun === null ? (/** @type {number} */ n) => data.fetchWhole(n) : undefined,
    previousOfKind: (/** @type {number} */ n, /** @type {string} */ kind) => {
      const wanted = KINDS.indexOf(kind);
      for (let before = n - 1; before >= 1; before -= 1) if (data.skeleton.kind[before] === wanted) return before;
      return null;
    },
    callsOfKind: (/** @type {string} */ kind, /** @type {number} */ n) => callsAround(data, KINDS.indexOf(kind), n),
    hrefFor: (/** @type {number} */ n) =>
      hrefOf(formatAddress({ runId: data.runId, view: "list", filter: "", q: "", event: String(n), side: false })),
  };
}
