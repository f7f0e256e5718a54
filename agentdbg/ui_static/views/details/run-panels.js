// @ts-check
/** The run's two edges: what it was started with, and what it gave back. */
import { h } from "../../core/dom.js";
import { dollars, duration, exact } from "../../model/details/format.js";
import { visibleText } from "../../model/details/text.js";
import { textNodes } from "./fold.js";
import { errorView, isFilled, section } from "./stack-view.js";
import { pairsView, valueView } from "./value-view.js";

/** @typedef {import("../../model/details/types.js").StoredEvent} StoredEvent */
/** @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext */

const TOLD_AT_THE_START = new Set([
  "run_name",
  "function_name",
  "args",
  "kwargs",
  "guardrails",
  "python_version",
  "platform",
  "cwd",
  "argv",
  "agentdbg_version",
  "source",
]);
const TOLD_AT_THE_END = new Set(["status", "summary", "result", "error", "final_state", "source"]);

/** @param {HTMLElement} panel @param {StoredEvent} event */
export function startPanel(panel, event) {
  const payload = event.payload;
  const given = { ...asObject(payload.args), ...asObject(payload.kwargs) };
  if (Array.isArray(payload.args) && payload.args.length > 0) given.args = payload.args;
  if (payload.function_name || isFilled(given)) {
    const name = payload.function_name ? `arguments of ${visibleText(String(payload.function_name))}` : "arguments";
    panel.append(section(name, isFilled(given) ? pairsView(given) : h("span", { class: "quiet" }, "none")));
  }
  panel.append(section("limits", limitsView(payload.guardrails)), section("program", plainPairs(programOf(payload))));
  panel.append(...leftOver(payload, TOLD_AT_THE_START));
  if (isFilled(event.meta))
    panel.append(section("metadata", pairsView(/** @type {Record<string, any>} */ (event.meta))));
}

/** @param {HTMLElement} panel @param {StoredEvent} event @param {DetailsContext} context */
export function endPanel(panel, event, context) {
  const payload = event.payload;
  if (isFilled(payload.error)) panel.append(section("error", errorView(payload.error, context)));
  if (!isFilled(payload.error) || isFilled(payload.result)) {
    panel.append(
      section(
        "result",
        isFilled(payload.result) ? valueView(payload.result) : h("span", { class: "quiet" }, "nothing returned"),
      ),
    );
  }
  if (isFilled(payload.summary)) panel.append(section("summary", plainPairs(figuresOf(asObject(payload.summary)))));
  if (isFilled(payload.final_state)) panel.append(section("final state", valueView(payload.final_state)));
  panel.append(...leftOver(payload, TOLD_AT_THE_END));
  const metadata = isFilled(context.run?.metadata) ? context.run.metadata : event.meta;
  if (isFilled(metadata)) panel.append(section("metadata", pairsView(/** @type {Record<string, any>} */ (metadata))));
}

/** @param {any} guardrails */
function limitsView(guardrails) {
  const all = asObject(guardrails);
  const inForce = Object.entries(all).filter(
    ([name, value]) =>
      value !== null && value !== false && (name !== "stop_on_loop_min_repetitions" || all.stop_on_loop),
  );
  return inForce.length > 0 ? pairsView(Object.fromEntries(inForce)) : h("span", { class: "quiet" }, "none set");
}

/** @param {Record<string, any>} payload */
function programOf(payload) {
  const command = Array.isArray(payload.argv) ? payload.argv.map(String).join(" ") : payload.argv;
  const known = {
    command,
    folder: payload.cwd,
    python: payload.python_version,
    platform: payload.platform,
    agentdbg: payload.agentdbg_version,
  };
  return Object.entries(known).flatMap(([name, value]) =>
    isFilled(value) ? [/** @type {[string, string]} */ ([name, String(value)])] : [],
  );
}

/** @param {Record<string, any>} payload @param {Set<string>} told */
function leftOver(payload, told) {
  const rest = Object.entries(payload).filter(([key, value]) => !told.has(key) && value !== null);
  return rest.length > 0 ? [section("also recorded", pairsView(Object.fromEntries(rest)))] : [];
}

/** The counters in the words of the page, zeros left out. @param {Record<string, any>} summary */
function figuresOf(summary) {
  /** @type {[string, string][]} */
  const figures = [];
  for (const [key, value] of Object.entries(summary)) {
    if (typeof value !== "number" || value === 0) continue;
    if (key === "duration_ms") figures.push(["time", duration(value)]);
    else if (key === "cost_usd") figures.push(["cost", dollars(value)]);
    else figures.push([key.replaceAll("_", " "), exact(value)]);
  }
  return figures;
}

/** Our own words for things, which need no quotes. @param {[string, string][]} pairs */
function plainPairs(pairs) {
  if (pairs.length === 0) return h("span", { class: "quiet" }, "not recorded");
  return h(
    "dl",
    { class: "pairs" },
    ...pairs.flatMap(([name, text]) => [
      h("dt", null, visibleText(name)),
      h("dd", null, h("span", { class: "value" }, ...textNodes(text))),
    ]),
  );
}

/** @param {any} value @returns {Record<string, any>} */
function asObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
