// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  counted,
  formatAge,
  formatAt,
  formatBytes,
  formatCost,
  formatCount,
  formatDay,
  formatDuration,
  formatShares,
  formatStarted,
  formatTokens,
} from "../../agentdbg/ui_static/model/format.js";

/** @param {(value: any) => string} format @param {[any, string][]} cases */
function says(format, cases) {
  for (const [value, expected] of cases) assert.equal(format(value), expected);
}

test("a duration is said the way a person says it", () => {
  says(formatDuration, [
    [null, "–"],
    [0, "<1 ms"],
    [950, "950 ms"],
    [1000, "1.0 s"],
    [4230, "4.2 s"],
    [59_940, "59.9 s"],
    [59_960, "1 min"],
    [77_000, "1 min 17 s"],
    [2_466_000, "41 min 6 s"],
    [7_500_000, "2 h 5 min"],
    [90_000_000, "1 d 1 h"],
  ]);
});

test("tokens are short and never claim a digit too many", () => {
  says(formatTokens, [
    [null, "–"],
    [0, "0"],
    [950, "950"],
    [7600, "7.6k"],
    [9999, "10k"],
    [187_600, "188k"],
    [999_499, "999k"],
    [999_700, "1.0M"],
    [2_100_000, "2.1M"],
    [31_000_000, "31M"],
    [999_600_000, "1.0B"],
    [1_111_111_111, "1.1B"],
    [4_200_000_000_000, "4,200B"],
  ]);
});

test("counts, costs, sizes and moments", () => {
  says(formatCount, [
    [7, "7"],
    [1204, "1,204"],
    [1_000_000, "1,000,000"],
  ]);
  says(formatCost, [
    [null, "–"],
    [0, "$0"],
    [0.49, "$0.49"],
    [0.0004, "$0.0004"],
    [0.000012, "$0.00001"],
    [12.3, "$12.30"],
    [98_765.432, "$98,765.43"],
  ]);
  says(formatBytes, [
    [812, "812 B"],
    [1900, "1.9 kB"],
    [3_400_000, "3.4 MB"],
  ]);
  says(formatAt, [
    [0, "0:00.0"],
    [54_600, "0:54.6"],
    [65_650, "1:05.6"],
    [3_727_000, "1:02:07"],
  ]);
  assert.equal(counted(1, "error"), "1 error");
  assert.equal(counted(2, "match", "matches"), "2 matches");
});

test("how long ago depends on the calendar, not on 24 hours", () => {
  const now = new Date(2026, 10, 15, 1, 0).getTime();
  const ago = (/** @type {number} */ minutes) => now - minutes * 60_000;

  assert.equal(formatAge(ago(0), now), "now");
  assert.equal(formatAge(ago(38), now), "38 min");
  assert.equal(formatAge(ago(120), now), "14 Nov", "two hours ago was yesterday");
  assert.equal(formatDay(ago(120), now), "Yesterday");
  assert.equal(formatDay(ago(10), now), "Today");
  assert.equal(formatStarted(ago(10), now), "today 00:50");
  assert.equal(formatAge(new Date(2024, 0, 2).getTime(), now), "2 Jan 2024");
});

test("shares add up to the run, or to the calls that claim to be longer than it", () => {
  const figures = { duration_ms: 200, model_ms: 100, tool_ms: 60, waiting_ms: 40 };

  assert.equal(formatShares(figures), "model 50 % · tools 30 % · waiting 20 %");
  assert.equal(
    formatShares({ ...figures, duration_ms: 57, model_ms: 1_235_000, waiting_ms: 0 }),
    "model 100 %", // what took nothing is no news
  );
  assert.equal(formatShares({ ...figures, model_ms: 0, tool_ms: null }), null);
  assert.equal(formatShares({ ...figures, duration_ms: null }), null);
  assert.equal(formatShares({ ...figures, model_ms: 0, llm_calls: 4 }), null); // a file without the model's times
});
