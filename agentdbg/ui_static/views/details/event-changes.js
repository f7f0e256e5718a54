// @ts-check
/** `<event-changes>`: what a model call was given that the call before it was not, and what fills its context. */
import { emit, h } from "../../core/dom.js";
import { callChanges, changesInWords } from "../../model/details/call-changes.js";
import { plural, size } from "../../model/details/format.js";
import { fetchEvent } from "../../model/details/lookups.js";
import { byteLength, oneLine, visibleText, withoutSigns } from "../../model/details/text.js";
import { diffText } from "../../model/details/text-diff.js";
import { inline } from "../../model/details/values.js";
import { ContextLens } from "./context-lens.js";
import { foldable, textNodes } from "./fold.js";
import { eventLink } from "./links.js";
import { partView, speaker } from "./message-view.js";

/** @typedef {import("../../model/details/types.js").StoredEvent} StoredEvent */
/** @typedef {import("../../model/details/types.js").DetailsContext} DetailsContext */
/** @typedef {import("../../model/details/call-changes.js").CallChanges} CallChanges */
/** @typedef {import("../../model/details/messages.js").Message} Message */

const SIGNS = { added: "+", dropped: "−", edited: "~" };
/** Lines of unchanged text left beside a change. */
const AROUND = 1;

export class EventChanges extends HTMLElement {
  /** @param {StoredEvent} event @param {number} n @param {{ n: number, event: StoredEvent } | null} earlier @param {DetailsContext} context */
  show(event, n, earlier, context) {
    const lens = new ContextLens();
    lens.addEventListener("open-call", (chosen) => {
      const target = /** @type {CustomEvent} */ (chosen).detail.n;
      if (target !== n) emit(this, "open-changes", { n: target });
    });
    void lens.show(event, n, earlier?.n ?? null, context);
    if (earlier === null) {
      this.replaceChildren(
        h("p", { class: "quiet" }, "The first model call of this run; nothing to compare with."),
        lens,
      );
      return;
    }
    const changes = callChanges(earlier.event.payload, event.payload);
    const words = changesInWords(changes);
    const choose = chooser(n, earlier.n, context, async (other) => {
      const found = await fetchEvent(context, other);
      if (found) this.show(event, n, { n: other, event: found }, context);
    });
    this.replaceChildren(
      h(
        "div",
        { class: "since" },
        h(
          "p",
          null,
          changes.count === 0 ? "Same as " : h("b", null, "Since "),
          eventLink(context, earlier.n),
          changes.count === 0 ? "." : h("span", { class: "quiet" }, `  ${words}`),
        ),
        choose,
      ),
      lens,
      ...sections(changes),
    );
  }
}

/** Another call to compare with. @param {number} n @param {number} chosen @param {DetailsContext} context @param {(n: number) => void} choose */
function chooser(n, chosen, context, choose) {
  const select = h("select", { "aria-label": "Compare with another call" });
  const fill = async () => {
    const calls = ((await context.callsOfKind?.("llm", n)) ?? []).filter((one) => one !== n).slice(-200);
    select.replaceChildren(
      ...calls.map((one) => h("option", { value: one, selected: one === chosen }, `Compare with #${one}`)),
    );
    select.hidden = calls.length < 2;
  };
  select.addEventListener("change", () => choose(Number(select.value)));
  void fill();
  return select;
}

/** @param {CallChanges} changes @returns {HTMLElement[]} */
function sections({ system, messages, tools, parameters }) {
  const parts = [];
  if (system)
    parts.push(section("System prompt", size(byteLength(system.after)), textChanges(system.before, system.after)));
  if (messages.steps.length > 0)
    parts.push(section("Messages", messages.same > 0 ? `${messages.same} the same` : "", messageChanges(messages)));
  if (tools.added.length + tools.dropped.length + tools.edited.length > 0)
    parts.push(section("Tools", tools.same > 0 ? `${tools.same} the same` : "", toolChanges(tools)));
  if (parameters.changes.length > 0)
    parts.push(
      section(
        "Parameters",
        parameters.same > 0 ? `${parameters.same} the same` : "",
        parameterChanges(parameters.changes),
      ),
    );
  return parts;
}

/** @param {string} title @param {string} note @param {HTMLElement} content */
function section(title, note, content) {
  return h(
    "section",
    { class: "changed-part" },
    h("div", null, h("h3", null, title), h("p", { class: "quiet" }, note)),
    content,
  );
}

/** @param {string} before @param {string} after */
function textChanges(before, after) {
  const view = h("div", { class: "text-changes prose" });
  const pieces = diffText(before, after);
  pieces.forEach((piece, at) => {
    if (piece.kind === "add") view.append(h("ins", null, ...textNodes(piece.text)));
    else if (piece.kind === "del") view.append(h("del", null, ...textNodes(piece.text)));
    else view.append(...sameText(piece.text, at === 0, at === pieces.length - 1));
  });
  return view;
}

/** Unchanged text, folded to the line beside the change. @param {string} text @param {boolean} isFirst @param {boolean} isLast @returns {(Node | string)[]} */
function sameText(text, isFirst, isLast) {
  const lines = text.split("\n");
  const keepStart = isFirst ? 0 : AROUND;
  const keepEnd = isLast ? 0 : AROUND;
  const hidden = lines.length - keepStart - keepEnd;
  if (hidden < 2) return textNodes(text);
  const fold = foldable([`${plural(hidden, "line")} the same`], () =>
    h("div", { class: "same-text" }, ...textNodes(lines.slice(keepStart, lines.length - keepEnd).join("\n"))),
  );
  return [
    ...textNodes(lines.slice(0, keepStart).join("\n")),
    fold,
    ...textNodes(lines.slice(lines.length - keepEnd).join("\n")),
  ];
}

/** @param {CallChanges["messages"]} messages */
function messageChanges({ steps, before, after }) {
  const list = h("div", { class: "message-changes" });
  for (const { kind, before: old, after: now } of steps) {
    if (kind === "same") continue;
    const one = now === null ? before[/** @type {number} */ (old)] : after[now];
    const row = h(
      "div",
      { class: "message-change", "data-change": kind },
      sign(kind),
      h("span", { class: "digits quiet" }, (now ?? old ?? 0) + 1),
      h("span", { class: "who" }, speaker(one.role)),
      kind === "edited" ? edited(before[/** @type {number} */ (old)], one) : messageLine(one),
    );
    list.append(row);
  }
  return list;
}

/** @param {"added" | "dropped" | "edited"} kind */
function sign(kind) {
  return h(
    "span",
    { class: "change-sign", "data-change": { added: "added", dropped: "removed", edited: "changed" }[kind] },
    h("span", { "aria-hidden": "true" }, SIGNS[kind]),
    h("span", { class: "visually-hidden" }, kind),
  );
}

/** A message on one line that opens to all of it. @param {Message} one */
function messageLine(one) {
  const text = summary(one);
  return foldable(
    [h("span", { class: "when-folded" }, ...textNodes(text || "empty")), h("span", { class: "when-open" }, "fold")],
    () => h("div", { class: "said" }, ...one.parts.map((part) => partView(part))),
  );
}

/** @param {Message} before @param {Message} after */
function edited(before, after) {
  const [old, now] = [wholeText(before), wholeText(after)];
  const line = `${size(byteLength(old))} → ${size(byteLength(now))}: `;
  return foldable(
    [
      h("span", { class: "when-folded" }, line, ...textNodes(oneLine(now, 100))),
      h("span", { class: "when-open" }, line.slice(0, -2)),
    ],
    () => textChanges(old, now),
  );
}

/** @param {Message} one */
function summary(one) {
  return one.parts
    .map((part) => {
      if (part.type === "text" || part.type === "thinking" || part.type === "refusal")
        return oneLine(withoutSigns(part.text.slice(0, 1_000)), 120);
      if (part.type === "call") return `calls ${part.name}`;
      if (part.type === "result")
        return `${part.name ?? ""} ${typeof part.value === "string" ? oneLine(part.value, 120) : inline(part.value, 120)}`.trim();
      return part.type === "missing" ? part.text : part.type === "other" ? inline(part.value, 80) : `1 ${part.type}`;
    })
    .join(" · ");
}

/** @param {Message} one */
function wholeText(one) {
  return one.parts
    .map((part) => {
      if ("text" in part) return part.text;
      if (part.type === "result")
        return typeof part.value === "string" ? part.value : JSON.stringify(part.value, null, 2);
      return part.type === "call" ? `${part.name} ${JSON.stringify(part.args, null, 2)}` : `[${part.type}]`;
    })
    .join("\n\n");
}

/** @param {CallChanges["tools"]} tools */
function toolChanges({ added, dropped, edited: changed }) {
  const list = h("div", { class: "tool-changes" });
  const row = (
    /** @type {"added" | "dropped" | "edited"} */ kind,
    /** @type {string} */ name,
    /** @type {(Node | string)[]} */ words,
  ) =>
    list.append(
      h(
        "div",
        { class: "tool-change" },
        sign(kind),
        h("code", null, visibleText(name)),
        h("span", { class: "cut-soft" }, ...words),
      ),
    );
  for (const tool of added) row("added", tool.name, textNodes(oneLine(tool.description, 120)));
  for (const tool of dropped) row("dropped", tool.name, textNodes(oneLine(tool.description, 120)));
  for (const { name, changes } of changed)
    row(
      "edited",
      name,
      changes
        .slice(0, 12)
        .flatMap((change) => [
          h("code", { class: "quiet" }, `${visibleText(change.path)} `),
          ...(change.before === undefined ? [] : [h("del", null, inline(change.before, 80)), " "]),
          ...(change.after === undefined ? [] : [h("ins", null, inline(change.after, 80)), " "]),
        ]),
    );
  return list;
}

/** @param {{ key: string, before: any, after: any }[]} changes */
function parameterChanges(changes) {
  const list = h("div", { class: "tool-changes" });
  for (const { key, before, after } of changes)
    list.append(
      h(
        "div",
        { class: "tool-change" },
        sign(before === undefined ? "added" : after === undefined ? "dropped" : "edited"),
        h("code", null, visibleText(key)),
        h(
          "span",
          null,
          ...(before === undefined ? [] : [h("del", null, inline(before, 120))]),
          before !== undefined && after !== undefined ? " → " : "",
          ...(after === undefined ? [] : [h("ins", null, inline(after, 120))]),
        ),
      ),
    );
  return list;
}

customElements.define("event-changes", EventChanges);
