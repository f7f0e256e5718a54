// @ts-check
/**
 * The evidence of a loop as a table that says only what changed: one line per round, one column per step.
 *
 * @typedef {import("./types.js").StoredEvent} StoredEvent
 * @typedef {import("./rounds.js").Rounds} Rounds
 * @typedef {{ text: string, strong?: boolean }} CellPart
 * @typedef {{ n: number | null, parts: CellPart[], tone: "plain" | "same" | "error" | "none" }} Cell
 * @typedef {{ heading: string, role: "words" | "sent" | "got" | "state", cells: Cell[], steady: number | null }} Column
 * `steady` is the first round that only repeats the one before it, as all after it do: 2 when all are the same, null
 * when the last one does not.
 */
import { plural, word } from "./format.js";
import { responseMessages, textOf } from "./messages.js";
import { keyText, oneLine, visibleText } from "./text.js";
import { inline, isCut, sameValue } from "./values.js";

/** How much of a text a cell shows; a table of many columns has less room for each. */
const ROOM = 60;
const LITTLE_ROOM = 36;

/**
 * @param {Rounds} found
 * @param {Map<number, StoredEvent>} events the rounds' events by number; one that is missing leaves its cell empty
 * @returns {Column[]}
 */
export function evidenceColumns(found, events) {
  const room = found.steps.length > 1 ? LITTLE_ROOM : ROOM;
  /** @type {Column[]} */
  const columns = [];
  found.steps.forEach((step, index) => {
    const numbers = found.rounds.map((round) => round.rows[index]?.n ?? null);
    const stored = numbers.map((n) => (n === null ? null : (events.get(n) ?? null)));
    /** @param {string} heading @param {Column["role"]} role @param {Cell[]} cells @param {any[]} values */
    const add = (heading, role, cells, values) =>
      columns.push({ heading, role, cells, steady: steadyFrom(cells, values) });
    if (step.kind === "llm") {
      const spoken = stored.map((event) => (event ? textOf(mergedAnswer(event)) : ""));
      if (spoken.some(Boolean)) add(step.name, "words", wordCells(spoken, numbers, room), spoken);
      return;
    }
    if (step.kind !== "tool") {
      const states = stored.map((event) => event?.payload.state);
      add(step.name, "state", valueCells(states, numbers, room), states);
      return;
    }
    const sent = stored.map((event) => event?.payload.args);
    const thoughts = sent.map(onlyText);
    // A tool that takes one text, like `think`, is read by its words.
    if (!step.anchor && thoughts.every((text, at) => text !== null || sent[at] === undefined)) {
      const texts = thoughts.map((text) => text ?? "");
      add(step.name, "words", wordCells(texts, numbers, room), texts);
      return;
    }
    add(`${step.name} sent`, "sent", argumentCells(sent, numbers, room), sent);
    if (!step.anchor) return;
    const outcomes = stored.map(outcomeOf);
    add("and got", "got", outcomeCells(outcomes, room + 12), outcomes);
  });
  return columns;
}

/**
 * The table in one or two sentences: how many rounds, and from where on nothing changed any more.
 * @param {Column[]} columns
 * @param {number} rounds
 */
export function evidenceSentence(columns, rounds) {
  const first = `${word(rounds)} ${rounds === 1 ? "round" : "rounds"}${outcomeOfAll(columns)}.`;
  /** @type {string[]} */
  const steady = [];
  for (const [role, subject] of /** @type {const} */ ([
    ["sent", "the arguments"],
    ["words", "the model\u2019s words"],
  ])) {
    const from = steadyOfAll(columns.filter((column) => column.role === role));
    if (from === null) continue;
    const verb = steady.length === 0 ? " are the same" : "";
    steady.push(`${subject}${verb} ${from === 2 ? "every time" : `from round ${from} on`}`);
  }
  if (steady.length === 0) return first;
  const joined = steady.join(", ");
  return `${first} ${joined[0].toUpperCase()}${joined.slice(1)}.`;
}

/** What every call got, if that was the same each time. @param {Column[]} columns */
function outcomeOfAll(columns) {
  const got = columns.filter((column) => column.role === "got");
  if (steadyOfAll(got) !== 2) return "";
  const failed = got.filter((column) => column.cells[0].tone === "error").length;
  const what = failed === got.length ? "error" : "result";
  return `, the same ${what}${got.length > 1 ? "s" : ""}`;
}

/** The first round from which on every column only repeats; null where one does not. @param {Column[]} columns */
function steadyOfAll(columns) {
  const from = columns.map((column) => column.steady);
  return from.length === 0 || from.includes(null) ? null : Math.max(.../** @type {number[]} */ (from));
}

/** @param {Cell[]} cells @param {any[]} values @returns {number | null} */
function steadyFrom(cells, values) {
  let from = cells.length;
  while (from > 1 && cells[from - 1].tone === "same" && sameValue(values[from - 1], values[from - 2])) from -= 1;
  return from === cells.length ? null : from + 1;
}

/** @param {StoredEvent} event */
function mergedAnswer(event) {
  return { role: "assistant", name: null, parts: responseMessages(event.payload.response).flatMap((one) => one.parts) };
}

/** @param {any} args @returns {string | null} */
function onlyText(args) {
  const values = typeof args === "object" && args !== null ? Object.values(args) : [];
  return values.length === 1 && typeof values[0] === "string" ? values[0] : null;
}

/** @param {string[]} texts @param {(number | null)[]} numbers @param {number} room @returns {Cell[]} */
function wordCells(texts, numbers, room) {
  return texts.map((text, index) => {
    if (text === "") return { n: numbers[index], parts: [], tone: "none" };
    const same = texts.indexOf(text);
    if (same < index) return sameCell(numbers[index], `same words as round ${same + 1}`, text);
    const before = texts.slice(0, index).findLast(Boolean) ?? null;
    return { n: numbers[index], parts: quoteWithChange(text, before, room), tone: "plain" };
  });
}

/**
 * The text in quotes, the first word that differs from the text before set strong.
 * @param {string} text
 * @param {string | null} before
 * @param {number} room
 * @returns {CellPart[]}
 */
function quoteWithChange(text, before, room) {
  const words = visibleText(oneLine(text, 400)).split(" ");
  const earlier = before === null ? [] : visibleText(oneLine(before, 400)).split(" ");
  let at = 0;
  while (at < words.length && at < earlier.length && words[at] === earlier[at]) at += 1;
  if (at === 0 || at >= words.length) return [{ text: `\u201c${oneLine(text, room)}\u201d` }];
  // Keep a few of the shared words, so that the changed one is read in its place.
  const from = Math.max(0, at - 3);
  const lead = `${from > 0 ? "\u2026" : ""}${words.slice(from, at).join(" ")} `;
  const rest = oneLine(words.slice(at + 1).join(" "), Math.max(12, room - lead.length - words[at].length));
  return [{ text: `\u201c${lead}` }, { text: words[at], strong: true }, { text: `${rest ? ` ${rest}` : ""}\u201d` }];
}

/** @param {any[]} list @param {(number | null)[]} numbers @param {number} room @returns {Cell[]} */
function argumentCells(list, numbers, room) {
  return list.map((args, index) => {
    const n = numbers[index];
    if (args === undefined || args === null) return { n, parts: [], tone: "none" };
    const same = list.findIndex((other) => sameValue(other, args));
    if (same < index) return sameCell(n, `same as round ${same + 1}`, args);
    const keys = Object.keys(args);
    const before = index > 0 ? list[index - 1] : null;
    if (before !== null && typeof before === "object" && typeof args === "object") {
      const changed = [...new Set([...keys, ...Object.keys(before)])].filter(
        (key) => !sameValue(args[key], before[key]),
      );
      if (changed.length <= 2)
        return {
          n,
          parts: changed.flatMap((key, at) => changedArgument(key, before[key], args[key], at > 0)),
          tone: "plain",
        };
      return { n, parts: [{ text: `${changed.length} arguments changed` }], tone: "plain" };
    }
    if (typeof args !== "object" || keys.length <= 2)
      return { n, parts: [{ text: inline(args, room).replace(/^\{(.*)\}$/, "$1") }], tone: "plain" };
    return { n, parts: [{ text: plural(keys.length, "argument") }], tone: "plain" };
  });
}

/** @param {string} key @param {any} before @param {any} after @param {boolean} more @returns {CellPart[]} */
function changedArgument(key, before, after, more) {
  const name = keyText(key);
  const change =
    before === undefined
      ? inline(after, 30)
      : `${inline(before, 24)} \u2192 ${after === undefined ? "left out" : inline(after, 24)}`;
  return [{ text: `${more ? ", " : ""}${name} ${change}`, strong: true }];
}

/** What a call got, and whether that is a failure. @param {StoredEvent | null} event */
function outcomeOf(event) {
  if (!event) return null;
  const error = event.payload.error;
  const message = typeof error === "string" ? error : (error?.message ?? error?.error_type);
  return message
    ? { failed: true, value: message }
    : { failed: event.payload.status === "error", value: event.payload.result ?? null };
}

/** @param {ReturnType<typeof outcomeOf>[]} outcomes @param {number} room @returns {Cell[]} */
function outcomeCells(outcomes, room) {
  return outcomes.map((outcome, index) => {
    if (outcome === null) return { n: null, parts: [], tone: "none" };
    const same = outcomes.findIndex((other) => other !== null && sameValue(other, outcome));
    if (same < index) {
      const what = outcome.failed ? "same error" : "same result";
      return sameCell(null, same === 0 ? what : `${what} as round ${same + 1}`, outcome.value);
    }
    const text =
      typeof outcome.value === "string" ? oneLine(visibleText(outcome.value), room) : inline(outcome.value, room);
    return {
      n: null,
      parts: [{ text: text === "" || text === "null" ? "empty" : text }],
      tone: outcome.failed ? "error" : "plain",
    };
  });
}

/** @param {any[]} list @param {(number | null)[]} numbers @param {number} room @returns {Cell[]} */
function valueCells(list, numbers, room) {
  return list.map((value, index) => {
    const n = numbers[index];
    if (value === undefined || value === null) return { n, parts: [], tone: "none" };
    const same = list.findIndex((other) => sameValue(other, value));
    if (same < index) return sameCell(n, `same state as round ${same + 1}`, value);
    return { n, parts: [{ text: inline(value, room) }], tone: "plain" };
  });
}

/** A cell that refers to an earlier one; what was cut may have differed. @returns {Cell}
 * @param {number | null} n @param {string} text @param {any} value */
function sameCell(n, text, value) {
  return isCut(value)
    ? { n, parts: [{ text: `${text}, as far as it was kept` }], tone: "plain" }
    : { n, parts: [{ text }], tone: "same" };
}
