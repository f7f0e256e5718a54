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
  const cost = event.event_type === "LLM_CALL" ? costOf(payload.cost_usd ?? row?.cost_usd) : null;
  if (cost !== null) add("cost", dollars(cost), { title: `$${cost}` });
  const source = payload.source ?? row?.source;
  if (typeof source === "string") add("source", source, { source });
  return facts;
}

const INPUT = [
  "prompt_tokens",
  "input_tokens",
  "prompt_token_count",
  "promptTokenCount",
  "inputTokens",
  "prompt_eval_count",
];
const OUTPUT = [
  "completion_tokens",
  "output_tokens",
  "candidates_token_count",
  "candidatesTokenCount",
  "outputTokens",
  "eval_count",
];
const TOTAL = ["total_tokens", "total_token_count", "totalTokenCount", "totalTokens"];
const CACHED = ["cache_read_input_tokens", "cached_content_token_count", "cachedContentTokenCount", "cached_tokens"];

/**
 * The provider's token figures by our names, read as `agentdbg.events.facts` reads them; what is not known is null.
 * @param {any} usage
 * @returns {Record<"in" | "out" | "total" | "cached" | "written" | "reasoning", number | null>}
 */
export function tokensOf(usage) {
  const given = typeof usage === "object" && usage !== null ? usage : {};
  const read = counted(given, INPUT, ["cache_read_input_tokens", "cache_creation_input_tokens"]);
  const made = counted(given, OUTPUT, ["thoughts_token_count", "thoughtsTokenCount"]);
  const told = firstCount(given, TOTAL);
  const details = { ...given.input_token_details, ...given.input_tokens_details, ...given.prompt_tokens_details };
  const spent = { ...given.output_token_details, ...given.output_tokens_details, ...given.completion_tokens_details };
  return {
    in: read,
    out: made,
    total: !told && (read !== null || made !== null) ? (read ?? 0) + (made ?? 0) : told,
    cached: firstCount(details, ["cached_tokens", "cache_read", "cache_read_tokens"]) ?? firstCount(given, CACHED),
    written: firstCount(given, ["cache_creation_input_tokens"]) ?? firstCount(details, ["cache_creation"]),
    reasoning:
      firstCount(spent, ["reasoning_tokens", "reasoning"]) ??
      firstCount(given, ["thoughts_token_count", "thoughtsTokenCount"]),
  };
}

/** What a call cost in dollars, as it may have been written; null where that is not known. @param {any} value @returns {number | null} */
export function costOf(value) {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && number >= 0 && number <= 1e12 ? number : null;
}

/** What is told beside a count is added, unless the first of its names tells all of it. @param {any} usage @param {string[]} names @param {string[]} beside */
function counted(usage, names, beside) {
  const whole = wholeNumber(usage[names[0]]);
  if (whole !== null) return whole;
  const count = firstCount(usage, names);
  return count === null ? null : beside.reduce((sum, name) => sum + (wholeNumber(usage[name]) ?? 0), count);
}

/** @param {any} counts @param {string[]} names @returns {number | null} */
function firstCount(counts, names) {
  return names.map((name) => wholeNumber(counts[name])).find((count) => count !== null) ?? null;
}

/** A count of things as anybody may have written it; null for what is none. @param {any} value */
function wholeNumber(value) {
  const number = typeof value === "string" && /^\s*\d{1,40}\s*$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) && number >= 0 ? number : null;
}

/** When an event began: its clock is that of its end, for whatever has a duration. @param {StoredEvent} event */
function startedAt(event) {
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
