// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { stripBars } from "../../agentdbg/ui_static/model/strip.js";
import { ticks, zoomTo } from "../../agentdbg/ui_static/model/time-axis.js";
import { Skeleton } from "../../agentdbg/ui_static/model/skeleton.js";
import { row, skeletonOf } from "./helpers.js";

test("model calls are as wide as they took and as high as their tokens, tools stand apart", () => {
  const skeleton = skeletonOf(
    { kind: "llm", start_ms: 0, duration_ms: 500, tokens: 100 },
    { kind: "llm", start_ms: 500, duration_ms: 500, tokens: 50 },
    { kind: "tool", start_ms: 100, duration_ms: 10, status: "error" },
  );
  const { models, tools } = stripBars(skeleton, 1000, 1000);

  assert.deepEqual(
    models.map(({ x, width, height }) => [x, width, height]),
    [
      [0, 500, 1],
      [500, 500, 0.5],
    ],
  );
  assert.equal(tools[0].tone, "error");
});

test("a run with more calls than pixels is summed up, and its one failure is still red", () => {
  const skeleton = new Skeleton();
  skeleton.applyRows(
    Array.from({ length: 50_000 }, (_, index) =>
      row({ n: index + 1, kind: "tool", start_ms: index, duration_ms: 1, status: index === 25_000 ? "error" : "ok" }),
    ),
  );
  const { tools } = stripBars(skeleton, 800, 50_000);

  assert.ok(tools.length < 10);
  assert.equal(tools.filter((bar) => bar.tone === "error").length, 1);
});

test("a call that goes on reaches to the end", () => {
  const skeleton = skeletonOf({ kind: "call_start", start_ms: 400 });
  skeleton.setRunning(true);
  const [bar] = stripBars(skeleton, 1000, 1000).models;

  assert.equal(bar.tone, "running");
  assert.equal(bar.x + bar.width, 1000);
});

test("ticks are round, not too close, and say their unit", () => {
  assert.deepEqual(
    ticks(0, 77_000, 1088, 96).map((tick) => tick.label),
    ["0 s", "10 s", "20 s", "30 s", "40 s", "50 s", "60 s", "70 s"],
  );
  assert.deepEqual(
    ticks(0, 203_000, 900, 100).map((tick) => tick.label),
    ["0 s", "0:30", "1:00", "1:30", "2:00", "2:30", "3:00"],
  );
  assert.deepEqual(
    ticks(0, 400, 500).map((tick) => tick.label),
    ["0 s", "100 ms", "200 ms", "300 ms", "400 ms"],
  );
  assert.ok(ticks(0, 1e10, 1000).length < 14);
});

test("a zoom stays inside the run and is never empty", () => {
  assert.deepEqual(zoomTo(800, 200, 1000), { from: 200, to: 800 });
  const narrow = zoomTo(500, 500, 1000);
  assert.ok(narrow.to - narrow.from >= 20);
  assert.deepEqual(zoomTo(-50, 5000, 1000), { from: 0, to: 1000 });
});
