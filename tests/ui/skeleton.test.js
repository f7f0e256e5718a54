// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { KIND, Skeleton } from "../../agentdbg/ui_static/model/skeleton.js";
import { packed, row, skeletonOf } from "./helpers.js";

const ROWS = [
  row({ n: 1, kind: "start" }),
  row({ n: 2, kind: "llm", duration_ms: 40, tokens: 900, status: "ok", parent_n: 1 }),
  row({ n: 3, kind: "tool", duration_ms: 5, status: "error", parent_n: 2 }),
];

test("columns as the server packs them are read to the last value", () => {
  const skeleton = new Skeleton();
  const { buffer, types } = packed(ROWS);

  assert.deepEqual(skeleton.applyColumns(buffer, types), { complete: true, count: 3 });
  assert.equal(skeleton.kind[2], KIND.LLM);
  assert.equal(skeleton.parent[3], 2);
  assert.equal(skeleton.durationOf(2), 40);
  assert.equal(skeleton.durationOf(1), null);
  assert.equal(skeleton.tokensOf(2), 900);
  assert.equal(skeleton.typeOf(3), "TOOL_CALL");
  assert.ok(skeleton.isFailure(3) && !skeleton.isFailure(2));
});

test("columns that arrive in parts join, whatever order the server lists its types in", () => {
  // While a run is indexed the page asks again from where it stood, and new types may have appeared in between.
  const skeleton = new Skeleton();
  const first = packed(ROWS.slice(0, 2), { complete: false });
  const second = packed(ROWS.slice(2), { from: 2, types: ["TOOL_CALL", "RUN_START", "LLM_CALL"] });

  assert.equal(skeleton.applyColumns(first.buffer, first.types).complete, false);
  skeleton.applyColumns(second.buffer, second.types);

  assert.deepEqual(
    [1, 2, 3].map((n) => skeleton.typeOf(n)),
    ["RUN_START", "LLM_CALL", "TOOL_CALL"],
  );
});

test("something else than columns is refused", () => {
  assert.throws(() => new Skeleton().applyColumns(new ArrayBuffer(40), []), /skeleton/);
});

test("rows say where they stand until the columns come, and never across a gap", () => {
  const skeleton = new Skeleton();
  skeleton.applyRows(ROWS);
  skeleton.applyRows([row({ n: 9 })]);

  assert.equal(skeleton.count, 3);
  assert.equal(skeleton.typeOf(3), "TOOL_CALL");
});

test("a run that grows far keeps what it had", () => {
  const skeleton = new Skeleton();
  for (let n = 1; n <= 5000; n += 1) skeleton.applyRows([row({ n, kind: n % 2 ? "llm" : "tool", tokens: n })]);

  assert.equal(skeleton.count, 5000);
  assert.equal(skeleton.tokensOf(7), 7);
  assert.equal(skeleton.tokensOf(4999), 4999);
});

test("the start of a call that ended is hidden and counted nowhere", () => {
  const skeleton = skeletonOf({ kind: "start" }, { kind: "call_start", ended: true }, { kind: "tool" });

  assert.equal(skeleton.shownTotal(), 2);
  assert.equal(skeleton.countsByType().get("CALL_START"), 0);
});

test("a call without an end is running while the run is, and a failure once the process is gone", () => {
  const skeleton = skeletonOf({ kind: "start" }, { kind: "call_start", ended: false });
  skeleton.setRunning(true);
  assert.equal(skeleton.isFailure(2), false);

  skeleton.setRunning(false);
  assert.equal(skeleton.isFailure(2), true);
  assert.equal(skeleton.failures(), 1);
});

test("what became known later about an earlier event is taken over", () => {
  const skeleton = skeletonOf({ kind: "call_start" }, { kind: "llm" }, { kind: "span" });
  skeleton.applyChanges([
    { n: 2, parent_n: 3, status: 1 },
    { n: 1, parent_n: null, status: 3 },
    { n: 99, parent_n: 1, status: 1 },
  ]);

  assert.equal(skeleton.parent[2], 3);
  assert.equal(skeleton.isShown(1), false);
});

test("the run's end does not stretch the run by its own duration", () => {
  const skeleton = skeletonOf(
    { kind: "start", start_ms: 0 },
    { kind: "llm", start_ms: 100, duration_ms: 50 },
    { kind: "end", start_ms: 160, duration_ms: 160 },
  );

  assert.equal(skeleton.extent(), 160);
});

test("only loops of warning and up count as loops", () => {
  const skeleton = skeletonOf(
    { kind: "loop", severity: "info" },
    { kind: "loop", severity: "warning" },
    { kind: "loop", severity: "critical" },
  );

  assert.deepEqual(
    [1, 2, 3].map((n) => skeleton.isLoop(n)),
    [false, true, true],
  );
});
