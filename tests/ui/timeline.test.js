// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { parseFilter } from "../../agentdbg/ui_static/model/filters.js";
import { Timeline } from "../../agentdbg/ui_static/model/timeline.js";
import { packed, row, skeletonOf } from "./helpers.js";

function timeline() {
  return new Timeline(
    skeletonOf(
      { kind: "start", start_ms: 0 },
      { kind: "llm", start_ms: 10, parent_n: 4, duration_ms: 40 },
      { kind: "tool", start_ms: 20, parent_n: 2, status: "error" },
      { kind: "span", start_ms: 5, parent_n: 1, duration_ms: 80 },
    ),
  );
}

test("view, filter and folds decide the rows, and a change of any is seen at once", () => {
  const lines = timeline();
  assert.deepEqual([...lines.numbers], [1, 2, 3, 4]);

  lines.view = "tree";
  assert.deepEqual([...lines.numbers], [1, 4, 2, 3]);
  assert.equal(lines.depthAt(lines.placeOf(3)), 2);

  lines.setFolded(4, true);
  assert.deepEqual([...lines.numbers], [1, 4]);
  assert.equal(lines.placeOf(3), -1);

  assert.equal(lines.reveal(3), true);
  assert.ok(lines.placeOf(3) > 0);

  lines.filter = parseFilter("TOOL_CALL");
  assert.deepEqual([...lines.numbers], [4, 2, 3]);
  assert.ok(lines.isContext(4) && !lines.isContext(3));
});

test("rows that arrive are shown without being asked for", () => {
  const lines = timeline();
  assert.equal(lines.length, 4);
  lines.skeleton.applyRows([row({ n: 5, kind: "llm" })]);

  assert.deepEqual([...lines.numbers], [1, 2, 3, 4, 5]);
});

test("the same state gives the very same order, so that nothing is laid out twice", () => {
  const lines = timeline();

  assert.equal(lines.numbers, lines.numbers);
});

test("matches are counted among what is shown and what is hidden", () => {
  const lines = timeline();
  lines.found = { q: "833", numbers: [2, 3], total: 2, complete: true };
  lines.filter = parseFilter("TOOL_CALL");

  assert.equal(lines.matches?.shown, 1);
  assert.equal(lines.matches?.hidden, 1);
  assert.ok(lines.matches?.has(3));
});

test("one outlier does not flatten the bars of all others", () => {
  const lines = new Timeline(
    skeletonOf(
      ...Array.from({ length: 200 }, (_, index) => ({ kind: "llm", duration_ms: index === 0 ? 1_000_000 : 100 })),
    ),
  );

  assert.equal(lines.scale.call, 100);
});

test("the start of a call that has ended is no match of its own: its end says the same", () => {
  const lines = timeline();
  const { buffer, types } = packed([
    row({ n: 1, kind: "start" }),
    row({ n: 2, kind: "call_start", ended: true }),
    row({ n: 3, kind: "tool" }),
  ]);
  lines.skeleton.applyColumns(buffer, types);
  lines.found = { q: "pay", numbers: [2, 3], total: 2, complete: true };

  assert.equal(lines.matches?.shown, 1);
  assert.equal(lines.matches?.hidden, 0);
});

test("matches that are folded away come out when everything is unfolded", () => {
  const lines = timeline();
  lines.view = "tree";
  lines.setFolded(4, true);
  lines.found = { q: "833", numbers: [2, 3], total: 2, complete: true };
  assert.equal(lines.matches?.hidden, 2);

  lines.unfoldAll();

  assert.equal(lines.matches?.hidden, 0);
});
