// @ts-check
/**
 * Fork from a step of a finished run: what it gave or was given in an editor, mocks and faults, what to do about writes,
 * how often, and the command that does it. A viewer started with --control runs it; any other offers it to be copied.
 */

import { emit, h } from "../core/dom.js";
import { glyph } from "../core/glyphs.js";
import { editedText, forkBody, forkCommand, forkEdits, readMocks } from "../model/fork-command.js";

/** @typedef {import("../model/fork-command.js").ForkRequest} ForkRequest */

const WRITES = [
  ["ask", "Ask before each one, in the terminal"],
  ["deny", "Deny: stop at the first one"],
  ["recorded", "Answer from the recording, where it has the same call"],
  ["allow", "Allow: make every call"],
];

export class ForkDialog extends HTMLElement {
  /** @type {import("../core/api.js").Api | null} */
  api = null;

  #dialog = h("dialog", { "aria-labelledby": "fork-title" });
  #title = h("h2", { id: "fork-title" });
  #parts = h("div", { class: "parts", role: "group", "aria-label": "What to change" });
  #editor = h("textarea", {
    id: "fork-editor",
    rows: "10",
    spellcheck: "false",
    "aria-label": "New value",
    "aria-describedby": "fork-state",
  });
  #state = h("p", { class: "state", id: "fork-state", role: "status" });
  #mocks = h("textarea", {
    id: "fork-mocks",
    rows: "2",
    spellcheck: "false",
    placeholder: 'send_email={"queued": true}\nsearch=timeout',
  });
  #writes = h("select", { id: "fork-writes" });
  #trials = h("input", { id: "fork-trials", type: "number", min: "1", max: "100", value: "1" });
  #jobs = h("input", { id: "fork-jobs", type: "number", min: "1", max: "8", value: "1" });
  #command = h("code", { class: "fork-command" });
  #note = h("p", { class: "note", role: "status" });
  #run = h("button", { class: "button primary", type: "button", onclick: () => void this.#start() });
  #copy = h("button", { class: "button", type: "button", onclick: () => void this.#copyCommand() }, "Copy command");
  /** @type {ForkRequest | null} */
  #request = null;
  /** What can be edited, by the name of the part. @type {Record<string, any>} */
  #values = {};

  connectedCallback() {
    if (this.firstChild) return;
    const close = h("button", { class: "button", type: "button", onclick: () => this.#dialog.close() }, "Cancel");
    for (const field of [this.#editor, this.#mocks, this.#writes, this.#trials, this.#jobs])
      field.addEventListener("input", () => this.#draw());
    const label = (/** @type {string} */ id, /** @type {string} */ text) => h("label", { for: id }, text);
    this.#dialog.append(
      h("div", { class: "fork-head" }, glyph("fork"), this.#title),
      h(
        "p",
        { class: "quiet" },
        "Calls that had ended by this step are answered from the recording; later ones are live. ",
        "The recorded run is not changed.",
      ),
      h(
        "div",
        { class: "fork-body" },
        h(
          "div",
          { class: "sheet" },
          this.#parts,
          this.#editor,
          this.#state,
          label("fork-mocks", "Mocks and faults, one a line"),
          this.#mocks,
        ),
        h(
          "div",
          { class: "policy" },
          label("fork-writes", "Tools with side effects"),
          this.#writes,
          label("fork-trials", "Trials"),
          h("div", { class: "trials" }, this.#trials, label("fork-jobs", "at a time:"), this.#jobs),
        ),
      ),
      this.#command,
      this.#note,
      h("div", { class: "foot" }, this.#run, this.#copy, close),
    );
    this.append(this.#dialog);
  }

  /**
   * @param {{runId: string, event: any, n: number, canRun: boolean, replay?: Record<string, any>}} step
   */
  open({ runId, event, n, canRun, replay }) {
    const isModel = event.event_type === "LLM_CALL";
    const [outcome, given] = isModel ? ["response", "prompt"] : ["result", "args"];
    this.#values = { [outcome]: event.payload[outcome], [given]: event.payload[given], "": null };
    const shown = this.#values[outcome];
    this.#request = {
      runId,
      eventId: event.event_id,
      n,
      part: outcome,
      shown,
      text: editedText(shown),
      mocks: "",
      writes: canRun ? "deny" : "ask",
      trials: 1,
      jobs: 1,
    };
    this.#title.textContent = `Fork from #${n} ${event.name}`;
    this.#mocks.value = "";
    this.#trials.value = this.#jobs.value = "1";
    this.#writes.replaceChildren(
      ...WRITES.filter(([value]) => !canRun || value !== "ask").map(([value, text]) => h("option", { value }, text)),
    );
    const why = replay?.state === "none" ? `This run cannot be forked: ${replay.why ?? "it has no recording"}.` : "";
    this.#run.hidden = !canRun || why !== "";
    this.#copy.hidden = why !== "";
    this.#note.textContent = why || (canRun ? "" : "Start it from here with agentdbg view --control");
    this.#drawParts(isModel);
    this.#take(outcome);
    this.#dialog.showModal();
    this.#editor.focus();
  }

  /** @param {boolean} isModel */
  #drawParts(isModel) {
    const [outcome, given] = isModel ? ["response", "prompt"] : ["result", "args"];
    const choices = [
      [outcome, isModel ? "Edit the answer" : "Edit the result"],
      [given, isModel ? "Edit the prompt" : "Edit the arguments"],
      ["", "No edit, live after it"],
    ];
    this.#parts.replaceChildren(
      ...choices.map(([part, text]) =>
        h("button", { type: "button", "data-part": part, onclick: () => this.#take(part) }, text),
      ),
    );
  }

  /** Edit this part. @param {string} part */
  #take(part) {
    const request = /** @type {ForkRequest} */ (this.#request);
    request.part = part;
    request.shown = this.#values[part];
    this.#editor.value = part === "" ? "" : editedText(request.shown);
    this.#editor.hidden = part === "";
    for (const button of this.#parts.children)
      button.setAttribute("aria-pressed", String(/** @type {HTMLElement} */ (button).dataset.part === part));
    this.#draw();
  }

  #draw() {
    const request = /** @type {ForkRequest} */ (this.#request);
    request.text = this.#editor.value;
    request.mocks = this.#mocks.value;
    request.writes = /** @type {any} */ (this.#writes.value);
    request.trials = bounded(this.#trials.value, 100);
    request.jobs = bounded(this.#jobs.value, 8);
    const edited = forkEdits(request);
    const mocked = readMocks(request.mocks);
    const problem = "problem" in edited ? edited.problem : "problem" in mocked ? mocked.problem : "";
    this.#state.classList.toggle("wrong", problem !== "");
    const count = "edits" in edited ? edited.edits.length : 0;
    const kind = typeof request.shown === "string" ? "Text" : "Valid JSON";
    this.#state.textContent =
      problem ||
      (request.part === "" ? "Nothing is changed" : `${kind} · ${count === 0 ? "no change" : changes(count)}`);
    this.#command.textContent = problem === "" ? forkCommand(request) : "";
    this.#run.disabled = this.#copy.disabled = problem !== "";
    this.#run.textContent = request.trials > 1 ? `Start ${request.trials} forks` : "Start the fork";
  }

  async #copyCommand() {
    await navigator.clipboard.writeText(this.#command.textContent ?? "");
    this.#note.textContent = "Copied.";
  }

  async #start() {
    const request = /** @type {ForkRequest} */ (this.#request);
    this.#note.textContent = "Starting…";
    this.#run.disabled = true;
    try {
      await this.api?.post(`/api/runs/${request.runId}/again`, forkBody(request));
      this.#dialog.close();
      emit(this, "fork-started");
    } catch (problem) {
      this.#note.textContent = /** @type {Error} */ (problem).message;
    }
    this.#run.disabled = false;
  }
}

/** @param {number} count */
function changes(count) {
  return count === 1 ? "1 change" : `${count} changes`;
}

/** @param {string} text @param {number} most */
function bounded(text, most) {
  return Math.min(most, Math.max(1, Math.round(Number(text)) || 1));
}

customElements.define("fork-dialog", ForkDialog);
