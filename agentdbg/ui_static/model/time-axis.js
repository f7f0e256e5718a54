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
