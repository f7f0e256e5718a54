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
