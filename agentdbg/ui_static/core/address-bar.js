// @ts-check
/** The page's state in the address: written when the state changes, obeyed when the reader goes back or forward. */

import { deservesEntry, formatAddress } from "../model/address.js";
import { formatShown, parseShown } from "../model/compare.js";
import { filterOf, formatFilter } from "../model/filters.js";
import { currentHref, currentPlace, currentQuery, hrefOf } from "./embedded.js";

/** @typedef {import("../model/address.js").Place} Place */

const PAUSE_MS = 250;

export class AddressBar {
  /** @param {import("./actions.js").Actions} actions */
  constructor(actions) {
    this.actions = actions;
    addEventListener("popstate", () => this.#visit(currentPlace()));
    addEventListener("beforeunload", () => this.#keepNow());
  }

  /** @returns {Place} */
  #place() {
    const { runId, view, filter, q, opened, sideOpen, side, compare, compared, sort, table } = this.actions.state;
    if (table !== null)
      return { runId: null, view: "list", filter: "", q: table, event: null, side: false, table: true };
    // What stands open under a comparison is not what the reader looks at.
    if (compare !== null)
      return {
        runId,
        view: "list",
        filter: formatShown(compared?.shown ?? "all"),
        q: compared?.q ?? "",
        event: null,
        side: false,
        compare,
      };
    const event = side && sideOpen > 0 ? sideOpen : ([...opened].at(-1) ?? 0);
    return {
      runId,
      view,
      filter: formatFilter(filter),
      q,
      event: event > 0 ? String(event) : null,
      side: side && sideOpen > 0,
      sort,
    };
  }

  /** What a reload takes up again; the browser keeps it with the entry in its history. */
  #kept() {
    const { runId, selected } = this.actions.state;
    return { runId, selected, top: Math.round(this.actions.screen.rows.top), table: history.state?.table };
  }

  #timer = 0;

  /** The reader scrolled: remember where to, when they pause. */
  rememberPlace() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#keepNow(), PAUSE_MS);
  }

  /** What waits for a pause is kept at once when the page is left: nobody pauses before a reload. */
  #keepNow() {
    if (this.#timer) history.replaceState(this.#kept(), "", currentHref());
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  /** Write the state into the address. @param {{replace?: boolean}} [options] */
  remember({ replace = false } = {}) {
    const place = this.#place();
    const address = hrefOf(formatAddress(place, currentQuery()));
    if (address === currentHref()) {
      this.rememberPlace();
      return;
    }
    if (!replace && deservesEntry(currentPlace(), place)) history.pushState(this.#kept(), "", address);
    else history.replaceState(this.#kept(), "", address);
  }

  /** Go where the history says. @param {Place} place */
  #visit(place) {
    if (place.table || this.actions.table.isOpen) {
      this.actions.table.toggle(place.table ?? false, place.q);
      if (place.table) return;
    }
    this.actions.store.set({
      view: place.view,
      filter: filterOf(place),
      side: place.side || this.actions.state.side,
      sort: place.sort ?? null,
    });
    if (place.runId === null) {
      this.actions.compare.stop();
      this.actions.opener.close();
      this.actions.runActions.openLatest();
    } else if (place.runId !== this.actions.state.runId) this.actions.opener.open(place.runId, place.event);
    else if (place.event === null) this.actions.store.set({ opened: new Set(), sideOpen: 0 });
    else this.actions.opener.openEvent(place.event);
    if (place.runId !== null && (place.compare ?? null) !== this.actions.state.compare) {
      if (place.compare)
        this.actions.compare.open(place.runId, place.compare, { q: place.q, shown: parseShown(place.filter) });
      else this.actions.compare.stop();
    }
    if (!place.compare && place.q !== this.actions.state.q) this.actions.search(place.q, { remember: false });
  }
}
