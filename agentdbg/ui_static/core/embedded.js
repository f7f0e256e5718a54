// @ts-check
/**
 * Whether the page stands in a file with one run inside it, and where its state stands in the address: a served page
 * has it behind the `?`, a file behind the `#`, because no browser lets a file change the rest.
 */

import { parseAddress } from "../model/address.js";

/** @typedef {import("../model/address.js").Place} Place */

/** The run inside the file; null on a served page. @type {string | null} */
export const embeddedRun = document.documentElement.dataset.embeddedRun ?? null;

/** The state in the address, as a query. */
export function currentQuery() {
  return embeddedRun === null ? location.search : `?${location.hash.slice(1)}`;
}

/** Where the address says the reader is. @returns {Place} */
export function currentPlace() {
  const place = parseAddress(currentQuery());
  return embeddedRun === null ? place : { ...place, runId: embeddedRun, compare: null };
}

/** Where the page is now, in the form of `hrefOf`. */
export function currentHref() {
  return embeddedRun === null ? location.pathname + location.search : location.hash || "#";
}

/** An address of the served page as one that leads there from here. @param {string} address */
export function hrefOf(address) {
  if (embeddedRun === null) return address;
  const parameters = new URLSearchParams(address.slice(address.indexOf("?") + 1));
  parameters.delete("run_id");
  return `#${parameters.toString().replaceAll("%2C", ",")}`;
}
