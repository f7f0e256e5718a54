// @ts-check
/** What the reader must know about what they see: the server is gone, lines were damaged, redaction was off. */

import { emit, h } from "../core/dom.js";
import { counted, formatCount } from "../model/format.js";

export class PageNotices extends HTMLElement {
  isGone = false;
  /** A run that cannot be shown: the server's own words. @type {string | null} */
  refusal = null;
  /** @type {import("../model/types.js").Summary | null} */
  summary = null;

  #drawn = "";

  connectedCallback() {
    this.setAttribute("role", "status");
  }

  update() {
    const key = JSON.stringify([this.isGone, this.refusal, this.summary?.damaged_total, this.summary?.damaged_lines, this.summary?.notes]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    this.replaceChildren(...this.#notices());
  }

  *#notices() {
    if (this.isGone) {
      yield notice(
        [h("b", null, "The viewer has stopped. "), "What you see is what was loaded; it comes back by itself when ", h("code", null, "agentdbg view"), " runs again."],
        h("button", { class: "button", type: "button", "data-retry": true, onclick: () => emit(this, "retry") }, "Try now"),
      );
    }
    if (this.refusal) yield notice([h("b", null, "This run cannot be shown. "), this.refusal]);
    const { damaged_total: damaged = 0, damaged_lines: lines = [], notes = [] } = this.summary ?? {};
    if (damaged > 0) {
      const where = lines.length > 0 ? `: ${listed(lines.map(formatCount), damaged - lines.length)}` : "";
      yield notice([h("b", null, `${counted(damaged, "damaged line")} ${damaged === 1 ? "was" : "were"} skipped`), ` in this run’s events file${where}.`]);
    }
    for (const note of notes) yield notice([h("b", null, firstSentence(note)), note.slice(firstSentence(note).length)]);
  }
}

/** @param {(Node | string)[]} words @param {HTMLElement} [action] */
function notice(words, action) {
  return h("p", { class: "notice" }, h("span", null, ...words), action ?? null);
}

/** @param {string[]} items @param {number} more */
function listed(items, more) {
  if (more > 0) return `lines ${items.join(", ")} and ${formatCount(more)} more`;
  if (items.length === 1) return `line ${items[0]}`;
  return `lines ${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

/** @param {string} text */
function firstSentence(text) {
  return /^.*?[.:](?=\s|$)/.exec(text)?.[0] ?? text;
}

customElements.define("page-notices", PageNotices);
