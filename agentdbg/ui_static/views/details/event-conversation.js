// @ts-check
/** `<event-conversation>`: what the model saw and said, by role; what the reader has seen before folded away. */
import { h } from "../../core/dom.js";
import { messageText, newPart } from "../../model/details/conversation.js";
import { tokensOf } from "../../model/details/facts.js";
import { exact, plural, size } from "../../model/details/format.js";
import { previousModelCall, rowsBetween } from "../../model/details/lookups.js";
import { countSteps, diffMessages } from "../../model/details/message-diff.js";
import { promptMessages, responseMessages } from "../../model/details/messages.js";
import { byteLength, oneLine } from "../../model/details/text.js";
import { foldable, textNodes } from "./fold.js";
import { eventLink } from "./links.js";
import { nameView, partView, turnViews } from "./message-view.js";
import { errorView, isFilled } from "./stack-view.js";

/** @typedef {import("../../model/details/types.js").StoredEvent} StoredEvent */
/** @typedef {import("../../model/details/types.js").Row} Row */
/** @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext */
/** @typedef {import("../../model/details/messages.js").Message} Message */
/** @typedef {NonNullable<Awaited<ReturnType<typeof previousModelCall>>>} EarlierCall */

/** So many messages that nobody has seen before are shown without being asked for. */
const FEW_EARLIER = 12;
const LINKED_BACK = 40;

export class EventConversation extends HTMLElement {
  /** @type {Message[]} */
  #messages = [];
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
    const isOpen = this.#earlier.querySelector(":scope > .foldable > .fold[aria-expanded=true]") !== null;
    if (earlier === null && guessed.from - guessed.system <= FEW_EARLIER && !isOpen) {
      this.#earlier.replaceChildren();
      this.#drawFresh(guessed.system);
    } else if (earlier !== null && !isOpen) {
      this.#drawFold(system, from, earlier);
      if (from !== guessed.from) this.#drawFresh(from);
    }
    await this.#linkResults(row, earlier?.n ?? row.n - LINKED_BACK, context);
    return earlier;
  }

  /**
   * The line that stands for the messages before.
   * @param {number} from
   * @param {number} to
   * @param {EarlierCall | null} earlier
   */
  #drawFold(from, to, earlier) {
    this.#earlier.replaceChildren();
    const count = to - from;
    if (count <= 0) return;
    const context = /** @type {DetailsContext} */ (this.#context);
    const fold = foldable(
      [`${plural(count, "earlier message")}`],
      () => h("div", { class: "before" }, ...turnViews(this.#messages.slice(from, to))),
      { className: "before-fold" },
    );
    if (earlier !== null) {
      const { edited, dropped } = countSteps(diffMessages(earlier.messages, this.#messages));
      const changes = [edited && `${exact(edited)} edited`, dropped && `${exact(dropped)} dropped`].filter(Boolean);
      const note = h("span", { class: "quiet" }, "same as in ", eventLink(context, earlier.n));
      if (changes.length > 0) note.append(` · ${changes.join(", ")}`);
      fold.querySelector("button")?.after(note);
    }
    this.#earlier.append(fold);
  }

  /** @param {number} from */
  #drawFresh(from) {
    this.#fresh.replaceChildren(...turnViews(this.#messages.slice(from)));
  }

  /** @param {Message} one */
  #systemView(one) {
    const text = messageText(one);
    const whole = () => h("div", { class: "said" }, ...one.parts.map((part) => partView(part, { isAnswer: true })));
    const said =
      text.length <= 90
        ? whole()
        : foldable(
            [
              h("span", { class: "when-folded" }, ...textNodes(oneLine(text, 80))),
              h("span", { class: "when-open" }, "System prompt"),
              h("span", { class: "fold-size" }, ` ${size(byteLength(text))}`),
            ],
            whole,
            { className: "system-fold" },
          );
    return h("div", { class: "turn", "data-role": "system" }, h("span", { class: "who" }, "system"), said);
  }

  /** The outcome: the answer, the error, or both when a stream broke off. @param {Record<string, any>} payload */
  #answer(payload) {
    const said = responseMessages(payload.response);
    const parts = said.flatMap((one) => one.parts);
    const name = said.find((one) => one.name !== null)?.name ?? null;
    const failed = payload.status === "error" || isFilled(payload.error);
    const reasoning =
      parts.filter((part) => part.type === "thinking").length === 1 ? tokensOf(payload.usage).reasoning : null;
    const views = h("div", { class: "outcome" });
    if (parts.length > 0 || !failed) {
      const shown =
        parts.length > 0
          ? parts.map((part) => partView(part, { isAnswer: true, reasoning }))
          : [h("span", { class: "quiet" }, "no answer recorded")];
      const who = h("h3", { class: "who" }, "answer", nameView(name));
      views.append(h("div", { class: "turn answer" }, who, h("div", { class: "said" }, ...shown)));
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
    const results = /** @type {HTMLElement[]} */ ([...this.#fresh.querySelectorAll(".result")]);
    if (results.length === 0) return;
    const rows = (await rowsBetween(context, since + 1, row.n - 1)).filter((one) => one.kind === "tool");
    const inOrder = rows.length === results.length;
    for (const result of results.reverse()) {
      const name = result.dataset.tool;
      const found = rows.findLast((one) => (name === undefined ? inOrder : one.name === name));
      if (!found) continue;
      rows.splice(rows.indexOf(found), 1);
      result.querySelector(".result-label")?.append(" ", eventLink(context, found.n));
      if (found.status === "error") result.setAttribute("data-failed", "");
    }
  }
}

customElements.define("event-conversation", EventConversation);
