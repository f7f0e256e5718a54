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

  assert.equal(lines.scale.call, 125);
});

test("calls of much the same length fill their bars without any being torn", () => {
  const lines = new Timeline(skeletonOf({ kind: "llm", duration_ms: 100 }, { kind: "llm", duration_ms: 280 }));

  assert.equal(lines.scale.call, 280);
});

test("of two or three calls none is torn, because no length is the usual one", () => {
  const lines = new Timeline(skeletonOf({ kind: "llm", duration_ms: 50 }, { kind: "llm", duration_ms: 300 }));

  assert.equal(lines.scale.call, 300);
});

test("rows stand by time, tokens or cost, and what has no such figure stands last either way", () => {
  const lines = new Timeline(
    skeletonOf(
      { kind: "start" },
      { kind: "llm", duration_ms: 20, tokens: 5 },
      { kind: "tool", duration_ms: 90 },
      { kind: "llm", duration_ms: 40, tokens: 9 },
    ),
  );
  lines.sort = { by: "time", descending: true };
  assert.deepEqual([...lines.numbers], [3, 4, 2, 1]);
  lines.sort = { by: "tokens", descending: false };
  assert.deepEqual([...lines.numbers], [2, 4, 1, 3]);
  lines.learnCosts([{ n: 2, cost_usd: 0.5 }]);
  lines.sort = { by: "cost", descending: true };
  assert.equal(lines.numbers[0], 2);
  lines.sort = null;
  assert.deepEqual([...lines.numbers], [1, 2, 3, 4]);
});

test("sorting a tree sorts siblings and leaves everybody under their parent", () => {
  const lines = new Timeline(
    skeletonOf(
      { kind: "span", duration_ms: 50, start_ms: 0 },
      { kind: "llm", duration_ms: 10, parent_n: 1, start_ms: 1 },
      { kind: "llm", duration_ms: 30, parent_n: 1, start_ms: 20 },
      { kind: "span", duration_ms: 500, start_ms: 60 },
      { kind: "llm", duration_ms: 500, parent_n: 4, start_ms: 61 },
    ),
  );
  lines.view = "tree";
  lines.sort = { by: "time", descending: true };

  assert.deepEqual([...lines.numbers], [4, 5, 1, 3, 2]);
  assert.deepEqual(lines.slowest, [5, 3, 2]);
});

test("a long stretch in which nothing starts or ends is folded, and time still runs from left to right", () => {
  const lines = new Timeline(
    skeletonOf(
      { kind: "llm", start_ms: 0, duration_ms: 1000 },
      { kind: "llm", start_ms: 1000, duration_ms: 48_000 },
      { kind: "tool", start_ms: 49_000, duration_ms: 1000 },
    ),
  );
  lines.view = "waterfall";
  const scale = lines.timeScale({ from: 0, to: 50_000 });

  assert.equal(scale.cuts.length, 1);
  assert.ok(scale.tears(1000, 49_000) && !scale.tears(0, 1000));
  const shares = Array.from({ length: 51 }, (_, second) => scale.share(second * 1000));
  assert.ok(shares.every((share, at) => at === 0 || share > shares[at - 1]));
  assert.ok(Math.abs(shares[0]) < 1e-9 && Math.abs(shares[50] - 1) < 1e-9);
  lines.folds = false;
  assert.equal(lines.timeScale({ from: 0, to: 50_000 }).cuts.length, 0);
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
