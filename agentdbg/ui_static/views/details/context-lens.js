// @ts-check
/** `<context-lens>`: what fills the model's context, one column per model call, the open one outlined. */
import { emit, h } from "../../core/dom.js";
import { PART_NAMES, PART_WORDS, contextParts } from "../../model/details/context-parts.js";
import { tokensOf } from "../../model/details/facts.js";
import { exact, plural, tokensInColumn } from "../../model/details/format.js";
import { fetchEvents } from "../../model/details/lookups.js";
import { diffMessages } from "../../model/details/message-diff.js";
import { promptMessages } from "../../model/details/messages.js";

/** @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext */
/** @typedef {import("../../model/details/types.js").StoredEvent} StoredEvent */
/** @typedef {{ n: number, event: StoredEvent } & ReturnType<typeof contextParts> & { dropped: number }} Column */

const HEIGHT = 110;
/** So many calls are compared: those before the open one, and a few after. */
const MOST_COLUMNS = 24;
const AFTER = 4;

export class ContextLens extends HTMLElement {
  /** @type {Column[]} */
  #columns = [];
  #n = 0;
  #share = false;
  #chart = h("div", { class: "lens-chart", role: "group", "aria-label": "Model calls", "data-own-arrows": true });
  #legend = h("div", { class: "lens-legend" });
  #title = h("p", { class: "lens-title" });

  /** @param {StoredEvent} event @param {number} n @param {number | null} before the call it is compared with @param {DetailsContext} context */
  async show(event, n, before, context) {
    this.#n = n;
    const calls = (await context.callsOfKind?.("llm", n)) ?? [n];
    const place = calls.indexOf(n);
    const last = Math.min(calls.length, place + 1 + AFTER);
    const shown = calls.slice(Math.max(0, last - MOST_COLUMNS), last);
    const events = await fetchEvents(context, shown);
    events.set(n, event);
    this.#columns = this.#made(shown, events, event);
    if (this.#columns.length === 0) return;
    this.#chart.addEventListener("keydown", (pressed) => this.#move(pressed));
    const modes = h("div", { class: "modes", role: "group", "aria-label": "Height of the columns" });
    const side = (/** @type {string} */ label, /** @type {boolean} */ share) => {
      const button = h("button", { type: "button", "aria-pressed": String(share === this.#share) }, label);
      button.addEventListener("click", () => {
        this.#share = share;
        for (const one of modes.children) one.setAttribute("aria-pressed", String(one === button));
        this.#draw(before);
      });
      return button;
    };
    modes.append(side("Tokens", false), side("Share", true));
    this.replaceChildren(
      h("div", { class: "lens-head" }, this.#title, modes),
      h("div", { class: "lens-body" }, this.#chart, this.#legend),
    );
    this.#draw(before);
  }

  /**
   * The calls that belong together: agents that run side by side begin with another system prompt.
   * @param {number[]} shown @param {Map<number, StoredEvent>} events @param {StoredEvent} open @returns {Column[]}
   */
  #made(shown, events, open) {
    const start = systemStart(open);
    /** @type {Column[]} */
    const columns = [];
    for (const n of shown) {
      const event = events.get(n);
      if (!event || systemStart(event) !== start) continue;
      const last = columns.at(-1);
      const steps = last
        ? diffMessages(promptMessages(last.event.payload.prompt), promptMessages(event.payload.prompt))
        : [];
      const dropped = steps.filter((step) => step.kind === "dropped").length;
      columns.push({ n, event, ...contextParts(event.payload, tokensOf(event.payload.usage).in), dropped });
    }
    return columns;
  }

  /** @param {number | null} before */
  #draw(before) {
    const open = this.#columns.find((column) => column.n === this.#n) ?? this.#columns[this.#columns.length - 1];
    const earlier = this.#columns.find((column) => column.n === before) ?? null;
    const most = Math.max(1, ...this.#columns.map((column) => column.total));
    this.#title.replaceChildren(
      h("b", null, "What fills the context window"),
      h(
        "span",
        { class: "quiet" },
        ` ${tokensInColumn(open.total)} tokens at #${open.n} · parts are estimated from the length of their text`,
      ),
    );
    this.#chart.replaceChildren(
      axis(this.#share ? null : most),
      ...this.#columns.map((column) => this.#column(column, most)),
    );
    this.#legend.replaceChildren(legend(open, earlier));
    // Where not all calls have room, the open one is in sight.
    requestAnimationFrame(() => {
      const column = /** @type {HTMLElement | null} */ (this.#chart.querySelector("[aria-pressed=true]"));
      if (column) this.#chart.scrollLeft = column.offsetLeft - this.#chart.clientWidth + 2 * column.offsetWidth;
    });
  }

  /** @param {Column} column @param {number} most */
  #column(column, most) {
    const { n, parts, total, dropped } = column;
    const height = this.#share ? HEIGHT : Math.max(2, (total / most) * HEIGHT);
    const stack = h("span", { class: "lens-stack" });
    stack.style.height = `${height}px`;
    for (const name of PART_NAMES) {
      if (parts[name] <= 0) continue;
      const part = h("span", { "data-part": name });
      part.style.flexGrow = String(parts[name]);
      stack.append(part);
    }
    const isOpen = n === this.#n;
    const button = h(
      "button",
      {
        type: "button",
        class: "lens-column",
        "aria-pressed": String(isOpen),
        tabindex: isOpen ? "0" : "-1",
        title: `#${n}: ${exact(Math.round(total))} tokens${dropped ? `, ${plural(dropped, "message")} dropped before it` : ""}`,
        "aria-label": `Open #${n}, ${exact(Math.round(total))} tokens${dropped ? `, ${plural(dropped, "message")} dropped before it` : ""}`,
        onclick: () => emit(this, "open-call", { n }),
      },
      stack,
      h("span", { class: "lens-number digits" }, n),
    );
    if (dropped > 0) button.prepend(h("span", { class: "lens-dropped" }, `−${dropped}`));
    return button;
  }

  /** @param {KeyboardEvent} pressed */
  #move(pressed) {
    const buttons = /** @type {HTMLElement[]} */ ([...this.#chart.querySelectorAll(".lens-column")]);
    const at = buttons.indexOf(/** @type {HTMLElement} */ (pressed.target));
    const to = /** @type {Record<string, number>} */ ({
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      Home: 0,
      End: buttons.length - 1,
    })[pressed.key];
    if (at < 0 || to === undefined) return;
    pressed.preventDefault();
    pressed.stopPropagation();
    buttons[Math.max(0, Math.min(buttons.length - 1, to))].focus();
  }
}

/** @param {StoredEvent} event */
function systemStart(event) {
  const [first] = promptMessages(event.payload.prompt);
  if (first?.role !== "system") return "";
  const [part] = first.parts;
  return part?.type === "text" ? part.text.slice(0, 60) : "";
}

/** @param {number | null} most tokens, null for shares */
function axis(most) {
  const label = (/** @type {number} */ share) =>
    most === null ? `${Math.round(share * 100)} %` : tokensInColumn(Math.round(most * share));
  return h(
    "span",
    { class: "lens-axis digits", "aria-hidden": "true" },
    h("span", null, label(1)),
    h("span", null, label(0.5)),
    h("span", null, most === null ? "0 %" : "0"),
  );
}

/** The same as figures, which is also what is read aloud. @param {Column} open @param {Column | null} earlier */
function legend(open, earlier) {
  const row = (
    /** @type {string | null} */ part,
    /** @type {string} */ words,
    /** @type {number} */ now,
    /** @type {number | null} */ before,
  ) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, part && h("span", { class: "swatch", "data-part": part }), words),
      h("td", null, tokensInColumn(Math.round(now))),
      h("td", { class: "quiet" }, before === null ? "" : change(now - before)),
    );
  const names = PART_NAMES.filter((name) => open.parts[name] > 0 || (earlier?.parts[name] ?? 0) > 0);
  return h(
    "table",
    null,
    h(
      "caption",
      { class: "visually-hidden" },
      `Context of #${open.n}, in tokens, and the change since #${earlier?.n ?? "the start"}`,
    ),
    h(
      "tbody",
      null,
      ...names.map((name) => row(name, PART_WORDS[name], open.parts[name], earlier ? earlier.parts[name] : null)),
    ),
    h("tfoot", null, row(null, "all", open.total, earlier ? earlier.total : null)),
  );
}

/** @param {number} tokens */
function change(tokens) {
  const rounded = Math.round(tokens);
  if (Math.abs(rounded) < 1) return "0";
  return `${rounded < 0 ? "−" : "+"}${tokensInColumn(Math.abs(rounded))}`;
}

customElements.define("context-lens", ContextLens);
