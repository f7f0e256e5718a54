// @ts-check
/** How much of a conversation the reader has seen already: what an earlier model call had too, and what is new. */
import { sameAsStored } from "./markers.js";
import { sameValue } from "./values.js";

/** @typedef {import("./messages.js").Message} Message */

/**
 * How many messages at the start are the same in both conversations.
 * @param {Message[]} earlier
 * @param {Message[]} later
 */
export function commonStart(earlier, later) {
  const most = Math.min(earlier.length, later.length);
  let count = 0;
  while (count < most && sameMessage(earlier[count], later[count])) count += 1;
  return count;
}

/**
 * Where the new part of a conversation begins. With the earlier call's messages at hand: after what both share.
 * Without: at the last turn of the assistant, which is what the earlier call answered; so that the fold can be drawn
 * at once and hardly ever moves when the earlier call arrives.
 *
 * @param {Message[]} messages
 * @param {Message[] | null} earlier
 * @returns {{ system: number, from: number }} how many system messages lead, and the first message that is new
 */
export function newPart(messages, earlier) {
  let system = 0;
  while (system < messages.length && messages[system].role === "system") system += 1;
  if (earlier !== null) {
    const shared = Math.max(commonStart(earlier, messages), afterLast(earlier, messages));
    // The very same prompt again, as in a retry: the last message is still worth showing.
    return { system, from: Math.max(system, Math.min(shared, messages.length - 1)) };
  }
  let from = messages.length - 1;
  while (from > system && messages[from].role !== "assistant") from -= 1;
  return { system, from: Math.max(system, from) };
}

/**
 * Whether the later conversation goes on from the earlier one: something beyond the system text is shared.
 * @param {Message[]} earlier
 * @param {Message[]} later
 */
export function continues(earlier, later) {
  const shared = commonStart(earlier, later);
  return shared > 0 && later.slice(0, shared).some((one) => one.role !== "system");
}

/** The number of characters of a message, about; for "show all, 6.2 kB". @param {Message} one */
export function messageText(one) {
  return one.parts
    .map((part) => (part.type === "text" || part.type === "thinking" || part.type === "refusal" ? part.text : ""))
    .join("\n\n");
}

/**
 * Where the messages begin that came after the earlier call's last one, in a conversation whose middle was not stored.
 * @param {Message[]} earlier
 * @param {Message[]} later
 */
function afterLast(earlier, later) {
  if (earlier.length === 0 || !later.some((one) => one.role === "missing")) return 0;
  return later.findLastIndex((one) => sameMessage(earlier[earlier.length - 1], one)) + 1;
}

/** @param {Message} one @param {Message} other */
function sameMessage(one, other) {
  if (one.role !== other.role || one.parts.length !== other.parts.length) return false;
  return one.parts.every((part, at) => {
    const like = other.parts[at];
    if (part.type === "text" && like.type === "text") return sameAsStored(part.text, like.text);
    return sameValue(part, like);
  });
}
