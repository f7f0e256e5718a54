// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { TimeScale, quietStretches } from "../../agentdbg/ui_static/model/time-axis.js";

test("what ended last stands at the end, also where time is folded twice", () => {
  for (let length = 40; length < 400; length += 1) {
    const cuts = [0.02, 0.4].map((share) => ({ from: length * share, to: length * (share + 0.26) }));
    assert.equal(new TimeScale(0, length, cuts).share(length), 1, `${length} ms`);
  }
});

test("a long wait is folded down to a part of what happens beside it", () => {
  // Thirty calls in the first ten seconds, one after two and a half hours: nine minutes of waiting would hide them.
  const start = [0, ...Array.from({ length: 30 }, (_, n) => n * 300), 9_000_000];
  const skeleton = { count: 31, start, endOf: (/** @type {number} */ n) => start[n] + 200, isShown: () => true };
  const [cut] = quietStretches(/** @type {any} */ (skeleton), 0, 9_000_200);

  assert.ok(cut.from - 8_900 < 1_000);
  assert.ok(9_000_000 - cut.to < 1_000);
});
