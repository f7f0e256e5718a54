// @ts-check
/** The foot of a page in a file: what made it and when, what was left out, and the buttons that a served page has in its rail. */

import { emit, h } from "../core/dom.js";
import { glyph } from "../core/glyphs.js";
import { counted, formatBytes, formatCount } from "../model/format.js";

/** @typedef {Record<string, any>} Receipt */

export class FileFoot extends HTMLElement {
  #words = h("span", { class: "words cut quiet" }, "AgentDbg");
  #open = h(
    "button",
    { class: "link", type: "button", "data-receipt": true, hidden: true, onclick: () => this.#dialog.showModal() },
    "Receipt",
  );
  #dialog = h("dialog", { "aria-labelledby": "receipt-title" });

  connectedCallback() {
    if (this.firstChild) return;
    const button = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ intent) =>
      h(
        "button",
        { class: "icon-button", type: "button", "aria-label": label, title: label, onclick: () => emit(this, intent) },
        glyph(name),
      );
    this.append(
      this.#words,
      this.#open,
      h("span", { class: "spring" }),
      button("system", "Theme (t)", "theme"),
      button("help", "Keyboard shortcuts (?)", "help"),
      this.#dialog,
    );
    this.#dialog.addEventListener("click", (event) => event.target === this.#dialog && this.#dialog.close());
    // The receipt is the last thing in the file, because all of the run is counted for it.
    if (document.readyState === "loading")
      document.addEventListener("DOMContentLoaded", () => this.#draw(), { once: true });
    else this.#draw();
  }

  #draw() {
    const text = document.getElementById("receipt")?.textContent;
    if (!text) {
      this.#words.textContent = "This file is not whole: its end is missing.";
      return;
    }
    /** @type {Receipt} */
    const receipt = JSON.parse(text);
    const { redaction, cut } = receipt;
    const cuts = Object.values(cut).reduce((sum, count) => sum + count, 0);
    this.#words.textContent = `${receipt.made_by.replace("agentdbg", "AgentDbg")} · made ${shortDate(receipt.made_at)} · ${counted(redaction.redacted, "value")} redacted, ${formatCount(cuts)} cut`;
    this.#open.hidden = false;
    this.#dialog.replaceChildren(this.#sheet(receipt));
  }

  /** @param {Receipt} receipt */
  #sheet({
    made_by: maker,
    made_at: made,
    run_id: runId,
    recorded_by: recorder,
    source,
    redaction,
    cut,
    dropped_events: dropped,
  }) {
    const { rules } = redaction;
    return h(
      "div",
      { class: "sheet", tabindex: "-1", autofocus: true },
      h(
        "header",
        null,
        h("h2", { id: "receipt-title" }, "What is in this file, and what is not"),
        h(
          "button",
          { class: "close", type: "button", "aria-label": "Close", onclick: () => this.#dialog.close() },
          h("kbd", null, "Esc"),
        ),
      ),
      group("Made from", [
        ["Run", h("code", null, runId)],
        [
          "Events",
          `${formatCount(source.events)} in ${formatBytes(source.bytes)}${source.damaged_lines ? `, ${counted(source.damaged_lines, "damaged line")} left out` : ""}`,
        ],
        [`SHA-256 of ${source.file}`, h("code", null, source.sha256)],
        ["Recorded by", recorder ? `AgentDbg ${recorder}` : "not known"],
        ["Made by", `${maker.replace("agentdbg", "AgentDbg")}, ${made}`],
      ]),
      group(
        "Redacted",
        [
          [
            "When recorded",
            { on: "redaction was on", off: "redaction was off: secrets may stand in clear" }[
              /** @type {string} */ (redaction.recorded_with)
            ] ?? `redaction: ${redaction.recorded_with ?? "not known"}`,
          ],
          ...(redaction.redacted === 0
            ? [/** @type {[string, string]} */ (["Values", "none"])]
            : Object.entries(redaction.redacted_by_rule).map(
                ([rule, count]) => /** @type {[string, string]} */ ([rule, formatCount(count)]),
              )),
        ],
        `Counted are ${redaction.counts_are}.`,
      ),
      group("Cut", [
        ...Object.entries(cut).map(([what, count]) => /** @type {[string, string]} */ ([what, formatCount(count)])),
        ...(Object.keys(cut).length === 0 ? [/** @type {[string, string]} */ (["Values", "none"])] : []),
        ...(dropped ? [/** @type {[string, string]} */ (["Events never written", formatCount(dropped)])] : []),
      ]),
      group(
        "Rules",
        [
          ["Redaction", rules.enabled ? "on" : "off"],
          ["Keys that contain", rules.keys.join(", ")],
          ["Keys with the word", rules.whole_words.join(", ")],
          ["Secrets inside text", rules.secrets_in_text ? "looked for" : "left as they are"],
          ["Own patterns", formatCount(rules.own_patterns)],
          ["Longest field", formatBytes(rules.max_field_bytes)],
        ],
        `These are ${redaction.rules_are}.`,
      ),
    );
  }
}

/** @param {string} name @param {[string, string | Node][]} lines @param {string} [note] */
function group(name, lines, note = "") {
  const list = h(
    "dl",
    null,
    ...lines.map(([term, value]) => h("div", { class: "line" }, h("dt", null, term), h("dd", null, value))),
  );
  return h("section", null, h("h3", null, name), list, note ? h("p", { class: "quiet" }, note) : null);
}

/** @param {string} timestamp */
function shortDate(timestamp) {
  return new Date(timestamp).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

customElements.define("file-foot", FileFoot);
