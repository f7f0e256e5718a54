// @ts-check
/** What is shown of the run: which view, which kinds of events, only failures, and what is searched for. */

import { emit, h } from "../core/dom.js";
import { glyph } from "../core/glyphs.js";
import { formatCount } from "../model/format.js";
import { chips, isEverything } from "../model/filters.js";

/** @typedef {import("../model/timeline.js").Timeline} Timeline */

const VIEWS = [["list", "List", "1"], ["tree", "Tree", "2"], ["waterfall", "Waterfall", "3"]];
const TYPING_MS = 120;

export class ToolBar extends HTMLElement {
  /** @type {Timeline | null} */
  timeline = null;
  query = "";
  /** The rank of the selected match, from 1; 0 when the selection is none. */
  rank = 0;
  isSearching = false;

  #views = h("div", { class: "views", role: "group", "aria-label": "View" });
  #bar = h("div", { class: "chips", role: "group", "aria-label": "Which events" });
  #rest = h("div", { class: "menu rest", id: "more-chips", popover: "auto" });
  #more = h("button", { class: "chip more", type: "button", hidden: true, popovertarget: "more-chips", "aria-label": "More kinds of events" }, glyph("more"));
  #errors = h("button", { class: "chip errors", type: "button", "data-filter": "errors", onclick: () => emit(this, "filter", { chip: "errors" }) });
  #field = h("input", { type: "search", placeholder: "Search this run", "aria-label": "Search this run", autocomplete: "off", spellcheck: "false", "data-search": true });
  #count = h("span", { class: "count digits", role: "status" });
  #search = h("div", { class: "field search" });
  #drawn = "";
  #typing = 0;

  connectedCallback() {
    if (this.firstChild) return;
    for (const [view, name, key] of VIEWS) {
      this.#views.append(h("button", { type: "button", "data-view": view, title: `${name} (${key})`, onclick: () => emit(this, "view", { view }) }, view === "waterfall" ? h("span", { class: "wide" }, name) : name, view === "waterfall" ? h("span", { class: "narrow" }, "Time") : null));
    }
    const step = (/** @type {string} */ name, /** @type {string} */ label, /** @type {number} */ direction) =>
      h("button", { class: "step", type: "button", "aria-label": label, title: label, onclick: () => emit(this, "step-match", { direction }) }, glyph(name, { size: 14 }));
    this.#search.append(
      glyph("search"),
      this.#field,
      this.#count,
      step("chevron-up", "Previous match (N)", -1),
      step("chevron-down", "Next match (n)", 1),
      h("button", { class: "step clear", type: "button", "aria-label": "Clear the search", onclick: () => this.#clear() }, glyph("close", { size: 14 })),
      h("kbd", null, "/"),
    );
    this.append(this.#views, this.#bar, this.#more, h("span", { class: "divider" }), this.#errors, h("span", { class: "spring" }), this.#search);
    document.body.append(this.#rest);
    this.#rest.addEventListener("toggle", () => {
      const box = this.#more.getBoundingClientRect();
      this.#rest.style.top = `${box.bottom + 4}px`;
      this.#rest.style.left = `${box.left}px`;
    });
    this.#field.addEventListener("input", () => {
      clearTimeout(this.#typing);
      this.#typing = window.setTimeout(() => emit(this, "search-run", { q: this.#field.value }), TYPING_MS);
      this.#drawCount();
    });
    this.#field.addEventListener("keydown", (event) => this.#key(event));
    this.#field.addEventListener("focus", () => this.toggleAttribute("data-typing", true));
    this.#field.addEventListener("blur", () => this.toggleAttribute("data-typing", false));
    this.#sizes.observe(this);
  }

  focusSearch() {
    this.#field.focus();
    this.#field.select();
  }

  #clear() {
    this.#field.value = "";
    emit(this, "search-run", { q: "" });
    this.#field.focus();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      clearTimeout(this.#typing);
      if (this.#field.value !== this.query || this.isSearching) emit(this, "search-run", { q: this.#field.value, step: true });
      else emit(this, "step-match", { direction: event.shiftKey ? -1 : 1 });
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (this.#field.value) {
        this.#field.value = "";
        emit(this, "search-run", { q: "" });
      } else {
        this.#field.blur();
        emit(this, "leave-field");
      }
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      emit(this, "leave-field");
    }
  }

  update() {
    const { timeline } = this;
    if (!timeline || !this.firstChild) return;
    for (const button of this.#views.children) button.setAttribute("aria-pressed", String(/** @type {HTMLElement} */ (button).dataset.view === timeline.view));
    if (document.activeElement !== this.#field && this.#field.value !== this.query) this.#field.value = this.query;
    this.#drawCount();
    const counts = new Map(timeline.skeleton.countsByType());
    // A call that goes on will be a model's or a tool's in a moment; a chip that comes and goes would move the others.
    if (timeline.skeleton.running) counts.delete("CALL_START");
    const failures = timeline.skeleton.failures();
    const key = JSON.stringify([[...counts], failures, [...timeline.filter.types], timeline.filter.errors]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    this.#drawChips(counts, failures, timeline);
  }

  /** @param {Map<string, number>} counts @param {number} failures @param {Timeline} timeline */
  #drawChips(counts, failures, { filter, skeleton }) {
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.filter;
    const chip = (/** @type {string} */ type, /** @type {string | null} */ sign, /** @type {string} */ name, /** @type {number} */ count, /** @type {boolean} */ on) =>
      h("button", { class: "chip", type: "button", "data-filter": type, "aria-pressed": String(on), title: sign ? type : null, onclick: () => emit(this, "filter", { chip: type }) }, sign ? glyph(sign, { size: 14 }) : null, h("span", null, name), h("span", { class: "digits" }, formatCount(count)));
    const all = chip("all", null, "All", skeleton.shownTotal(), isEverything(filter));
    this.#chips = [all, ...chips(counts).map(({ type, glyph: sign, name, count }) => chip(type, sign, name, count, filter.types.has(type)))];
    this.#errors.setAttribute("aria-pressed", String(filter.errors));
    this.#errors.replaceChildren(glyph("failed", { size: 12 }), h("span", null, "Errors only"), h("span", { class: "digits" }, formatCount(failures)));
    this.#errors.toggleAttribute("data-none", failures === 0);
    this.#bar.replaceChildren(...this.#chips);
    this.#fitSoon();
    if (focused) /** @type {HTMLElement | null} */ (this.querySelector(`[data-filter="${CSS.escape(focused)}"]`))?.focus();
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

  #drawCount() {
    const matches = this.timeline?.matches ?? null;
    const typed = this.#field.value;
    this.#search.toggleAttribute("data-active", typed !== "");
    if (!typed || !matches || typed !== this.query) this.#count.textContent = typed && (this.isSearching || typed !== this.query) ? "…" : "";
    else if (matches.shown === 0) this.#count.textContent = "0";
    else this.#count.textContent = this.rank > 0 ? `${formatCount(this.rank)} of ${formatCount(matches.shown)}` : formatCount(matches.shown);
  }
}

customElements.define("tool-bar", ToolBar);
