// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { TimeScale } from "../../agentdbg/ui_static/model/time-axis.js";

test("what ended last stands at the end, also where time is folded twice", () => {
  for (let length = 40; length < 400; length += 1) {
    const cuts = [0.02, 0.4].map((share) => ({ from: length * share, to: length * (share + 0.26) }));
    assert.equal(new TimeScale(0, length, cuts).share(length), 1, `${length} ms`);
  }
});
