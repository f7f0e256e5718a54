// @ts-check
/** The list of keys, made from the keys themselves, so that it cannot be wrong. */

import { h } from "../core/dom.js";

/** @typedef {import("../core/keys.js").Keys} Keys */

export class KeyHelp extends HTMLElement {
  /** @type {Keys | null} */
  keys = null;

  #dialog = h("dialog", { "aria-labelledby": "key-help-title" });

  connectedCallback() {
    if (!this.firstChild) this.append(this.#dialog);
    this.#dialog.addEventListener("click", (event) => event.target === this.#dialog && this.#dialog.close());
  }

  toggle() {
    if (this.#dialog.open) return this.#dialog.close();
    this.#draw();
    return this.#dialog.showModal();
  }

  #draw() {
    const keys = /** @type {Keys} */ (this.keys);
    /** @type {Map<string, HTMLElement[]>} */
    const groups = new Map();
    for (const binding of keys.bindings) {
      if (!binding.label) continue;
      const names = (binding.shown ?? binding.keys).flatMap((name, index) => [
        binding.or && index === 2 ? h("span", { class: "quiet" }, " or ") : null,
        h("kbd", null, name),
      ]);
      const line = h("div", { class: "line" }, h("dt", null, binding.label), h("dd", null, ...names));
      groups.set(binding.group, [...(groups.get(binding.group) ?? []), line]);
    }
    const letters = h("input", { type: "checkbox", id: "letters" });
    letters.checked = keys.lettersOn;
    const words = h("span");
    const say = () =>
      (words.textContent = letters.checked
        ? "Single-letter keys are on. They never act while you type in a field."
        : "Single-letter keys are off. Arrows, Enter, Escape and Tab still work.");
    letters.addEventListener("change", () => {
      keys.lettersOn = letters.checked;
      say();
    });
    say();
    this.#dialog.replaceChildren(
      h(
        "div",
        { class: "sheet", tabindex: "-1", autofocus: true },
        h(
          "header",
          null,
          h("h2", { id: "key-help-title" }, "Keyboard shortcuts"),
          h(
            "button",
            { class: "close", type: "button", "aria-label": "Close", onclick: () => this.#dialog.close() },
            h("kbd", null, "Esc"),
          ),
        ),
        h(
          "div",
          { class: "groups" },
          ...[...groups].map(([name, lines]) => h("section", null, h("h3", null, name), h("dl", null, ...lines))),
        ),
        h("label", { class: "letters" }, letters, words),
      ),
    );
  }
}

customElements.define("key-help", KeyHelp);
