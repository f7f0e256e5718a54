// @ts-check
/** What a row is made from, put together from columns, timeline and the moment; and what stretch of time rows cover. */

import { clockTime } from "../core/clock.js";
import { embeddedRun } from "../core/embedded.js";
import { pauseOutcome, placeOf } from "../model/pauses.js";
import { KIND } from "../model/skeleton.js";

/** @typedef {import("../core/run-data.js").RunData} RunData */
/** @typedef {import("../model/timeline.js").Timeline} Timeline */
/** @typedef {import("../model/skeleton.js").Skeleton} Skeleton */
/** @typedef {{from: number, to: number}} Range ms since the run started */
/** @typedef {{timeline: Timeline, gutter: ReturnType<typeof import("../model/rounds.js").gutterOf>, ranks: Map<number, number>, query: string, elapsed: number, scale: import("../model/time-axis.js").TimeScale, isShort: boolean}} Setting isShort: moments are told in milliseconds */

/**
 * @param {Setting} setting @param {number} n @param {number} place @param {import("../model/types.js").Row | undefined} row
 * @returns {import("./event-row.js").RowFacts}
 */
export function factsOf({ timeline, gutter, ranks, query, elapsed, scale: time, isShort }, n, place, row) {
  const { skeleton, filter, view } = timeline;
  const isSpan = skeleton.kind[n] === KIND.SPAN;
  const going = skeleton.kind[n] === KIND.CALL_START && skeleton.running;
  const duration = going ? Math.max(0, elapsed - skeleton.start[n]) : skeleton.durationOf(n);
  const scale = isSpan ? timeline.scale.span : timeline.scale.call;
  return {
    n,
    row,
    view,
    depth: timeline.depthAt(place),
    expanded: timeline.isTree && timeline.tree.hasChildren(n) ? !timeline.folded.has(n) : null,
    isContext: timeline.isContext(n),
    hidesTools: filter.types.size > 0 && !filter.types.has("TOOL_CALL"),
    query,
    isMatch: timeline.matches?.has(n) ?? false,
    // A span stands before its children in the tree, but was written after them.
    gutter: timeline.isTree && isSpan ? null : gutter(n),
    rank: ranks.get(n) ?? 0,
    stop: stopOf(timeline, n, row),
    held: going && row?.call_id && row.call_id === timeline.pause?.call.call_id ? pauseOutcome(timeline.pause) : "",
    share: duration === null ? 0 : Math.round(Math.min(1, duration / scale) * 1000) / 1000,
    isTorn: duration !== null && duration > scale * 1.001,
    isShort,
    bar: view === "waterfall" ? barOf(skeleton, n, duration ?? 0, time) : null,
    // What is read from the columns directly, so that a row is drawn anew when it changes, ten times a second if it grows.
    columns: [
      skeleton.kind[n],
      skeleton.status[n],
      skeleton.severity[n],
      skeleton.running,
      going ? Math.floor(elapsed / 1000) : 0,
    ].join(),
  };
}

/** The breakpoint that a row offers, and whether it is set. @param {Timeline} timeline @param {number} n @param {import("../model/types.js").Row | undefined} row */
function stopOf({ breaks, skeleton }, n, row) {
  const place = breaks && row ? placeOf(skeleton.kind[n], row) : "";
  return place === "" ? "" : `${breaks?.has(place) ? "set" : "offered"} ${place}`;
}

/** @param {Skeleton} skeleton @param {number} n @param {number} duration @param {import("../model/time-axis.js").TimeScale} time */
function barOf(skeleton, n, duration, time) {
  const start = skeleton.start[n];
  const end = start + (skeleton.kind[n] === KIND.END ? 0 : duration);
  const [left, right] = [time.share(start), time.share(end)];
  if (right < 0 || left > 1) return null;
  const clipped = Math.max(0, left);
  const bar = { left: rounded(clipped), width: rounded(Math.max(0, Math.min(1, right) - clipped)) };
  const cut = time.cuts.find((one) => start < one.to && end > one.from);
  return cut ? { ...bar, tear: rounded((time.share(cut.from) + time.share(cut.to)) / 2) } : bar;
}

/** @param {number} share */
function rounded(share) {
  return Math.round(share * 1e5) / 1e5;
}

/** The time of the whole run, as far as it has come. @param {Timeline | null} timeline @param {RunData | null} data @returns {Range} */
export function wholeRange(timeline, data) {
  return { from: 0, to: Math.max(1, timeline?.skeleton.extent() ?? 1, data?.isRunning ? elapsedOf(data) : 0) };
}

/** How long the run has lasted by the page's clock, or when the file it is in was made. @param {RunData | null} data */
export function elapsedOf(data) {
  if (embeddedRun !== null) return data?.summary?.figures.duration_ms ?? 0;
  const started = Date.parse(data?.run?.started_at ?? "");
  // The time at a breakpoint is the reader's, not the run's.
  const held = data?.isRunning ? Date.parse(data.pause?.since ?? "") : NaN;
  return Number.isNaN(started) ? 0 : Math.max(0, (Number.isNaN(held) ? clockTime() : held) - started);
}

/** The stretch of time some rows cover. @param {Skeleton} skeleton @param {Uint32Array} numbers @returns {Range} */
export function timeInSight(skeleton, numbers) {
  let from = Infinity;
  let to = 0;
  for (const n of numbers) {
    from = Math.min(from, skeleton.start[n]);
    // A span reaches back over everything inside it; its start says where the reader is.
    to = Math.max(to, skeleton.kind[n] === KIND.SPAN ? skeleton.start[n] : skeleton.endOf(n));
  }
  return { from: Number.isFinite(from) ? from : 0, to };
}
