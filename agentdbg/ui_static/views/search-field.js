// @ts-check
/** A field to search by typing: says how many matches there are and which one is selected, and steps through them. */

import { emit, h } from "../core/dom.js";
import { glyph } from "../core/glyphs.js";
import { formatCount } from "../model/format.js";

const TYPING_MS = 120;

export class SearchField extends HTMLElement {
  /** What is searched, for those who see the field and those who hear it. */
  label = "Search this run";
  /** The attribute by which programs find the field. */
  hook = "data-search";

  #field = h("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  #count = h("span", { class: "count digits", role: "status" });
  #query = "";
  #isSearching = false;
  #typing = 0;

  connectedCallback() {
    if (this.firstChild) return;
    this.classList.add("field");
    this.#field.placeholder = this.label;
    this.#field.setAttribute("aria-label", this.label);
    this.#field.setAttribute(this.hook, "");
    const step = (/** @type {string} */ name, /** @type {string} */ label, /** @type {number} */ direction) =>
      h(
        "button",
        {
          class: "step",
          type: "button",
          "aria-label": label,
          title: label,
          onclick: () => emit(this, "step-match", { direction }),
        },
        glyph(name, { size: 14 }),
      );
    this.append(
      glyph("search"),
      this.#field,
      this.#count,
      step("chevron-up", "Previous match (N)", -1),
      step("chevron-down", "Next match (n)", 1),
      h(
        "button",
        { class: "step clear", type: "button", "aria-label": "Clear the search", onclick: () => this.#clear() },
        glyph("close", { size: 14 }),
      ),
      h("kbd", null, "/"),
    );
    this.#field.addEventListener("input", () => {
      clearTimeout(this.#typing);
      this.#typing = window.setTimeout(() => emit(this, "search-run", { q: this.#field.value }), TYPING_MS);
      this.#drawCount(null, 0);
    });
    this.#field.addEventListener("keydown", (event) => this.#key(event));
  }

  focusField() {
    this.#field.focus();
    this.#field.select();
  }

  /** @param {{query: string, found: number | null, rank: number, isSearching: boolean}} state `found`: how many matches, null while nobody knows; `rank`: the selected match, from 1 */
  update({ query, found, rank, isSearching }) {
    this.#query = query;
    this.#isSearching = isSearching;
    if (document.activeElement !== this.#field && this.#field.value !== query) this.#field.value = query;
    this.#drawCount(found, rank);
  }

  /** @param {number | null} found @param {number} rank */
  #drawCount(found, rank) {
    const typed = this.#field.value;
    const isNew = typed !== this.#query;
    this.toggleAttribute("data-active", typed !== "");
    if (!typed || found === null || isNew) this.#count.textContent = typed && (this.#isSearching || isNew) ? "…" : "";
    else if (found === 0) this.#count.textContent = "0";
    else this.#count.textContent = rank > 0 ? `${formatCount(rank)} of ${formatCount(found)}` : formatCount(found);
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
      if (this.#field.value !== this.#query || this.#isSearching)
        emit(this, "search-run", { q: this.#field.value, step: true });
      else emit(this, "step-match", { direction: event.shiftKey ? -1 : 1 });
    } else if (event.key === "Escape") {
      event.preventDefault();
      clearTimeout(this.#typing);
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
}

customElements.define("search-field", SearchField);
