// @ts-check
/** What the reader must know about what they see: the server is gone, lines were damaged, redaction was off. */

import { emit, h } from "../core/dom.js";

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
    const key = JSON.stringify([this.isGone, this.refusal, this.summary?.notes]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    this.replaceChildren(...this.#notices());
  }

  *#notices() {
    if (this.isGone) {
      yield notice(
        [
          h("b", null, "The viewer has stopped. "),
          "What you see is what was loaded; it comes back by itself when ",
          h("code", null, "agentdbg view"),
          " runs again.",
        ],
        h(
          "button",
          { class: "button", type: "button", "data-retry": true, onclick: () => emit(this, "retry") },
          "Try now",
        ),
      );
    }
    if (this.refusal) yield notice([h("b", null, "This run cannot be shown: "), this.refusal], undefined, "refusal");
    const { notes = [] } = this.summary ?? {};
    // Where a fork comes from, and that a replay was equal, is no warning; `run-family` says it.
    for (const note of notes.filter((one) => !/^Fork of |^Replay of \w+: equal\.$/.test(one)))
      yield notice([h("b", null, firstSentence(note)), note.slice(firstSentence(note).length)]);
  }
}

/** @param {(Node | string)[]} words @param {HTMLElement} [action] @param {string} [kind] */
function notice(words, action, kind = "") {
  return h("p", { class: `notice ${kind}` }, h("span", null, ...words), action ?? null);
}

/** @param {string} text */
function firstSentence(text) {
  return /^.*?[.:](?=\s|$)/.exec(text)?.[0] ?? text;
}

customElements.define("page-notices", PageNotices);
