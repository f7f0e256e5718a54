// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  bothNames,
  Comparison,
  figures,
  formatShown,
  parseShown,
  rowAt,
  verdictSign,
  verdictWords,
} from "../../agentdbg/ui_static/model/compare.js";

/** Two runs as the server aligns them, from one letter for each row. @param {string} signs @param {Partial<any>} [rest] */
function compared(signs, rest = {}) {
  let [a, b] = [0, 0];
  const numbers = [...signs].map((sign) => [sign === "+" ? 0 : (a += 1), sign === "-" ? 0 : (b += 1)]);
  const changes = [...signs].flatMap((sign, row) => ("=~".includes(sign) ? [] : [row]));
  return new Comparison({
    signs,
    numbers_a: numbers.map(([n]) => n),
    numbers_b: numbers.map(([, n]) => n),
    effect_rows: [],
    diverging_rows: changes,
    first_divergence: changes[0] ?? null,
    first_difference: [...signs].findIndex((sign) => sign !== "="),
    ...rest,
  });
}

/** What is drawn, a fold as the rows it hides. @param {Comparison} comparison */
function drawn(comparison) {
  return [...comparison.lines].map((line) =>
    line >= 0 ? line : `${rowAt(line)}…${rowAt(line) + comparison.foldedFrom(rowAt(line)) - 1}`,
  );
}

test("a long stretch of the same is one line, with a few rows left before a change", () => {
  const comparison = compared(`${"=".repeat(20)}!==`);

  assert.deepEqual(drawn(comparison), ["0…16", 17, 18, 19, 20, 21, 22]);
});

test("between two changes what follows the one and leads to the other stays", () => {
  const comparison = compared(`!${"=".repeat(20)}!`);

  assert.deepEqual(drawn(comparison), [0, 1, 2, 3, "4…17", 18, 19, 20, 21]);
});

test("which rows are shown stands in the address, and a filter of events there shows them all", () => {
  for (const shown of /** @type {const} */ (["all", "changes", "effects"]))
    assert.equal(parseShown(formatShown(shown)), shown);
  assert.equal(formatShown("all"), "");
  assert.equal(parseShown("LLM_CALL,errors"), "all");
});

test("a short stretch is not worth a fold", () => {
  assert.deepEqual(drawn(compared("!========!")), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("other words fold with the same, and the fold says so", () => {
  const comparison = compared(`${"=~".repeat(10)}!`);

  assert.equal(comparison.foldedFrom(0), 17);
  assert.equal(comparison.isSame(0), false);
  assert.equal(compared(`${"=".repeat(20)}!`).isSame(0), true);
});

test("where words are all that differs, they are shown", () => {
  const comparison = compared(`${"=".repeat(20)}~${"=".repeat(20)}`);

  assert.deepEqual(drawn(comparison), ["0…16", 17, 18, 19, 20, 21, 22, 23, "24…40"]);
});

test("a fold that was opened stays open, and the others stay folded", () => {
  const comparison = compared(`${"=".repeat(12)}!${"=".repeat(20)}`);
  comparison.unfold(0);

  assert.deepEqual(drawn(comparison), [...Array(16).keys(), "16…32"]);
});

test("filtering leaves the changes, or the calls that change something", () => {
  const comparison = compared("==!=-+=~", { effect_rows: [1, 2] });
  comparison.show("changes");
  assert.deepEqual(drawn(comparison), [2, 4, 5]);
  comparison.show("effects");
  assert.deepEqual(drawn(comparison), [1, 2]);
});

test("a row is revealed whatever hides it: a fold or a filter", () => {
  const comparison = compared(`${"=".repeat(20)}!`);
  comparison.show("changes");

  const place = comparison.reveal(5);

  assert.equal(comparison.shown, "all");
  assert.equal(comparison.lines[place], 5);
});

test("stepping goes from stretch to stretch of changes, both ways", () => {
  const comparison = compared("=!!=-+==>");

  assert.deepEqual(
    [-1, 1, 4, 8].map((row) => comparison.nextChange(row, 1)),
    [1, 4, 8, -1],
  );
  assert.deepEqual(
    [9, 8, 4, 1].map((row) => comparison.nextChange(row, -1)),
    [8, 4, 1, -1],
  );
});

test("a call of which nobody knows what it changes is an effect that is told apart", () => {
  const comparison = compared("=!=", { effect_rows: [0, 1], unknown_rows: [1] });

  assert.deepEqual(
    [0, 1, 2].map((row) => [comparison.isEffect(row), comparison.isUnknown(row)]),
    [
      [true, false],
      [true, true],
      [false, false],
    ],
  );
  assert.deepEqual([verdictSign("unknown_effects"), verdictWords("unknown_effects")], ["?", "Effects unknown"]);
});

test("an effect that changed is a stop of its own, wherever it stands", () => {
  const comparison = compared("=!!!!=", { effect_rows: [3] });

  assert.deepEqual(
    [-1, 1, 3].map((row) => comparison.nextChange(row, 1)),
    [1, 3, -1],
  );
});

test("every row is drawn or folded exactly once", () => {
  const letters = "====~~!-+>";
  for (let seed = 1; seed < 60; seed += 1) {
    let state = seed;
    const next = () => (state = (state * 48271) % 2147483647);
    const signs = Array.from({ length: next() % 200 }, () => letters[next() % 10].repeat(1 + (next() % 12))).join("");
    const comparison = compared(signs);
    const covered = [...comparison.lines].flatMap((line) =>
      line >= 0 ? [line] : Array.from({ length: comparison.foldedFrom(rowAt(line)) }, (_, at) => rowAt(line) + at),
    );

    assert.deepEqual(
      covered,
      [...signs].map((_, row) => row),
      `seed ${seed}`,
    );
    for (const row of covered) assert.equal(comparison.lines[comparison.placeOf(row)] ?? row, row);
  }
});

test("an event is found in its row, on its own side", () => {
  const comparison = compared("=-+=");

  assert.deepEqual([comparison.rowOf("a", 3), comparison.rowOf("b", 3), comparison.rowOf("a", 9)], [3, 3, -1]);
});

test("figures nobody knows are left out, and times that were not recorded are not told", () => {
  const run = /** @type {any} */ ({ metadata: {} });
  const imported = /** @type {any} */ ({ metadata: { imported_from: { times: "not recorded" } } });
  const totals = {
    a: { duration_ms: 1200, llm_calls: 3, failed_calls: 0, cost_usd: null },
    b: { duration_ms: 0, llm_calls: 5, failed_calls: 0, cost_usd: null },
  };

  assert.deepEqual(
    figures({ a: run, b: run, totals }).map(({ name, difference }) => [name, difference]),
    [
      ["time", -1200],
      ["LLM calls", 2],
    ],
  );
  assert.deepEqual(figures({ a: run, b: imported, totals })[0], {
    key: "duration_ms",
    name: "time",
    a: 1200,
    b: null,
    difference: null,
  });
});

test("a row matches when either run's event does, and matches are stepped through in a ring", () => {
  const comparison = compared("==-+=");
  comparison.setFound({ a: [1, 3], b: [3] });

  assert.deepEqual(comparison.matches, [0, 2, 3]);
  assert.equal(comparison.isMatch(2), true);
  assert.equal(comparison.isMatch(1), false);
  assert.equal(comparison.nextMatch(-1, 1), 0);
  assert.equal(comparison.nextMatch(0, 1), 2);
  assert.equal(comparison.nextMatch(3, 1), 0);
  assert.equal(comparison.nextMatch(0, -1), 3);
});

test("what a run does not have matches nothing, and a search that is over leaves nothing marked", () => {
  const comparison = compared("=+");
  comparison.setFound({ a: [], b: [] });
  assert.deepEqual(comparison.matches, []);
  assert.equal(comparison.nextMatch(-1, 1), -1);

  comparison.setFound(null);
  assert.equal(comparison.matches, null);
});

test("two runs that nobody named are called after their program, once", () => {
  const named = (/** @type {string} */ run_name) => /** @type {any} */ ({ run_name });
  const [early, late] = [named("agent.py:main - 2026-01-01 09:15"), named("agent.py:main - 2026-01-01 09:16")];

  assert.equal(bothNames({ a: early, b: late }), "agent.py:main");
  assert.equal(bothNames({ a: early, b: named("other") }), "agent.py:main and other");
});
