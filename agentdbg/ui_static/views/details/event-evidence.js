// @ts-check
/** `<event-evidence>`: a loop as a table, one line per round, one column per step, saying only what changed. */
import { h } from "../../core/dom.js";
import { evidenceColumns, evidenceSentence } from "../../model/details/evidence.js";
import { dollars, duration, exact, plural, short, tokensInColumn } from "../../model/details/format.js";
import { fetchEvents, rowsAroundLoop } from "../../model/details/lookups.js";
import { costOfRounds, findRounds, sumOf } from "../../model/details/rounds.js";
import { action, foldedText } from "./fold.js";
import { eventLink } from "./links.js";
import { section } from "./stack-view.js";
import { valueView } from "./value-view.js";

/** @typedef {import("../../model/details/types.js").StoredEvent} StoredEvent */
/** @typedef {import("../../model/details/types.js").Row} Row */
/** @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext */
/** @typedef {import("../../model/details/facts.js").Fact} Fact */
/** @typedef {import("../../model/details/evidence.js").Cell} Cell */
/** @typedef {import("../../model/details/evidence.js").Column} Column */
/** @typedef {import("../../model/details/rounds.js").Rounds} Rounds */

const ROUNDS_AT_ONCE = 12;
const MOST_EVENTS = 120;

export class EventEvidence extends HTMLElement {
  /**
   * @param {StoredEvent} event
   * @param {Row | null} row
   * @param {DetailsContext} context
   * @returns {Promise<Fact[]>} what the rounds add to the facts
   */
  async show(event, row, context) {
    const payload = event.payload;
    const sentence = h("p", { class: "evidence-sentence" }, explanationOf(payload));
    this.dataset.severity = String(payload.severity ?? "warning");
    this.replaceChildren(sentence);
    const ids = idsOf(payload);
    const { rows, reachesEnd } =
      row === null ? { rows: [], reachesEnd: false } : await rowsAroundLoop(context, row.n, ids);
    const n = row?.n ?? 0;
    const found = findRounds(rows, {
      n,
      pattern: String(payload.pattern ?? event.name),
      kind: payload.kind ?? null,
      evidence: new Set(ids),
    });
    if (found.rounds.length < 2) {
      this.#showExamples(
        payload,
        rows.filter((one) => ids.includes(one.event_id)),
        context,
      );
      return [];
    }
    const numbers = found.rounds.flatMap((round) => round.rows.flatMap((one) => (one ? [one.n] : [])));
    const columns = evidenceColumns(found, await fetchEvents(context, numbers.slice(0, MOST_EVENTS)));
    if (payload.severity !== "info") sentence.textContent = evidenceSentence(columns, found.rounds.length);
    this.append(this.#table(found, columns, context));
    const saved = this.#savedBy(payload, rows, n, found, reachesEnd, context);
    if (saved) this.append(saved);
    return factsOf(payload, found, rows, context);
  }

  /** @param {Rounds} found @param {Column[]} columns @param {DetailsContext} context */
  #table(found, columns, context) {
    const heads = columns.map((column) => h("th", { scope: "col" }, column.heading));
    const body = h("tbody", null);
    /** @param {number} from @param {number} to */
    const add = (from, to) => {
      found.rounds.slice(from, to).forEach((round, index) => {
        const at = from + index;
        const number = h(
          "th",
          { scope: "row" },
          h("span", { class: "round", "aria-label": `round ${at + 1}` }, String(at + 1)),
        );
        const cells = columns.map((column) => cellView(column.cells[at], context));
        body.append(
          h(
            "tr",
            null,
            number,
            ...cells,
            h("td", { class: "number" }, round.tokens === null ? "\u2013" : tokensInColumn(round.tokens)),
          ),
        );
      });
    };
    add(0, ROUNDS_AT_ONCE);
    const wrapper = h(
      "div",
      { class: "evidence-scroll" },
      h(
        "table",
        { class: "evidence" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, "round")),
            ...heads,
            h("th", { scope: "col", class: "number" }, "tokens"),
          ),
        ),
        body,
      ),
    );
    const rest = found.rounds.length - ROUNDS_AT_ONCE;
    if (rest > 0) {
      const more = action(plural(rest, "more round"), () => {
        more.remove();
        add(ROUNDS_AT_ONCE, found.rounds.length);
      });
      wrapper.append(more);
    }
    return wrapper;
  }

  /**
   * What stopping here would have saved, as far as the rows prove it.
   * @param {Record<string, any>} payload
   * @param {Row[]} rows
   * @param {number} n
   * @param {Rounds} found
   * @param {boolean} reachesEnd
   * @param {DetailsContext} context
   */
  #savedBy(payload, rows, n, found, reachesEnd, context) {
    const last = found.rounds[found.rounds.length - 1];
    if (payload.severity === "info" || last.to < n) return null;
    const tokens = sumOf(
      rows.filter((one) => one.n > n && (reachesEnd || one.n <= last.to)),
      "tokens",
    );
    if (tokens === null || tokens === 0) return null;
    const guardrails = context.run?.guardrails ?? {};
    const repetitions = Number(payload.repetitions ?? 3);
    const sooner = `stop_on_loop_min_repetitions=${repetitions}`;
    const on = repetitions < 3 ? `stop_on_loop, ${sooner}` : "stop_on_loop";
    const setting = guardrails.stop_on_loop ? sooner : on;
    const amount = `${reachesEnd ? "" : "at least "}${short(tokens)} tokens earlier`;
    return h(
      "p",
      { class: "evidence-saved" },
      "With ",
      h("code", null, setting),
      ` this run would have ended here, ${amount}.`,
    );
  }

  /**
   * Without its rounds a warning still has what it was written with.
   * @param {Record<string, any>} payload
   * @param {Row[]} rows
   * @param {DetailsContext} context
   */
  #showExamples(payload, rows, context) {
    if (rows.length > 0) {
      const links = rows.flatMap((one, index) => [
        index === 0 ? "" : ", ",
        eventLink(context, one.n, `#${exact(one.n)} ${one.name}`),
      ]);
      this.append(section("events", h("div", null, ...links)));
    }
    if (Array.isArray(payload.evidence) && payload.evidence.length > 0)
      this.append(section("examples", valueView(payload.evidence)));
    if (payload.pattern) this.append(section("pattern", foldedText(String(payload.pattern), { mono: true })));
  }
}

/** @param {Cell} cell @param {DetailsContext} context */
function cellView(cell, context) {
  if (cell.tone === "none") return h("td", { class: "none" }, "\u2013");
  const parts = cell.parts.map((part) => (part.strong ? h("strong", null, part.text) : part.text));
  return h("td", { "data-tone": cell.tone }, ...parts, ...(cell.n === null ? [] : [" ", eventLink(context, cell.n)]));
}

/**
 * @param {Record<string, any>} payload
 * @param {Rounds} found
 * @param {Row[]} rows
 * @param {DetailsContext} context
 * @returns {Fact[]}
 */
function factsOf(payload, found, rows, context) {
  const first = found.rounds[0];
  const last = found.rounds[found.rounds.length - 1];
  const seen = Number(payload.repetitions ?? payload.repetition_count);
  const count = found.rounds.length;
  /** @type {Fact[]} */
  const facts = [
    { label: "rounds", value: seen > 0 && seen < count ? `${exact(count)}, seen at ${exact(seen)}` : exact(count) },
    { label: "first", value: `#${first.from}`, n: first.from },
    { label: "last", value: `#${last.to}`, n: last.to },
  ];
  const cost = costOfRounds(found, rows);
  if (cost === null) return facts;
  if (cost.tokens !== null) facts.push({ label: "tokens since", value: short(cost.tokens), title: exact(cost.tokens) });
  if (cost.ms !== null) facts.push({ label: "time since", value: duration(cost.ms), title: `${exact(cost.ms)} ms` });
  if (cost.cost !== null) facts.push({ label: "cost since", value: dollars(cost.cost) });
  const whole = context.run?.duration_ms;
  if (cost.ms !== null && whole)
    facts.push({ label: "of the run", value: `${Math.min(100, Math.round((cost.ms / whole) * 100))} %` });
  return facts;
}

/** @param {Record<string, any>} payload */
function explanationOf(payload) {
  return typeof payload.explanation === "string" && payload.explanation
    ? payload.explanation
    : `The same steps came ${exact(Number(payload.repetitions ?? 0))} times.`;
}

/** @param {Record<string, any>} payload @returns {string[]} */
function idsOf(payload) {
  const ids =
    payload.evidence_event_ids ??
    (Array.isArray(payload.evidence) ? payload.evidence.filter((item) => typeof item === "string") : []);
  return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
}

customElements.define("event-evidence", EventEvidence);
