// @ts-check
/** One message of a conversation: who, and its parts; what a tool gave stands under the call that asked for it. */
import { h } from "../../core/dom.js";
import { exact, size } from "../../model/details/format.js";
import { byteLength, visibleText } from "../../model/details/text.js";
import { classify } from "../../model/details/values.js";
import { foldable, foldedText, missingMark } from "./fold.js";
import { jsonTree, parsedContainer } from "./json-tree.js";
import { audioView, imageView } from "./media-view.js";
import { richText } from "./rich-text.js";
import { isFormatted } from "./reading-mode.js";
import { isFilled } from "./stack-view.js";
import { pairsView, valueView } from "./value-view.js";

/** @typedef {import("../../model/details/messages.js").Message} Message */
/** @typedef {import("../../model/details/messages.js").MessagePart} MessagePart */
/** @typedef {Extract<MessagePart, { type: "result" }>} Result */
/** @typedef {Extract<MessagePart, { type: "call" }>} Call */

/** An answer is what the reader came for, so more of it is shown at once. */
const LONG_ANSWER = 16_000;
const SHORT_ARGUMENTS = 72;

/** Who speaks, in the words of the page. @param {string} role */
export function speaker(role) {
  if (role === "missing") return "";
  return role === "assistant" ? "model" : visibleText(role.slice(0, 40));
}

/**
 * The turns of some messages in a row. Results that follow a call stand under it, matched by the call's id and, where
 * there is none, in order; a result whose call is not here stands on a line of its own.
 * @param {Message[]} messages
 * @returns {HTMLElement[]}
 */
export function turnViews(messages) {
  /** @type {HTMLElement[]} */
  const turns = [];
  /** Calls that wait for their result, in order. @type {{ id: string | null, name: string, into: HTMLElement }[]} */
  let waiting = [];
  for (const one of messages) {
    if (one.role === "assistant") waiting = [];
    const rest = one.parts.filter((part) => part.type !== "result");
    for (const part of one.parts) {
      if (part.type !== "result") continue;
      const at = waiting.findIndex((call) =>
        part.callId === null || call.id === null ? call.name === (part.name ?? call.name) : call.id === part.callId,
      );
      if (at < 0) turns.push(turn("tool", [resultView(part, part.name)], { failed: part.failed }));
      else {
        const [call] = waiting.splice(at, 1);
        call.into.append(resultView(part, call.name));
      }
    }
    if (rest.length === 0 && one.parts.length > 0) continue;
    const said = rest.length > 0 ? rest.map((part) => partView(part)) : [h("span", { class: "quiet" }, "empty")];
    rest.forEach((part, at) => {
      if (part.type === "call") waiting.push({ id: part.id, name: part.name, into: said[at] });
    });
    turns.push(turn(one.role, said, { name: one.name }));
  }
  return turns;
}

/** @param {string} role @param {HTMLElement[]} said @param {{ failed?: boolean, name?: string | null }} [options] */
export function turn(role, said, { failed = false, name = null } = {}) {
  return h(
    "div",
    { class: "turn", "data-role": role, "data-failed": failed },
    h("span", { class: "who" }, speaker(role), nameView(name)),
    h("div", { class: "said" }, ...said),
  );
}

/** Where several speak in one role, each has a name; a long one is broken between its words. @param {string | null} name */
export function nameView(name) {
  if (name === null || name === "") return null;
  const words = visibleText(name.slice(0, 80)).split(/(?<=[_\-.])(?=.)/);
  return h(
    "span",
    { class: "named", dir: "auto" },
    ...words.flatMap((word, at) => (at > 0 ? [h("wbr"), word] : [word])),
  );
}

/**
 * @param {MessagePart} part
 * @param {{ isAnswer?: boolean, reasoning?: number | null }} [options]
 * @returns {HTMLElement}
 */
export function partView(part, { isAnswer = false, reasoning = null } = {}) {
  switch (part.type) {
    case "text":
      return textView(part.text, isAnswer);
    case "thinking":
      return thinkingView(part.text, reasoning);
    case "refusal":
      return h("div", { class: "refusal" }, textView(part.text, isAnswer));
    case "call":
      return callView(part);
    case "result":
      return resultView(part, part.name);
    case "image":
      return imageView(part);
    case "audio":
      return audioView(part);
    case "missing":
      return missingMark(part.text);
    case "other":
      return h(
        "div",
        null,
        part.label !== null && h("span", { class: "quiet" }, visibleText(part.label)),
        valueView(part.value, { compact: !isAnswer }),
      );
  }
}

/** @param {string} text @param {boolean} isAnswer */
function textView(text, isAnswer) {
  if (isFormatted()) return richText(text, isAnswer ? { long: LONG_ANSWER } : {});
  return foldedText(text, isAnswer ? { limit: LONG_ANSWER, lines: 400 } : { limit: 1500, lines: 24 });
}

/** @param {string} text @param {number | null} tokens */
function thinkingView(text, tokens) {
  const measure = tokens === null ? size(byteLength(text)) : `${exact(tokens)} tokens`;
  return foldable(
    [`Thinking · ${measure}`],
    () => (isFormatted() ? richText(text, { long: LONG_ANSWER }) : foldedText(text)),
    {
      className: "thinking",
    },
  );
}

/** A call the model asked for: its name, and the arguments beside it where they are short. @param {Call} part */
function callView(part) {
  const name = h("span", { class: "call-name" }, visibleText(part.name.slice(0, 200)));
  if (!isFilled(part.args))
    return h("div", { class: "call" }, name, h("span", { class: "quiet" }, " without arguments"));
  const entries = typeof part.args === "object" && !Array.isArray(part.args) ? Object.entries(part.args) : null;
  if (
    entries?.length === 1 &&
    typeof entries[0][1] === "string" &&
    entries[0][1].length <= SHORT_ARGUMENTS &&
    !entries[0][1].includes("\n")
  )
    return h(
      "div",
      { class: "call" },
      name,
      " ",
      h("span", { class: "argument-name" }, visibleText(entries[0][0])),
      " ",
      valueView(entries[0][1]),
    );
  const args = entries ? pairsView(part.args, { compact: true }) : valueView(part.args, { compact: true });
  return h("div", { class: "call" }, name, args);
}

/** What a tool gave the model. @param {Result} part @param {string | null} name */
function resultView(part, name) {
  return h(
    "div",
    { class: "result", "data-tool": name, "data-failed": part.failed },
    h("span", { class: "result-label", title: name === null ? null : visibleText(name) }, "result"),
    h("div", { class: "result-value" }, resultValue(part.value)),
  );
}

/** Words without quotes, because a model reads them as words. @param {any} value @returns {HTMLElement} */
function resultValue(value) {
  const shape = classify(value);
  if (shape.kind === "string") return shortText(shape.text, shape.cut);
  if (!isFormatted())
    return shape.kind === "prose"
      ? foldedText(shape.text, { cut: shape.cut, lines: 24 })
      : valueView(value, { compact: true });
  if (shape.kind === "prose") return richText(shape.text, { certain: false, cut: shape.cut });
  if (shape.kind === "object" || shape.kind === "list" || shape.kind === "table") {
    const blocks = Array.isArray(value) && value.every((one) => typeof one?.text === "string" && one.type === "text");
    if (blocks) return h("div", null, ...value.map((/** @type {any} */ one) => richText(one.text, { certain: false })));
    return jsonTree(value);
  }
  return valueView(value, { compact: true });
}

/** A short text; what it holds where it is JSON, on its own line. @param {string} text @param {number | null} cut */
function shortText(text, cut) {
  const inside = cut === null && isFormatted() ? parsedContainer(text) : undefined;
  return inside === undefined ? foldedText(text, { cut }) : jsonTree(inside, text);
}
