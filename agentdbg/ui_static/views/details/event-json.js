// @ts-check
/**
 * `<event-json>`: a value as pretty-printed JSON that folds. Its text is that of JSON.stringify(value, null, 2), so
 * selecting and copying a part gives JSON; triangles and summaries are drawn beside the text, not in it.
 */
import { h } from "../../core/dom.js";
import { exact } from "../../model/details/format.js";
import {
  CHUNK,
  containerOf,
  foldedString,
  initiallyOpen,
  keyText,
  LONG_STRING,
  memberOf,
  scalarText,
} from "../../model/details/json-view.js";
import { action } from "./fold.js";

/** @typedef {import("../../model/details/json-view.js").Container} Container */

const INDENT = "  ";
const TEXT_CHUNK = 50_000;

export class EventJson extends HTMLElement {
  /** @type {any} */
  #value;
  /** @type {Set<any>} */
  #open = new Set();

  get value() {
    return this.#value;
  }

  set value(value) {
    this.#value = value;
    this.#open = initiallyOpen(value);
    const text = h("pre", { class: "json", tabindex: "0", role: "region", "aria-label": "The event as JSON" });
    this.#write(text, value, null, 0);
    this.replaceChildren(text);
  }

  /**
   * Append one value with the key before it.
   * @param {Element} into
   * @param {any} value
   * @param {string | null} key
   * @param {number} depth
   */
  #write(into, value, key, depth) {
    const container = containerOf(value);
    const name = key === null ? [] : [h("span", { class: "json-key" }, keyText(key)), ": "];
    if (container) into.append(this.#containerNode(value, container, name, depth));
    else if (typeof value === "string" && value.length > LONG_STRING) into.append(...name, longString(value));
    else into.append(...name, scalarText(value));
  }

  /** @param {any} value @param {Container} container @param {(Node | string)[]} name @param {number} depth */
  #containerNode(value, container, name, depth) {
    const inside = h("span", { class: "json-inside" });
    const toggle = h("button", {
      type: "button",
      class: "json-fold",
      "aria-label": `${name.length > 0 ? "" : "event, "}${container.summary}`,
    });
    const summary = h("span", { class: "json-summary", "data-summary": container.summary, "aria-hidden": "true" });
    let built = false;
    /** @param {boolean} wanted */
    const show = (wanted) => {
      toggle.setAttribute("aria-expanded", String(wanted));
      inside.hidden = !wanted;
      if (!wanted || built) return;
      built = true;
      inside.append(container.opening);
      this.#writeMembers(inside, value, container, depth + 1, 0);
      inside.append(`\n${INDENT.repeat(depth)}${container.closing}`);
    };
    toggle.addEventListener("click", () => show(toggle.getAttribute("aria-expanded") !== "true"));
    summary.addEventListener("click", () => show(true));
    show(this.#open.has(value));
    return h("span", { class: "json-node" }, toggle, ...name, summary, inside);
  }

  /**
   * @param {Element} into
   * @param {any} value
   * @param {Container} container
   * @param {number} depth
   * @param {number} from
   */
  #writeMembers(into, value, container, depth, from) {
    const to = Math.min(container.length, from + CHUNK);
    const margin = `\n${INDENT.repeat(depth)}`;
    for (let index = from; index < to; index += 1) {
      into.append(margin);
      this.#write(into, memberOf(value, container, index), container.keys ? container.keys[index] : null, depth);
      if (index < container.length - 1) into.append(",");
    }
    if (to === container.length) return;
    const rest = h("span", null, margin);
    rest.append(
      action(`${exact(container.length - to)} more`, () => {
        const next = h("span", null);
        this.#writeMembers(next, value, container, depth, to);
        rest.replaceWith(...next.childNodes);
      }),
    );
    into.append(rest);
  }
}

/** A long string, folded to its beginning until it is asked for. @param {string} value @returns {HTMLElement} */
function longString(value) {
  const holder = h("span", null);
  const button = h("button", { type: "button", class: "link json-string" }, foldedString(value));
  button.addEventListener("click", () => {
    const text = scalarText(value);
    /** @param {number} from */
    const showFrom = (from) => {
      holder.append(text.slice(from, from + TEXT_CHUNK));
      if (from + TEXT_CHUNK >= text.length) return;
      const more = h(
        "button",
        { type: "button", class: "link" },
        `${exact(text.length - from - TEXT_CHUNK)} more characters`,
      );
      more.addEventListener("click", () => {
        more.remove();
        showFrom(from + TEXT_CHUNK);
      });
      holder.append(more);
    };
    holder.replaceChildren();
    showFrom(0);
  });
  holder.append(button);
  return holder;
}

customElements.define("event-json", EventJson);
