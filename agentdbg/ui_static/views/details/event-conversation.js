// @ts-check
/** `<event-conversation>`: what the model saw and said, by role; what the reader has seen before folded away. */
import { h } from "../../core/dom.js";
import { messageText, newPart } from "../../model/details/conversation.js";
import { exact, plural, size } from "../../model/details/format.js";
import { previousModelCall, rowsBetween } from "../../model/details/lookups.js";
import { promptMessages, responseMessages } from "../../model/details/messages.js";
import { byteLength, oneLine, visibleText } from "../../model/details/text.js";
import { classify } from "../../model/details/values.js";
import { action, foldedText, missingMark, textNodes } from "./fold.js";
import { eventLink } from "./links.js";
import { errorView, isFilled } from "./stack-view.js";
import { imageView, pairsView, valueView } from "./value-view.js";

/** @typedef {import("../../model/details/types.js").StoredEvent} StoredEvent */
/** @typedef {import("../../model/details/types.js").Row} Row */
/** @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext */
/** @typedef {import("../../model/details/messages.js").Message} Message */
/** @typedef {import("../../model/details/messages.js").MessagePart} MessagePart */
/** @typedef {NonNullable<Awaited<ReturnType<typeof previousModelCall>>>} EarlierCall */

const EARLIER_AT_ONCE = 40;
/** So many messages that nobody has seen before are shown without being asked for. */
const FEW_EARLIER = 12;

export class EventConversation extends HTMLElement {
  /** @type {Message[]} */
  #messages = [];
  /** The names of called tools by the id of the call. @type {Map<string, string>} */
  #calls = new Map();
  #earlier = h("div", { class: "earlier" });
  #fresh = h("div", { class: "fresh" });
  /** @type {DetailsContext | null} */
  #context = null;

  /**
   * Draw the conversation at once; what the earlier call had is found out afterwards and only changes the fold.
   * @param {StoredEvent} event
   * @param {Row | null} row
   * @param {DetailsContext} context
   * @returns {Promise<EarlierCall | null>} the earlier call that this one continues
   */
  async show(event, row, context) {
    const payload = event.payload;
    this.#context = context;
    this.#messages = promptMessages(payload.prompt);
    this.#rememberCalls();
    const { system, from } = newPart(this.#messages, null);
    this.replaceChildren(
      ...this.#messages.slice(0, system).map((one) => this.#systemView(one)),
      this.#earlier,
      this.#fresh,
      this.#answer(payload),
    );
    this.#drawFold(system, from, null);
    this.#drawFresh(from);
    return row === null || this.#messages.length === 0 ? null : this.#compareWithEarlier(row, context);
  }

  /** @param {Row} row @param {DetailsContext} context */
  async #compareWithEarlier(row, context) {
    const earlier = await previousModelCall(context, row.n, this.#messages);
    if (!this.isConnected && !this.parentNode) return earlier;
    const guessed = newPart(this.#messages, null);
    const { system, from } = newPart(this.#messages, earlier?.messages ?? []);
    if (earlier === null && guessed.from - guessed.system <= FEW_EARLIER)
      this.#showEarlier(guessed.system, guessed.from);
    else if (earlier !== null && !this.#earlier.hasAttribute("data-open")) {
      this.#drawFold(system, from, earlier.n);
      if (from !== guessed.from) this.#drawFresh(from);
    }
    await this.#linkResults(row, earlier?.n ?? row.n - EARLIER_AT_ONCE, context);
    return earlier;
  }

  #rememberCalls() {
    this.#calls.clear();
    for (const one of this.#messages)
      for (const part of one.parts) if (part.type === "call" && part.id) this.#calls.set(part.id, part.name);
  }

  /**
   * The line that stands for the messages before.
   * @param {number} from
   * @param {number} to
   * @param {number | null} earlier
   */
  #drawFold(from, to, earlier) {
    this.#earlier.replaceChildren();
    const count = to - from;
    if (count <= 0) return;
    const context = /** @type {DetailsContext} */ (this.#context);
    const line = h(
      "div",
      { class: "turn" },
      h("span", { class: "who" }),
      h(
        "div",
        { class: "said" },
        action(`Show ${plural(count, "earlier message")}`, () => this.#showEarlier(from, to)),
        ...(earlier === null ? [] : [h("span", { class: "quiet" }, ", the same as in "), eventLink(context, earlier)]),
      ),
    );
    this.#earlier.append(line);
  }

  /** @param {number} from @param {number} to */
  #showEarlier(from, to) {
    if (to <= from) return;
    this.#earlier.setAttribute("data-open", "");
    const first = Math.max(from, to - EARLIER_AT_ONCE);
    const views = this.#messages.slice(first, to).flatMap((one) => this.#turnsOf(one));
    const rest = first - from;
    const more = h(
      "div",
      { class: "turn" },
      h("span", { class: "who" }),
      h(
        "div",
        { class: "said" },
        action(`Show ${exact(rest)} before these`, () => {
          more.remove();
          const opened = [...this.#earlier.childNodes];
          this.#showEarlier(from, first);
          this.#earlier.append(...opened);
        }),
      ),
    );
    this.#earlier.replaceChildren(...(rest > 0 ? [more] : []), ...views);
  }

  /** @param {number} from */
  #drawFresh(from) {
    this.#fresh.replaceChildren(...this.#messages.slice(from).flatMap((one) => this.#turnsOf(one)));
  }

  /** @param {Message} one */
  #systemView(one) {
    const text = messageText(one);
    const said = h("div", { class: "said" });
    const fold = () => {
      if (text.length <= 90) said.replaceChildren(...one.parts.map((part) => this.#partView(part, false)));
      else
        said.replaceChildren(
          h("span", { class: "quiet system-start" }, ...textNodes(oneLine(text, 72))),
          " ",
          action(`show all, ${size(byteLength(text))}`, unfold),
        );
    };
    const unfold = () =>
      said.replaceChildren(
        ...one.parts.map((part) => this.#partView(part, true)),
        h("div", null, action("show less", fold)),
      );
    fold();
    return h("div", { class: "turn" }, h("span", { class: "who" }, "system"), said);
  }

  /** One message; each result of a tool stands on a line of its own. @param {Message} one @returns {HTMLElement[]} */
  #turnsOf(one) {
    const results = one.parts.filter((part) => part.type === "result");
    const rest = one.parts.filter((part) => part.type !== "result");
    const views = results.map((part) => this.#resultTurn(part));
    if (rest.length > 0 || results.length === 0) {
      const who = h("span", { class: "who" }, one.role === "missing" ? "" : visibleText(one.role));
      const parts =
        rest.length > 0 ? rest.map((part) => this.#partView(part, false)) : [h("span", { class: "quiet" }, "empty")];
      views.push(h("div", { class: "turn", "data-role": one.role }, who, h("div", { class: "said" }, ...parts)));
    }
    return views;
  }

  /** @param {Extract<MessagePart, { type: "result" }>} part */
  #resultTurn(part) {
    const name = part.name ?? (part.callId === null ? null : (this.#calls.get(part.callId) ?? null));
    const turn = h("div", { class: "turn", "data-role": "tool", "data-tool": name, "data-failed": part.failed });
    const said = h("div", { class: "said" }, resultView(part.value));
    turn.append(h("span", { class: "who", title: name === null ? null : visibleText(name) }, "tool"), said);
    return turn;
  }

  /** @param {MessagePart} part @param {boolean} whole @returns {HTMLElement} */
  #partView(part, whole) {
    const room = whole ? { limit: 20_000, lines: 400 } : { limit: 1200, lines: 14 };
    switch (part.type) {
      case "text":
        return foldedText(part.text, room);
      case "thinking":
        return h(
          "div",
          { class: "thinking" },
          h("span", { class: "thinking-label" }, "thinking"),
          foldedText(part.text, whole ? { limit: 2000, lines: 24 } : { limit: 240, lines: 3 }),
        );
      case "refusal":
        return h("div", { class: "refusal" }, foldedText(part.text, room));
      case "call":
        return callView(part, !whole);
      case "result":
        return resultView(part.value);
      case "image":
        return imageView(part);
      case "missing":
        return missingMark(part.text);
      case "other":
        return h(
          "div",
          null,
          part.label !== null && h("span", { class: "quiet" }, visibleText(part.label)),
          valueView(part.value, { compact: !whole }),
        );
    }
  }

  /** The outcome: the answer, the error, or both when a stream broke off. @param {Record<string, any>} payload */
  #answer(payload) {
    const parts = responseMessages(payload.response).flatMap((one) => one.parts);
    const failed = payload.status === "error" || isFilled(payload.error);
    const views = h("div", { class: "outcome" });
    if (parts.length > 0 || !failed) {
      const said =
        parts.length > 0
          ? parts.map((part) => this.#partView(part, true))
          : [h("span", { class: "quiet" }, "no answer recorded")];
      views.append(
        h("div", { class: "turn answer" }, h("h3", { class: "who" }, "answer"), h("div", { class: "said" }, ...said)),
      );
    }
    if (failed) {
      const error = isFilled(payload.error) ? payload.error : { message: "failed without a message" };
      const view = errorView(error, /** @type {DetailsContext} */ (this.#context));
      views.append(
        h(
          "div",
          { class: "turn answer failed" },
          h("h3", { class: "who" }, "failed"),
          h("div", { class: "said" }, view),
        ),
      );
    }
    return views;
  }

  /**
   * Link each shown result to the call it came from: the tool rows since the earlier model call, in order, by name.
   * @param {Row} row
   * @param {number} since
   * @param {DetailsContext} context
   */
  async #linkResults(row, since, context) {
    const turns = /** @type {HTMLElement[]} */ ([...this.#fresh.querySelectorAll(".turn[data-role='tool']")]);
    if (turns.length === 0) return;
    const rows = (await rowsBetween(context, since + 1, row.n - 1)).filter((one) => one.kind === "tool");
    const inOrder = rows.length === turns.length;
    for (const turn of turns.reverse()) {
      const name = turn.dataset.tool;
      const found = rows.findLast((one) => (name === undefined ? inOrder : one.name === name));
      if (!found) continue;
      rows.splice(rows.indexOf(found), 1);
      turn.querySelector(".who")?.append(" ", eventLink(context, found.n));
      if (found.status === "error") turn.setAttribute("data-failed", "");
    }
  }
}

/**
 * What a tool gave the model; words without quotes, because a model reads them as words.
 * @param {any} value
 * @returns {HTMLElement}
 */
function resultView(value) {
  const shape = classify(value);
  return shape.kind === "string" ? foldedText(shape.text, { cut: shape.cut }) : valueView(value, { compact: true });
}

/**
 * A call the model asked for: its name, and the arguments as keys and values.
 * @param {Extract<MessagePart, { type: "call" }>} part
 * @param {boolean} compact
 */
function callView(part, compact) {
  const args = isFilled(part.args)
    ? typeof part.args === "object"
      ? pairsView(part.args, { compact })
      : valueView(part.args, { compact })
    : null;
  return h(
    "div",
    { class: "call" },
    h("span", { class: "call-name" }, visibleText(part.name.slice(0, 200))),
    args ?? h("span", { class: "quiet" }, " without arguments"),
  );
}

customElements.define("event-conversation", EventConversation);
