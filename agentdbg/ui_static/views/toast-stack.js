// @ts-check
/** Short answers that float: what was done, and for twenty seconds the way to undo it. */

import { h } from "../core/dom.js";

const UNDO_MS = 20000;
const PLAIN_MS = 4000;

export class ToastStack extends HTMLElement {
  connectedCallback() {
    this.setAttribute("role", "status");
  }

  /** @param {string} text @param {{label: string, run: () => void} | null} [action] */
  say(text, action = null) {
    const toast = h("div", { class: "toast" }, h("span", null, text));
    const leave = () => toast.remove();
    if (action) {
      toast.append(
        h(
          "button",
          {
            class: "link",
            type: "button",
            "data-undo": true,
            onclick: () => {
              leave();
              action.run();
            },
          },
          action.label,
        ),
      );
    }
    this.append(toast);
    while (this.children.length > 3) this.firstElementChild?.remove();
    let timer = setTimeout(leave, action ? UNDO_MS : PLAIN_MS);
    // Whoever points at it, or has come to it by key, is still reading.
    for (const begins of ["pointerenter", "focusin"]) toast.addEventListener(begins, () => clearTimeout(timer));
    for (const ends of ["pointerleave", "focusout"])
      toast.addEventListener(ends, () => {
        clearTimeout(timer);
        timer = setTimeout(leave, PLAIN_MS);
      });
  }
}

customElements.define("toast-stack", ToastStack);
