// @ts-check
/**
 * Fork from a step of a finished run: what it gave in an editor, what to do about writes, and the command that does it.
 * A viewer started with --control runs it; any other offers it to be copied.
 */

import { emit, h } from "../core/dom.js";
import { forkCommand, forkEdits } from "../model/fork-command.js";

/** @typedef {import("../model/fork-command.js").ForkRequest} ForkRequest */

export class ForkDialog extends HTMLElement {
  /** @type {import("../core/api.js").Api | null} */
  api = null;

  #dialog = h("dialog", { "aria-labelledby": "fork-title" });
  #title = h("h2", { id: "fork-title" });
  #part = h("label", { for: "fork-editor" });
  #editor = h("textarea", { id: "fork-editor", rows: "10", spellcheck: "false" });
  #writes = h(
    "select",
    { id: "fork-writes" },
    h("option", { value: "deny" }, "Deny tools that write"),
    h("option", { value: "recorded" }, "Serve writes that were recorded"),
    h("option", { value: "allow" }, "Allow tools that write"),
  );
  #command = h("code", { class: "fork-command" });
  #note = h("p", { class: "note", role: "status" });
  #run = h("button", { class: "button primary", type: "button", onclick: () => void this.#start() }, "Run the fork");
  /** @type {ForkRequest | null} */
  #request = null;

  connectedCallback() {
    if (this.firstChild) return;
    const copy = h("button", { class: "button", type: "button", onclick: () => void this.#copy() }, "Copy command");
    const close = h("button", { class: "button", type: "button", onclick: () => this.#dialog.close() }, "Close");
    for (const field of [this.#editor, this.#writes]) field.addEventListener("input", () => this.#draw());
    this.#dialog.append(
      h("div", { class: "sheet" }, this.#title, this.#part, this.#editor),
      h("div", { class: "policy" }, h("label", { for: "fork-writes" }, "From there on, live:"), this.#writes),
      this.#command,
      this.#note,
      h("div", { class: "foot" }, this.#run, copy, close),
    );
    this.append(this.#dialog);
  }

  /**
   * @param {{runId: string, event: any, n: number, canRun: boolean}} step
   */
  open({ runId, event, n, canRun }) {
    const part = event.event_type === "LLM_CALL" ? "response" : "result";
    const value = event.payload[part];
    const shown = typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2);
    this.#request = { runId, eventId: event.event_id, part, shown, text: shown, writes: "deny" };
    this.#title.textContent = `Fork from step ${n}, ${event.name}`;
    this.#part.textContent =
      part === "result"
        ? "What the tool gave; change it, or go on as it was"
        : "What the model said; change it, or go on as it was";
    this.#editor.value = shown;
    this.#writes.value = "deny";
    this.#run.hidden = !canRun;
    this.#note.textContent = canRun ? "" : "Start it from here with agentdbg view --control";
    this.#draw();
    this.#dialog.showModal();
    this.#editor.focus();
  }

  #draw() {
    const request = /** @type {ForkRequest} */ (this.#request);
    request.text = this.#editor.value;
    request.writes = /** @type {any} */ (this.#writes.value);
    this.#command.textContent = forkCommand(request);
  }

  async #copy() {
    await navigator.clipboard.writeText(this.#command.textContent ?? "");
    this.#note.textContent = "Copied.";
  }

  async #start() {
    const request = /** @type {ForkRequest} */ (this.#request);
    const edits = forkEdits(request);
    try {
      await this.api?.post(`/api/runs/${request.runId}/again`, {
        what: "fork",
        at: request.eventId,
        set: edits,
        writes: request.writes,
      });
      this.#dialog.close();
      emit(this, "fork-started");
    } catch (problem) {
      this.#note.textContent = /** @type {Error} */ (problem).message;
    }
  }
}

customElements.define("fork-dialog", ForkDialog);
