// @ts-check
/**
 * `<time-travel>`: one cursor over the run. Steps, the program's state, the messages the model had and the line of
 * code stand side by side as they were at the selected step.
 */

import { emit, h } from "../../core/dom.js";
import { contextOf } from "../../core/details-loader.js";
import { glyph } from "../../core/glyphs.js";
import { formatAt, formatCount } from "../../model/format.js";
import { hasTimes } from "../../model/runs.js";
import { visibleText } from "../../model/details/text.js";
import { RowHeights, scrollToShow, windowOf } from "../../model/heights.js";
import { KIND, KINDS } from "../../model/skeleton.js";
import { RowColumns } from "../row-columns.js";
import { MessagesPane, SourcePane, StatePane } from "./panes.js";

/** @typedef {import("../../core/run-data.js").RunData} RunData */
/** @typedef {import("../../model/timeline.js").Timeline} Timeline */

const ROW = 26;
/** As high as a finger needs. */
const ROW_FOR_FINGERS = 44;
const PHONE = matchMedia("(max-width: 719.9px)");
const OVERSCAN = 10;
const TABS = [
  ["steps", "Steps"],
  ["state", "State"],
  ["messages", "Messages"],
  ["source", "Source"],
];

export class TimeTravel extends HTMLElement {
  /** @type {RunData | null} */
  data = null;
  /** @type {Timeline | null} */
  timeline = null;
  selected = 0;

  #heights = new RowHeights(0, rowHeight);
  #top = 0;
  #viewport = 0;
  #drawnFor = "";
  #window = h("div", { class: "window", role: "presentation" });
  #track = h("div", { class: "track", role: "presentation" }, this.#window);
  #scroller = h("div", { class: "scroller", role: "listbox", tabindex: "0", "aria-label": "Steps" }, this.#track);
  #where = h("b", { class: "digits", role: "status" });
  #state = new StatePane();
  #messages = new MessagesPane();
  #source = new SourcePane();
  #tabs = h("div", { class: "travel-tabs", role: "group", "aria-label": "What is shown" });

  connectedCallback() {
    if (this.firstChild) return;
    const button = (/** @type {string} */ label, /** @type {string} */ sign, /** @type {() => void} */ act) =>
      h("button", { class: "icon-button", type: "button", "aria-label": label, title: label, onclick: act }, sign);
    this.dataset.pane = "steps";
    for (const [pane, label] of TABS) {
      const tab = h("button", { type: "button", "aria-pressed": String(pane === "steps") }, label);
      tab.addEventListener("click", () => {
        this.dataset.pane = pane;
        for (const one of this.#tabs.children) one.setAttribute("aria-pressed", String(one === tab));
      });
      this.#tabs.append(tab);
    }
    this.append(
      h(
        "div",
        { class: "travel-bar" },
        button("First step (Home)", "⇤", () => emit(this, "travel", { to: "first" })),
        button("Step back (←)", "←", () => emit(this, "travel", { by: -1 })),
        button("Step forward (→)", "→", () => emit(this, "travel", { by: 1 })),
        button("Last step (End)", "⇥", () => emit(this, "travel", { to: "last" })),
        this.#where,
        h(
          "span",
          { class: "quiet hint" },
          h("kbd", null, "←"),
          " ",
          h("kbd", null, "→"),
          " step, with ",
          h("kbd", null, "Shift"),
          " to the next change of state",
        ),
        this.#tabs,
      ),
      h(
        "div",
        { class: "panes" },
        h(
          "section",
          { class: "pane steps", "aria-label": "Steps" },
          h("h2", null, "Steps ", h("span", { class: "quiet" }, "later steps are dimmed")),
          this.#scroller,
        ),
        h("div", { class: "pane-stack" }, this.#state.element, this.#messages.element),
        this.#source.element,
      ),
    );
    this.#scroller.addEventListener("scroll", () => {
      this.#top = this.#scroller.scrollTop;
      this.#draw();
    });
    this.#window.addEventListener("click", (event) => {
      const row = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-n]"));
      if (row) emit(this, "travel", { n: Number(row.dataset.n) });
    });
    PHONE.addEventListener("change", () => this.update());
    new ResizeObserver(() => {
      this.#viewport = this.#scroller.clientHeight;
      this.#show(this.timeline?.placeOf(this.selected) ?? -1);
      this.#draw();
    }).observe(this.#scroller);
  }

  focusSteps() {
    this.#scroller.focus({ preventScroll: true });
  }

  update() {
    const { timeline, data } = this;
    if (!timeline || !data || !this.firstChild) return;
    const { numbers } = timeline;
    this.#heights = new RowHeights(numbers.length, rowHeight);
    this.#track.style.height = `${this.#heights.total}px`;
    const place = timeline.placeOf(this.selected);
    if (this.selected === 0 && numbers.length > 0) queueMicrotask(() => emit(this, "travel", { n: numbers[0] }));
    this.#where.textContent =
      place < 0
        ? `${formatCount(numbers.length)} steps`
        : `Step ${formatCount(place + 1)} of ${formatCount(numbers.length)}`;
    this.#show(place);
    this.#draw();
    const key = `${data.runId} ${this.selected} ${data.skeleton.version}`;
    if (key === this.#drawnFor || this.selected === 0) return;
    this.#drawnFor = key;
    const context = /** @type {import("../../model/details/types.js").DetailsContext} */ (contextOf(data, "side"));
    const isStill = () => key === this.#drawnFor;
    void this.#state.show(this.selected, data, context, isStill);
    void this.#messages.show(this.selected, data, context, isStill);
    void this.#source.show(this.selected, data, context, isStill);
  }

  /** Bring a step into sight; not before there is a height to bring it into. @param {number} place */
  #show(place) {
    if (place < 0 || this.#viewport === 0) return;
    const top = scrollToShow(this.#heights, place, this.#top, this.#viewport, rowHeight() * 2);
    if (top === null) return;
    this.#scroller.scrollTop = top;
    this.#top = this.#scroller.scrollTop; // the end of the list may be nearer
  }

  #draw() {
    const { timeline, data } = this;
    if (!timeline || !data) return;
    const seen = windowOf(this.#heights, this.#top, this.#viewport, OVERSCAN);
    const numbers = Array.from(timeline.numbers.subarray(seen.first, seen.last + 1));
    const isShort = RowColumns.isShort(timeline);
    const isTimed = data.run === null || hasTimes(data.run);
    this.#window.style.top = `${this.#heights.topOf(seen.first)}px`;
    this.#window.replaceChildren(...numbers.map((n) => this.#step(n, isShort, isTimed)));
    this.#scroller.setAttribute("aria-activedescendant", `step-${this.selected}`);
    const missing = numbers.filter((n) => !data.rows.get(n));
    if (missing.length > 0) data.need(missing);
  }

  /** @param {number} n @param {boolean} isShort @param {boolean} isTimed */
  #step(n, isShort, isTimed) {
    const { skeleton } = /** @type {Timeline} */ (this.timeline);
    const row = this.data?.rows.get(n);
    const kind = skeleton.kind[n];
    const at = isShort ? `${formatCount(skeleton.start[n])} ms` : formatAt(skeleton.start[n]);
    return h(
      "div",
      {
        class: "step",
        role: "option",
        id: `step-${n}`,
        "data-n": n,
        "data-kind": KINDS[kind],
        "data-later": n > this.selected,
        "data-failed": skeleton.isFailure(n),
        "aria-selected": String(n === this.selected),
      },
      h("span", { class: "digits quiet" }, n),
      glyph(KINDS[kind]),
      h("span", { class: "cut" }, visibleText(row?.name ?? skeleton.typeOf(n))),
      h("span", { class: "digits quiet" }, kind === KIND.START || !isTimed ? "" : at),
    );
  }
}

function rowHeight() {
  return PHONE.matches ? ROW_FOR_FINGERS : ROW;
}

customElements.define("time-travel", TimeTravel);
