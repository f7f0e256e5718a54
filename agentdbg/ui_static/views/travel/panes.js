// @ts-check
/** What is shown beside the steps: the state then, the messages the model had, the line of code. */

import { emit, h } from "../../core/dom.js";
import { parseSource } from "../../model/details/editor.js";
import { plural } from "../../model/details/format.js";
import { highlight } from "../../model/details/highlight.js";
import { fetchEvent, previousOfKind } from "../../model/details/lookups.js";
import { promptMessages, responseMessages } from "../../model/details/messages.js";
import { differences } from "../../model/details/state-diff.js";
import { visibleText } from "../../model/details/text.js";
import { inline } from "../../model/details/values.js";
import { KIND } from "../../model/skeleton.js";
import { foldable, textNodes } from "../details/fold.js";
import { jsonTree } from "../details/json-tree.js";
import { editorLink, eventLink } from "../details/links.js";
import { turnViews } from "../details/message-view.js";
import { valueView } from "../details/value-view.js";
import "../details/event-conversation.js";

/** @typedef {import("../../core/run-data.js").RunData} RunData */
/** @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext */
/** @typedef {import("../../model/details/state-diff.js").Change} Change */

const LAST_MESSAGES = 6;

/** @param {string} name @param {string} label */
function pane(name, label) {
  const title = h("h2", null, label);
  const body = h("div", {
    class: name === "state" ? "pane-body as-details" : "pane-body",
    tabindex: "0",
    role: "group",
    "aria-label": label,
  });
  return { title, body, element: h("section", { class: `pane ${name}`, "aria-label": label }, title, body) };
}

/** The state of the program at a step: the last one recorded, and what that step changed. */
export class StatePane {
  #parts = pane("state", "State");
  element = this.#parts.element;

  /** @param {number} n @param {RunData} data @param {DetailsContext} context @param {() => boolean} isStill */
  async show(n, data, context, isStill) {
    const { title, body } = this.#parts;
    const at = data.skeleton.kind[n] === KIND.STATE ? n : await previousOfKind(context, n, "state");
    const event = at === null ? null : await fetchEvent(context, at);
    if (!isStill()) return;
    if (event === null || at === null) {
      const hasAny = await anyState(data);
      if (!isStill()) return;
      title.replaceChildren("State");
      body.replaceChildren(
        h(
          "p",
          { class: "quiet" },
          hasAny ? "No state was recorded up to this step." : "This program records no state. ",
          hasAny ? "" : h("code", null, "record_state(…)"),
          hasAny ? "" : " adds it.",
        ),
      );
      return;
    }
    const state = Object.hasOwn(event.payload, "state") ? event.payload.state : event.payload;
    const before = await stateBefore(context, at, event.name);
    if (!isStill()) return;
    const changes = at === n && before !== undefined ? differences(before, state) : [];
    title.replaceChildren(
      `State at #${n} `,
      h(
        "span",
        { class: "quiet" },
        at === n ? changesInWords(changes, before === undefined) : "",
        ...(at === n ? [] : ["since ", eventLink(context, at)]),
      ),
    );
    body.replaceChildren(stateView(state, changes));
  }
}

/** @param {RunData} data */
async function anyState({ skeleton }) {
  for (let n = 1; n <= skeleton.count; n += 1) if (skeleton.kind[n] === KIND.STATE) return true;
  return false;
}

/** @param {DetailsContext} context @param {number} n @param {string} name */
async function stateBefore(context, n, name) {
  let at = await previousOfKind(context, n, "state");
  for (let tries = 0; at !== null && tries < 4; tries += 1) {
    const event = await fetchEvent(context, at);
    if (event?.name === name) return event.payload.state;
    at = await previousOfKind(context, at, "state");
  }
  return undefined;
}

/** @param {Change[]} changes @param {boolean} isFirst */
function changesInWords(changes, isFirst) {
  if (isFirst) return "the first one recorded";
  if (changes.length === 0) return "this step changed nothing";
  const count = (/** @type {string} */ sign) => changes.filter((change) => change.sign === sign).length;
  const words = [
    count("+") && `${count("+")} added`,
    count("~") && `${count("~")} changed`,
    count("−") && `${count("−")} removed`,
  ];
  return `this step: ${words.filter(Boolean).join(", ")}`;
}

/** Changed paths first marked, then the whole. @param {any} state @param {Change[]} changes */
function stateView(state, changes) {
  if (typeof state !== "object" || state === null || Array.isArray(state)) return valueView(state);
  const changed = new Map();
  for (const change of changes) {
    const [key] = change.path.split(".");
    changed.set(key, [...(changed.get(key) ?? []), change]);
  }
  const list = h("div", { class: "state-keys" });
  for (const key of [...new Set([...Object.keys(state), ...changed.keys()])]) {
    const of = changed.get(key) ?? [];
    const sign = of.length === 0 ? "" : of.every((/** @type {Change} */ one) => one.path === key) ? of[0].sign : "~";
    const whole = of.length === 1 && of[0].path === key ? of[0] : null;
    list.append(
      h(
        "div",
        {
          class: "state-key",
          "data-sign": sign === "+" ? "added" : sign === "−" ? "removed" : sign ? "changed" : null,
        },
        h(
          "span",
          { class: "sign" },
          sign,
          sign &&
            h("span", { class: "visually-hidden" }, sign === "+" ? "added" : sign === "−" ? "removed" : "changed"),
        ),
        h("code", null, visibleText(key)),
        h(
          "div",
          { class: "state-value" },
          ...(whole && whole.before !== undefined
            ? [h("del", null, inline(whole.before, 80)), whole.after === undefined ? "" : " → "]
            : []),
          Object.hasOwn(state, key) ? member(state[key]) : "",
        ),
      ),
    );
  }
  return list;
}

/** @param {any} value */
function member(value) {
  return typeof value === "object" && value !== null && inline(value, 400).length > 60
    ? jsonTree(value)
    : h("code", null, ...textNodes(inline(value, 400)));
}

/** The messages of the model call that stands last at a step. */
export class MessagesPane {
  #parts = pane("messages", "Messages");
  element = this.#parts.element;

  /** @param {number} n @param {RunData} data @param {DetailsContext} context @param {() => boolean} isStill */
  async show(n, data, context, isStill) {
    const { title, body } = this.#parts;
    const at = data.skeleton.kind[n] === KIND.LLM ? n : await previousOfKind(context, n, "llm");
    const event = at === null ? null : await fetchEvent(context, at);
    if (!isStill()) return;
    if (event === null || at === null) {
      title.replaceChildren("Messages");
      body.replaceChildren(h("p", { class: "quiet" }, "No model was called up to this step."));
      return;
    }
    const messages = [...promptMessages(event.payload.prompt), ...responseMessages(event.payload.response)];
    const from = Math.max(0, messages.length - LAST_MESSAGES);
    title.replaceChildren(
      `Messages at #${n} `,
      h("span", { class: "quiet" }, `${plural(messages.length, "message")}, last in `, eventLink(context, at)),
    );
    const conversation = document.createElement("event-conversation");
    if (from > 0)
      conversation.append(
        foldable([plural(from, "earlier message")], () =>
          h("div", { class: "before" }, ...turnViews(messages.slice(0, from))),
        ),
      );
    conversation.append(...turnViews(messages.slice(from)));
    body.replaceChildren(h("div", { class: "as-details" }, conversation));
    body.scrollTop = body.scrollHeight;
  }
}

/** The line of code that recorded a step. */
export class SourcePane {
  #parts = pane("source", "Source");
  element = this.#parts.element;

  /** @param {number} n @param {RunData} data @param {DetailsContext} context @param {() => boolean} isStill */
  async show(n, data, context, isStill) {
    const { title, body } = this.#parts;
    const event = await fetchEvent(context, n);
    const place = parseSource(event?.payload.source);
    if (!isStill()) return;
    if (place === null) {
      title.replaceChildren("Source");
      body.replaceChildren(h("p", { class: "quiet" }, "This step does not say which line recorded it."));
      return;
    }
    const label = `${place.file}${place.line === null ? "" : `:${place.line}`}`;
    title.replaceChildren(
      h("span", { class: "cut" }, visibleText(label)),
      " ",
      h("span", { class: "open-in" }, editorLink(context, place, "Open in editor")),
    );
    const found = await data.api.json(`${data.path}/source?n=${n}`).catch(() => null);
    if (!isStill()) return;
    if (!found || found.lines.length === 0) {
      body.replaceChildren(h("p", { class: "quiet" }, found?.reason ?? "The code is not on this machine."));
      return;
    }
    const note = found.has_changed
      ? [h("p", { class: "warning" }, `${visibleText(found.path)} has changed since this run.`)]
      : [];
    const code = h("ol", { class: "code-lines", start: found.first });
    found.lines.forEach((/** @type {string} */ line, /** @type {number} */ index) => {
      const number = found.first + index;
      const pieces = highlight(line, "python").map((piece) =>
        h("span", { class: piece.kind ? `code-${piece.kind}` : null }, ...textNodes(piece.text)),
      );
      code.append(
        h(
          "li",
          { "data-here": number === found.line, "aria-current": number === found.line ? "true" : null },
          h("span", { class: "digits quiet" }, number),
          h("code", null, ...pieces),
          ...(number === found.line ? [h("b", null, `#${n} here`)] : []),
        ),
      );
    });
    body.replaceChildren(...note, code, this.#others(n, data, place.file));
    code.querySelector("[data-here]")?.scrollIntoView({ block: "center" });
  }

  /** Other steps that the same file recorded, among those whose words are here. @param {number} n @param {RunData} data @param {string} file */
  #others(n, data, file) {
    /** @type {Map<number, {name: string, numbers: number[]}>} */
    const lines = new Map();
    for (let at = Math.max(1, n - 400); at <= Math.min(data.skeleton.count, n + 400); at += 1) {
      const row = data.rows.get(at);
      const place = row ? parseSource(row.source) : null;
      if (!row || place?.file !== file || place.line === null) continue;
      const known = lines.get(place.line);
      if (known) known.numbers.push(at);
      else lines.set(place.line, { name: row.name, numbers: [at] });
    }
    const list = h("div", { class: "same-file" }, h("h3", null, "Steps from this file"));
    for (const [line, { name, numbers }] of [...lines].sort((a, b) => a[0] - b[0]))
      list.append(
        h(
          "div",
          null,
          h("code", null, `:${line}`),
          h("span", { class: "cut" }, visibleText(name)),
          h(
            "span",
            { class: "digits" },
            ...numbers
              .slice(0, 8)
              .flatMap((one) => [
                h(
                  "button",
                  { class: "link", type: "button", onclick: () => emit(list, "travel", { n: one }) },
                  `#${one}`,
                ),
                " ",
              ]),
          ),
        ),
      );
    return lines.size > 0 ? list : h("span");
  }
}
