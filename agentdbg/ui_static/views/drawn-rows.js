// @ts-check
/**
 * The rows that are in the page, with the open events under them: made when they come into sight, filled anew when
 * what they say changes, taken away when they are out of sight. Where they stand is decided in event-rows.js.
 */

import { h, setOptional } from "../core/dom.js";
import { fillRow } from "./event-row.js";
import { factsOf } from "./row-facts.js";

/** @typedef {{element: HTMLElement, row: HTMLElement, facts: string, source: any}} Item */

const ARRIVED_MS = 700;

export class DrawnRows {
  /** @param {(entries: ResizeObserverEntry[]) => void} onBodySizes told how high open events are */
  constructor(onBodySizes) {
    this.#bodySizes = new ResizeObserver(onBodySizes);
  }

  element = h("div", { class: "window", role: "presentation" });

  #bodySizes;
  /** @type {Map<number, Item>} */
  #items = new Map();
  /** @type {Map<number, HTMLElement>} */
  #bodies = new Map();
  /** @type {Map<number, number>} when an event arrived live */
  #arrived = new Map();

  /** The events in the page. */
  get numbers() {
    return [...this.#items.keys()];
  }

  /** @param {number} n */
  rowOf(n) {
    return this.#items.get(n)?.row;
  }

  clear() {
    for (const { element } of this.#items.values()) element.remove();
    this.#items.clear();
    this.#bodies.clear();
    this.#arrived.clear();
  }

  /** @param {number[]} numbers */
  markArrived(numbers) {
    const now = performance.now();
    for (const n of numbers.slice(-200)) this.#arrived.set(n, now);
    for (const [n, since] of this.#arrived) if (now - since > ARRIVED_MS) this.#arrived.delete(n);
  }

  /** Forget the bodies of events that are open no more. @param {ReadonlySet<number>} opened @returns {number[]} whose they were */
  closeAllBut(opened) {
    const closed = [...this.#bodies.keys()].filter((n) => !opened.has(n));
    for (const n of closed) {
      this.#bodySizes.unobserve(/** @type {HTMLElement} */ (this.#bodies.get(n)));
      this.#bodies.delete(n);
    }
    return closed;
  }

  /**
   * Have these events in the page and no others.
   * @param {Uint32Array} wanted in their order @param {number} first the place of the first of them
   * @param {object} looks
   * @param {import("./row-facts.js").Setting} looks.setting
   * @param {(n: number) => import("../model/types.js").Row | undefined} looks.rowOf the words of an event, if they are here
   * @param {number} looks.selected @param {ReadonlySet<number>} looks.opened
   * @param {(n: number) => HTMLElement} looks.makeDetails
   */
  draw(wanted, first, { setting, rowOf, selected, opened, makeDetails }) {
    const keep = new Set(wanted);
    for (const [n, { element }] of this.#items) {
      if (keep.has(n)) continue;
      element.remove();
      this.#items.delete(n);
    }
    let cursor = this.element.firstElementChild;
    for (let index = 0; index < wanted.length; index += 1) {
      const n = wanted[index];
      const item = this.#item(n);
      this.#fill(item, n, first + index, setting, rowOf(n));
      item.row.setAttribute("aria-selected", String(n === selected));
      this.#fillBody(item, n, opened.has(n), makeDetails);
      if (item.element === cursor) cursor = cursor.nextElementSibling;
      else this.element.insertBefore(item.element, cursor);
    }
  }

  /** @param {number} n */
  #item(n) {
    let item = this.#items.get(n);
    if (!item) {
      const row = h("div", { class: "row", role: "row" });
      item = { element: h("div", { class: "item", role: "rowgroup" }, row), row, facts: "", source: null };
      this.#items.set(n, item);
    }
    return item;
  }

  /**
   * @param {Item} item @param {number} n @param {number} place @param {import("./row-facts.js").Setting} setting
   * @param {import("../model/types.js").Row | undefined} row
   */
  #fill(item, n, place, setting, row) {
    const { timeline } = setting;
    const facts = factsOf(setting, n, place, row);
    const key = JSON.stringify({ ...facts, row: undefined });
    if (item.facts !== key || item.source !== row) {
      fillRow(item.row, facts, timeline.skeleton, setting.elapsed);
      item.facts = key;
      item.source = row;
    }
    item.row.setAttribute("aria-rowindex", String(place + 1));
    setOptional(item.row, "aria-level", timeline.isTree ? String(facts.depth + 1) : null);
    setOptional(item.row, "aria-expanded", timeline.isTree && facts.expanded !== null ? String(facts.expanded) : null);
    const arrived = this.#arrived.get(n);
    item.element.toggleAttribute("data-arrived", arrived !== undefined && performance.now() - arrived < ARRIVED_MS);
  }

  /** @param {Item} item @param {number} n @param {boolean} isOpen @param {(n: number) => HTMLElement} makeDetails */
  #fillBody({ element }, n, isOpen, makeDetails) {
    element.toggleAttribute("data-open", isOpen);
    const present = element.children[1];
    if (!isOpen) {
      present?.remove();
      return;
    }
    let body = this.#bodies.get(n);
    if (!body) {
      body = h(
        "div",
        { class: "body", role: "row", "data-n": n },
        h("div", { class: "body-cell", role: "gridcell" }, makeDetails(n)),
      );
      this.#bodies.set(n, body);
      this.#bodySizes.observe(body);
    }
    if (present !== body) element.append(body);
  }
}
