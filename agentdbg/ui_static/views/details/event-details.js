// @ts-check
/**
 * `<event-details>`: the open event. Set `event`, `row` and `context` (see model/details/types.js); everything else it
 * finds out for itself. It tells of intent by events that bubble:
 *
 * - `navigate` {n}: the reader followed a link to another event
 * - `move` {to: "side" | "inline"}: the reader wants it beside the list, or back in its place
 *
 * `tab` names the shown tab; set it to show another. An element that is taken out and put back keeps what was open.
 */
import { emit, h } from "../../core/dom.js";
import { hrefOf } from "../../core/embedded.js";
import { glyph } from "../../core/glyphs.js";
import { exact } from "../../model/details/format.js";
import { stringifyJson } from "../../model/details/parse-json.js";
import { visibleText } from "../../model/details/text.js";
import { copyFrom } from "./clipboard.js";
import { EventFacts } from "./event-facts.js";
import { EventJson } from "./event-json.js";
import { allowAhead } from "./fold.js";
import { showOrigins } from "./origin-tip.js";
import { tabsOf } from "./panels.js";
import { isFormatted, setFormatted } from "./reading-mode.js";

/** @typedef {import("../../model/details/types.js").StoredEvent} StoredEvent */
/** @typedef {import("../../model/details/types.js").Row} Row */
/** @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext */
/** @typedef {import("./panels.js").Tab} Tab */

let made = 0;

export class EventDetails extends HTMLElement {
  #id = `details-${(made += 1)}`;
  /** @type {StoredEvent | null} */
  #event = null;
  /** @type {Row | null} */
  #row = null;
  /** @type {DetailsContext | null} */
  #context = null;
  #tab = "";
  /** @type {Tab[]} */
  #tabs = [];
  #facts = new EventFacts();
  #waiting = false;
  /** @type {StoredEvent | null} */
  #drawn = null;
  #forgetOrigins = () => {};

  constructor() {
    super();
    this.addEventListener("keydown", (event) => this.#onKey(event));
    this.#forgetOrigins = showOrigins(this, () => {
      const [row, fetch] = [this.#row, this.#context?.fetchOrigins];
      return row && fetch ? () => fetch(row.n) : null;
    });
  }

  connectedCallback() {
    // Properties that were set before the element was defined hide the accessors; take them in.
    for (const name of /** @type {const} */ (["event", "row", "context", "tab"])) {
      if (!Object.hasOwn(this, name)) continue;
      const value = this[name];
      delete (/** @type {any} */ (this)[name]);
      /** @type {any} */ (this)[name] = value;
    }
    if (this.#waiting) this.#draw();
  }

  get event() {
    return this.#event;
  }

  set event(event) {
    if (event === this.#event) return;
    this.#event = event;
    this.#later();
  }

  get row() {
    return this.#row;
  }

  set row(row) {
    this.#row = row;
    if (this.#drawn !== null && this.#drawn === this.#event) this.#refreshFacts();
    else this.#later();
  }

  get context() {
    return this.#context;
  }

  set context(context) {
    const placement = this.#context?.placement;
    this.#context = context;
    if (this.#drawn === null || placement !== context?.placement) this.#later();
  }

  get tab() {
    return this.#tab;
  }

  set tab(tab) {
    this.#tab = tab;
    if (this.#drawn !== null) this.#select(tab, false);
  }

  /** Draw once, however many properties are set; at once when connected, so that nothing is seen half made. */
  #later() {
    if (this.#waiting) return;
    this.#waiting = true;
    queueMicrotask(() => {
      if (this.#waiting && this.isConnected) this.#draw();
    });
  }

  #draw() {
    const event = this.#event;
    const context = this.#context;
    if (event === null || context === null) return;
    this.#waiting = false;
    allowAhead();
    const opened = this.#sound(event);
    this.#drawn = event;
    this.#forgetOrigins();
    this.#facts = new EventFacts();
    this.dataset.placement = context.placement ?? "inline";
    this.dataset.kind = this.#row?.kind ?? "";
    const facts = this.#facts;
    const tabs = tabsOf({
      event: opened,
      row: this.#row,
      context,
      addFacts: (after, more) => facts.add(after, more),
      setCount: (id, count) =>
        this.querySelector(`[data-tab="${id}"] .count`)?.replaceChildren(count > 0 ? ` ${exact(count)}` : ""),
    });
    this.#tabs = [...tabs, { id: "json", label: "JSON", fill: (panel) => panel.append(jsonView(event)) }];
    facts.show(opened, this.#row, context);
    const panels = this.#tabs.map((tab) =>
      h("div", {
        role: "tabpanel",
        id: this.#name("panel", tab),
        "aria-labelledby": this.#name("tab", tab),
        class: "panel",
        hidden: true,
      }),
    );
    this.replaceChildren(
      ...(context.placement === "side" ? [this.#header(opened)] : []),
      this.#bar(context),
      h("div", { class: "body" }, h("div", { class: "panels" }, ...panels), facts),
    );
    this.#select(this.#tabs.some((tab) => tab.id === this.#tab) ? this.#tab : this.#tabs[0].id, false);
  }

  /**
   * A stored event with its two objects in place, whatever the file had there.
   * @param {StoredEvent} event
   * @returns {StoredEvent}
   */
  #sound(event) {
    const isObject = (/** @type {any} */ value) => typeof value === "object" && value !== null && !Array.isArray(value);
    const payload = isObject(event.payload)
      ? event.payload
      : event.payload === undefined
        ? {}
        : { payload: event.payload };
    return {
      ...event,
      event_id: String(event.event_id ?? ""),
      name: String(event.name ?? ""),
      payload,
      meta: isObject(event.meta) ? event.meta : {},
    };
  }

  #refreshFacts() {
    if (this.#event && this.#context) this.#facts.show(this.#sound(this.#event), this.#row, this.#context);
  }

  /** @param {"tab" | "panel"} part @param {Tab} tab */
  #name(part, tab) {
    return `${this.#id}-${part}-${tab.id}`;
  }

  /** In the side panel no row stands above the event, so it names itself. @param {StoredEvent} event */
  #header(event) {
    const row = this.#row;
    const kind = row?.kind ?? "other";
    const status = row?.status === "error" || row?.status === "never_returned" ? "error" : (row?.severity ?? null);
    return h(
      "h2",
      { class: "title", "data-kind": kind, "data-status": status },
      glyph(kind),
      h("span", { class: "title-name" }, visibleText(event.name.slice(0, 120))),
      row && h("span", { class: "title-number" }, `#${row.n}`),
    );
  }

  /** @param {DetailsContext} context */
  #bar(context) {
    const tabs = this.#tabs.map((tab) =>
      h(
        "button",
        {
          type: "button",
          role: "tab",
          id: this.#name("tab", tab),
          "aria-controls": this.#name("panel", tab),
          "data-tab": tab.id,
          onclick: () => this.#select(tab.id, true),
        },
        tab.label,
        tab.count !== undefined && h("span", { class: "count" }, tab.count > 0 ? ` ${exact(tab.count)}` : ""),
      ),
    );
    const copy = h("button", { type: "button", title: "Copy the event as JSON" }, "Copy");
    copy.addEventListener("click", () => void copyFrom(copy, () => stringifyJson(this.#event, 2)));
    const link = h("button", { type: "button", title: "Copy a link to this event" }, "Link");
    link.addEventListener("click", () => void copyFrom(link, () => this.#address(), "Link copied"));
    const actions = h(
      "div",
      { class: "actions", "aria-live": "polite" },
      this.#wholeButton(context),
      this.#modeSwitch(),
      copy,
      link,
    );
    if (context.placement !== undefined) {
      const to = context.placement === "side" ? "inline" : "side";
      actions.append(
        h(
          "button",
          { type: "button", class: "move", "aria-keyshortcuts": "\\", onclick: () => emit(this, "move", { to }) },
          to === "side" ? "Open in side panel" : "Open inline",
          " ",
          h("kbd", { "aria-hidden": "true" }, "\\"),
        ),
      );
    }
    return h("div", { class: "bar" }, h("div", { role: "tablist", "aria-label": "Event" }, ...tabs), actions);
  }

  /** What the log cut may be whole on the tape. @param {DetailsContext} context */
  #wholeButton(context) {
    const [row, event] = [this.#row, this.#event];
    if (!row || !event || !context.fetchWhole || !/__TRUNCATED__|__MEDIA__/.test(stringifyJson(event.payload, 0)))
      return null;
    const button = h("button", { type: "button", class: "whole" }, "Load what was cut");
    button.addEventListener("click", async () => {
      const found = await context.fetchWhole?.(row.n).catch(() => null);
      if (found && found.whole.length > 0) this.event = found.event;
      else button.textContent = found?.problem ? `Not on the tape: ${found.problem}` : "Nothing more was kept";
    });
    return button;
  }

  /** Texts as they were meant, or as they were sent. */
  #modeSwitch() {
    const side = (/** @type {string} */ label, /** @type {boolean} */ formatted) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(isFormatted() === formatted),
          title: `${label} (m)`,
          onclick: () => this.setMode(formatted),
        },
        label,
      );
    return h(
      "div",
      { class: "modes", role: "group", "aria-label": "How texts are shown" },
      side("Formatted", true),
      side("Raw", false),
    );
  }

  /** @param {boolean} formatted */
  setMode(formatted) {
    setFormatted(formatted);
    for (const open of /** @type {NodeListOf<EventDetails>} */ (document.querySelectorAll("event-details")))
      open.redraw();
    /** @type {HTMLElement | null} */ (this.querySelector(".modes [aria-pressed=true]"))?.focus({
      preventScroll: true,
    });
  }

  /** Draw the same event again. */
  redraw() {
    if (this.#event !== null) this.#draw();
  }

  /** Where this event can be found again; without the token that the page itself may have been opened with. */
  #address() {
    const query = new URLSearchParams({ run_id: this.#context?.runId ?? "", event: this.#event?.event_id ?? "" });
    return new URL(hrefOf(`${location.pathname}?${query}`), location.href).href;
  }

  /** @param {string} id @param {boolean} focus */
  #select(id, focus) {
    const wanted = this.#tabs.find((tab) => tab.id === id);
    if (!wanted) return;
    this.#tab = id;
    for (const tab of this.#tabs) {
      const selected = tab === wanted;
      const button = /** @type {HTMLElement} */ (this.querySelector(`#${this.#name("tab", tab)}`));
      button.setAttribute("aria-selected", String(selected));
      button.tabIndex = selected ? 0 : -1;
      if (selected && focus) button.focus({ preventScroll: true });
      const panel = /** @type {HTMLElement} */ (this.querySelector(`#${this.#name("panel", tab)}`));
      panel.hidden = !selected;
      if (selected && panel.childNodes.length === 0) tab.fill(panel);
    }
    this.#facts.hidden = id === "json" || (id === "changes" && this.dataset.kind === "llm");
    const modes = /** @type {HTMLElement | null} */ (this.querySelector(".modes"));
    if (modes) modes.hidden = id !== "conversation" && id !== "call";
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    // Enter and Space on a button of ours must not also open or close the row around us.
    if ((event.key === "Enter" || event.key === " ") && target.closest("button, a[href], select"))
      event.stopPropagation();
    if (target.getAttribute("role") !== "tab" || event.altKey || event.ctrlKey || event.metaKey) return;
    const at = this.#tabs.findIndex((tab) => tab.id === target.dataset.tab);
    const last = this.#tabs.length - 1;
    /** @type {Record<string, number>} */
    const moves = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last };
    if (!Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    this.#select(this.#tabs[moves[event.key]].id, true);
  }
}

/** @param {StoredEvent} event */
function jsonView(event) {
  const view = new EventJson();
  view.value = event;
  return view;
}

customElements.define("event-details", EventDetails);
