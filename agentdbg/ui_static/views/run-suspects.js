// @ts-check
/** `<run-suspects>`: the steps that rules hold for the cause, most likely first, each a jump with its evidence. */

import { emit, h } from "../core/dom.js";
import { hrefOf } from "../core/embedded.js";
import { glyph } from "../core/glyphs.js";
import { visibleText } from "../model/details/text.js";
import { suspectsOf } from "../model/suspects.js";

/** @typedef {import("../core/run-data.js").RunData} RunData */
/** @typedef {import("../model/suspects.js").ShownSuspect} ShownSuspect */

export class RunSuspects extends HTMLElement {
  /** @type {RunData | null} */
  data = null;
  isHidden = false;

  #opened = 0;
  #drawn = "";

  update() {
    const { data } = this;
    const suspects = suspectsOf(data?.summary);
    this.hidden = suspects.length === 0;
    if (!data || this.hidden) return;
    const needed = suspects.flatMap(({ n, evidence }) => [n, ...evidence.flatMap((piece) => piece.n ?? [])]);
    const names = needed.map((n) => data.rows.get(n)?.name ?? null);
    const key = JSON.stringify([data.runId, suspects, names, this.isHidden, this.#opened]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    if (names.includes(null))
      data.getRows([...new Set(needed)]).then(
        () => this.update(),
        () => {},
      );
    const toggle = h(
      "button",
      { class: "link", type: "button", "aria-expanded": String(!this.isHidden), onclick: () => emit(this, "verdict") },
      this.isHidden ? "Show " : "Hide ",
      h("kbd", null, "v"),
    );
    const list = h("ol", null, ...(this.isHidden ? [] : suspects.map((suspect, at) => this.#row(suspect, at))));
    this.replaceChildren(
      h(
        "div",
        { class: "suspects-head" },
        h("h3", null, "Suspects"),
        h(
          "span",
          { class: "quiet" },
          "most likely first",
          h("span", { class: "how" }, "; found by rules, without calling a model"),
        ),
        toggle,
      ),
      list,
    );
  }

  /** @param {ShownSuspect} suspect @param {number} at */
  #row({ n, parts, evidence, hitRate }, at) {
    const data = /** @type {RunData} */ (this.data);
    const row = data.rows.get(n);
    const kind = row?.kind ?? "other";
    const links = evidence.flatMap((piece) => (piece.n === null ? [] : [this.#link(piece.n), " "]));
    // An error that the sentence quotes is not said again below it.
    const isSaid = evidence.every(({ n: step, parts: own }) => {
      const error = step !== null && own.length === 0 ? data.rows.get(step)?.preview.error : null;
      return error && parts.some((part) => part.text === error);
    });
    const isOpen = at === this.#opened && !isSaid;
    return h(
      "li",
      null,
      h("b", { class: "rank digits" }, at + 1),
      this.#link(n),
      h(
        "span",
        { class: "who", "data-kind": kind },
        glyph(kind),
        h("span", { class: "cut", title: row?.name }, visibleText(row?.name ?? "")),
      ),
      h("span", { class: "says" }, ...sentence(withoutSubject(parts, n, row?.name))),
      h(
        "span",
        { class: "aside quiet" },
        ...(isOpen || links.length === 0
          ? []
          : [
              isSaid
                ? "evidence"
                : h("button", { class: "link", type: "button", onclick: () => this.#open(at) }, "evidence"),
              " ",
              ...links,
            ]),
        hitRate === null
          ? ""
          : `${isOpen || links.length === 0 ? "" : "· "}cause in ${Math.round(hitRate * 100)} % of labelled runs`,
      ),
      isOpen && evidence.length > 0
        ? h(
            "ul",
            null,
            ...evidence.map((piece) =>
              h("li", null, piece.n === null ? null : this.#link(piece.n), ...this.#evidence(piece)),
            ),
          )
        : null,
    );
  }

  /** What a step that proves something says, in its own row's words where the rule gives none. @param {ShownSuspect["evidence"][number]} piece */
  #evidence({ n, parts }) {
    if (parts.length > 0) return [h("span", null, ...sentence(parts))];
    const row = n === null ? undefined : this.data?.rows.get(n);
    if (!row) return [];
    const { input, outcome, error } = row.preview;
    const said =
      error ?? (outcome.length > 0 ? outcome : input).map((/** @type {{text: string}} */ part) => part.text).join("");
    return [h("b", null, visibleText(row.name)), h("span", { class: "mono cut" }, visibleText(said))];
  }

  /** @param {number} at */
  #open(at) {
    this.#opened = at;
    this.update();
  }

  /** @param {number} n */
  #link(n) {
    const follow = (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      emit(this, "navigate", { n });
    };
    return h(
      "a",
      { class: "jump digits", href: hrefOf(`?run_id=${this.data?.runId}&event=${n}`), onclick: follow },
      `#${n}`,
    );
  }
}

/**
 * What number and name beside the sentence say already is left out of it: "gpt-4o #5 asked for …" becomes "asked for …".
 * @param {import("../model/suspects.js").Parts} parts @param {number} n @param {string | undefined} name
 */
function withoutSubject(parts, n, name) {
  const [subject, predicate, ...rest] = parts;
  const number = ` #${n} `;
  if ((subject?.text !== name && subject?.text !== "The model") || !predicate?.text.startsWith(number)) return parts;
  return [{ ...predicate, text: predicate.text.slice(number.length) }, ...rest];
}

/** @param {import("../model/suspects.js").Parts} parts */
function sentence(parts) {
  return parts.map((part) =>
    part.style === "plain" ? visibleText(part.text) : h("code", { class: part.style }, visibleText(part.text)),
  );
}

customElements.define("run-suspects", RunSuspects);
