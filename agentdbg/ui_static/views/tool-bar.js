// @ts-check
/** What is shown of the run: which view, which kinds of events, only failures, and what is searched for. */

import { emit, h } from "../core/dom.js";
import { glyph } from "../core/glyphs.js";
import { formatCount } from "../model/format.js";
import { chips, isEverything } from "../model/filters.js";
import "./search-field.js";

/** @typedef {import("../model/timeline.js").Timeline} Timeline */

const VIEWS = [
  ["list", "List", "1"],
  ["tree", "Tree", "2"],
  ["waterfall", "Waterfall", "3"],
  ["travel", "Time travel", "4"],
];

const ORDERS = {
  time: ["Longest first", "Shortest first"],
  tokens: ["Most tokens first", "Fewest tokens first"],
  cost: ["Dearest first", "Cheapest first"],
  at: ["Latest first", "Earliest first"],
};

export class ToolBar extends HTMLElement {
  /** @type {Timeline | null} */
  timeline = null;
  query = "";
  /** The rank of the selected match, from 1; 0 when the selection is none. */
  rank = 0;
  isSearching = false;
  /** @type {import("../model/address.js").Sort | null} */
  sort = null;
  folds = true;

  #views = h("div", { class: "views", role: "group", "aria-label": "View" });
  #bar = h("div", { class: "chips", role: "group", "aria-label": "Which events" });
  #rest = h("div", { class: "menu rest", id: "more-chips", popover: "auto" });
  #more = h(
    "button",
    {
      class: "chip more",
      type: "button",
      hidden: true,
      popovertarget: "more-chips",
      "aria-label": "More kinds of events",
    },
    glyph("more"),
  );
  #errors = h("button", {
    class: "chip errors",
    type: "button",
    "data-filter": "errors",
    onclick: () => emit(this, "filter", { chip: "errors" }),
  });
  /** What only some views offer: the order, the scale of time, the slowest call. */
  #order = h("div", { class: "order" });
  #search = /** @type {import("./search-field.js").SearchField} */ (document.createElement("search-field"));
  #drawn = "";

  connectedCallback() {
    if (this.firstChild) return;
    for (const [view, name, key] of VIEWS) {
      this.#views.append(
        h(
          "button",
          { type: "button", "data-view": view, title: `${name} (${key})`, onclick: () => emit(this, "view", { view }) },
          view === "waterfall" || view === "travel" ? h("span", { class: "wide" }, name) : name,
          view === "waterfall" ? h("span", { class: "narrow" }, "Time") : null,
          view === "travel" ? h("span", { class: "narrow" }, "Steps") : null,
        ),
      );
    }
    this.append(
      this.#views,
      this.#bar,
      this.#more,
      h("span", { class: "divider" }),
      this.#errors,
      h("span", { class: "spring" }),
      this.#order,
      this.#search,
    );
    document.body.append(this.#rest);
    this.#rest.addEventListener("toggle", () => {
      const box = this.#more.getBoundingClientRect();
      this.#rest.style.top = `${box.bottom + 4}px`;
      this.#rest.style.left = `${box.left}px`;
    });
    this.#search.addEventListener("focusin", () => this.toggleAttribute("data-typing", true));
    this.#search.addEventListener("focusout", () => this.toggleAttribute("data-typing", false));
    this.#sizes.observe(this);
  }

  focusSearch() {
    this.#search.focusField();
  }

  update() {
    const { timeline } = this;
    if (!timeline || !this.firstChild) return;
    for (const button of this.#views.children)
      button.setAttribute("aria-pressed", String(/** @type {HTMLElement} */ (button).dataset.view === timeline.view));
    this.#search.update({
      query: this.query,
      found: timeline.matches?.shown ?? null,
      rank: this.rank,
      isSearching: this.isSearching,
    });
    this.#drawOrder(timeline);
    const counts = new Map(timeline.skeleton.countsByType());
    // A call that goes on will be a model's or a tool's in a moment; a chip that comes and goes would move the others.
    if (timeline.skeleton.running) counts.delete("CALL_START");
    const failures = timeline.skeleton.failures();
    const key = JSON.stringify([[...counts], failures, [...timeline.filter.types], timeline.filter.errors]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    this.#drawChips(counts, failures, timeline);
  }

  /** @param {Timeline} timeline */
  #drawOrder(timeline) {
    const folded = timeline.view === "waterfall" && timeline.hasQuietStretches;
    const key = JSON.stringify([this.sort, folded, this.folds]);
    if (this.#order.dataset.drawn === key) return;
    this.#order.dataset.drawn = key;
    const parts = [];
    if (this.sort) {
      const words = `${ORDERS[this.sort.by][this.sort.descending ? 0 : 1]}`;
      parts.push(
        h(
          "button",
          {
            class: "chip",
            type: "button",
            "aria-pressed": "true",
            title: "Back to the order of the run",
            onclick: () => emit(this, "sort", { by: null }),
          },
          h("span", null, words),
          glyph("close", { size: 12 }),
        ),
      );
    }
    if (folded) {
      const side = (/** @type {string} */ name, /** @type {boolean} */ folds) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(this.folds === folds),
            onclick: () => emit(this, "fold-time", { folds }),
          },
          name,
        );
      parts.push(
        h(
          "div",
          { class: "views scale", role: "group", "aria-label": "Scale of time" },
          side("Folded", true),
          side("Linear", false),
        ),
      );
    }
    this.#order.replaceChildren(...parts);
  }

  /** @param {Map<string, number>} counts @param {number} failures @param {Timeline} timeline */
  #drawChips(counts, failures, { filter, skeleton }) {
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.filter;
    const chip = (
      /** @type {string} */ type,
      /** @type {string | null} */ sign,
      /** @type {string} */ name,
      /** @type {number} */ count,
      /** @type {boolean} */ on,
    ) =>
      h(
        "button",
        {
          class: "chip",
          type: "button",
          "data-filter": type,
          "aria-pressed": String(on),
          title: sign ? type : null,
          onclick: () => emit(this, "filter", { chip: type }),
        },
        sign ? glyph(sign, { size: 14 }) : null,
        h("span", null, name),
        h("span", { class: "digits" }, formatCount(count)),
      );
    const all = chip("all", null, "All", skeleton.shownTotal(), isEverything(filter));
    this.#chips = [
      all,
      ...chips(counts).map(({ type, glyph: sign, name, count }) =>
        chip(type, sign, name, count, filter.types.has(type)),
      ),
    ];
    this.#errors.setAttribute("aria-pressed", String(filter.errors));
    this.#errors.replaceChildren(
      glyph("failed", { size: 12 }),
      h("span", null, "Errors only"),
      h("span", { class: "digits" }, formatCount(failures)),
    );
    this.#errors.toggleAttribute("data-none", failures === 0);
    this.#bar.replaceChildren(...this.#chips);
    this.#fitSoon();
    if (focused)
      /** @type {HTMLElement | null} */ (this.querySelector(`[data-filter="${CSS.escape(focused)}"]`))?.focus();
  }

  /** @type {HTMLElement[]} */
  #chips = [];

  #sizes = new ResizeObserver(() => this.#fit());

  /** Once this frame is laid out and before it is painted: measuring now would make the browser lay out the page twice. */
  #fitSoon() {
    this.#sizes.unobserve(this);
    this.#sizes.observe(this);
  }

  /** What does not fit goes under the three dots; on a phone the row scrolls instead. */
  #fit() {
    if (this.#chips.length === 0) return;
    if (this.#bar.children.length !== this.#chips.length) this.#bar.replaceChildren(...this.#chips);
    this.#rest.replaceChildren();
    this.#more.hidden = true;
    if (matchMedia("(max-width: 719.9px)").matches) return;
    if (this.#bar.scrollWidth <= this.#bar.clientWidth + 1) return;
    this.#more.hidden = false;
    while (this.#bar.children.length > 1 && this.#bar.scrollWidth > this.#bar.clientWidth + 1) {
      this.#rest.prepend(/** @type {Element} */ (this.#bar.lastElementChild));
    }
    const chosen = this.#rest.querySelectorAll("[aria-pressed=true]").length;
    this.#more.toggleAttribute("data-chosen", chosen > 0);
  }
}

customElements.define("tool-bar", ToolBar);
