// @ts-check
/** How much of a conversation the reader has seen already: what an earlier model call had too, and what is new. */
import { diffMessages } from "./message-diff.js";

/** @typedef {import("./messages.js").Message} Message */

/**
 * Where the new part of a conversation begins. With the earlier call's messages at hand: after the last that both have.
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
    const last = diffMessages(earlier, messages).findLast((step) => step.kind === "same")?.after ?? -1;
    // The very same prompt again, as in a retry: the last message is still worth showing.
    return { system, from: Math.max(system, Math.min(last + 1, messages.length - 1)) };
  }
  let from = messages.length - 1;
  while (from > system && messages[from].role !== "assistant") from -= 1;
  return { system, from: Math.max(system, from) };
}

/**
 * How many messages two conversations share, and whether the later one goes on from the earlier: something beyond the
 * system text is shared.
 * @param {Message[]} earlier
 * @param {Message[]} later
 */
export function sharedPart(earlier, later) {
  const shared = diffMessages(earlier, later).filter((step) => step.kind === "same");
  return {
    count: shared.length,
    continues: shared.some(({ after }) => !["system", "missing"].includes(later[after ?? 0].role)),
  };
}

/** The number of characters of a message, about; for "show all, 6.2 kB". @param {Message} one */
export function messageText(one) {
  return one.parts
    .map((part) => (part.type === "text" || part.type === "thinking" || part.type === "refusal" ? part.text : ""))
    .join("\n\n");
}
