// @ts-check
/** What the reader takes along: a report for an assistant, a link, an event, an id. Copying answers in words. */

import { formatAddress } from "../model/address.js";
import { formatBytes } from "../model/format.js";
import { stringifyJson } from "../model/details/parse-json.js";
import { copyText } from "./clipboard.js";
import { hrefOf } from "./embedded.js";

export class Copying {
  /** @param {import("./actions.js").Actions} actions */
  constructor({ store, screen }) {
    this.store = store;
    this.screen = screen;
  }

  get state() {
    return this.store.state;
  }

  async report() {
    const { data } = this.state;
    if (!data) return;
    try {
      const report = await data.report();
      const copied = await copyText(report);
      this.screen.verdict.answerReport(
        copied ? `Copied, ${formatBytes(new Blob([report]).size)}` : "The browser refused to copy",
      );
    } catch (problem) {
      this.screen.toasts.say(`No report: ${/** @type {Error} */ (problem).message}`);
    }
  }

  /** @param {string} text @param {string} what */
  async #copy(text, what) {
    this.screen.toasts.say((await copyText(text)) ? `Copied ${what}.` : "The browser refused to copy.");
  }

  link() {
    const { runId, selected, view } = this.state;
    if (!runId) return;
    const address = formatAddress({
      runId,
      view,
      filter: "",
      q: "",
      event: selected > 0 ? String(selected) : null,
      side: false,
    });
    this.#copy(
      new URL(hrefOf(address), location.href).href,
      selected > 0 ? `a link to #${selected}` : "a link to this run",
    );
  }

  async event() {
    const { data, selected } = this.state;
    if (data && selected > 0) this.#copy(stringifyJson(await data.fetchEvent(selected), 2), `#${selected} as JSON`);
  }

  runId() {
    if (this.state.runId) this.#copy(this.state.runId, "the run id");
  }
}
