// @ts-check
/** Short answers that float: what was done, and for ten seconds the way to undo it. */

import { h } from "../core/dom.js";

const UNDO_MS = 10000;
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
    // Whoever points at it is still reading.
    toast.addEventListener("pointerenter", () => clearTimeout(timer));
    toast.addEventListener("pointerleave", () => (timer = setTimeout(leave, PLAIN_MS)));
  }
}

customElements.define("toast-stack", ToastStack);
