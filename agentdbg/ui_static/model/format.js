// @ts-check
/** Numbers and times the way a person says them. Pure: the clock and the time zone come in as arguments. */

const NOTHING = "–";

/** A duration: `950 ms`, `4.2 s`, `1 min 17 s`, `2 h 5 min`. @param {number | null | undefined} ms */
export function formatDuration(ms) {
  if (ms === null || ms === undefined) return NOTHING;
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const tenths = Math.round(ms / 100);
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return joined(Math.floor(seconds / 60), "min", seconds % 60, "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return joined(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const hours = Math.round(minutes / 60);
  return joined(Math.floor(hours / 24), "d", hours % 24, "h");
}

/** A duration that is still growing, in whole seconds so that it does not flicker: `24 s`, `2 min 17 s`. @param {number} ms */
export function formatElapsed(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000);
}

/** @param {number} large @param {string} largeUnit @param {number} small @param {string} smallUnit */
function joined(large, largeUnit, small, smallUnit) {
  return small ? `${large} ${largeUnit} ${small} ${smallUnit}` : `${large} ${largeUnit}`;
}

/** A count of tokens: `950`, `7.6k`, `188k`, `2.1M`, `1.1B`. @param {number | null | undefined} tokens */
export function formatTokens(tokens) {
  if (tokens === null || tokens === undefined) return NOTHING;
  if (tokens < 1000) return String(tokens);
  if (tokens < 9950) return `${(tokens / 1000).toFixed(1)}k`;
  if (tokens < 999500) return `${Math.round(tokens / 1000)}k`;
  if (tokens < 9950000) return `${(tokens / 1e6).toFixed(1)}M`;
  if (tokens < 999.5e6) return `${Math.round(tokens / 1e6)}M`;
  return tokens < 9.95e9 ? `${(tokens / 1e9).toFixed(1)}B` : `${formatCount(Math.round(tokens / 1e9))}B`;
}

/** A whole number with its thousands marked: `1,204`. @param {number} count */
export function formatCount(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A count with its noun: `1 error`, `6 errors`. @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Time since the run started: `0:54.6`, `1:05.6`, `1:02:07`. @param {number} ms */
export function formatAt(ms) {
  const tenths = Math.floor(Math.max(0, ms) / 100);
  const seconds = Math.floor(tenths / 10);
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 60) return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
  return `${minutes}:${two(seconds % 60)}.${tenths % 10}`;
}

/** Money: `$0.49`, `$0.0004`, `$12.30`. @param {number | null | undefined} dollars */
export function formatCost(dollars) {
  if (dollars === null || dollars === undefined) return NOTHING;
  if (dollars === 0) return "$0";
  if (dollars < 0.01)
    return `$${Number(dollars.toPrecision(1)).toFixed(Math.min(8, 1 - Math.floor(Math.log10(dollars)) - 1))}`;
  const [whole, cents] = dollars.toFixed(2).split(".");
  return `$${formatCount(Number(whole))}.${cents}`;
}

/** A size on disk or on the clipboard: `812 B`, `1.9 kB`, `3.4 MB`. @param {number} bytes */
export function formatBytes(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 999950) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** How long ago, short enough for the rail: `now`, `4 min`, `3 h`, then the day. @param {number} then @param {number} now */
export function formatAge(then, now) {
  const minutes = Math.floor((now - then) / 60000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  const days = dayDifference(then, now);
  if (days === 0) return `${Math.floor(minutes / 60)} h`;
  const date = new Date(then);
  const day = `${date.getDate()} ${MONTHS[date.getMonth()]}`;
  return date.getFullYear() === new Date(now).getFullYear() ? day : `${day} ${date.getFullYear()}`;
}

/** The day as a heading: `Today`, `Yesterday`, `Monday, 9 Nov`. @param {number} then @param {number} now */
export function formatDay(then, now) {
  const days = dayDifference(then, now);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  const date = new Date(then);
  const weekday = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"][date.getDay()];
  const day = `${date.getDate()} ${MONTHS[date.getMonth()]}`;
  if (days < 7) return `${weekday}, ${day}`;
  return date.getFullYear() === new Date(now).getFullYear() ? day : `${day} ${date.getFullYear()}`;
}

/** When a run started, beside its name: `today 14:02`, `yesterday 09:10`, `9 Nov 09:10`. @param {number} then @param {number} now */
export function formatStarted(then, now) {
  const days = dayDifference(then, now);
  const date = new Date(then);
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (days <= 0) return `today ${clock}`;
  if (days === 1) return `yesterday ${clock}`;
  return `${formatAge(then, now)} ${clock}`;
}

/** Wall-clock time to the millisecond, in the reader's zone: `14:03:06.806`. @param {string} timestamp */
export function formatClock(timestamp) {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return timestamp;
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** Whole calendar days between two moments, in the reader's zone. @param {number} then @param {number} now */
function dayDifference(then, now) {
  return Math.round((midnight(now) - midnight(then)) / 86400000);
}

/** @param {number} moment */
function midnight(moment) {
  return new Date(moment).setHours(0, 0, 0, 0);
}

/** @param {number} value */
function two(value) {
  return String(value).padStart(2, "0");
}

/**
 * Where the time of a run went. Calls may claim more time than the run took, when durations were reported and not
 * measured; then they are all there was. What took nothing is left out.
 * @param {Record<string, number | null>} figures duration_ms, llm_calls, model_ms, tool_ms and waiting_ms
 */
export function formatShares({
  duration_ms: total,
  llm_calls: calls,
  model_ms: model,
  tool_ms: tool,
  waiting_ms: waiting,
}) {
  const busy = (model ?? 0) + (tool ?? 0);
  if (!total || busy === 0 || (calls && !model)) return null; // no model answers in no time: it was not timed
  const percent = (/** @type {number | null} */ part) => Math.round((100 * (part ?? 0)) / Math.max(total, busy));
  const said = /** @type {[string, number][]} */ ([
    ["model", percent(model)],
    ["tools", percent(tool)],
    ["waiting", percent(waiting)],
  ]);
  return said.flatMap(([what, share]) => (share > 0 ? [`${what} ${share} %`] : [])).join(" · ") || null;
}
