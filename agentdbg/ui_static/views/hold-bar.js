// @ts-check
/**
 * A run that is paused at a breakpoint: what waits, an editor for it, and the ways to go on. The first answer counts,
 * wherever it comes from; the bar goes when nothing waits any more, and what was edited can still be copied.
 */

import { emit, h } from "../core/dom.js";
import { glyph } from "../core/glyphs.js";
import {
  changedPaths,
  continueLabel,
  editedPart,
  editorText,
  endsSoon,
  pauseFacts,
  pauseTitle,
  readEditor,
} from "../model/pauses.js";

/** @typedef {import("../model/pauses.js").Pause} Pause */
/** @typedef {"input" | "skip" | "raise"} Mode */

const LOOK_MS = 400;

export class HoldBar extends HTMLElement {
  /** @type {import("../core/api.js").Api | null} */
  api = null;
  /** @type {import("../core/run-data.js").RunData | null} */
  data = null;
  /** @type {Pause | null} */
  pause = null;

  /** Where the run pauses, while that can be changed from here. @type {Set<string> | null} */
  breaks = null;

  /** @type {string[]} */
  #breaks = [];
  /** Changes of them that the server does not know yet, and when it knows the last of them. */
  #unsent = 0;
  #setting = Promise.resolve();
  /** Answers come in any order: how often was asked, and up to which question an answer is of the past. */
  #asked = 0;
  #outdated = 0;
  /** @type {Mode} */
  #mode = "input";
  #timer = 0;
  #runId = "";
  #asksAbort = false;

  #words = h("span");
  #name = h("code");
  #facts = h("p", { class: "facts" });
  #actions = h("div", { class: "actions" });
  #part = h("label", { class: "part", for: "hold-editor" });
  #editor = h("textarea", { id: "hold-editor", spellcheck: "false", rows: "6", "aria-describedby": "hold-state" });
  #type = h("input", { class: "raise-type", "aria-label": "Exception", value: "TimeoutError" });
  #state = h("p", { class: "state", id: "hold-state", role: "status" });
  #places = h("ul", { class: "places" });
  #place = h("input", {
    class: "place",
    "aria-label": "Add a breakpoint",
    placeholder: "tool:refund where args.amount>100",
  });
  #command = h("code", { class: "command" });
  /** On a phone the breakpoints are one line, which opens. */
  #few = h("button", { class: "few", type: "button", "aria-expanded": "false" });

  connectedCallback() {
    if (this.firstChild) return;
    this.setAttribute("role", "region");
    this.setAttribute("aria-label", "Paused");
    this.#editor.addEventListener("input", () => this.#drawState());
    this.#place.addEventListener("keydown", (event) => {
      const typed = this.#place.value.trim();
      if (event.key === "Enter" && typed) void this.#setBreaks([...this.#breaks, typed], typed);
    });
    this.#place.addEventListener("input", () => this.#place.setCustomValidity(""));
    document.addEventListener("keydown", (event) => this.#press(event));
    this.#few.addEventListener("click", () =>
      this.#few.setAttribute("aria-expanded", String(this.#few.getAttribute("aria-expanded") === "false")),
    );
    this.append(
      h(
        "div",
        { class: "head" },
        h("div", null, h("h2", null, this.#words, " ", this.#name), this.#facts),
        this.#actions,
      ),
      h(
        "div",
        { class: "body" },
        h("div", { class: "edit" }, h("div", { class: "labels" }, this.#part, this.#type), this.#editor, this.#state),
        h(
          "div",
          { class: "breaks" },
          this.#few,
          h("div", { class: "labels" }, h("h3", null, "Breakpoints"), this.#command),
          this.#places,
          this.#place,
        ),
      ),
    );
  }

  /** Look for pauses while the run goes on. */
  update() {
    const running = this.data?.isRunning ?? false;
    if ((this.data?.runId ?? "") !== this.#runId) {
      this.#runId = this.data?.runId ?? "";
      this.#outdated = this.#asked;
      this.#show(null);
    }
    if (running && !this.#timer) {
      this.#timer = window.setInterval(() => void this.#look(), LOOK_MS);
      void this.#look();
    } else if (!running && this.#timer) {
      clearInterval(this.#timer);
      this.#timer = 0;
      this.#outdated = this.#asked;
      this.#show(null);
      this.#tell(null);
    }
  }

  /** @param {Set<string> | null} breaks */
  #tell(breaks) {
    const said = (/** @type {Set<string> | null} */ some) => (some === null ? "none" : JSON.stringify([...some]));
    if (said(breaks) === said(this.breaks)) return;
    this.breaks = breaks;
    emit(this, "breaks-changed");
  }

  /** Set a breakpoint, or take it away. @param {string} place */
  toggle(place) {
    const without = this.#breaks.filter((one) => one !== place);
    return this.#setBreaks(without.length < this.#breaks.length ? without : [...this.#breaks, place]);
  }

  async #look() {
    const runId = this.#runId;
    if (!this.api || document.hidden || this.api.isGone) return;
    this.#asked += 1;
    const number = this.#asked;
    const control = await this.api.json(`/api/runs/${runId}/control`).catch(() => null);
    if (control === null || number <= this.#outdated) return;
    this.#outdated = number;
    const first = control.paused[0] ?? null;
    if (this.#unsent === 0) this.#breaks = control.armed ? control.breaks : (first?.breaks ?? []);
    this.#tell(control.armed ? new Set(this.#breaks) : null);
    if (first?.pause_id !== this.pause?.pause_id) this.#show(first);
    else if (this.pause) this.#drawState();
    this.#drawBreaks();
  }

  /** Look after something was changed: what was asked before that is of the past, whenever it is answered. */
  #lookAnew() {
    this.#outdated = this.#asked;
    return this.#look();
  }

  /** @param {Pause | null} pause */
  #show(pause) {
    const before = this.pause;
    this.pause = pause;
    if (this.data) this.data.pause = pause;
    this.hidden = pause === null;
    this.#asksAbort = false;
    if (pause) {
      const title = pauseTitle(pause);
      this.#words.textContent = title.words;
      this.#name.textContent = title.name;
      this.#facts.textContent = pauseFacts(pause) + (pause.error ? ` · raised ${pause.error}` : "");
      this.#setMode("input");
      this.#command.textContent = `agentdbg attach ${this.#runId.slice(0, 8)}`;
    }
    if (before?.pause_id !== pause?.pause_id) emit(this, "paused", { pause });
  }

  /** @param {Mode} mode */
  #setMode(mode) {
    const pause = /** @type {Pause} */ (this.pause);
    this.#mode = mode;
    this.#type.hidden = mode !== "raise";
    this.#part.textContent =
      mode === "skip" ? "Result to give instead" : mode === "raise" ? "Raise, with this text" : editedPart(pause);
    this.#editor.value = mode === "input" ? editorText(pause) : mode === "skip" ? "null" : '""';
    this.#editor.readOnly = mode === "input" && !pause.can.includes("edit");
    this.#editor.rows = Math.min(12, Math.max(3, this.#editor.value.split("\n").length));
    this.#drawState();
    if (mode !== "input") this.#editor.focus();
  }

  #changes() {
    const read = readEditor(this.#editor.value);
    if ("problem" in read || this.#mode !== "input") return [];
    return changedPaths(/** @type {Pause} */ (this.pause).value, read.value);
  }

  #drawState() {
    const pause = this.pause;
    if (!pause) return;
    const read = readEditor(this.#editor.value);
    const isWrong = "problem" in read;
    this.#state.classList.toggle("wrong", isWrong);
    const changes = this.#changes();
    const said = isWrong
      ? read.problem
      : changes.length > 0
        ? `Valid JSON · changed: ${changes.slice(0, 4).join(", ")}${changes.length > 4 ? " …" : ""}`
        : this.#editor.readOnly
          ? "This call can be looked at here, but not changed."
          : "Valid JSON";
    const text = [said, endsSoon(pause, Date.now())].filter(Boolean).join(" · ");
    if (this.#state.textContent !== text) this.#state.textContent = text;
    this.#drawActions(isWrong, changes.length);
  }

  /** @param {boolean} isWrong @param {number} changes */
  #drawActions(isWrong, changes) {
    const key = `${this.#mode} ${isWrong} ${changes} ${this.#asksAbort} ${this.pause?.pause_id}`;
    if (this.#actions.dataset.drawn === key) return;
    this.#actions.dataset.drawn = key;
    const button = (
      /** @type {string | (Node | string)[]} */ label,
      /** @type {() => void} */ act,
      more = {},
      /** @type {string} */ kbd = "",
    ) =>
      h(
        "button",
        { class: "button", type: "button", onclick: act, ...more },
        h("span", null, ...[label].flat()),
        kbd && h("kbd", null, kbd),
      );
    const canSkip = this.pause?.can.includes("skip");
    if (this.#mode !== "input") {
      const label = this.#mode === "skip" ? "Skip the call" : "Raise";
      this.#actions.replaceChildren(
        button(label, () => this.#confirm(), { class: "button hold", disabled: isWrong }),
        button("Back", () => this.#setMode("input")),
      );
      return;
    }
    this.#actions.replaceChildren(
      button(continueLabel(changes), () => this.#answer("continue"), { class: "button hold", disabled: isWrong }, "F8"),
      button("Step", () => this.#answer("step"), { disabled: isWrong }, "F10"),
      button(["Skip", h("span", { class: "roomy" }, " with value"), "…"], () => this.#setMode("skip"), {
        hidden: !canSkip,
      }),
      button("Raise…", () => this.#setMode("raise"), { hidden: !canSkip }),
      button("⋯", () => this.#actions.toggleAttribute("data-more"), { class: "button more", "aria-label": "More" }),
      button(this.#asksAbort ? "Really abort?" : "Abort run", () => this.#abort(), { class: "button abort" }),
    );
  }

  #drawBreaks() {
    const key = this.#breaks.join("\n");
    if (this.#places.dataset.drawn === key) return;
    this.#places.dataset.drawn = key;
    this.#few.textContent = `Breakpoints: ${this.#breaks.length === 0 ? "none" : this.#breaks.length}`;
    this.#places.replaceChildren(
      ...this.#breaks.map((place) =>
        h(
          "li",
          null,
          h("code", null, place),
          h(
            "button",
            {
              class: "icon-button",
              type: "button",
              "aria-label": `Delete the breakpoint ${place}`,
              onclick: () => this.#setBreaks(this.#breaks.filter((one) => one !== place)),
            },
            glyph("close", { size: 12 }),
          ),
        ),
      ),
    );
  }

  /** F8 and F10 work while typing too. @param {KeyboardEvent} event */
  #press(event) {
    if (!this.pause || this.hidden || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key !== "F8" && event.key !== "F10") return;
    event.preventDefault();
    if (this.#mode === "input" && !("problem" in readEditor(this.#editor.value)))
      void this.#answer(event.key === "F8" ? "continue" : "step");
  }

  #confirm() {
    const read = readEditor(this.#editor.value);
    if ("problem" in read) return;
    if (this.#mode === "skip") void this.#send({ do: "skip", value: read.value });
    else void this.#send({ do: "raise", error: { type: this.#type.value, message: String(read.value) } });
  }

  #abort() {
    if (this.#asksAbort) void this.#send({ do: "abort" });
    this.#asksAbort = true;
    this.#drawState();
  }

  /** @param {"continue" | "step"} what */
  #answer(what) {
    const read = readEditor(this.#editor.value);
    if ("problem" in read) return;
    return this.#send(this.#changes().length > 0 ? { do: what, value: read.value } : { do: what });
  }

  /** @param {Record<string, any>} command */
  async #send(command) {
    const pause = /** @type {Pause} */ (this.pause);
    const edited = this.#changes().length > 0 ? this.#editor.value : null;
    await this.#setting; // a breakpoint that was set before this answer holds for the very next call
    try {
      await this.api?.post(`/api/runs/${this.#runId}/control`, { pause_id: pause.pause_id, ...command });
    } catch (problem) {
      emit(this, "answered-elsewhere", { message: /** @type {Error} */ (problem).message, edited });
    }
    await this.#lookAnew();
  }

  /** One after the other, each from what the one before it left. @param {string[]} breaks @param {string} [typed] */
  #setBreaks(breaks, typed) {
    this.#breaks = breaks;
    this.#unsent += 1;
    this.#setting = this.#setting.then(() => this.#sendBreaks(breaks, typed));
    return this.#setting;
  }

  /** @param {string[]} breaks @param {string} [typed] what stood in the field; what was typed since then stays there */
  async #sendBreaks(breaks, typed) {
    try {
      await this.api?.post(`/api/runs/${this.#runId}/breaks`, { breaks });
      if (this.#place.value.trim() === typed) this.#place.value = "";
      this.#place.setCustomValidity("");
    } catch (problem) {
      this.#place.setCustomValidity(/** @type {Error} */ (problem).message);
      this.#place.reportValidity();
    }
    this.#unsent -= 1;
    await this.#lookAnew();
  }
}

customElements.define("hold-bar", HoldBar);
