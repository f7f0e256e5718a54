// @ts-check
/**
 * The facts column: what is true of an event beside its content, exact, in the order a person looks for it.
 *
 * @typedef {import("./types.js").StoredEvent} StoredEvent
 * @typedef {import("./types.js").Row} Row
 * @typedef {{ label: string, value: string, n?: number, tone?: "error" | "warn" | "now", title?: string, copy?: string,
 *   source?: string }} Fact
 */
import { clock, dollars, duration, exact } from "./format.js";
import { oneLine, visibleText } from "./text.js";

/** @param {StoredEvent} event @param {Row | null} row @returns {Fact[]} */
export function factsOf(event, row) {
  const payload = event.payload;
  /** @type {Fact[]} */
  const facts = [];
  /** @param {string} label @param {any} value @param {Partial<Fact>} [more] */
  const add = (label, value, more) => {
    if (value === null || value === undefined || value === "") return;
    facts.push({ label, value: oneLine(visibleText(String(value)), 200), ...more });
  };

  addStatus(add, event, row);
  if (event.event_type === "LLM_CALL") {
    add("model", payload.model ?? event.name);
    if (payload.provider !== "unknown") add("provider", payload.provider);
    add("temperature", payload.temperature);
    add("stop reason", payload.stop_reason ?? payload.finish_reason);
  }
  if (event.event_type === "LOOP_WARNING") {
    add("kind", payload.kind);
    const tone = payload.severity === "critical" ? "error" : payload.severity === "warning" ? "warn" : undefined;
    add("severity", payload.severity, { tone });
  }
  if (event.event_type === "ERROR") addGuardrail(add, payload);
  addTimes(add, event, row);
  if (event.event_type === "LLM_CALL") addUsage(add, payload, row);
  const cost = payload.cost_usd ?? row?.cost_usd;
  if (typeof cost === "number") add("cost", dollars(cost), { title: `$${cost}` });
  const source = payload.source ?? row?.source;
  if (typeof source === "string") add("source", source, { source });
  return facts;
}

/**
 * The provider's token figures by our names; a figure nobody gave is left out.
 * @param {any} usage
 * @returns {Record<"in" | "out" | "total" | "cached" | "written" | "reasoning", number | null>}
 */
export function tokensOf(usage) {
  const given = typeof usage === "object" && usage !== null ? usage : {};
  return {
    in: firstNumber(given.prompt_tokens, given.input_tokens, given.prompt_token_count),
    out: firstNumber(given.completion_tokens, given.output_tokens, given.candidates_token_count),
    total: firstNumber(given.total_tokens, given.total_token_count),
    cached: firstNumber(
      given.prompt_tokens_details?.cached_tokens,
      given.input_tokens_details?.cached_tokens,
      given.input_token_details?.cache_read,
      given.cache_read_input_tokens,
      given.cached_content_token_count,
    ),
    written: firstNumber(given.cache_creation_input_tokens, given.input_token_details?.cache_creation),
    reasoning: firstNumber(
      given.completion_tokens_details?.reasoning_tokens,
      given.output_tokens_details?.reasoning_tokens,
      given.output_token_details?.reasoning,
      given.thoughts_token_count,
    ),
  };
}

/** When an event began: its clock is that of its end, for whatever has a duration. @param {StoredEvent} event */
export function startedAt(event) {
  const written = Date.parse(event.ts);
  return Number.isNaN(written) ? null : written - (event.duration_ms ?? 0);
}

/** @typedef {(label: string, value: any, more?: Partial<Fact>) => void} Add */

/** @param {Add} add @param {StoredEvent} event @param {Row | null} row */
function addStatus(add, event, row) {
  const status = row?.status ?? event.payload.status;
  if (status === "error") add("status", "failed", { tone: "error" });
  else if (status === "never_returned") add("status", "never returned", { tone: "error" });
  else if (status === "running") add("status", "running", { tone: "now" });
  else if (status === "ok" && event.event_type !== "LLM_CALL") add("status", "ok");
}

/** @param {Add} add @param {Record<string, any>} payload */
function addGuardrail(add, payload) {
  add("guardrail", payload.guardrail);
  if (typeof payload.threshold === "number") add("limit", exact(payload.threshold));
  if (typeof payload.actual === "number") add("reached", exact(payload.actual));
  if (payload.fatal === true) add("ended the run", "yes", { tone: "error" });
}

/** @param {Add} add @param {StoredEvent} event @param {Row | null} row */
function addTimes(add, event, row) {
  const lasted = event.duration_ms ?? row?.duration_ms;
  if (typeof lasted === "number") add("time", duration(lasted), { title: `${exact(lasted)} ms` });
  const started = startedAt(event);
  if (started !== null)
    add(typeof lasted === "number" ? "started" : "at", clock(new Date(started).toISOString()), {
      title: new Date(started).toISOString(),
    });
}

/** @param {Add} add @param {Record<string, any>} payload @param {Row | null} row */
function addUsage(add, payload, row) {
  const tokens = tokensOf(payload.usage);
  const figures = /** @type {const} */ ([
    ["tokens in", tokens.in ?? row?.tokens_in],
    ["cached", tokens.cached],
    ["cache write", tokens.written],
    ["tokens out", tokens.out ?? row?.tokens_out],
    ["reasoning", tokens.reasoning],
  ]);
  for (const [label, value] of figures)
    if (typeof value === "number" && (value > 0 || label.startsWith("tokens"))) add(label, exact(value));
  if (tokens.in === null && tokens.out === null && typeof (tokens.total ?? row?.tokens) === "number") {
    add("tokens", exact(/** @type {number} */ (tokens.total ?? row?.tokens)));
  }
}

/** @param {...any} candidates @returns {number | null} */
function firstNumber(...candidates) {
  return candidates.find((value) => typeof value === "number") ?? null;
}
