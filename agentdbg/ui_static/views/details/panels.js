// @ts-check
/**
 * What each kind of event shows: its tabs in order, each with what fills it. JSON is added by the element that holds
 * the tabs, always as the last one.
 *
 * @typedef {import("../../model/details/types.js").StoredEvent} StoredEvent
 * @typedef {import("../../model/details/types.js").Row} Row
 * @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext
 * @typedef {import("../../model/details/facts.js").Fact} Fact
 * @typedef {{ event: StoredEvent, row: Row | null, context: DetailsContext,
 *   addFacts: (after: string, facts: Fact[]) => void,
 *   setCount: (tab: string, count: number) => void }} Opened
 * @typedef {{ id: string, label: string, count?: number, fill: (panel: HTMLElement) => void }} Tab
 */
import { h } from "../../core/dom.js";
import { callChanges } from "../../model/details/call-changes.js";
import { tokensOf } from "../../model/details/facts.js";
import { exact, plural } from "../../model/details/format.js";
import { previousModelCall, previousState, sameErrors } from "../../model/details/lookups.js";
import { offeredTools, promptMessages, promptParameters } from "../../model/details/messages.js";
import { changesOf, differences } from "../../model/details/state-diff.js";
import { visibleText } from "../../model/details/text.js";
import { EventConversation } from "./event-conversation.js";
import { EventChanges } from "./event-changes.js";
import { EventEvidence } from "./event-evidence.js";
import { foldable, foldedText } from "./fold.js";
import { eventLinks } from "./links.js";
import { endPanel, startPanel } from "./run-panels.js";
import { spanPanel } from "./span-panel.js";
import { errorView, isFilled, section } from "./stack-view.js";
import { changesView } from "./state-view.js";
import { pairsView, valueView } from "./value-view.js";

/** @param {Opened} opened @returns {Tab[]} */
export function tabsOf(opened) {
  const { event } = opened;
  const isSpan = opened.row?.kind === "span" || (event.event_type === "STATE_UPDATE" && Boolean(event.meta?.span));
  const make = isSpan ? SPAN : Object.hasOwn(KINDS, event.event_type) ? KINDS[event.event_type] : other;
  return make(opened);
}

/** @type {Record<string, (opened: Opened) => Tab[]>} */
const KINDS = {
  LLM_CALL: model,
  TOOL_CALL: tool,
  ERROR: error,
  STATE_UPDATE: state,
  LOOP_WARNING: loop,
  RUN_START: start,
  RUN_END: end,
  CALL_START: unfinished,
};

/** @param {Opened} opened @returns {Tab[]} */
const SPAN = (opened) => [{ id: "span", label: "Inside", fill: (panel) => spanPanel(panel, opened) }];

/** @param {Opened} opened @returns {Tab[]} */
function model({ event, row, context, addFacts, setCount }) {
  const earlier =
    row === null ? Promise.resolve(null) : previousModelCall(context, row.n, promptMessages(event.payload.prompt));
  if (row !== null)
    void earlier.then((found) => found && setCount("changes", callChanges(found.event.payload, event.payload).count));
  /** @type {Tab[]} */
  const tabs = [
    {
      id: "conversation",
      label: "Conversation",
      fill(panel) {
        const view = new EventConversation();
        const parameters = promptParameters(event.payload.prompt);
        panel.append(view);
        if (parameters !== null) panel.append(section("parameters", pairsView(parameters)));
        panel.append(...restSections(event.payload, TOLD_OF_A_MODEL), ...metaSection(event));
        void view.show(event, row, context).then((earlier) => {
          const before = tokensOf(earlier?.event.payload.usage).in;
          const now = tokensOf(event.payload.usage).in;
          if (!earlier || before === null || now === null) return;
          addFacts("tokens in", [
            { label: `since #${earlier.n}`, value: `${now < before ? "\u2212" : "+"}${exact(Math.abs(now - before))}` },
          ]);
        });
      },
    },
  ];
  if (row !== null)
    tabs.push({
      id: "changes",
      label: "Changes",
      count: 0,
      fill(panel) {
        const view = new EventChanges();
        panel.append(view);
        void earlier.then((found) => view.show(event, row.n, found, context));
      },
    });
  const tools = offeredTools(event.payload);
  if (tools.length > 0)
    tabs.push({
      id: "tools",
      label: "Tools offered",
      count: tools.length,
      fill: (panel) => panel.append(toolsView(tools)),
    });
  return tabs;
}

/** @param {Opened} opened @returns {Tab[]} */
function tool({ event, row, context }) {
  const payload = event.payload;
  return [
    {
      id: "call",
      label: "Call",
      fill(panel) {
        const failed = payload.status === "error" || isFilled(payload.error);
        const sides = h(
          "div",
          { class: failed ? "sides failed" : "sides" },
          section("arguments", argumentsView(payload.args)),
        );
        if (failed) {
          const again = h("p", { class: "again" });
          const shown = isFilled(payload.error) ? payload.error : { message: "failed without a message" };
          sides.append(section("error", errorView(shown, context), again));
          if (row) void sayAgain(again, row, context);
        }
        if (!failed || isFilled(payload.result)) sides.append(section("result", outcomeView(payload.result)));
        panel.append(sides);
        if (typeof payload.diff === "string" && payload.diff)
          panel.append(section("changed", foldedText(payload.diff, { mono: true, limit: 8000, lines: 120 })));
        panel.append(...restSections(payload, TOLD_OF_A_TOOL), ...metaSection(event));
      },
    },
  ];
}

/** @param {Opened} opened @returns {Tab[]} */
function error({ event, row, context }) {
  const payload = event.payload;
  return [
    {
      id: "error",
      label: "Error",
      fill(panel) {
        const again = h("p", { class: "again" });
        panel.append(
          errorView({ error_type: event.name, ...payload, details: null }, context, { headline: true }),
          again,
        );
        if (row) void sayAgain(again, row, context);
        if (isFilled(payload.details)) panel.append(section("details", valueView(payload.details)));
        if (isFilled(payload.context)) panel.append(section("context", valueView(payload.context)));
        panel.append(...restSections(payload, TOLD_OF_AN_ERROR), ...metaSection(event));
      },
    },
  ];
}

/** @param {Opened} opened @returns {Tab[]} */
function state({ event, row, context, setCount }) {
  const payload = event.payload;
  const changes = changesOf(payload.diff, payload.state);
  // Other tools write the state itself as the payload.
  const whole = Object.hasOwn(payload, "state") ? payload.state : payload;
  /** @type {Tab[]} */
  const tabs = [];
  if (changes !== null) {
    const fill = (/** @type {HTMLElement} */ panel) => {
      const view = changesView(changes);
      panel.append(view, ...metaSection(event));
      if (row)
        void compareStates(view, payload, row, context).then((count) => count !== null && setCount("changes", count));
    };
    tabs.push({ id: "changes", label: "Changes", count: changes.length, fill });
  } else if (typeof payload.diff === "string" && payload.diff)
    tabs.push({
      id: "changes",
      label: "Changes",
      fill: (panel) => panel.append(foldedText(payload.diff, { mono: true, limit: 8000, lines: 120 })),
    });
  tabs.push({
    id: "state",
    label: tabs.length > 0 ? "Full state" : "State",
    fill: (panel) => panel.append(valueView(whole), ...metaSection(event)),
  });
  return tabs;
}

/**
 * Tell the changes against the state before, with the old values and down to the paths, once that state is here.
 * @param {HTMLElement} view
 * @param {Record<string, any>} payload
 * @param {Row} row
 * @param {DetailsContext} context
 */
async function compareStates(view, payload, row, context) {
  const before = await previousState(context, row);
  const both = [before, payload.state];
  if (!both.every((one) => typeof one === "object" && one !== null && !Array.isArray(one))) return null;
  const changes = differences(before, payload.state);
  view.replaceWith(changesView(changes));
  return changes.length;
}

/** @param {Opened} opened @returns {Tab[]} */
function loop({ event, row, context, addFacts }) {
  return [
    {
      id: "evidence",
      label: "Evidence",
      fill(panel) {
        const view = new EventEvidence();
        panel.append(view, ...metaSection(event));
        void view.show(event, row, context).then((facts) => addFacts("severity", facts));
      },
    },
  ];
}

/** @param {Opened} opened @returns {Tab[]} */
function start({ event }) {
  return [{ id: "start", label: "Start", fill: (panel) => startPanel(panel, event) }];
}

/** @param {Opened} opened @returns {Tab[]} */
function end({ event, context }) {
  return [{ id: "end", label: "Result", fill: (panel) => endPanel(panel, event, context) }];
}

/** A call that began and, so far or for ever, did not come back. @param {Opened} opened @returns {Tab[]} */
function unfinished({ event, row, context }) {
  const payload = event.payload;
  return [
    {
      id: "call",
      label: "Call",
      fill(panel) {
        const gone =
          row?.status === "never_returned" || (context.run?.status !== undefined && context.run.status !== "running");
        const text = row?.ended
          ? "This call came back; its own event has what it brought."
          : gone
            ? "This call never returned: the process ended during it."
            : "Running\u2026";
        const given = typeof payload.input === "object" ? payload.input : (payload.input ?? null);
        panel.append(
          h("p", { class: gone && !row?.ended ? "failure-message" : "quiet" }, text),
          section(payload.kind === "llm" ? "prompt" : "arguments", argumentsView(given)),
          ...metaSection(event),
        );
      },
    },
  ];
}

/** A type we do not know, as its payload. @param {Opened} opened @returns {Tab[]} */
function other({ event }) {
  return [
    { id: "payload", label: "Payload", fill: (panel) => panel.append(valueView(event.payload), ...metaSection(event)) },
  ];
}

const TOLD_OF_A_MODEL = new Set([
  "model",
  "prompt",
  "response",
  "usage",
  "provider",
  "temperature",
  "stop_reason",
  "finish_reason",
  "status",
  "error",
  "tools",
  "cost_usd",
  "source",
]);
const TOLD_OF_A_TOOL = new Set(["tool_name", "args", "result", "diff", "status", "error", "source", "cost_usd"]);
const TOLD_OF_AN_ERROR = new Set([
  "error_type",
  "type",
  "message",
  "stack",
  "stack_trace",
  "details",
  "context",
  "fatal",
  "guardrail",
  "threshold",
  "actual",
  "source",
]);

/** What a program added to a payload of a known type. @param {Record<string, any>} payload @param {Set<string>} told */
function restSections(payload, told) {
  const rest = Object.entries(payload).filter(([key, value]) => !told.has(key) && value !== null);
  return rest.length > 0 ? [section("also recorded", pairsView(Object.fromEntries(rest)))] : [];
}

/** @param {StoredEvent} event */
function metaSection(event) {
  const meta = Object.entries(event.meta ?? {}).filter(([key]) => key !== "span");
  return meta.length > 0 ? [section("meta", pairsView(Object.fromEntries(meta)))] : [];
}

/** @param {any} args */
function argumentsView(args) {
  return isFilled(args) ? valueView(args) : h("span", { class: "quiet" }, "none");
}

/** @param {any} result */
function outcomeView(result) {
  if (result === null || result === undefined || result === "") return h("span", { class: "quiet" }, "empty");
  return valueView(result);
}

/** "The same error again in #53, #57." @param {HTMLElement} into @param {Row} row @param {DetailsContext} context */
async function sayAgain(into, row, context) {
  const { before, after } = await sameErrors(context, row);
  if (before.length > 0)
    into.append("The same error before in ", ...eventLinks(context, before), after.length > 0 ? "; " : "");
  if (after.length > 0)
    into.append(before.length > 0 ? "again in " : "The same error again in ", ...eventLinks(context, after));
}

/** @param {{ name: string, description: string, parameters: any }[]} tools */
function toolsView(tools) {
  const list = h("div", { class: "offered" });
  for (const one of tools.slice(0, 200)) {
    const properties = one.parameters?.properties ?? one.parameters;
    const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
    const text = one.description
      ? foldedText(one.description, { limit: 240, lines: 3 })
      : h("span", { class: "quiet" }, "no description");
    const parameters =
      names.length > 0
        ? foldable([visibleText(names.join(", ").slice(0, 300))], () => pairsView(properties), { className: "nested" })
        : h("span", { class: "quiet" }, "no parameters");
    list.append(h("div", { class: "offered-name" }, visibleText(one.name)), h("div", null, text, parameters));
  }
  if (tools.length > 200)
    list.append(h("div", null), h("div", { class: "quiet" }, `${plural(tools.length - 200, "more tool")} in the JSON`));
  return list;
}
