// @ts-check
/**
 * One row of the timeline: a sentence with its figures. Built from the event's columns alone until its words arrive,
 * so that a fast scroll shows where things are before it shows what they say.
 */

import { glyph } from "../core/glyphs.js";
import { emit, h, setOptional } from "../core/dom.js";
import {
  formatAt,
  formatClock,
  formatCost,
  formatCount,
  formatDuration,
  formatElapsed,
  formatTokens,
} from "../model/format.js";
import { visibleText } from "../model/details/text.js";
import { KIND, KINDS } from "../model/skeleton.js";
import { fillPreview } from "./row-preview.js";

/** How much of the waterfall's width a duration beside its bar may need. */
const LABEL_SHARE = 0.14;
/** What has gone on for less is told by its bar alone: figures that change ten times a second cannot be read. */
const LIVE_FROM_MS = 2000;

/** @typedef {import("../model/types.js").Row} Row */
/** @typedef {import("../model/skeleton.js").Skeleton} Skeleton */

/**
 * Everything a row is made from. Two rows with equal facts look alike, so only a change of facts builds one anew.
 * @typedef {object} RowFacts
 * @property {number} n
 * @property {Row | undefined} row
 * @property {import("../model/address.js").View} view
 * @property {number} depth
 * @property {boolean | null} expanded whether children are shown; null when there are none, or no tree
 * @property {boolean} isContext
 * @property {boolean} hidesTools whether tools have no rows of their own under this filter
 * @property {string} query
 * @property {boolean} isMatch
 * @property {{severity: string, round: number, edge: string} | null} gutter
 * @property {string} stop "set tool:refund" or "offered tool:refund" where a breakpoint can be; else nothing
 * @property {string} held what a call that waits at a breakpoint says; else nothing
 * @property {number} rank which suspect this is, from 1; 0 for none
 * @property {number} share how much of the bar's room the duration fills, 0 to 1
 * @property {boolean} isTorn whether the call took longer than the bar's room can show
 * @property {boolean} isShort whether moments are told in milliseconds
 * @property {{left: number, width: number, tear?: number} | null} bar place in the waterfall, in shares of its width, and where folded time tears it
 * @property {string} columns what else is read from the columns
 */

/**
 * Fill a row's element.
 * @param {HTMLElement} element @param {RowFacts} facts @param {Skeleton} skeleton @param {number} elapsed ms the run has lasted, for calls that go on
 */
export function fillRow(element, facts, skeleton, elapsed) {
  const { n, row } = facts;
  const kind = skeleton.kind[n];
  const state = facts.held ? "held" : stateOf(skeleton, n, row);
  element.className = "row";
  element.id = `event-${n}`;
  element.dataset.n = String(n);
  element.dataset.kind = KINDS[kind];
  element.dataset.eventType = row?.event_type ?? skeleton.typeOf(n);
  setOptional(element, "data-event-id", row?.event_id);
  setOptional(element, "data-state", state);
  setOptional(element, "data-context", facts.isContext ? "" : undefined);
  element.setAttribute("aria-label", row?.label || `${n}, ${skeleton.typeOf(n)}`);
  const what = h("span", { class: "what", role: "gridcell" });
  if (row) fillPreview(what, facts, row);
  const cells = [
    gutterCell(facts),
    h("span", { class: "number digits", role: "gridcell" }, markedNumber(facts, what)),
    h("span", { class: "sign" }, glyph(glyphName(kind, row))),
    nameCell(facts, row),
    what,
  ];
  cells.push(timeCell(facts, skeleton, elapsed), tokensCell(skeleton, n, row), costCell(row));
  cells.push(facts.view === "waterfall" ? waterfallCell(facts, skeleton, elapsed) : atCell(facts, skeleton, row));
  element.replaceChildren(...cells);
}

/** @param {Skeleton} skeleton @param {number} n @param {Row | undefined} row */
function stateOf(skeleton, n, row) {
  const kind = skeleton.kind[n];
  if (kind === KIND.CALL_START) return skeleton.running ? "running" : "failed";
  if (skeleton.isFailure(n)) return "failed";
  if (row?.problem) return "problem";
  if (kind === KIND.LOOP) return ["warning", "info", "warning", "critical"][skeleton.severity[n]];
  if ((kind === KIND.SPAN || kind === KIND.END) && row?.status === "error") return "troubled";
  return undefined;
}

/** @param {number} kind @param {Row | undefined} row */
function glyphName(kind, row) {
  return kind === KIND.CALL_START ? (row?.call_kind ?? "call_start") : KINDS[kind];
}

/** @param {RowFacts} facts */
function gutterCell({ gutter, rank, stop }) {
  const cell = h("span", { class: "gutter" });
  if (stop !== "" && rank === 0 && !gutter?.round) {
    cell.setAttribute("role", "gridcell");
    cell.append(stopButton(stop));
  }
  if (rank > 0) cell.append(h("b", { class: "rank digits", title: `suspect ${rank}` }, rank));
  if (!gutter) return cell;
  cell.dataset.severity = gutter.severity;
  cell.dataset.edge = gutter.edge;
  if (gutter.round > 0) cell.append(h("b", { class: "round digits", title: `round ${gutter.round}` }, gutter.round));
  return cell;
}

/** A dot that sets a breakpoint before the next call like this one, or takes it away. @param {string} stop */
function stopButton(stop) {
  const isSet = stop.startsWith("set ");
  const place = stop.slice(stop.indexOf(" ") + 1);
  const name = place.slice(place.indexOf(":") + 1);
  const label = `${isSet ? "Remove the breakpoint before" : "Break before"} ${visibleText(name)}`;
  return h("button", {
    class: "stop",
    type: "button",
    tabindex: "-1",
    "aria-label": label,
    title: `${label} (Shift+B)`,
    "aria-pressed": String(isSet),
    onclick: (/** @type {MouseEvent} */ event) => {
      event.stopPropagation();
      emit(/** @type {HTMLElement} */ (event.currentTarget), "toggle-break", { place });
    },
  });
}

/** A match that the preview cannot show is marked at the number. @param {RowFacts} facts @param {HTMLElement} what */
function markedNumber({ n, isMatch }, what) {
  return isMatch && !what.querySelector("mark") ? h("mark", { title: "matches inside" }, n) : String(n);
}

/** @param {RowFacts} facts @param {Row | undefined} row */
function nameCell(facts, row) {
  const name = h("span", { class: "name", role: "gridcell" });
  if (facts.view !== "list") {
    for (let level = 0; level < Math.min(facts.depth, 14); level += 1)
      name.append(h("i", { class: level < 3 ? "level" : "level deep" }));
    const fold = h("span", { class: "fold" });
    if (facts.expanded !== null) fold.append(glyph(facts.expanded ? "chevron-down" : "chevron-right"));
    name.append(fold);
  }
  name.append(h("span", { class: "name-text cut", title: row?.name }, visibleText(row?.name ?? "")));
  if (row)
    name.append(
      h(
        "span",
        { class: "name-number digits" },
        ` #${facts.n}${facts.gutter?.round ? ` · round ${facts.gutter.round}` : ""}`,
        facts.rank > 0 ? h("b", { class: "rank" }, facts.rank) : null,
      ),
    );
  return name;
}

/** @param {RowFacts} facts @param {Skeleton} skeleton @param {number} elapsed */
function timeCell(facts, skeleton, elapsed) {
  const { n } = facts;
  const kind = skeleton.kind[n];
  const duration = goingOn(skeleton, n) ? elapsed - skeleton.start[n] : shownDuration(skeleton, n);
  const cell = h("span", { class: "time", role: "gridcell" });
  if (duration === null) return cell;
  cell.title = `${formatCount(duration)} ms`;
  cell.toggleAttribute("data-torn", facts.isTorn);
  const bar = h("span", { class: kind === KIND.SPAN ? "bar bracket" : "bar", "data-torn": facts.isTorn });
  bar.style.setProperty("--share", String(facts.share));
  const words = facts.held
    ? ""
    : goingOn(skeleton, n)
      ? duration < LIVE_FROM_MS
        ? ""
        : formatElapsed(duration)
      : formatDuration(duration);
  cell.append(h("span", { class: "digits" }, words), h("span", { class: "bar-room" }, bar));
  return cell;
}

/** The end of the run is a moment; how long the run took is said above. @param {Skeleton} skeleton @param {number} n */
function shownDuration(skeleton, n) {
  return skeleton.kind[n] === KIND.END ? null : skeleton.durationOf(n);
}

/** @param {Skeleton} skeleton @param {number} n */
function goingOn(skeleton, n) {
  return skeleton.kind[n] === KIND.CALL_START && skeleton.running;
}

/** @param {Skeleton} skeleton @param {number} n @param {Row | undefined} row */
function tokensCell(skeleton, n, row) {
  const tokens = row ? row.tokens : skeleton.tokensOf(n);
  const cell = h("span", { class: "tokens digits", role: "gridcell" }, tokens === null ? "" : formatTokens(tokens));
  if (tokens !== null) {
    const parts =
      row?.tokens_in !== null && row?.tokens_in !== undefined
        ? `, ${formatCount(row.tokens_in)} in, ${formatCount(row.tokens_out ?? 0)} out`
        : "";
    cell.title = `${formatCount(tokens)} tokens${parts}`;
  }
  return cell;
}

/** @param {Row | undefined} row */
function costCell(row) {
  const cost = row?.cost_usd ?? null;
  const cell = h("span", { class: "cost digits", role: "gridcell" }, cost === null ? "" : formatCost(cost));
  if (cost !== null) cell.title = `$${cost}`;
  return cell;
}

/** @param {RowFacts} facts @param {Skeleton} skeleton @param {Row | undefined} row */
function atCell({ n, isShort }, skeleton, row) {
  const title = row ? `${formatClock(row.ts)}` : undefined;
  const at = isShort ? `${formatCount(skeleton.start[n])} ms` : formatAt(skeleton.start[n]);
  return h("span", { class: "at digits", role: "gridcell", title }, at);
}

/** @param {RowFacts} facts @param {Skeleton} skeleton @param {number} elapsed */
function waterfallCell({ n, bar }, skeleton, elapsed) {
  const cell = h("span", { class: "waterfall", role: "gridcell" });
  if (!bar) return cell;
  const duration = goingOn(skeleton, n) ? elapsed - skeleton.start[n] : shownDuration(skeleton, n);
  cell.style.setProperty("--left", String(bar.left));
  cell.style.setProperty("--width", String(bar.width));
  const isSpan = skeleton.kind[n] === KIND.SPAN;
  if (duration === null) {
    cell.append(h("span", { class: "moment" }));
    return cell;
  }
  cell.dataset.label = labelPlace(bar, isSpan);
  if (bar.tear !== undefined) cell.style.setProperty("--tear", String(bar.tear));
  cell.append(
    h("span", { class: isSpan ? "bar bracket" : "bar" }),
    ...(bar.tear === undefined || isSpan ? [] : [h("span", { class: "tear" })]),
    h("span", { class: "bar-label digits" }, formatDuration(duration)),
  );
  return cell;
}

/** Beside the bar where there is room, else in it. @param {{left: number, width: number}} bar @param {boolean} isSpan */
function labelPlace({ left, width }, isSpan) {
  if (isSpan && width > LABEL_SHARE) return "inside";
  if (left + width <= 1 - LABEL_SHARE) return "after";
  return left >= LABEL_SHARE ? "before" : "inside";
}
