// @ts-check
/** `<event-facts>`: what is true of the event beside its content, exact, with links to its parents and its code. */
import { h } from "../../core/dom.js";
import { parseSource } from "../../model/details/editor.js";
import { factsOf } from "../../model/details/facts.js";
import { exact } from "../../model/details/format.js";
import { shortPath } from "../../model/details/stack.js";
import { visibleText } from "../../model/details/text.js";
import { copyFrom } from "./clipboard.js";
import { editorChoice, editorLink, eventLink } from "./links.js";

/** @typedef {import("../../model/details/types.js").StoredEvent} StoredEvent */
/** @typedef {import("../../model/details/types.js").Row} Row */
/** @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext */
/** @typedef {import("../../model/details/facts.js").Fact} Fact */

export class EventFacts extends HTMLElement {
  #list = h("dl", { class: "facts" });
  /** @type {DetailsContext | null} */
  #context = null;
  /**
   * What was added from outside, after which fact; kept when the facts are drawn again.
   * @type {{ after: string, facts: Fact[] }[]}
   */
  #added = [];

  /** @param {StoredEvent} event @param {Row | null} row @param {DetailsContext} context */
  show(event, row, context) {
    this.#context = context;
    const facts = factsOf(event, row);
    for (const { after, facts: more } of this.#added) insertAfter(facts, after, more);
    this.#list.replaceChildren();
    for (const fact of facts) this.#append(fact);
    if (row?.parent_n && row.parent_n > 1) void this.#appendParent(row.parent_n, context);
    this.#appendId(event.event_id);
    this.replaceChildren(h("h3", { class: "visually-hidden" }, "Facts"), this.#list);
  }

  /**
   * Facts that others found out later, set after the one they belong to.
   * @param {string} after
   * @param {Fact[]} facts
   */
  add(after, facts) {
    this.#added.push({ after, facts });
    const last =
      [...this.#list.querySelectorAll("dt")].findLast((term) => term.textContent === after)?.nextElementSibling ?? null;
    const before = last ? last.nextElementSibling : this.#list.querySelector(".fact-id");
    for (const fact of facts) for (const node of this.#nodes(fact)) this.#list.insertBefore(node, before);
  }

  /** Forget what was added; the event is another. */
  reset() {
    this.#added = [];
  }

  /** @param {Fact} fact */
  #append(fact) {
    this.#list.append(...this.#nodes(fact));
  }

  /** @param {Fact} fact @returns {HTMLElement[]} */
  #nodes(fact) {
    const context = /** @type {DetailsContext} */ (this.#context);
    const value = h("dd", { title: fact.title, "data-tone": fact.tone });
    const place = fact.source === undefined ? null : parseSource(fact.source);
    if (place) {
      const label = `${shortPath(place.file, null)}${place.line === null ? "" : `:${place.line}`}`;
      value.append(editorChoice());
      return [
        h(
          "div",
          { class: "source" },
          h("dt", null, fact.label),
          value,
          h("dd", { class: "place" }, editorLink(context, place, label)),
        ),
      ];
    } else if (fact.n !== undefined) value.append(eventLink(context, fact.n, fact.value));
    else value.append(fact.value);
    return [h("dt", null, fact.label), value];
  }

  /** "called by #13 gpt-4o-mini", "inside triage". @param {number} parent @param {DetailsContext} context */
  async #appendParent(parent, context) {
    const term = h("dt", null, "parent");
    const value = h("dd", null, eventLink(context, parent));
    this.#list.append(term, value);
    const row = await context.getRow(parent).catch(() => null);
    if (!row) return;
    term.textContent = row.kind === "llm" ? "called by" : "inside";
    const name = visibleText(row.name.slice(0, 60));
    value.replaceChildren(eventLink(context, parent, row.kind === "span" ? name : `#${exact(parent)} ${name}`));
  }

  /** @param {string} id */
  #appendId(id) {
    const button = h(
      "button",
      { type: "button", class: "copy-id", title: `${id}, copy it`, "aria-label": `Copy the event id ${id}` },
      `${id.slice(0, 8)}\u2026`,
    );
    button.addEventListener("click", () => void copyFrom(button, () => id, "Copied"));
    this.#list.append(h("dt", { class: "fact-id" }, "event id"), h("dd", null, button));
  }
}

/** @param {Fact[]} facts @param {string} label @param {Fact[]} more */
function insertAfter(facts, label, more) {
  const at = facts.findLastIndex((fact) => fact.label === label);
  facts.splice(at === -1 ? facts.length : at + 1, 0, ...more);
}

customElements.define("event-facts", EventFacts);
