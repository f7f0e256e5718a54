// @ts-check
/**
 * `<run-family>`: where a fork or a replay comes from and what was changed, and all runs of its family in a table, the
 * first one on top. Nothing is shown for a run without relatives.
 */

import { emit, h } from "../core/dom.js";
import { hrefOf } from "../core/embedded.js";
import { glyph } from "../core/glyphs.js";
import { formatCost, formatDuration } from "../model/format.js";
import { visibleText } from "../model/details/text.js";
import { standing } from "../model/runs.js";

/** @typedef {import("../model/types.js").Relative} Relative */
/** @typedef {{parent_run_id: string | null, has_parent: boolean, relation: string, runs: Relative[]}} Family */

export class RunFamily extends HTMLElement {
  /** @type {import("../core/api.js").Api | null} */
  api = null;
  /** @type {import("../core/run-data.js").RunData | null} */
  data = null;
  /** @type {Family | null} */
  family = null;

  #asked = "";

  /** The run to compare this one with; null when its parent is not there. */
  get parentId() {
    return this.family?.has_parent ? this.family.parent_run_id : null;
  }

  /** Ask again when the run, or the runs around it, have changed. @param {string} stamp */
  async update(stamp) {
    const runId = this.data?.runId ?? "";
    const asked = `${runId} ${stamp}`;
    if (asked === this.#asked || !this.api || !runId) return;
    if (!this.#asked.startsWith(`${runId} `)) this.#show(null);
    this.#asked = asked;
    if (!stamp.includes(",") && !this.data?.run?.replay?.parent_run_id) return; // it has no relatives
    const family = await this.api.json(`/api/runs/${runId}/family`).catch(() => null);
    if (asked === this.#asked) this.#show(family);
  }

  /** @param {Family | null} family */
  #show(family) {
    this.family = family;
    this.hidden = !family || (family.runs.length < 2 && !family.parent_run_id);
    if (!family || this.hidden) {
      this.replaceChildren();
      return;
    }
    const head = [h("span", { class: "sign" }, glyph("fork", { size: 14 }))];
    if (family.parent_run_id) {
      const id = family.parent_run_id.slice(0, 8);
      const link = family.has_parent ? runLink(family.parent_run_id, id) : h("code", null, id);
      const words = family.relation.startsWith("fork")
        ? ["Fork of ", link, visibleText(family.relation.slice(4))]
        : ["Replay of ", link, visibleText(family.relation.slice(6))];
      head.push(h("span", { class: "said" }, ...words, family.has_parent ? "" : " (deleted)"));
      if (family.has_parent)
        head.push(
          h(
            "button",
            { class: "button", type: "button", onclick: () => emit(this, "compare-parent") },
            h("span", null, "Compare with parent"),
            h("kbd", null, "p"),
          ),
        );
    } else head.push(h("span", { class: "said" }, counted(family.runs)));
    this.replaceChildren(
      h("div", { class: "family-head" }, ...head),
      ...(family.runs.length > 1 ? [this.#table(family)] : []),
    );
  }

  /** @param {Family} family */
  #table({ runs }) {
    const own = this.data?.runId;
    const hasCost = runs.some((run) => run.cost_usd);
    const heads = ["run", "status", "outcome", "first difference", "served + live", "time"];
    const trials = trialNames(runs);
    return h(
      "div",
      { class: "family-table", tabindex: "0", role: "region", "aria-label": "Family of this run" },
      h(
        "table",
        null,
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            ...[...heads, ...(hasCost ? ["cost"] : [])].map((name, at) =>
              h("th", { scope: "col", class: at > 3 ? "digits" : null }, name),
            ),
          ),
        ),
        h(
          "tbody",
          null,
          ...runs.map((run) =>
            h(
              "tr",
              { class: run.depth === 0 ? "first" : null, "aria-current": run.run_id === own ? "true" : null },
              h(
                "td",
                { class: `depth-${Math.min(run.depth, 3)}` },
                runLink(run.run_id, run.depth === 0 ? "recorded" : visibleText(trials.get(run.run_id) ?? run.relation)),
              ),
              statusCell(run),
              h("td", { class: "cut" }, visibleText(run.headline ?? "")),
              h("td", { class: "cut" }, visibleText(run.first ?? "")),
              h("td", { class: "digits" }, run.served === null ? "" : `${run.served} + ${run.live}`),
              h("td", { class: "digits" }, run.duration_ms === null ? "" : formatDuration(run.duration_ms)),
              hasCost && h("td", { class: "digits" }, run.cost_usd ? formatCost(run.cost_usd) : ""),
            ),
          ),
        ),
      ),
    );
  }
}

/** @param {string} runId @param {string} label */
function runLink(runId, label) {
  return h(
    "a",
    {
      href: hrefOf(`/?run_id=${runId}`),
      onclick: (/** @type {MouseEvent} */ event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        emit(/** @type {HTMLElement} */ (event.currentTarget), "open-run", { runId });
      },
    },
    label,
  );
}

/** @param {Relative} run */
function statusCell(run) {
  const { glyph: sign, tone, word } = standing(/** @type {any} */ (run));
  return h("td", { class: "status", "data-tone": tone }, glyph(sign, { size: 14 }), word);
}

/**
 * Forks of one step with the same change are trials of it, and are told apart by their number.
 * @param {Relative[]} runs @returns {Map<string, string>} by run id
 */
function trialNames(runs) {
  const names = new Map();
  for (const run of runs) {
    const alike = runs.filter((one) => one.depth === run.depth && one.relation === run.relation);
    if (run.depth > 0 && alike.length > 1 && run.relation.startsWith("fork"))
      names.set(run.run_id, `trial ${alike.indexOf(run) + 1} of ${run.relation}`);
  }
  return names;
}

/** The runs made from a run: `2 forks, 1 replay`. @param {Relative[]} runs */
function counted(runs) {
  const forks = runs.filter((run) => run.depth > 0 && run.relation.startsWith("fork")).length;
  const replays = runs.filter((run) => run.depth > 0).length - forks;
  const parts = [];
  if (forks > 0) parts.push(forks === 1 ? "1 fork of this run" : `${forks} forks of this run`);
  if (replays > 0) parts.push(replays === 1 ? "1 replay" : `${replays} replays`);
  return parts.join(", ");
}

customElements.define("run-family", RunFamily);
