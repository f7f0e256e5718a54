// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  groupsOf,
  isLowScore,
  median,
  metadataKeys,
  scoreNames,
  scoresOf,
  tableItems,
  termsOf,
} from "../../agentdbg/ui_static/model/run-groups.js";

/** @param {number} n @param {Record<string, any>} given @returns {any} */
const run = (n, given = {}) => ({
  run_id: `r${n}`,
  run_name: "agent",
  status: "ok",
  started_at: `2026-01-01T00:00:${String(59 - n).padStart(2, "0")}.000Z`,
  duration_ms: n * 100,
  ...given,
});
const NEWEST = { by: "started", descending: true };
const keys = (/** @type {any[]} */ items) => items.map((item) => item.key);

test("a group is summed up by how its runs ended, those that still run left out", () => {
  const live = [run(4, { status: "running" }), run(5, { status: "running", state: "paused" })];
  const runs = [run(1), run(2, { status: "error" }), run(3, { state: "problems" }), ...live];
  const [group] = groupsOf(runs, "name");

  assert.deepEqual(group.counts, { ok: 1, error: 1, problem: 1, running: 1, hold: 1 });
  assert.equal(group.passed, 1 / 3);
});

test("runs that nobody named are one program, whenever they were started", () => {
  const named = (/** @type {number} */ n, /** @type {string} */ name) => run(n, { run_name: name });
  const runs = [named(1, "agent.py:main - 2026-01-02 09:15"), named(2, "agent.py:main - 2026-01-01 23:59")];
  const others = [named(3, "agent.py:main - 2026-01-01"), named(4, "agent.py:other - 2026-01-02 09:15")];

  assert.deepEqual(
    groupsOf([...runs, ...others], "name").map((group) => [group.label, group.runs.length]),
    [
      ["agent.py:main", 2],
      ["agent.py:main - 2026-01-01", 1],
      ["agent.py:other", 1],
    ],
  );
});

test("a run alone in its group needs no heading, and a long group shows its beginning", () => {
  const runs = [run(1, { run_name: "alone" }), ...Array.from({ length: 20 }, (_, n) => run(n + 2))];
  const items = tableItems(runs, "name", NEWEST, new Set(), new Set());

  assert.deepEqual(keys(items).slice(0, 3), ["r1", "group agent", "r2"]);
  assert.equal(items.at(-1)?.key, "more agent");
  assert.equal(tableItems(runs, "name", NEWEST, new Set(), new Set(["agent"])).length, 22);
  assert.equal(tableItems(runs, "name", NEWEST, new Set(["agent"]), new Set()).length, 2);
});

test("runs without the figure stand last, whichever way the others are sorted", () => {
  const runs = [run(1, { cost_usd: 2 }), run(2), run(3, { cost_usd: 1 })];

  assert.deepEqual(keys(tableItems(runs, "", { by: "cost", descending: true }, new Set(), new Set())), [
    "r1",
    "r3",
    "r2",
  ]);
  assert.deepEqual(keys(tableItems(runs, "", { by: "cost", descending: false }, new Set(), new Set())), [
    "r3",
    "r1",
    "r2",
  ]);
});

test("scores are read from where runs have them, and only numbers count", () => {
  const scored = run(1, { metadata: { scores: { correct: 0.5, passed: true, note: "fine", nested: { value: 1 } } } });

  assert.deepEqual(scoresOf(scored), { correct: 0.5, passed: 1, nested: 1 });
  assert.deepEqual(scoreNames([scored, run(2, { scores: { tone: 1, correct: 1 } })], 1), ["correct"]);
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([]), null);
});

test("groups stand in the order of the chosen head, by what their own line says", () => {
  const runs = [
    run(1, { run_name: "dear", cost_usd: 1 }),
    run(2, { run_name: "cheap", cost_usd: 0.6 }),
    run(3, { run_name: "cheap", cost_usd: 0.3 }),
    run(4, { run_name: "dear", cost_usd: 1 }),
    run(5, { run_name: "none" }),
    run(6, { run_name: "none" }),
  ];
  const order = (/** @type {boolean} */ descending) =>
    keys(tableItems(runs, "name", { by: "cost", descending }, new Set(["dear", "cheap", "none"]), new Set()));

  assert.deepEqual(order(true), ["group dear", "group cheap", "group none"]);
  assert.deepEqual(order(false), ["group cheap", "group dear", "group none"]);
});

test("columns come from plain values that runs have, those of most runs first", () => {
  const runs = [
    run(1, { metadata: { customer: "ada", version: "1", scores: { x: 1 }, nested: { a: 1 } } }),
    run(2, { metadata: { version: "2", tags: ["a", "b"], session_id: "s" } }),
  ];

  assert.deepEqual(metadataKeys(runs), ["version", "customer", "tags"]);
  const sort = { by: "metadata customer", descending: true };
  assert.deepEqual(keys(tableItems([run(3), ...runs], "", sort, new Set(), new Set()))[0], "r1");
});

test("the terms of a query are those that the server reads as terms", () => {
  assert.deepEqual(termsOf('refund a=1 b!="x y" c~d is:failed since:2d http://x "q=1"'), [
    "a=1",
    'b!="x y"',
    "c~d",
    "is:failed",
    "since:2d",
  ]);
});

test("of what there should be little of, none is no low score", () => {
  for (const name of ["toxicity", "error_rate", "Latency", "answer-cost"])
    assert.equal(isLowScore(name, 0), false, name);
  for (const name of ["correct", "harmlessness", "token_f1"]) assert.equal(isLowScore(name, 0.4), true, name);
  assert.equal(isLowScore("correct", 0.7), false);
});
