// @ts-check
/**
 * Replay a finished run: the program that would run, and the command that does it. A viewer started with --control runs
 * it and opens the new run; any other offers the command to be copied.
 */

import { emit, h } from "../core/dom.js";

export class ReplayDialog extends HTMLElement {
  /** @type {import("../core/api.js").Api | null} */
  api = null;

  #dialog = h("dialog", { "aria-labelledby": "replay-title" });
  #program = h("code", { class: "fork-command" });
  #folder = h("p", { class: "note" });
  #command = h("code", { class: "fork-command" });
  #note = h("p", { class: "note", role: "status" });
  #run = h("button", { class: "button primary", type: "button", onclick: () => void this.#start() }, "Run the replay");
  #runId = "";

  connectedCallback() {
    if (this.firstChild) return;
    const copy = h("button", { class: "button", type: "button", onclick: () => void this.#copy() }, "Copy command");
    const close = h("button", { class: "button", type: "button", onclick: () => this.#dialog.close() }, "Close");
    this.#dialog.append(
      h("h2", { id: "replay-title" }, "Replay this run"),
      h("p", null, "Runs this program again. Every call is answered from the recording: nothing is sent or written."),
      this.#program,
      this.#folder,
      this.#command,
      this.#note,
      h("div", { class: "foot" }, this.#run, copy, close),
    );
    this.append(this.#dialog);
  }

  /**
   * @param {string} runId
   * @param {{command: string, program: string | null, folder: string | null, can_run: boolean, why: string | null}} told
   */
  open(runId, told) {
    this.#runId = runId;
    this.#program.textContent = told.program;
    this.#program.hidden = told.program === null;
    this.#folder.textContent = told.folder === null ? "" : `in ${told.folder}`;
    this.#command.textContent = told.command;
    this.#note.textContent = told.why ?? "";
    this.#run.hidden = !told.can_run;
    this.#run.disabled = false;
    this.#dialog.showModal();
  }

  async #copy() {
    await navigator.clipboard.writeText(this.#command.textContent ?? "");
    this.#note.textContent = "Copied.";
  }

  async #start() {
    this.#run.disabled = true;
    this.#note.textContent = "Starting…";
    try {
      const { run_id: started } = await this.api?.post(`/api/runs/${this.#runId}/again`, { what: "replay" });
      this.#dialog.close();
      emit(this, "replay-started", { runId: started });
    } catch (problem) {
      this.#run.disabled = false;
      this.#note.textContent = /** @type {Error} */ (problem).message;
    }
  }
}

customElements.define("replay-dialog", ReplayDialog);
