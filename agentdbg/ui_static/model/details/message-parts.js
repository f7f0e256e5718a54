// @ts-check
/** The blocks inside a message, from every provider's shape to one. */
import { isGap, notRecorded } from "./markers.js";
import { audioOf, imageOf, missingMediaOf } from "./values.js";

/** @typedef {import("./messages.js").MessagePart} MessagePart */

/**
 * The parts of a message's content: a string, a block, or a list of them.
 * @param {any} content
 * @returns {MessagePart[]}
 */
export function partsOf(content) {
  if (content === null || content === undefined || content === "") return [];
  if (Array.isArray(content)) return content.flatMap(partOf);
  return partOf(content);
}

/**
 * The calls that stand beside a message's content (OpenAI, LangChain), but not those its blocks already told.
 * @param {any} item
 * @param {MessagePart[]} told
 * @returns {MessagePart[]}
 */
export function toolCallsOf(item, told) {
  const known = new Set(told.map((part) => (part.type === "call" ? part.id : null)));
  const calls = Array.isArray(item.tool_calls) ? item.tool_calls : (item.additional_kwargs?.tool_calls ?? []);
  /** @type {MessagePart[]} */
  const parts = [];
  for (const call of Array.isArray(calls) ? calls : []) {
    const made = call?.function ?? call?.custom ?? call;
    const id = stringOr(call?.id, null);
    if (id !== null && known.has(id)) continue;
    parts.push({
      type: "call",
      id,
      name: stringOr(made?.name, "unnamed"),
      args: readArguments(made?.arguments ?? made?.args ?? made?.input),
    });
  }
  if (item.function_call?.name) {
    parts.push({
      type: "call",
      id: null,
      name: String(item.function_call.name),
      args: readArguments(item.function_call.arguments),
    });
  }
  return parts;
}

/**
 * Arguments that a provider sends as JSON text, as the values they are; anything else as it came.
 * @param {any} given
 */
function readArguments(given) {
  if (typeof given !== "string") return given ?? {};
  const text = given.trim();
  if (!text.startsWith("{") && !text.startsWith("[")) return text === "" ? {} : given;
  try {
    return JSON.parse(text);
  } catch {
    return given;
  }
}

/** @param {any} block @returns {MessagePart[]} */
function partOf(block) {
  if (block === null || block === undefined) return [];
  if (isGap(block)) return [{ type: "missing", text: notRecorded(block) }];
  const image = imageOf(block);
  if (image) return [{ type: "image", url: image.url, mediaType: image.mediaType, bytes: image.bytes }];
  const audio = audioOf(block);
  if (audio) return [{ type: "audio", url: audio.url, mediaType: audio.mediaType, bytes: audio.bytes }];
  const missing = missingMediaOf(block) ?? mediaElsewhere(block);
  if (missing !== null) return [{ type: "missing", text: missing }];
  if (typeof block === "string") return textParts(block);
  if (typeof block !== "object") return [{ type: "text", text: String(block) }];
  const kind = String(block.type ?? block.part_kind ?? "");
  return (READERS[kind] ?? readUntyped)(block);
}

/** What is said of an image, a film or a document of which the log has only the address or the name, or null. @param {any} block */
function mediaElsewhere(block) {
  const kind = MEDIA[block?.type];
  if (typeof block !== "object" || kind === undefined) return null;
  const inner = [block.source, block[block.type], block.file].find((one) => typeof one === "object" && one !== null);
  const urls = [block[block.type], inner?.url, block.url, block.image_url, block.file_url, inner?.file_url];
  const address = urls.find((url) => typeof url === "string" && /^(https?|gs|s3|file):/.test(url));
  if (address !== undefined) return `${kind} not loaded: ${address}`;
  const names = [inner?.filename, block.filename, block.title, inner?.file_id, block.file_id];
  const name = names.find((one) => typeof one === "string" && one !== "");
  return name === undefined ? null : `${kind} not shown: ${name}`;
}

/** @type {Record<string, string | undefined>} */
const MEDIA = {
  image: "Image",
  image_url: "Image",
  input_image: "Image",
  video: "Video",
  video_url: "Video",
  input_video: "Video",
  audio: "Audio",
  audio_url: "Audio",
  document: "Document",
  file: "File",
  input_file: "File",
};
Object.setPrototypeOf(MEDIA, null);

/** One reader per block type. @type {Record<string, (block: any) => MessagePart[]>} */
const READERS = {
  text: readText,
  input_text: readText,
  output_text: readText,
  summary_text: readText,
  refusal: (block) => [{ type: "refusal", text: String(block.refusal ?? block.text ?? "") }],
  thinking: (block) => thinking(block.thinking ?? block.content),
  redacted_thinking: () => thinking("hidden by the provider"),
  reasoning: (block) =>
    thinking(joinTexts(block.summary) || joinTexts(block.content) || block.reasoning || block.text || "not given"),
  tool_use: readCall,
  server_tool_use: readCall,
  mcp_tool_use: readCall,
  function_call: readCall,
  custom_tool_call: readCall,
  mcp_call: readCall,
  "tool-call": readCall,
  tool_call: readCall,
  tool_result: readResult,
  mcp_tool_result: readResult,
  web_search_tool_result: readResult,
  function_call_output: readResult,
  custom_tool_call_output: readResult,
  computer_call_output: readResult,
  "tool-return": readResult,
  "retry-prompt": (block) => readResult({ ...block, is_error: true }),
  "user-prompt": (block) => partsOf(block.content),
  "system-prompt": (block) => partsOf(block.content),
  message: (block) => partsOf(block.content),
};
Object.setPrototypeOf(READERS, null);

/** @param {any} block @returns {MessagePart[]} */
function readText(block) {
  const text = block.text ?? block.content ?? "";
  return typeof text === "string" ? textParts(text) : [{ type: "other", label: null, value: block }];
}

/** A text, and before it what some models think aloud: `<think>…</think>`. @param {string} given @returns {MessagePart[]} */
function textParts(given) {
  const thought = /^\s*<think(?:ing)?>([\s\S]*?)<\/think(?:ing)?>\s*/.exec(given);
  const text = thought === null ? given : given.slice(thought[0].length);
  return [...thinking(thought?.[1].trim()), ...(text === "" ? [] : [{ type: /** @type {const} */ ("text"), text }])];
}

/** @param {any} text @returns {MessagePart[]} */
function thinking(text) {
  return typeof text === "string" && text ? [{ type: "thinking", text }] : [];
}

/** @param {any} list */
function joinTexts(list) {
  if (typeof list === "string") return list;
  return Array.isArray(list)
    ? list.map((item) => (typeof item === "string" ? item : (item?.text ?? ""))).join("\n\n")
    : "";
}

/** @param {any} block @returns {MessagePart[]} */
function readCall(block) {
  const id = stringOr(block.call_id ?? block.tool_call_id ?? block.id, null);
  const name = stringOr(block.name ?? block.tool_name, "unnamed");
  return [{ type: "call", id, name, args: readArguments(block.input ?? block.arguments ?? block.args) }];
}

/** @param {any} block @returns {MessagePart[]} */
function readResult(block) {
  const content = block.content ?? block.output ?? null;
  const only = Array.isArray(content) && content.length === 1 ? content[0]?.text : undefined;
  return [
    {
      type: "result",
      callId: stringOr(block.tool_use_id ?? block.call_id ?? block.tool_call_id, null),
      name: stringOr(block.name ?? block.tool_name, null),
      value: typeof only === "string" ? only : content,
      failed: block.is_error === true || block.status === "error" || block.status === "failed",
    },
  ];
}

/**
 * Blocks that say what they are by their keys (Gemini), and whatever else there is.
 * @param {any} block
 * @returns {MessagePart[]}
 */
function readUntyped(block) {
  const call = block.functionCall ?? block.function_call;
  if (call?.name)
    return [
      {
        type: "call",
        id: stringOr(call.id, null),
        name: String(call.name),
        args: readArguments(call.args ?? call.arguments),
      },
    ];
  const answer = block.functionResponse ?? block.function_response;
  if (answer?.name)
    return [
      {
        type: "result",
        callId: stringOr(answer.id, null),
        name: String(answer.name),
        value: answer.response ?? null,
        failed: false,
      },
    ];
  if (typeof block.text === "string" && Object.keys(block).length <= 2) {
    return block.thought === true ? thinking(block.text) : readText(block);
  }
  return [{ type: "other", label: typeof block.type === "string" ? block.type : null, value: block }];
}

/** @template T @param {any} value @param {T} otherwise @returns {string | T} */
function stringOr(value, otherwise) {
  return typeof value === "string" && value !== "" ? value : otherwise;
}
