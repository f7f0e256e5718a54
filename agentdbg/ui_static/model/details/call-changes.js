// @ts-check
/** What differs between what two model calls were given: system prompt, messages, tools, parameters. */
import { sameAsStored } from "./markers.js";
import { countSteps, diffMessages } from "./message-diff.js";
import { offeredTools, promptMessages, promptParameters } from "./messages.js";
import { differences } from "./state-diff.js";
import { sameValue } from "./values.js";

/** @typedef {import("./messages.js").Message} Message */
/** @typedef {import("./message-diff.js").MessageStep} MessageStep */
/** @typedef {ReturnType<typeof offeredTools>[number]} Tool */
/**
 * @typedef {object} CallChanges
 * @property {{ before: string, after: string } | null} system null when it is the same
 * @property {{ steps: MessageStep[], before: Message[], after: Message[], same: number }} messages without the system's; steps that changed something
 * @property {{ added: Tool[], dropped: Tool[], edited: { name: string, changes: import("./state-diff.js").Change[] }[], same: number }} tools
 * @property {{ changes: { key: string, before: any, after: any }[], same: number }} parameters
 * @property {number} count how many things changed
 */

/** Keys of a payload that say how the model was asked. */
const ASKED = new Set([
  "model",
  "provider",
  "temperature",
  "max_tokens",
  "max_output_tokens",
  "max_completion_tokens",
  "top_p",
  "top_k",
  "stop",
  "seed",
  "tool_choice",
  "response_format",
  "reasoning_effort",
  "thinking",
  "frequency_penalty",
  "presence_penalty",
  "parallel_tool_calls",
  "service_tier",
]);

/** @param {Record<string, any>} before a payload @param {Record<string, any>} after @returns {CallChanges} */
export function callChanges(before, after) {
  const [old, now] = [promptMessages(before.prompt), promptMessages(after.prompt)];
  const system = { before: systemText(old), after: systemText(now) };
  const rest = {
    before: old.filter((one) => one.role !== "system"),
    after: now.filter((one) => one.role !== "system"),
  };
  const steps = diffMessages(rest.before, rest.after);
  const tools = toolChanges(offeredTools(before), offeredTools(after));
  const parameters = parameterChanges(parametersOf(before), parametersOf(after));
  const { same, added, dropped, edited } = countSteps(steps);
  const changedTools = tools.added.length + tools.dropped.length + tools.edited.length;
  const isSameSystem = sameAsStored(system.before, system.after);
  return {
    system: isSameSystem ? null : system,
    messages: { ...rest, steps: steps.filter((step) => step.kind !== "same"), same },
    tools,
    parameters,
    count: added + dropped + edited + changedTools + parameters.changes.length + (isSameSystem ? 0 : 1),
  };
}

/** In words, for the line above: `3 messages added, 2 dropped, 1 edited · system prompt · 1 tool`. @param {CallChanges} changes */
export function changesInWords({ system, messages, tools, parameters }) {
  const { added, dropped, edited } = countSteps(messages.steps);
  const said = [
    added && `${added} ${added === 1 ? "message" : "messages"} added`,
    dropped && `${dropped}${added ? "" : dropped === 1 ? " message" : " messages"} dropped`,
    edited && `${edited}${added || dropped ? "" : edited === 1 ? " message" : " messages"} edited`,
  ].filter(Boolean);
  const changed = tools.added.length + tools.dropped.length + tools.edited.length;
  const [few, many] = [changed, parameters.changes.length];
  return [
    said.join(", "),
    system && "system prompt",
    few > 0 && `${few} ${few === 1 ? "tool" : "tools"}`,
    many > 0 && `${many} ${many === 1 ? "parameter" : "parameters"}`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** @param {Message[]} messages */
function systemText(messages) {
  return messages
    .filter((one) => one.role === "system")
    .flatMap((one) => one.parts.map((part) => (part.type === "text" ? part.text : "")))
    .join("\n\n");
}

/** @param {Tool[]} before @param {Tool[]} after */
function toolChanges(before, after) {
  const old = new Map(before.map((tool) => [tool.name, tool]));
  const now = new Map(after.map((tool) => [tool.name, tool]));
  const both = after.filter((tool) => old.has(tool.name));
  const edited = both
    .map((tool) => ({ name: tool.name, changes: differences(old.get(tool.name), tool) }))
    .filter(({ changes }) => changes.length > 0);
  return {
    added: after.filter((tool) => !old.has(tool.name)),
    dropped: before.filter((tool) => !now.has(tool.name)),
    edited,
    same: both.length - edited.length,
  };
}

/** @param {Record<string, any>} payload @returns {Record<string, any>} */
function parametersOf(payload) {
  const asked = Object.entries(payload).filter(
    ([key, value]) => ASKED.has(key) && value !== null && value !== undefined,
  );
  return { ...Object.fromEntries(asked), ...promptParameters(payload.prompt) };
}

/** @param {Record<string, any>} before @param {Record<string, any>} after */
function parameterChanges(before, after) {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = keys.filter((key) => !sameValue(before[key], after[key]));
  return {
    changes: changed.map((key) => ({ key, before: before[key], after: after[key] })),
    same: keys.length - changed.length,
  };
}
