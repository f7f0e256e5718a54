// @ts-check
/** While a run goes on: what it does now, how much arrived below what is read, and whether to follow it. */

import { emit, h } from "../core/dom.js";
import { glyph } from "../core/glyphs.js";
import { counted, formatElapsed } from "../model/format.js";
import { KIND } from "../model/skeleton.js";
import { elapsedOf } from "./row-facts.js";

/** @typedef {import("../core/run-data.js").RunData} RunData */

/** What has gone on for less is not worth telling: it would be gone before it is read. */
const WORTH_MS = 2000;

export class LiveBar extends HTMLElement {
  /** @type {RunData | null} */
  data = null;
  follow = false;
  /** Events that arrived below what is in sight since the reader last was at the end. */
  unseen = 0;

  #now = h("span", { class: "now" });
  #unseen = h("button", { class: "button primary unseen", type: "button", onclick: () => emit(this, "to-end") });
  #follow = h(
    "button",
    { class: "button", type: "button", "data-follow": true, onclick: () => emit(this, "follow", { on: !this.follow }) },
    h("span", null, "Follow"),
    h("kbd", null, "f"),
  );

  connectedCallback() {
    if (this.firstChild) return;
    this.append(h("span", { class: "dot" }), this.#now, h("span", { class: "spring" }), this.#unseen, this.#follow);
  }

  update() {
    const running = this.data?.isRunning ?? false;
    this.hidden = !running;
    if (running) this.#draw();
  }

  #draw() {
    this.#follow.setAttribute("aria-pressed", String(this.follow));
    this.#unseen.hidden = this.unseen === 0 || this.follow;
    const label = counted(this.unseen, "new event");
    if (!this.#unseen.hidden && this.#unseen.firstChild?.textContent !== label)
      this.#unseen.replaceChildren(h("span", null, label), glyph("arrow-down", { size: 14 }));
    const { name, doing } = this.#doing();
    if (this.#now.dataset.name !== name) {
      this.#now.dataset.name = name;
      this.#now.replaceChildren(h("b", null, name), h("span", { class: "digits quiet" }));
    }
    const text = /** @type {HTMLElement} */ (this.#now.lastElementChild);
    if (text.textContent !== doing) text.textContent = doing;
  }

  /** The latest call that has begun and not ended; without one, when something last happened. */
  #doing() {
    const data = /** @type {RunData} */ (this.data);
    const { skeleton } = data;
    const elapsed = elapsedOf(data);
    for (let n = skeleton.count; n >= Math.max(1, skeleton.count - 2000); n -= 1) {
      if (skeleton.kind[n] !== KIND.CALL_START || !skeleton.isShown(n)) continue;
      const row = data.rows.get(n);
      if (!row) {
        data.need([n]);
        break;
      }
      const since = elapsed - skeleton.start[n];
      if (since < WORTH_MS) return { name: "Running", doing: "" };
      return { name: `Waiting for ${row.name}`, doing: `(${formatElapsed(since)})` };
    }
    const last = skeleton.count > 0 ? skeleton.endOf(skeleton.count) : 0;
    const quiet = elapsed - last;
    return { name: "Running", doing: quiet < WORTH_MS ? "" : `last event ${formatElapsed(quiet)} ago` };
  }
}

customElements.define("live-bar", LiveBar);
