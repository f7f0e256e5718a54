// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { evidenceColumns, evidenceSentence } from "../../../agentdbg/ui_static/model/details/evidence.js";
import { costOfRounds, findRounds } from "../../../agentdbg/ui_static/model/details/rounds.js";

/** @typedef {import("../../../agentdbg/ui_static/model/details/types.js").Row} Row */

const TYPES = /** @type {Record<string, string>} */ ({
  llm: "LLM_CALL",
  tool: "TOOL_CALL",
  loop: "LOOP_WARNING",
  state: "STATE_UPDATE",
});

/**
 * @param {number} n
 * @param {string} kind
 * @param {string} name
 * @param {Partial<Row> & { error?: string }} [more]
 * @returns {Row}
 */
function row(n, kind, name, more = {}) {
  const { error = null, ...rest } = more;
  const preview = { input: [], outcome: [], error, same_as: null, rest_as: null };
  return {
    n,
    event_id: `id-${n}`,
    event_type: TYPES[kind],
    name,
    parent_n: 1,
    start_ms: n * 100,
    duration_ms: 50,
    status: error ? "error" : "ok",
    kind,
    preview,
    ...rest,
  };
}

/** A booking that fails three times before the warning at 20 and twice after it, with thinking in between. */
const RETRIES = [
  row(10, "tool", "book", { error: "does not add up" }),
  ...[12, 16].flatMap((n) => [
    row(n - 1, "llm", "gpt", { tokens: 1000 }),
    row(n, "tool", "think"),
    row(n + 1, "llm", "gpt", { tokens: 2000 }),
    row(n + 2, "tool", "book", { error: "does not add up" }),
  ]),
  row(20, "loop", "TOOL_CALL:book"),
  ...[22, 26].flatMap((n) => [
    row(n - 1, "llm", "gpt", { tokens: 1000 }),
    row(n, "tool", "think"),
    row(n + 1, "llm", "gpt", { tokens: 2000 }),
    row(n + 2, "tool", "book", { error: "does not add up" }),
  ]),
  row(30, "tool", "book"),
];
const WARNING = {
  n: 20,
  pattern: "TOOL_CALL:book",
  kind: "error_retry",
  evidence: new Set(["id-10", "id-14", "id-18"]),
};

test("a retry loop has one round per failed call, those after the warning too", () => {
  const found = findRounds(RETRIES, WARNING);

  assert.deepEqual(
    found.rounds.map((round) => round.to),
    [10, 14, 18, 24, 28],
  );
  assert.deepEqual(
    found.steps.map((step) => step.name),
    ["think", "book"],
  );
  assert.deepEqual(
    found.rounds.map((round) => round.tokens),
    [null, 3000, 3000, 3000, 3000],
  );
});

test("the cost of a loop is what came after its first round", () => {
  const cost = costOfRounds(findRounds(RETRIES, WARNING), RETRIES);

  assert.deepEqual(cost, { tokens: 12_000, cost: null, ms: 1800 });
});

test("a call that succeeds ends the loop", () => {
  const rows = RETRIES.map((one) => (one.n === 24 ? row(24, "tool", "book") : one));

  assert.deepEqual(
    findRounds(rows, WARNING).rounds.map((round) => round.to),
    [10, 14, 18],
  );
});

test("a cycle is cut into its blocks, from whatever step it was first seen at", () => {
  const rows = [
    row(5, "tool", "search"),
    row(6, "llm", "gpt"),
    row(7, "tool", "search"),
    row(8, "llm", "gpt"),
    row(9, "tool", "search"),
    row(10, "llm", "gpt"),
    row(11, "tool", "other"),
  ];
  const found = findRounds(rows, {
    n: 11,
    pattern: "LLM_CALL:gpt -> TOOL_CALL:search",
    kind: "cycle",
    evidence: new Set(["id-5"]),
  });

  assert.deepEqual(
    found.rounds.map((round) => [round.from, round.to]),
    [
      [5, 6],
      [7, 8],
      [9, 10],
    ],
  );
  assert.deepEqual(
    found.steps.map((step) => step.kind),
    ["tool", "llm"],
  );
});

test("a pattern that the rows do not bear out gives no rounds", () => {
  // Better no table than one that shows something else.
  assert.deepEqual(
    findRounds([row(1, "tool", "x")], { n: 2, pattern: "TOOL_CALL:y", kind: "cycle", evidence: new Set() }).rounds,
    [],
  );
  assert.deepEqual(findRounds([], WARNING).rounds, []);
});

/** @param {number} n @param {Record<string, any>} payload */
const stored = (n, payload) =>
  /** @type {[number, any]} */ ([n, { event_id: `id-${n}`, event_type: "TOOL_CALL", ts: "", name: "", payload }]);
const FAILED = { error: { error_type: "ToolError", message: "does not add up" }, status: "error" };

test("the table says only what changed", () => {
  const booking = (/** @type {number} */ bags) => ({ ...FAILED, args: { user: "a", cabin: "b", bags } });
  const thought = (/** @type {string} */ text) => ({ args: { thought: text }, result: "" });
  const events = new Map([
    stored(10, booking(6)),
    stored(12, thought("I need to adjust the payment")),
    stored(14, booking(2)),
    stored(16, thought("I need to ensure the payment")),
    stored(18, booking(2)),
    stored(22, thought("I need to ensure the payment")),
    stored(24, booking(2)),
    stored(26, thought("I need to ensure the payment")),
    stored(28, booking(2)),
  ]);
  const columns = evidenceColumns(findRounds(RETRIES, WARNING), events);
  const text = columns.map((column) => column.cells.map((cell) => cell.parts.map((part) => part.text).join("")));

  assert.deepEqual(
    columns.map((column) => column.heading),
    ["think", "book sent", "and got"],
  );
  assert.deepEqual(text[0], [
    "",
    "\u201cI need to adjust the payment\u201d",
    "\u201cI need to ensure the payment\u201d",
    "same words as round 3",
    "same words as round 3",
  ]);
  assert.deepEqual(
    columns[0].cells[2].parts.filter((part) => part.strong),
    [{ text: "ensure", strong: true }],
  );
  assert.deepEqual(text[1], [
    "3 arguments",
    "bags 6 \u2192 2",
    "same as round 2",
    "same as round 2",
    "same as round 2",
  ]);
  assert.deepEqual(text[2], ["does not add up", "same error", "same error", "same error", "same error"]);
  assert.equal(
    evidenceSentence(columns, 5),
    "Five rounds, the same error. The arguments are the same from round 3 on, the model\u2019s words from round 4 on.",
  );
});

test("events that cannot be had leave their cells empty", () => {
  const columns = evidenceColumns(findRounds(RETRIES, WARNING), new Map());

  assert.ok(columns.every((column) => column.cells.every((cell) => cell.tone === "none")));
});

/** Three or more rounds of one tool, as the page finds them. @param {any[]} args @param {any[]} results */
function sentenceOf(args, results) {
  const rows = args.map((_, index) => row(index + 1, "tool", "page_down"));
  const events = new Map(args.map((one, index) => stored(index + 1, { args: one, result: results[index] })));
  const found = findRounds(rows, { n: 99, pattern: "TOOL_CALL:page_down", kind: "cycle", evidence: new Set() });
  const columns = evidenceColumns(found, events);
  return { columns, said: evidenceSentence(columns, args.length) };
}

test("the same as long ago is not the same from there on", () => {
  const { said } = sentenceOf([{ "": "" }, { "": {} }, { "": {} }, { "": "" }], [1, 1, 1, 1]);

  assert.equal(said, "Four rounds, the same result.");
});

test("what is said of several tools holds for each of them", () => {
  const rows = [1, 2, 3, 4, 5, 6].map((n) => row(n, "tool", n % 2 ? "a" : "b"));
  const events = new Map(rows.map(({ n }) => stored(n, { args: { q: n % 2 ? 1 : n }, result: n % 2 ? 1 : n })));
  const warning = { n: 9, pattern: "TOOL_CALL:a -> TOOL_CALL:b", kind: "cycle", evidence: new Set() };

  assert.equal(evidenceSentence(evidenceColumns(findRounds(rows, warning), events), 3), "Three rounds.");
});

test("of what was cut nobody says that it is the same", () => {
  const { columns, said } = sentenceOf(Array(3).fill({ q: "x__TRUNCATED__" }), Array(3).fill("y__TRUNCATED__"));

  assert.equal(said, "Three rounds.");
  assert.equal(columns[0].cells[2].parts[0].text, "same as round 1, as far as it was kept");
});

test("an argument without a name is shown as one", () => {
  const { columns } = sentenceOf([{ "": "" }, { "": {} }, { "": 1, " ": 2 }], [1, 2, 3]);
  const text = columns[0].cells.map((cell) => cell.parts.map((part) => part.text).join(""));

  assert.deepEqual(text, ['"": ""', '"" "" \u2192 {}', '"" {} \u2192 1, " " 2']);
});

test("every sentence over a table is true of the values in it", () => {
  let seed = 7;
  const chance = (/** @type {number} */ most) => (seed = (seed * 48271) % 2147483647) % most;
  const values = ["", 1, {}, { a: 1 }, { b: 2, a: 1 }, { a: 1, b: 2 }, null, "x__TRUNCATED__"];
  const json = (/** @type {any} */ value) => JSON.stringify(value, Object.keys(value ?? {}).sort());
  for (let trial = 0; trial < 500; trial += 1) {
    const few = [values[chance(values.length)], values[chance(values.length)]];
    const args = Array.from({ length: 2 + chance(8) }, () => ({ "": few[chance(2)] }));
    const results = args.map(() => few[chance(2)]);
    const { said } = sentenceOf(args, results);
    const from = /arguments are the same (?:(every time)|from round (\d+) on)/.exec(said);
    const equal = (/** @type {any[]} */ list) => new Set(list.map((one) => json(one))).size === 1;
    if (from) assert.ok(equal(args.slice(from[1] ? 0 : Number(from[2]) - 1).map((one) => one[""])), said);
    if (said.includes("the same result")) assert.ok(equal(results), said);
    if (from || said.includes("result")) assert.ok(!(from ? JSON.stringify(args.at(-1)) : "").includes("TRUNCATED"));
  }
});
