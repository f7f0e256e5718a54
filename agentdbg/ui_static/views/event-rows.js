// @ts-check
/**
 * The rows of the run: list, tree and waterfall over one virtual list. Only what is in sight is in the page, whatever
 * the run's length; what the reader looks at stays where it is when rows arrive, open, fold or are filtered.
 */

import { emit, h, painted, setOptional } from "../core/dom.js";
import { RowHeights, ScrollTrack, scrollToShow, windowOf } from "../model/heights.js";
import { gutterOf } from "../model/rounds.js";
import { KIND } from "../model/skeleton.js";
import { suspectsOf } from "../model/suspects.js";
import { DrawnRows } from "./drawn-rows.js";
import { RowColumns } from "./row-columns.js";
import { elapsedOf, timeInSight, wholeRange } from "./row-facts.js";

/** @typedef {import("../core/run-data.js").RunData} RunData */
/** @typedef {import("../model/timeline.js").Timeline} Timeline */

const OVERSCAN = 8;
const AHEAD = 40; // rows fetched beyond what is drawn, so that a calm scroll never meets an empty row
const UNMEASURED_BODY = 280;
const COMPACT_BELOW = 600;
const MARGIN = 6 * 28; // what led to a failure stays in sight above it

export class EventRows extends HTMLElement {
  /** @type {RunData | null} */
  data = null;
  /** @type {Timeline | null} */
  timeline = null;
  /** The selected event's number, 0 for none. */
  selected = 0;
  /** The events open in place. @type {ReadonlySet<number>} */
  opened = new Set();
  query = "";
  /** The stretch of time the waterfall shows, null for all. @type {{from: number, to: number} | null} */
  zoom = null;
  follow = false;
  /** What is said above the rows. */
  note = h("div", { class: "row-note", hidden: true });
  /** Makes the open event's element. @type {(n: number) => HTMLElement} */
  makeDetails = () => h("div");

  #columns = new RowColumns(this);
  #drawn = new DrawnRows((entries) => this.#measure(entries));
  #track = h("div", { class: "track", role: "presentation" }, this.#drawn.element);
  #scroller = h("div", { class: "scroller", role: "grid", tabindex: "0", "aria-label": "Events" }, this.#track);
  #scroll = new ScrollTrack();
  #heights = new RowHeights(0, () => 0);
  #top = 0;
  #trackTop = 0;
  #viewport = 0;
  #width = 0;
  /** Rows drawn beyond those in sight; none until the first are painted, because somebody waits for them. */
  #overscan = 0;
  /** @type {Map<number, number>} */
  #bodyHeights = new Map();
  #gutter = gutterOf([]);
  /** The suspects by rank. @type {Map<number, number>} */
  #ranks = new Map();
  /** @type {{key: string, numbers: Uint32Array}} */
  #shown = { key: "", numbers: new Uint32Array(0) };
  #pressed = { x: 0, y: 0 };
  #isOwnScroll = false;

  connectedCallback() {
    if (this.firstChild) return;
    const { heads, path, lines } = this.#columns;
    this.append(heads, path, this.note, lines, this.#scroller);
    this.#scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#scroller.addEventListener("scrollend", () => this.#rebind());
    this.#scroller.addEventListener("wheel", (event) => event.deltaY < 0 && this.#stopFollowing(), { passive: true });
    this.#scroller.addEventListener("touchmove", () => this.#stopFollowing(), { passive: true });
    this.#drawn.element.addEventListener(
      "pointerdown",
      (event) => (this.#pressed = { x: event.clientX, y: event.clientY }),
    );
    this.#drawn.element.addEventListener("click", (event) => this.#clicked(event));
    new ResizeObserver(() => this.#resized()).observe(this.#scroller);
  }

  /** Whether rows are two lines high. */
  get isCompact() {
    return this.#width < COMPACT_BELOW;
  }

  focusRows() {
    this.#scroller.focus({ preventScroll: true });
  }

  /** Start over with another run. @param {RunData} data @param {Timeline} timeline */
  show(data, timeline) {
    this.data = data;
    this.timeline = timeline;
    this.#drawn.clear();
    this.#bodyHeights.clear();
    this.#shown = { key: "", numbers: new Uint32Array(0) };
    this.#gutter = gutterOf([]);
    this.#overscan = 0;
    if (this.#viewport === 0) this.#readSize();
    this.#scrollTo(0);
    this.update();
    painted().then(() => {
      this.#overscan = OVERSCAN;
      this.#render();
    });
  }

  setFindings() {
    this.#ranks = new Map(suspectsOf(this.data?.summary).map(({ n }, at) => [n, at + 1]));
    this.#gutter = gutterOf(this.data?.findings ?? []);
  }

  /** @param {number[]} numbers */
  markArrived(numbers) {
    this.#drawn.markArrived(numbers);
  }

  /** Bring the page in line with data, timeline and properties, holding what the reader looks at in its place. */
  update() {
    if (!this.timeline || !this.data) return;
    const anchor = this.#anchor();
    this.#layout();
    if (this.follow && this.data.isRunning) this.#scrollTo(this.#heights.total);
    else this.#restore(anchor);
    this.#drawHeads();
    this.#scroller.setAttribute("role", this.timeline.isTree ? "treegrid" : "grid");
    this.#scroller.setAttribute("aria-rowcount", String(this.timeline.length));
    this.#render();
  }

  #drawHeads() {
    const timeline = /** @type {Timeline} */ (this.timeline);
    const data = /** @type {RunData} */ (this.data);
    this.#columns.draw(timeline, data, timeline.timeScale(this.#range()), this.#width);
    this.#columns.drawPath(timeline, data, this.selected);
  }

  #layout() {
    const timeline = /** @type {Timeline} */ (this.timeline);
    const numbers = timeline.numbers;
    const key = `${timeline.skeleton.version} ${this.isCompact} ${[...this.opened].join()}`;
    if (this.#shown.numbers === numbers && this.#shown.key === key) return;
    this.#shown = { key, numbers };
    const { skeleton } = timeline;
    const compact = this.isCompact;
    this.#heights = new RowHeights(numbers.length, (index) => {
      const n = numbers[index];
      const height = compact ? (skeleton.isFailure(n) ? 70 : 52) : 28;
      return this.opened.has(n) ? height + (this.#bodyHeights.get(n) ?? UNMEASURED_BODY) : height;
    });
    for (const n of this.#drawn.closeAllBut(this.opened)) this.#bodyHeights.delete(n);
    this.#resizeTrack();
  }

  #resizeTrack() {
    this.#scroll.resize(this.#heights.total, this.#viewport);
    this.#track.style.height = `${this.#scroll.height}px`;
  }

  // Staying in place

  /** What the reader looks at: the selected row if it is in sight, else the first rows in sight. */
  #anchor() {
    const { numbers } = this.#shown;
    if (numbers.length === 0 || this.#top <= 0) return [];
    const { inSightFirst, inSightLast } = windowOf(this.#heights, this.#top, this.#viewport, 0);
    /** @type {{n: number, distance: number}[]} */
    const candidates = [];
    for (let index = inSightFirst; index <= inSightLast; index += 1) {
      const candidate = { n: numbers[index], distance: this.#heights.topOf(index) - this.#top };
      if (candidate.n === this.selected) candidates.unshift(candidate);
      else candidates.push(candidate);
    }
    return candidates;
  }

  /** @param {{n: number, distance: number}[]} anchor */
  #restore(anchor) {
    const timeline = /** @type {Timeline} */ (this.timeline);
    for (const { n, distance } of anchor) {
      const place = timeline.placeOf(n);
      if (place >= 0) return this.#scrollTo(this.#heights.topOf(place) - distance);
    }
    return this.#scrollTo(anchor.length === 0 ? this.#top : 0);
  }

  /** @param {ResizeObserverEntry[]} entries */
  #measure(entries) {
    if (!this.timeline) return;
    const anchor = this.#anchor();
    for (const entry of entries) {
      const n = Number(/** @type {HTMLElement} */ (entry.target).dataset.n);
      const height = Math.round(entry.borderBoxSize[0].blockSize);
      const place = this.timeline.placeOf(n);
      if (height === 0 || place < 0 || !this.opened.has(n)) continue;
      this.#heights.changed(place, height - (this.#bodyHeights.get(n) ?? UNMEASURED_BODY));
      this.#bodyHeights.set(n, height);
    }
    this.#resizeTrack();
    this.#restore(anchor);
    this.#render();
  }

  #resized() {
    const [viewport, width] = [this.#viewport, this.#width];
    const wasInSight = this.#isInSight(this.selected);
    this.#readSize();
    if (viewport === this.#viewport && width === this.#width) return;
    this.update();
    // What comes in above the rows, the suspects say, must not push an open event out at the bottom.
    if (wasInSight && this.#viewport < viewport && this.opened.has(this.selected)) this.#revealBeginning(this.selected);
  }

  /** @param {number} n */
  #isInSight(n) {
    const place = this.timeline?.placeOf(n) ?? -1;
    if (place < 0) return false;
    const distance = this.#heights.topOf(place) - this.#top;
    return distance >= 0 && distance < this.#viewport;
  }

  /** Bring an open row and the beginning of its details into sight. @param {number} n */
  #revealBeginning(n) {
    const place = /** @type {Timeline} */ (this.timeline).placeOf(n);
    const height = Math.min(this.#heights.heightAt(place), UNMEASURED_BODY);
    const top = scrollToShow(this.#heights, place, this.#top, this.#viewport, 0, height);
    if (top === null) return;
    this.#scrollTo(top);
    this.#render();
  }

  #readSize() {
    this.#viewport = this.#scroller.clientHeight;
    // The heads stand over the rows, so they leave out what the scroll bar takes.
    this.style.setProperty("--scrollbar", `${this.#scroller.offsetWidth - this.#scroller.clientWidth}px`);
    // The rows adapt to this element by container queries, so this is the width that counts.
    this.#width = this.clientWidth;
  }

  // Scrolling

  /** @param {number} top */
  #scrollTo(top) {
    const track = this.#scroll.bind(top);
    this.#top = Math.max(0, Math.min(top, Math.max(0, this.#heights.total - this.#viewport)));
    // Asking the element where it stands would make the browser lay out the page, so it is remembered.
    if (Math.abs(this.#trackTop - track) <= 0.5) return;
    this.#scroller.scrollTop = track;
    this.#trackTop = track;
    this.#isOwnScroll = true;
  }

  #scrolled() {
    const before = this.#top;
    const isOwn = this.#isOwnScroll;
    this.#isOwnScroll = false;
    this.#trackTop = this.#scroller.scrollTop;
    this.#top = this.#scroll.moved(this.#trackTop);
    if (Math.abs(this.#top - before) < 0.5) return;
    // Where we scrolled to may be a little beyond the end while the page is being laid out; only a reader goes back.
    if (!isOwn && this.#top < before - 2) this.#stopFollowing();
    this.#render();
  }

  /** A long list's track is bound to the list again when the reader pauses. */
  #rebind() {
    if (!this.#scroll.isScaled) return;
    this.#scrollTo(this.#top);
    this.#render();
  }

  #stopFollowing() {
    if (this.follow) emit(this, "follow", { on: false });
  }

  /** Bring a row into sight. `before` leaves a few rows of what led to it above. @param {number} n @param {"nearest" | "before"} [where] */
  reveal(n, where = "nearest") {
    const place = this.timeline?.placeOf(n) ?? -1;
    if (place < 0) return;
    this.#layout();
    const row = this.isCompact ? 70 : 28;
    const visible = scrollToShow(this.#heights, place, this.#top, this.#viewport, 0, row) === null;
    let top = null;
    if (where === "before" && !visible) top = this.#heights.topOf(place) - Math.min(MARGIN, this.#viewport * 0.3);
    else if (this.opened.has(n)) top = scrollToShow(this.#heights, place, this.#top, this.#viewport, 0);
    else top = scrollToShow(this.#heights, place, this.#top, this.#viewport, row, row);
    if (top !== null) this.#scrollTo(top);
    this.#render();
  }

  /** How far the reader has scrolled, in pixels of the whole list. */
  get top() {
    return this.#top;
  }

  /** How far the rows reach down. */
  get height() {
    return this.#heights.total;
  }

  /** @param {number} [top] */
  toTop(top = 0) {
    this.#scrollTo(top);
    this.#render();
  }

  /** How many rows fit, for page up and page down. */
  get page() {
    return Math.max(1, Math.floor(this.#viewport / (this.isCompact ? 56 : 28)) - 1);
  }

  /** The place of the first row in sight. */
  get firstInSight() {
    return windowOf(this.#heights, this.#top, this.#viewport, 0).inSightFirst;
  }

  /** How many rows stand below what is in sight. */
  get below() {
    const { inSightLast } = windowOf(this.#heights, this.#top, this.#viewport, 0);
    return Math.max(0, this.#heights.count - 1 - inSightLast);
  }

  // Drawing

  #render() {
    const { timeline, data } = this;
    if (!timeline || !data || this.#viewport === 0) return;
    const { numbers } = this.#shown;
    const seen = windowOf(this.#heights, this.#top, this.#viewport, this.#overscan);
    this.#drawn.element.style.top = `${this.#heights.topOf(seen.first) - this.#scroll.shift}px`;
    this.#drawn.draw(numbers.subarray(seen.first, seen.last + 1), seen.first, {
      setting: this.#setting(),
      rowOf: (n) => data.rows.get(n),
      selected: this.selected,
      opened: this.opened,
      makeDetails: this.makeDetails,
    });
    setOptional(this.#scroller, "aria-activedescendant", this.#drawn.rowOf(this.selected)?.id);
    this.#ask(seen);
    emit(this, "rows-moved", {
      ...timeInSight(timeline.skeleton, numbers.subarray(seen.inSightFirst, seen.inSightLast + 1)),
      below: this.below,
    });
  }

  /** What rows are made from besides the event itself. */
  #setting() {
    const timeline = /** @type {Timeline} */ (this.timeline);
    return {
      timeline,
      gutter: this.#gutter,
      ranks: this.#ranks,
      query: this.query,
      elapsed: elapsedOf(this.data),
      scale: timeline.timeScale(this.#range()),
      isShort: RowColumns.isShort(timeline),
    };
  }

  /** The stretch of time the waterfall shows. */
  #range() {
    return this.zoom ?? wholeRange(this.timeline, this.data);
  }

  /** Another second: calls that go on are drawn anew, when any is in sight. */
  tick() {
    if (this.data?.isRunning && this.#drawn.numbers.some((n) => this.timeline?.skeleton.kind[n] === KIND.CALL_START))
      this.#render();
  }

  /** @param {{first: number, last: number}} seen */
  #ask(seen) {
    const { numbers } = this.#shown;
    const data = /** @type {RunData} */ (this.data);
    const drawn = Array.from(numbers.subarray(seen.first, seen.last + 1));
    if (drawn.every((n) => data.rows.get(n))) return;
    data.need(Array.from(numbers.subarray(Math.max(0, seen.first - AHEAD), seen.last + 1 + AHEAD)));
  }

  // Pointing

  /** @param {MouseEvent} event */
  #clicked(event) {
    const target = /** @type {Element} */ (event.target);
    const row = /** @type {HTMLElement | null} */ (target.closest(".row"));
    if (!row || event.defaultPrevented || event.button !== 0) return;
    // A press that moved selected text, or meant to; it neither opens nor closes.
    const moved = Math.hypot(event.clientX - this.#pressed.x, event.clientY - this.#pressed.y) > 4;
    if (moved || (getSelection()?.toString() && getSelection()?.containsNode(row, true))) return;
    const n = Number(row.dataset.n);
    emit(this, target.closest(".fold")?.firstChild ? "fold" : "toggle-event", { n });
  }
}

customElements.define("event-rows", EventRows);
