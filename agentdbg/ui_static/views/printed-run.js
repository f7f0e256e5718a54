// @ts-check
/**
 * What a page in a file prints: the whole run, event by event, while the screen only ever holds what is in sight.
 *
 * A browser does not wait when it is asked to print, so a run of usual length is made ready as soon as the page has
 * nothing else to do. A longer one is made ready by Ctrl-P, which then prints; from the menu it prints how to do so.
 */

import { Api } from "../core/api.js";
import { h } from "../core/dom.js";
import { parseJson, stringifyJson } from "../model/details/parse-json.js";

const MOST_AT_ONCE = 2_000;

export class PrintedRun extends HTMLElement {
  #api = new Api();
  #runId = document.documentElement.dataset.embeddedRun ?? "";
  /** The file is there to its end; until then it holds only the beginning of the run. @type {Promise<void>} */
  #isRead = new Promise((resolve) => {
    if (document.readyState === "complete") resolve();
    else addEventListener("load", () => resolve(), { once: true });
  });
  /** @type {Promise<void> | null} */
  #made = null;

  connectedCallback() {
    if (this.firstChild) return;
    this.append(h("p", null, "This run is long. Press Ctrl-P (⌘P) in the page to print all of it."));
    addEventListener("keydown", (event) => this.#pressed(event), { capture: true });
    const idle = window.requestIdleCallback ?? ((/** @type {() => void} */ then) => setTimeout(then, 300));
    this.#isRead.then(() => idle(() => this.#makeIfShort()));
  }

  async #makeIfShort() {
    const summary = await this.#api.json(`/api/runs/${this.#runId}/summary`).catch(() => null);
    if ((summary?.total_events ?? Infinity) <= MOST_AT_ONCE) this.#make();
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const isPrint = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "p";
    if (!isPrint || this.hasAttribute("data-whole")) return;
    event.preventDefault();
    this.#make().then(() => print());
  }

  #make() {
    this.#made ??= this.#draw().catch(() => this.replaceChildren(h("p", null, "This file cannot be read whole.")));
    return this.#made;
  }

  async #draw() {
    await this.#isRead;
    const events = parseJson(await this.#api.text(`/api/runs/${this.#runId}/events`));
    const parts = events.map((/** @type {any} */ event, /** @type {number} */ place) => printed(event, place + 1));
    this.replaceChildren(h("h1", null, document.title), ...parts);
    this.setAttribute("data-whole", "");
  }
}

/** @param {any} event @param {number} n */
function printed(event, n) {
  const lasted = event.duration_ms === null || event.duration_ms === undefined ? "" : `, ${event.duration_ms} ms`;
  const facts = Object.entries(event.payload ?? {}).filter(([, value]) => value !== null && value !== "");
  return h(
    "section",
    null,
    h("h2", null, `#${n} ${event.event_type} ${event.name}`),
    h("p", null, `${event.ts}${lasted}`),
    h("dl", null, ...facts.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, textOf(value))])),
  );
}

/** @param {unknown} value */
function textOf(value) {
  return typeof value === "string" ? value : stringifyJson(/** @type {any} */ (value), 1);
}

customElements.define("printed-run", PrintedRun);
