// @ts-check
/** The rows of two runs, over one virtual list: only what is in sight is in the page, however long the runs are. */

import { emit, h, setOptional } from "../../core/dom.js";
import { rowAt } from "../../model/compare.js";
import { formatCount } from "../../model/format.js";
import { RowHeights, ScrollTrack, scrollToShow, windowOf } from "../../model/heights.js";
import { makeDetails } from "./compare-details.js";
import { fillRow } from "./compare-row.js";

/** @typedef {import("../../core/compare-data.js").CompareData} CompareData */
/** @typedef {import("../../model/compare.js").Comparison} Comparison */

const OVERSCAN = 8;
const AHEAD = 40;
const ROW = 28;
const STACKED_BELOW = 720;
const STACKED_ROW = 44;
const UNMEASURED = 160;
const MARGIN = 5 * ROW;

export class CompareRows extends HTMLElement {
  /** @type {CompareData | null} */
  data = null;
  /** The selected row, -1 for none. */
  selected = -1;
  /** The open row, -1 for none. */
  opened = -1;

  #window = h("div", { class: "window", role: "presentation" });
  #track = h("div", { class: "track", role: "presentation" }, this.#window);
  #scroller = h(
    "div",
    { class: "scroller", role: "grid", tabindex: "0", "aria-label": "Both runs, row by row" },
    this.#track,
  );
  #nothing = h("p", { class: "nothing quiet", hidden: true });
  #scroll = new ScrollTrack();
  #heights = new RowHeights(0, () => 0);
  /** @type {Int32Array} */
  #lines = new Int32Array(0);
  #laidOut = "";
  #top = 0;
  #viewport = 0;
  #isStacked = false;
  #bodyHeight = UNMEASURED;
  /** @type {HTMLElement | null} */
  #body = null;
  #bodyOf = -1;
  /** @type {Map<number, {element: HTMLElement, key: string}>} drawn lines, by themselves */
  #drawn = new Map();
  #sizes = new ResizeObserver((entries) => this.#measure(entries));

  connectedCallback() {
    if (this.firstChild) return;
    this.append(this.#scroller, this.#nothing);
    this.#scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#window.addEventListener("click", (event) => this.#clicked(event));
    new ResizeObserver(() => this.#resized()).observe(this.#scroller);
  }

  focusRows() {
    this.#scroller.focus({ preventScroll: true });
  }

  /** How many rows fit, for page up and page down. */
  get page() {
    return Math.max(1, Math.floor(this.#viewport / (this.#isStacked ? STACKED_ROW * 1.5 : ROW)) - 1);
  }

  /** Start over with another comparison. @param {CompareData} data */
  show(data) {
    this.data = data;
    this.selected = this.opened = this.#bodyOf = -1;
    this.#body = null;
    for (const { element } of this.#drawn.values()) element.remove();
    this.#drawn.clear();
    this.#scrollTo(0);
    this.update();
  }

  /** Bring the page in line with the comparison. */
  update() {
    const comparison = this.data?.comparison;
    if (!comparison) return;
    if (this.opened !== this.#bodyOf) this.#openBody();
    this.#layOut(comparison);
    this.#render();
  }

  /** @param {Comparison} comparison */
  #layOut(comparison) {
    const { lines } = comparison;
    const key = `${this.#isStacked} ${this.#viewport} ${this.opened} ${this.#bodyHeight}`;
    if (lines === this.#lines && key === this.#laidOut) return; // only words have come
    this.#lines = lines;
    this.#laidOut = key;
    this.#heights = new RowHeights(lines.length, (place) => this.#heightOf(comparison, lines[place]));
    this.#scroller.setAttribute("aria-rowcount", String(lines.length));
    this.#nothing.hidden = lines.length > 0;
    this.#nothing.textContent =
      comparison.shown === "effects"
        ? "Neither run called a tool that changes anything or might."
        : "Nothing differs but times, ids and wording.";
    this.#resizeTrack();
    this.#scrollTo(this.#top);
  }

  /** Bring a row into sight, with a little of what led to it above. @param {number} row */
  reveal(row) {
    const place = this.data?.comparison?.placeOf(row) ?? -1;
    if (place < 0) return;
    const height = this.#isStacked ? STACKED_ROW : ROW;
    const visible = scrollToShow(this.#heights, place, this.#top, this.#viewport, 0, height) === null;
    if (!visible) this.#scrollTo(this.#heights.topOf(place) - Math.min(MARGIN, this.#viewport * 0.3));
    this.#render();
  }

  /** @param {Comparison} comparison @param {number} line */
  #heightOf(comparison, line) {
    if (line < 0) return this.#isStacked ? STACKED_ROW : ROW;
    const both = comparison.sign(line) === "!" || comparison.sign(line) === "~";
    const height = this.#isStacked ? (both ? 2 * STACKED_ROW : STACKED_ROW) : ROW;
    return line === this.opened ? height + this.#bodyHeight : height;
  }

  #resizeTrack() {
    this.#scroll.resize(this.#heights.total, this.#viewport);
    this.#track.style.height = `${this.#scroll.height}px`;
  }

  #resized() {
    this.#viewport = this.#scroller.clientHeight;
    this.#isStacked = this.clientWidth < STACKED_BELOW;
    this.toggleAttribute("data-stacked", this.#isStacked);
    // The heads above have no scroll bar; they keep its room free.
    this.parentElement?.style.setProperty(
      "--scrollbar",
      `${this.#scroller.offsetWidth - this.#scroller.clientWidth}px`,
    );
    this.update();
  }

  /** @param {number} top */
  #scrollTo(top) {
    const track = this.#scroll.bind(top);
    this.#top = Math.max(0, Math.min(top, Math.max(0, this.#heights.total - this.#viewport)));
    if (Math.abs(this.#scroller.scrollTop - track) > 0.5) this.#scroller.scrollTop = track;
  }

  #scrolled() {
    this.#top = this.#scroll.moved(this.#scroller.scrollTop);
    this.#render();
  }

  #openBody() {
    if (this.#body) this.#sizes.unobserve(this.#body);
    this.#body?.remove();
    this.#body = null;
    this.#bodyOf = this.opened;
    this.#bodyHeight = UNMEASURED;
    if (this.opened < 0 || !this.data) return;
    this.#body = h(
      "div",
      { class: "body", role: "row" },
      h("div", { role: "gridcell" }, makeDetails(this.data, this.opened)),
    );
    this.#sizes.observe(this.#body);
  }

  /** @param {ResizeObserverEntry[]} entries */
  #measure(entries) {
    const height = Math.round(entries.at(-1)?.borderBoxSize[0].blockSize ?? 0);
    if (height === 0 || height === this.#bodyHeight || entries.at(-1)?.target !== this.#body) return;
    this.#bodyHeight = height;
    this.update();
  }

  #render() {
    const comparison = this.data?.comparison;
    if (!comparison || this.#viewport === 0) return;
    const seen = windowOf(this.#heights, this.#top, this.#viewport, OVERSCAN);
    const wanted = this.#lines.subarray(seen.first, seen.last + 1);
    const keep = new Set(wanted);
    for (const [line, { element }] of this.#drawn) {
      if (keep.has(line)) continue;
      element.remove();
      this.#drawn.delete(line);
    }
    this.#window.style.top = `${this.#heights.topOf(seen.first) - this.#scroll.shift}px`;
    let cursor = this.#window.firstElementChild;
    for (const [index, line] of wanted.entries()) {
      const element = line < 0 ? this.#fold(comparison, line) : this.#pair(comparison, line);
      element.firstElementChild?.setAttribute("aria-rowindex", String(seen.first + index + 1));
      if (element === cursor) cursor = cursor.nextElementSibling;
      else this.#window.insertBefore(element, cursor);
    }
    setOptional(
      this.#scroller,
      "aria-activedescendant",
      this.selected >= 0 && this.#drawn.has(this.selected) ? `pair-${this.selected}` : null,
    );
    const ahead = this.#lines.subarray(Math.max(0, seen.first - AHEAD), seen.last + 1 + AHEAD);
    this.data?.need([...wanted, ...ahead].filter((line) => line >= 0));
  }

  /** @param {Comparison} comparison @param {number} row */
  #pair(comparison, row) {
    const data = /** @type {CompareData} */ (this.data);
    let drawn = this.#drawn.get(row);
    if (!drawn) {
      drawn = { element: h("div", { class: "item", role: "rowgroup" }, h("div", { role: "row" })), key: "" };
      this.#drawn.set(row, drawn);
    }
    const element = /** @type {HTMLElement} */ (drawn.element.firstElementChild);
    const here = (/** @type {"a" | "b"} */ side) => data.row(side, comparison.number(row, side)) !== undefined;
    const key = `${here("a")} ${here("b")} ${data.changes(row) !== undefined} ${comparison.isMatch(row)} ${data.q}`;
    if (drawn.key !== key) {
      fillRow(element, data, row);
      drawn.key = key;
    }
    element.setAttribute("aria-selected", String(row === this.selected));
    const isOpen = row === this.opened;
    drawn.element.toggleAttribute("data-open", isOpen);
    if (isOpen && this.#body && drawn.element.lastElementChild !== this.#body) drawn.element.append(this.#body);
    return drawn.element;
  }

  /** @param {Comparison} comparison @param {number} line */
  #fold(comparison, line) {
    const first = rowAt(line);
    const count = comparison.foldedFrom(first);
    const words = `${formatCount(count)} rows, the same${comparison.isSame(first) ? "" : " but for wording"}`;
    let drawn = this.#drawn.get(line);
    if (!drawn || drawn.key !== words) {
      drawn?.element.remove();
      const show = h(
        "button",
        { class: "link", type: "button", onclick: () => emit(this, "unfold", { first }) },
        "show",
      );
      drawn = {
        element: h(
          "div",
          { class: "item", role: "rowgroup" },
          h("div", { class: "fold", role: "row" }, h("span", { role: "gridcell" }, words, " ", show)),
        ),
        key: words,
      };
      this.#drawn.set(line, drawn);
    }
    return drawn.element;
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const target = /** @type {Element} */ (event.target);
    const row = /** @type {HTMLElement | null} */ (target.closest(".pair"));
    if (!row || event.defaultPrevented || getSelection()?.toString()) return;
    emit(this, "toggle-pair", { row: Number(row.dataset.row) });
  }
}

customElements.define("compare-rows", CompareRows);
