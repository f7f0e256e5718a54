// @ts-check
/** Figures as the facts show them: exact where a person may compare, short where they only need the size. */

/** 12345 as 12,345; any integer, also BigInt. @param {number | bigint} value */
export function exact(value) {
  return value.toLocaleString("en-US", { maximumFractionDigits: 3 });
}

/** 950, 7.6k, 188k, 2.1M; figures that stand under each other can keep their decimals longer. @param {number} value @param {number} [decimalsBelow] */
export function short(value, decimalsBelow = 9_950) {
  if (value < 1000) return String(value);
  if (value < 999_500) return value < decimalsBelow ? `${(value / 1000).toFixed(1)}k` : `${Math.round(value / 1000)}k`;
  return value < 9_950_000 ? `${(value / 1e6).toFixed(1)}M` : `${Math.round(value / 1e6)}M`;
}

/** 950 ms, 4.2 s, 1 min 17 s, 2 h 5 min. @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** 812 bytes, 6.2 kB, 1.3 MB. @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  return bytes < 999_950 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Dollars with as many digits as the amount needs. @param {number} usd */
export function dollars(usd) {
  if (usd === 0) return "$0";
  if (usd >= 0.1) return `$${usd.toFixed(2)}`;
  return usd >= 0.001 ? `$${usd.toFixed(3)}` : `$${usd.toPrecision(2)}`;
}

/** The reader's own clock, to the millisecond. @param {number} epochMs */
export function clock(epochMs) {
  const date = new Date(epochMs);
  /** @param {number} value @param {number} [width] */
  const pad = (value, width = 2) => String(value).padStart(width, "0");
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`;
}

const SMALL = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve"];

/** A number that starts a sentence. @param {number} value */
export function word(value) {
  return SMALL[value] ?? exact(value);
}

/** 1 event, 2 events. @param {number} count @param {string} one @param {string} [many] */
export function plural(count, one, many = `${one}s`) {
  return `${exact(count)} ${count === 1 ? one : many}`;
}
