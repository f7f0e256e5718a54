// @ts-check
/**
 * The evidence of a loop as a table that says only what changed: one line per round, one column per step.
 *
 * @typedef {import("./types.js").StoredEvent} StoredEvent
 * @typedef {import("./rounds.js").Rounds} Rounds
 * @typedef {{ text: string, strong?: boolean }} CellPart
 * @typedef {{ n: number | null, parts: CellPart[], tone: "plain" | "same" | "error" | "none" }} Cell
 * @typedef {{ heading: string, role: "words" | "sent" | "got" | "state", cells: Cell[] }} Column
 */
import { plural, word } from "./format.js";
import { responseMessages, textOf } from "./messages.js";
import { oneLine, visibleText } from "./text.js";
import { inline, sameValue } from "./values.js";

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
    if (step.kind === "llm") {
      const spoken = stored.map((event) => (event ? textOf(mergedAnswer(event)) : ""));
      if (spoken.some(Boolean))
        columns.push({ heading: step.name, role: "words", cells: wordCells(spoken, numbers, room) });
      return;
    }
    if (step.kind !== "tool") {
      columns.push({
        heading: step.name,
        role: "state",
        cells: valueCells(
          stored.map((event) => event?.payload.state),
          numbers,
          room,
        ),
      });
      return;
    }
    const sent = stored.map((event) => event?.payload.args);
    const thoughts = sent.map(onlyText);
    // A tool that takes one text, like `think`, is read by its words.
    if (!step.anchor && thoughts.every((text, at) => text !== null || sent[at] === undefined)) {
      columns.push({
        heading: step.name,
        role: "words",
        cells: wordCells(
          thoughts.map((text) => text ?? ""),
          numbers,
          room,
        ),
      });
      return;
    }
    columns.push({ heading: `${step.name} sent`, role: "sent", cells: argumentCells(sent, numbers, room) });
    if (step.anchor) columns.push({ heading: "and got", role: "got", cells: outcomeCells(stored, room + 12) });
  });
  return columns;
}

/**
 * The table in one or two sentences: how many rounds, and from where on nothing changed any more.
 * @param {Column[]} columns
 * @param {number} rounds
 */
export function evidenceSentence(columns, rounds) {
  const got = columns.find((column) => column.role === "got");
  const same = got && got.cells.length > 1 && got.cells.slice(1).every((cell) => cell.tone === "same");
  const outcome = same ? (got.cells[0].tone === "error" ? ", the same error" : ", the same result") : "";
  const first = `${word(rounds)} ${rounds === 1 ? "round" : "rounds"}${outcome}.`;
  /** @type {string[]} */
  const steady = [];
  for (const [role, subject] of /** @type {const} */ ([
    ["sent", "the arguments"],
    ["words", "the model\u2019s words"],
  ])) {
    const from = steadyFrom(columns.find((column) => column.role === role));
    if (from === null) continue;
    const verb = steady.length === 0 ? " are the same" : "";
    steady.push(`${subject}${verb} ${from === 2 ? "every time" : `from round ${from} on`}`);
  }
  if (steady.length === 0) return first;
  const joined = steady.join(", ");
  return `${first} ${joined[0].toUpperCase()}${joined.slice(1)}.`;
}

/**
 * The first round from which on every cell only repeats, counted from 1; null when the last one is new.
 * @param {Column | undefined} column
 */
function steadyFrom(column) {
  if (!column || column.cells.length < 2) return null;
  let from = column.cells.length;
  while (from > 1 && column.cells[from - 1].tone === "same") from -= 1;
  return from === column.cells.length ? null : from + 1;
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
    if (same < index) return { n: numbers[index], parts: [{ text: `same words as round ${same + 1}` }], tone: "same" };
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
    if (same < index) return { n, parts: [{ text: `same as round ${same + 1}` }], tone: "same" };
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
      return { n, parts: [{ text: `${changed.length} of ${keys.length} arguments changed` }], tone: "plain" };
    }
    if (typeof args !== "object" || keys.length <= 2)
      return { n, parts: [{ text: inline(args, room).replace(/^\{(.*)\}$/, "$1") }], tone: "plain" };
    return { n, parts: [{ text: plural(keys.length, "argument") }], tone: "plain" };
  });
}

/** @param {string} key @param {any} before @param {any} after @param {boolean} more @returns {CellPart[]} */
function changedArgument(key, before, after, more) {
  const name = visibleText(key);
  const change =
    before === undefined
      ? inline(after, 30)
      : `${inline(before, 24)} \u2192 ${after === undefined ? "left out" : inline(after, 24)}`;
  return [{ text: `${more ? ", " : ""}${name} ${change}`, strong: true }];
}

/** @param {(StoredEvent | null)[]} stored @param {number} room @returns {Cell[]} */
function outcomeCells(stored, room) {
  const outcomes = stored.map((event) => {
    if (!event) return null;
    const error = event.payload.error;
    const message = typeof error === "string" ? error : (error?.message ?? error?.error_type);
    return message
      ? { failed: true, value: message }
      : { failed: event.payload.status === "error", value: event.payload.result ?? null };
  });
  return outcomes.map((outcome, index) => {
    if (outcome === null) return { n: null, parts: [], tone: "none" };
    const same = outcomes.findIndex(
      (other) => other !== null && other.failed === outcome.failed && sameValue(other.value, outcome.value),
    );
    if (same < index) {
      const what = outcome.failed ? "same error" : "same result";
      return { n: null, parts: [{ text: same === 0 ? what : `${what} as round ${same + 1}` }], tone: "same" };
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
    if (same < index) return { n, parts: [{ text: `same state as round ${same + 1}` }], tone: "same" };
    return { n, parts: [{ text: inline(value, room) }], tone: "plain" };
  });
}
