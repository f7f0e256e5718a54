// @ts-check
/**
 * Any prompt and any answer as a conversation: who spoke, and what the message was made of.
 *
 * Known shapes: plain strings, OpenAI chat and Responses, Anthropic blocks, Gemini contents, LangChain messages (also
 * serialised), pydantic-ai parts. What is not known is kept whole as one part of type `other`, so nothing is lost. Where
 * messages were not stored, a message of the role `missing` says how many.
 *
 * @typedef {{ type: "text", text: string }
 *   | { type: "thinking", text: string }
 *   | { type: "refusal", text: string }
 *   | { type: "call", id: string | null, name: string, args: any }
 *   | { type: "result", callId: string | null, name: string | null, value: any, failed: boolean }
 *   | { type: "image" | "audio", url: string, mediaType: string, bytes: number }
 *   | { type: "missing", text: string }
 *   | { type: "other", label: string | null, value: any }} MessagePart
 *
 * @typedef {{ role: string, name: string | null, parts: MessagePart[] }} Message
 */
import { isGap } from "./markers.js";
import { partsOf, toolCallsOf } from "./message-parts.js";

/** Other people's names for the same speaker. @type {Record<string, string>} */
const ROLES = {
  human: "user",
  ai: "assistant",
  model: "assistant",
  aimessagechunk: "assistant",
  developer: "system",
  function: "tool",
  "user-prompt": "user",
  "system-prompt": "system",
  "tool-return": "tool",
  "retry-prompt": "tool",
};

/** Items of the Responses API that stand beside messages, and who speaks in them. @type {Record<string, string>} */
const ITEM_ROLES = {
  function_call: "assistant",
  custom_tool_call: "assistant",
  reasoning: "assistant",
  computer_call: "assistant",
  web_search_call: "assistant",
  file_search_call: "assistant",
  code_interpreter_call: "assistant",
  mcp_call: "assistant",
  function_call_output: "tool",
  custom_tool_call_output: "tool",
  computer_call_output: "tool",
};

/** The parts of a request that have a place of their own; the rest are its parameters. */
const NOT_MESSAGES = new Set([
  "messages",
  "input",
  "contents",
  "system",
  "instructions",
  "tools",
  "systemInstruction",
  "system_instruction",
  "prompt",
]);

/** What stands beside an answer's content and is none of it. */
const ABOUT_AN_ANSWER = new Set([
  "id",
  "created",
  "finish_reason",
  "model",
  "name",
  "reasoning",
  "reasoning_content",
  "refusal",
  "stop_reason",
  "stop_sequence",
  "thinking",
  "usage",
]);

/** @param {any} prompt @returns {Message[]} */
export function promptMessages(prompt) {
  if (prompt === null || prompt === undefined) return [];
  if (typeof prompt === "string") return [message("user", partsOf(prompt))];
  if (Array.isArray(prompt)) return listMessages(prompt, "user");
  if (typeof prompt !== "object") return [message("user", [other(null, prompt)])];
  const list = promptList(prompt);
  if (list === undefined)
    return isMessage(prompt) ? messagesOf(prompt, "user") : [message("user", [other(null, prompt)])];
  const system = prompt.system ?? prompt.instructions ?? prompt.systemInstruction ?? prompt.system_instruction;
  const messages = promptMessages(list);
  if (system) messages.unshift(message("system", partsOf(system?.parts ?? system)));
  return messages;
}

/**
 * What a request said beside its messages, such as max_tokens; null when nothing.
 * @param {any} prompt
 * @returns {Record<string, any> | null}
 */
export function promptParameters(prompt) {
  if (typeof prompt !== "object" || prompt === null || Array.isArray(prompt) || promptList(prompt) === undefined)
    return null;
  const rest = Object.entries(prompt).filter(([key, value]) => !NOT_MESSAGES.has(key) && value !== null);
  return rest.length > 0 ? Object.fromEntries(rest) : null;
}

/** What the model said, as messages of the assistant. @param {any} response @returns {Message[]} */
export function responseMessages(response) {
  if (response === null || response === undefined || response === "") return [];
  if (typeof response !== "object")
    return [message("assistant", typeof response === "string" ? partsOf(response) : [other(null, response)])];
  if (Array.isArray(response)) return mergeAnswers(listMessages(response, "assistant"));
  const choices = response.choices ?? response.candidates;
  if (Array.isArray(choices) && choices.length > 0) {
    return choices.flatMap((choice) =>
      responseMessages(choice?.message ?? choice?.content ?? choice?.delta ?? choice?.text ?? choice),
    );
  }
  if (Array.isArray(response.output)) return mergeAnswers(listMessages(response.output, "assistant"));
  if (Array.isArray(response.generations)) {
    return response.generations
      .flat()
      .flatMap((/** @type {any} */ made) => responseMessages(made?.message ?? made?.text ?? made));
  }
  if (isMessage(response) || isOnlyContent(response)) return mergeAnswers(messagesOf(response, "assistant"));
  if (response.message !== null && typeof response.message === "object") return responseMessages(response.message);
  if (typeof response.text === "string") return [message("assistant", partsOf(response.text))];
  if (typeof response.output_text === "string") return [message("assistant", partsOf(response.output_text))];
  return [message("assistant", [other(null, response)])];
}

/**
 * The tools the model could have called, by name.
 * @param {any} payload of an LLM_CALL
 * @returns {{ name: string, description: string, parameters: any }[]}
 */
export function offeredTools(payload) {
  const tools = payload?.tools ?? payload?.prompt?.tools;
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool) => {
    const declared = tool?.function_declarations ?? tool?.functionDeclarations ?? [tool?.function ?? tool];
    return declared.map((/** @type {any} */ one) => ({
      name: String(typeof one === "string" ? one : (one?.name ?? one?.type ?? "unnamed")),
      description: typeof one?.description === "string" ? one.description : "",
      parameters: one?.parameters ?? one?.input_schema ?? one?.inputSchema ?? null,
    }));
  });
}

/** All the text of a message, for comparing words. @param {Message} one */
export function textOf(one) {
  return one.parts
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("\n")
    .trim();
}

/** Where a request object keeps its messages. @param {any} prompt */
function promptList(prompt) {
  return prompt.messages ?? prompt.input ?? prompt.contents ?? prompt.prompt;
}

/** @param {any[]} list @param {string} speaker @returns {Message[]} */
function listMessages(list, speaker) {
  if (list.length === 1 && Array.isArray(list[0])) return listMessages(list[0], speaker);
  // A list of blocks without roles is one message: ["text", {type: "image_url", …}] or Anthropic content.
  if (!list.some(isMessage)) return list.length === 0 ? [] : [message(speaker, partsOf(list))];
  return list.flatMap((item) => messagesOf(item, speaker));
}

/** @param {any} item @returns {boolean} */
function isMessage(item) {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return false;
  if (typeof item.role === "string" || Object.hasOwn(ITEM_ROLES, item.type ?? "")) return true;
  if (item.kind === "request" || item.kind === "response") return Array.isArray(item.parts);
  if (isSerialised(item) || Array.isArray(item.tool_calls)) return true;
  const known =
    Object.hasOwn(ROLES, String(item.type ?? "").toLowerCase()) || item.type === "system" || item.type === "tool";
  return known && (item.content !== undefined || typeof item.data === "object");
}

/**
 * An answer whose role goes without saying: its content, in blocks that say what they are, or with nothing beside it but
 * what a provider tells about an answer.
 * @param {any} response
 */
function isOnlyContent({ content, ...rest }) {
  if (Array.isArray(content)) return content.length > 0 && content.every((block) => typeof block?.type === "string");
  return typeof content === "string" && Object.keys(rest).every((key) => ABOUT_AN_ANSWER.has(key));
}

/** LangChain's own serialisation: {"lc": 1, "id": [..., "HumanMessage"], "kwargs": {...}}. @param {any} item */
function isSerialised(item) {
  return typeof item.kwargs === "object" && item.kwargs !== null && Array.isArray(item.id);
}

/** @param {any} item @param {string} speaker @returns {Message[]} */
function messagesOf(item, speaker) {
  if (isGap(item)) return [message("missing", partsOf(item))];
  if (typeof item === "string") return [message(speaker, partsOf(item))];
  if (typeof item !== "object" || item === null || Array.isArray(item)) return [message(speaker, partsOf(item))];
  if (isSerialised(item)) {
    const className = String(item.id[item.id.length - 1]);
    return messagesOf({ type: className.replace(/Message(Chunk)?$/, "").toLowerCase(), ...item.kwargs }, speaker);
  }
  if (item.kind === "request" || item.kind === "response") {
    return item.parts.map((/** @type {any} */ part) =>
      message(roleOf(part?.part_kind ?? "", item.kind === "request" ? "user" : "assistant"), partsOf([part])),
    );
  }
  if (typeof item.data === "object" && item.data !== null && item.content === undefined) {
    return messagesOf({ type: item.type, ...item.data }, speaker);
  }
  if (Object.hasOwn(ITEM_ROLES, item.type ?? "")) return [message(ITEM_ROLES[item.type], partsOf([item]))];
  return [spoken(item, speaker)];
}

/** A message with a role, content and perhaps calls. @param {any} item @param {string} speaker @returns {Message} */
function spoken(item, speaker) {
  const role = roleOf(item.role ?? item.type ?? "", speaker);
  const name = typeof item.name === "string" ? item.name : null;
  const callId = item.tool_call_id ?? item.tool_use_id ?? null;
  if (role === "tool") {
    return message(
      role,
      [
        {
          type: "result",
          callId,
          name,
          value: plainContent(item.content),
          failed: item.is_error === true || item.status === "error",
        },
      ],
      name,
    );
  }
  const thinking = item.reasoning_content ?? item.reasoning ?? item.thinking;
  /** @type {MessagePart[]} */
  const parts = typeof thinking === "string" && thinking ? [{ type: "thinking", text: thinking }] : [];
  parts.push(...partsOf(item.content ?? item.parts ?? null));
  if (typeof item.refusal === "string" && item.refusal) parts.push({ type: "refusal", text: item.refusal });
  parts.push(...toolCallsOf(item, parts));
  return message(role, parts, name);
}

/** A tool's content as one value: a lone text block is its text. @param {any} content */
function plainContent(content) {
  if (!Array.isArray(content) || content.length !== 1) return content ?? null;
  return typeof content[0]?.text === "string" ? content[0].text : content;
}

/** @param {string} given @param {string} speaker */
function roleOf(given, speaker) {
  const role = String(given).toLowerCase();
  if (role === "message" || role === "" || role === "text" || role === "thinking" || role === "tool-call")
    return speaker;
  return Object.hasOwn(ROLES, role) ? ROLES[role] : role;
}

/** Several items of one answer (reasoning, text, call) are one turn of the assistant. @param {Message[]} messages */
function mergeAnswers(messages) {
  /** @type {Message[]} */
  const merged = [];
  for (const one of messages) {
    const last = merged[merged.length - 1];
    if (last && last.role === one.role && one.role === "assistant") last.parts.push(...one.parts);
    else merged.push(one);
  }
  return merged;
}

/** @param {string} role @param {MessagePart[]} parts @param {string | null} [name] @returns {Message} */
function message(role, parts, name = null) {
  // Anthropic sends a tool's result in the user's name.
  const onlyResults = role === "user" && parts.length > 0 && parts.every((part) => part.type === "result");
  return { role: onlyResults ? "tool" : role, name, parts };
}

/** @param {string | null} label @param {any} value @returns {MessagePart} */
function other(label, value) {
  return { type: "other", label, value };
}
