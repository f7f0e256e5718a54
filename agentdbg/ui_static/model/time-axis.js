// @ts-check
/** Time as a horizontal distance: ticks that a person would choose, and the stretch that a view shows. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const STEPS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  SECOND,
  2 * SECOND,
  5 * SECOND,
  10 * SECOND,
  20 * SECOND,
  30 * SECOND,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  20 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  6 * HOUR,
  12 * HOUR,
  24 * HOUR,
];

/**
 * Ticks between two moments, no closer than `room` pixels.
 * @param {number} from @param {number} to @param {number} width pixels @param {number} [room]
 * @returns {{at: number, label: string}[]} `at` in ms
 */
export function ticks(from, to, width, room = 88) {
  const span = Math.max(1, to - from);
  const fewest = (span * room) / Math.max(1, width);
  const step = STEPS.find((candidate) => candidate >= fewest) ?? Math.ceil(fewest / (24 * HOUR)) * 24 * HOUR;
  const marks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) marks.push({ at, label: tickLabel(at, step, to) });
  return marks;
}

/** @param {number} at @param {number} step @param {number} to */
function tickLabel(at, step, to) {
  if (at === 0) return "0 s";
  if (to < 1000) return `${at} ms`;
  if (step < SECOND) return `${Number((at / SECOND).toFixed(3))} s`;
  if (to < 2 * MINUTE + 30 * SECOND && step < 30 * SECOND) return `${at / SECOND} s`;
  const seconds = Math.round(at / SECOND);
  const minutes = Math.floor(seconds / 60);
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  if (minutes >= 60) return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
  return `${minutes}:${two(seconds % 60)}`;
}

/** A part of the run's time, kept inside the run. @param {number} a @param {number} b @param {number} extent @param {number} [least] */
export function zoomTo(a, b, extent, least = 20) {
  const from = Math.max(0, Math.min(a, b));
  const to = Math.min(extent, Math.max(a, b));
  if (to - from >= least) return { from, to };
  const middle = (from + to) / 2;
  return { from: Math.max(0, middle - least / 2), to: Math.min(Math.max(extent, least), middle + least / 2) };
}

/** How much of the width a stretch takes that is folded away. */
const CUT = 0.045;
/** A stretch of the run this long in which nothing starts or ends is worth folding. */
const WORTH = 0.25;
const BUCKETS = 2048;

/** @typedef {{from: number, to: number}} Stretch ms since the run started */

/** Time as a distance from the left, with stretches in which nothing happens taken out. */
export class TimeScale {
  /** @param {number} from @param {number} to @param {Stretch[]} [cuts] in order, inside the range */
  constructor(from, to, cuts = []) {
    this.from = from;
    this.to = Math.max(to, from + 1);
    this.cuts = cuts;
    this.#shown = this.to - this.from - cuts.reduce((sum, cut) => sum + cut.to - cut.from, 0);
  }

  #shown;

  /** Where a moment stands, 0 to 1; beyond the range it is less or more. @param {number} at */
  share(at) {
    // Folded stretches add up to a hair more than the whole, and what ended last would stand outside.
    if (at === this.to) return 1;
    let passed = at - this.from;
    let cut = 0;
    for (const { from, to } of this.cuts) {
      if (at <= from) break;
      const inside = Math.min(at, to) - from;
      passed -= inside;
      cut += inside / (to - from);
    }
    return (passed / Math.max(1, this.#shown)) * (1 - CUT * this.cuts.length) + CUT * cut;
  }

  /** Whether something that lasts from one moment to another goes through a stretch that is folded away. @param {number} start @param {number} end */
  tears(start, end) {
    return this.cuts.some((cut) => start < cut.to && end > cut.from);
  }

  /** Ticks no closer than they can be read, none where time is folded. @param {number} width @returns {{at: number, label: string}[]} */
  ticks(width) {
    const span = this.#shown / Math.max(0.1, 1 - CUT * this.cuts.length);
    const marks = [];
    let last = -1;
    for (const { at, label } of ticks(this.from, this.from + span, width).length > 0
      ? this.#candidates(span, width)
      : []) {
      const share = this.share(at);
      const nearCut = this.cuts.some(
        (cut) => share > this.share(cut.from) - 90 / width && share < this.share(cut.to) + 56 / width,
      );
      if (nearCut || (last >= 0 && (share - last) * width < 70)) continue;
      marks.push({ at, label });
      last = share;
    }
    return marks;
  }

  /** @param {number} span @param {number} width */
  #candidates(span, width) {
    if (this.cuts.length === 0) return ticks(this.from, this.to, width);
    // As wide as if nothing were folded, so that the steps suit what is shown.
    return ticks(this.from, this.to, (width * (this.to - this.from)) / span);
  }
}

/**
 * The stretches of a run that are long and in which nothing starts or ends.
 * @param {import("./skeleton.js").Skeleton} skeleton @param {number} from @param {number} to
 * @returns {Stretch[]}
 */
export function quietStretches(skeleton, from, to) {
  const span = to - from;
  if (span <= 0 || skeleton.count < 2) return [];
  const first = new Float64Array(BUCKETS + 1).fill(Infinity);
  const last = new Float64Array(BUCKETS + 1).fill(-Infinity);
  const mark = (/** @type {number} */ at) => {
    if (at < from || at > to) return;
    const bucket = Math.floor(((at - from) / span) * BUCKETS);
    first[bucket] = Math.min(first[bucket], at);
    last[bucket] = Math.max(last[bucket], at);
  };
  for (let n = 1; n <= skeleton.count; n += 1) {
    if (!skeleton.isShown(n)) continue;
    mark(skeleton.start[n]);
    mark(skeleton.endOf(n));
  }
  /** @type {Stretch[]} */
  const quiet = [];
  let before = from;
  for (let bucket = 0; bucket <= BUCKETS; bucket += 1) {
    if (first[bucket] === Infinity) continue;
    if (first[bucket] - before > span * WORTH) quiet.push({ from: before, to: first[bucket] });
    before = last[bucket];
  }
  // What begins and ends a stretch is still to be seen as a bar, and no longer than a part of what else there is to see.
  const busy = quiet.reduce((rest, one) => rest - (one.to - one.from), span);
  const margin = busy > 0 ? Math.min(span * 0.03, busy * 0.1) : span * 0.03;
  return quiet.map((one) => ({ from: one.from + margin, to: one.to - margin }));
}
