// @ts-check
/**
 * Every action has a key. Keys are silent in fields, in open dialogs, and with Ctrl, Alt or Cmd held, which belong to
 * the browser. Single letters can be turned off, for those whose software speaks in letters.
 */

import { preference, setPreference } from "./preferences.js";

/** @typedef {{keys: string[], label: string, group: string, run: (key: string, event?: KeyboardEvent) => void, shown?: string[], or?: boolean}} Binding */

const FIELDS = "input:not([type=checkbox]), textarea, select, [contenteditable]";

export class Keys {
  /** @param {Binding[]} bindings */
  constructor(bindings) {
    this.bindings = bindings;
    for (const binding of bindings) for (const key of binding.keys) this.#byKey.set(key, binding);
    document.addEventListener("keydown", (event) => this.#press(event));
  }

  /** @type {Map<string, Binding>} */
  #byKey = new Map();

  get lettersOn() {
    return preference("letters", "on") === "on";
  }

  set lettersOn(on) {
    setPreference("letters", on ? "on" : "off");
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const binding = this.#byKey.get(event.key);
    if (!binding) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.key !== "Escape") {
      if (target.closest(FIELDS) || document.querySelector("dialog[open]")) return;
      if (event.key.length === 1 && !this.lettersOn) return;
      if (actsOnItsOwn(target, event.key)) return;
    }
    event.preventDefault();
    binding.run(event.key, event);
  }
}

/** Enter belongs to a focused button, arrows to tabs, menus and everything else that moves by them. @param {Element} target @param {string} key */
function actsOnItsOwn(target, key) {
  if (key === "Enter" || key === " ") return target.closest("button, a[href], summary, [role=tab]") !== null;
  if (key.startsWith("Arrow") || key === "Home" || key === "End") {
    return target.closest("[role=tablist], [role=menu], [role=radiogroup], [popover], [data-own-arrows]") !== null;
  }
  return false;
}
