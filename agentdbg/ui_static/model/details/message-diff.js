// @ts-check
/** What became of a conversation between two model calls: messages kept, added, dropped and edited. */
import { alignLists } from "./align-lists.js";
import { TRUNCATED, sameAsStored } from "./markers.js";
import { sameValue } from "./values.js";

/** @typedef {import("./messages.js").Message} Message */
/** @typedef {{ kind: "same" | "added" | "dropped" | "edited", before: number | null, after: number | null }} MessageStep */

/** So much of two messages has to agree, at their ends, for one to be the other edited. */
const ALIKE = 0.3;

/**
 * @param {Message[]} earlier
 * @param {Message[]} later
 * @returns {MessageStep[]} in the order of the later conversation
 */
export function diffMessages(earlier, later) {
  const [old, now] = [earlier.map(keyOf), later.map(keyOf)];
  const same = (/** @type {number} */ before, /** @type {number} */ after) =>
    old[before] === now[after] ||
    ((old[before].includes(TRUNCATED) || now[after].includes(TRUNCATED)) && sameMessage(earlier[before], later[after]));
  /** @type {MessageStep[]} */
  const steps = [];
  /** @type {{ dropped: number[], added: number[] }} */
  let gap = { dropped: [], added: [] };
  const flush = () => {
    steps.push(...gapSteps(earlier, later, gap));
    gap = { dropped: [], added: [] };
  };
  for (const { before, after } of alignLists(earlier.length, later.length, same)) {
    if (before !== null && after !== null) {
      flush();
      steps.push({ kind: "same", before, after });
    } else if (before !== null) gap.dropped.push(before);
    else gap.added.push(/** @type {number} */ (after));
  }
  flush();
  return steps;
}

/** How many there are of each kind. @param {MessageStep[]} steps */
export function countSteps(steps) {
  const counts = { same: 0, added: 0, dropped: 0, edited: 0 };
  for (const { kind } of steps) counts[kind] += 1;
  return counts;
}

/** @param {Message} one @param {Message} other */
function sameMessage(one, other) {
  if (one.role !== other.role || one.parts.length !== other.parts.length) return false;
  return one.parts.every((part, at) => {
    const like = other.parts[at];
    if (part.type === "text" && like.type === "text") return sameAsStored(part.text, like.text);
    if (
      part.type === "result" &&
      like.type === "result" &&
      typeof part.value === "string" &&
      typeof like.value === "string"
    )
      return part.callId === like.callId && sameAsStored(part.value, like.value);
    return sameValue(part, like);
  });
}

/**
 * Between two messages that both have: what went, what came, and what is the same message in other words. Where
 * messages were not stored, nobody knows which of them went.
 * @param {Message[]} earlier
 * @param {Message[]} later
 * @param {{ dropped: number[], added: number[] }} gap
 * @returns {MessageStep[]}
 */
function gapSteps(earlier, later, { dropped, added }) {
  const isMissing = (/** @type {Message} */ one) => one.role === "missing";
  const unknownAfter = added.some((at) => isMissing(later[at]));
  const unknownBefore = dropped.some((at) => isMissing(earlier[at]));
  const left = dropped.filter((at) => !isMissing(earlier[at]));
  /** @type {MessageStep[]} */
  const steps = [];
  for (const after of added) {
    if (isMissing(later[after])) continue;
    const place = left.findIndex((before) => isEdited(earlier[before], later[after]));
    if (place >= 0) {
      const [before] = left.splice(place, 1);
      steps.push({ kind: "edited", before, after });
    } else if (!unknownBefore) steps.push({ kind: "added", before: null, after });
  }
  if (unknownAfter) return steps;
  return [...left.map((before) => /** @type {MessageStep} */ ({ kind: "dropped", before, after: null })), ...steps];
}

/** @param {Message} one @param {Message} other */
function isEdited(one, other) {
  if (one.role !== other.role) return false;
  if (one.role === "system") return true;
  const [result, otherResult] = [one, other].map((message) => message.parts.find((part) => part.type === "result"));
  if (result?.type === "result" && otherResult?.type === "result" && result.callId !== null)
    return result.callId === otherResult.callId;
  const [left, right] = [keyOf(one), keyOf(other)];
  const most = Math.min(left.length, right.length);
  let start = 0;
  while (start < most && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < most - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  // What every message of a role has in common, brackets and keys, does not count.
  const frame = 40;
  return start + end - frame > ALIKE * (Math.max(left.length, right.length) - frame);
}

/** @param {Message} one */
function keyOf(one) {
  return `${one.role} ${JSON.stringify(one.parts, (_, value) => (typeof value === "bigint" ? `${value}n` : value))}`;
}
