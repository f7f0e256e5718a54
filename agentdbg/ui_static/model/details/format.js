// @ts-check
/** Figures as the open event shows them: those of the page, and what only it needs. */
import { counted, formatBytes, formatClock, formatDuration, formatTokens } from "../format.js";

export {
  formatClock as clock,
  formatDuration as duration,
  counted as plural,
  formatTokens as short,
  formatBytes as size,
};

/** 12345 as 12,345; any number, also BigInt. @param {number | bigint} value */
export function exact(value) {
  return value.toLocaleString("en-US", { maximumFractionDigits: 6 });
}

/** Dollars with as many digits as a single call needs: $0.49, $0.020, $0.000051. @param {number} usd */
export function dollars(usd) {
  if (usd === 0) return "$0";
  if (usd >= 0.1) return `$${usd.toFixed(2)}`;
  return usd >= 0.001 ? `$${usd.toFixed(3)}` : `$${usd.toPrecision(2)}`;
}

/** Tokens that stand under each other, and so keep a decimal longer: 950, 7.6k, 15.8k, 188k. @param {number} tokens */
export function tokensInColumn(tokens) {
  if (tokens < 1000) return String(tokens);
  return tokens < 99_950 ? `${(tokens / 1000).toFixed(1)}k` : formatTokens(tokens);
}

const SMALL = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve"];

/** A number that starts a sentence. @param {number} value */
export function word(value) {
  return SMALL[value] ?? exact(value);
}
