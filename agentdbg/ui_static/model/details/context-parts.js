// @ts-check
/**
 * What fills a model's context: how much of a call's input is system prompt, tools, people, the model itself, results
 * and pictures. A log has no tokens per message, so lengths of text stand for them, scaled to the tokens of the call.
 */
import { offeredTools, promptMessages } from "./messages.js";

/** @typedef {"system" | "tools" | "user" | "model" | "results" | "images" | "missing"} PartName */
/** @typedef {Record<PartName, number>} Parts tokens */

export const PART_NAMES = /** @type {const} */ (["system", "tools", "user", "model", "results", "images", "missing"]);
export const PART_WORDS = {
  system: "system prompt",
  tools: "tool definitions",
  user: "user messages",
  model: "model messages",
  results: "tool results",
  images: "images, audio",
  missing: "not recorded",
};
const CHARACTERS_PER_TOKEN = 4;
/** About what a picture of usual size costs. */
const IMAGE_TOKENS = 1000;

/**
 * @param {Record<string, any>} payload of an LLM_CALL
 * @param {number | null} tokens its input, if it is known
 * @returns {{ parts: Parts, total: number, messages: number }}
 */
export function contextParts(payload, tokens) {
  /** @type {Parts} */
  const parts = { system: 0, tools: 0, user: 0, model: 0, results: 0, images: 0, missing: 0 };
  const messages = promptMessages(payload.prompt);
  for (const message of messages) {
    for (const part of message.parts) {
      if (part.type === "image" || part.type === "audio") parts.images += IMAGE_TOKENS * CHARACTERS_PER_TOKEN;
      else if (part.type === "missing") parts.missing += missingBytes(part.text);
      else parts[ownerOf(message.role, part.type)] += lengthOf(part);
    }
  }
  const tools = offeredTools(payload);
  if (tools.length > 0) parts.tools = textLength(tools);
  const sum = PART_NAMES.reduce((total, name) => total + parts[name], 0);
  const known = tokens !== null && tokens > 0 ? tokens : Math.round(sum / CHARACTERS_PER_TOKEN);
  const scale = sum > 0 ? known / sum : 0;
  for (const name of PART_NAMES) parts[name] *= scale;
  return { parts, total: known, messages: messages.length };
}

/** @param {string} role @param {string} type @returns {PartName} */
function ownerOf(role, type) {
  if (type === "result" || role === "tool") return "results";
  if (role === "system") return "system";
  return role === "assistant" ? "model" : "user";
}

/** @param {import("./messages.js").MessagePart} part */
function lengthOf(part) {
  if (part.type === "text" || part.type === "thinking" || part.type === "refusal") return part.text.length;
  if (part.type === "call") return part.name.length + textLength(part.args);
  return part.type === "result" || part.type === "other" ? textLength(part.value) : 0;
}

/** @param {any} value */
function textLength(value) {
  if (typeof value === "string") return value.length;
  return JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one))?.length ?? 0;
}

/** "31 messages, 84 kB, were not recorded" as bytes. @param {string} text */
function missingBytes(text) {
  const found = /([\d.,]+) (B|kB|MB)/.exec(text);
  if (!found) return 0;
  return (
    Number(found[1].replaceAll(",", "")) * { B: 1, kB: 1000, MB: 1e6 }[/** @type {"B" | "kB" | "MB"} */ (found[2])]
  );
}
