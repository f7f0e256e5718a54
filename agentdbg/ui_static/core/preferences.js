// @ts-check
/**
 * What the reader chose and the browser remembers: in a cookie, which the server reads and writes into the page. The
 * browser's storage would do, but asking it makes the page wait before its first row. A file has no server, so there
 * it is the storage. Where both are refused, the choice lasts as long as the page.
 */

import { embeddedRun } from "./embedded.js";

const COOKIE = "agentdbg_preferences";
const YEAR_S = 31_536_000;

const chosen = new URLSearchParams(document.documentElement.dataset.preferences);

/** @param {string} name @param {string} fallback */
export function preference(name, fallback) {
  return chosen.get(name) ?? (embeddedRun === null ? null : stored(name)) ?? fallback;
}

/** @param {string} name @param {string} value */
export function setPreference(name, value) {
  chosen.set(name, value);
  if (embeddedRun === null) writeCookie(name, value);
  else store(name, value);
}

/** Another page may have written it since this one came, so only the one choice is changed. @param {string} name @param {string} value */
function writeCookie(name, value) {
  const before = document.cookie.split("; ").find((cookie) => cookie.startsWith(`${COOKIE}=`)) ?? "";
  const all = new URLSearchParams(decodeURIComponent(before.slice(COOKIE.length + 1)));
  all.set(name, value);
  document.cookie = `${COOKIE}=${encodeURIComponent(all.toString())}; path=/; max-age=${YEAR_S}; samesite=strict`;
}

/** A choice that holds words of the reader's own, which no cookie should carry. @param {string} name */
export function stored(name) {
  try {
    return localStorage.getItem(`agentdbg.${name}`);
  } catch {
    return null; // private windows refuse storage
  }
}

/** @param {string} name @param {string} value */
export function store(name, value) {
  try {
    localStorage.setItem(`agentdbg.${name}`, value);
  } catch {
    // It lasts as long as the page.
  }
}
