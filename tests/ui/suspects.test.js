// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { isProblem, suspectsOf } from "../../agentdbg/ui_static/model/suspects.js";

test("suspects keep their order, and their evidence is what else they point at", () => {
  const summary = {
    verdict: { state: "problems" },
    suspects: [
      {
        rank: 1,
        event: 5,
        sentence: "gpt-4o #5 asked for search #6, which gave nothing.",
        evidence: { numbers: [5, 6] },
      },
      { rank: 2, event: 7, sentence: "…", evidence: { numbers: [7] }, hit_rate: 0.24 },
    ],
  };
  const [first, second] = suspectsOf(summary);

  assert.deepEqual([first.n, first.evidence.map((piece) => piece.n), first.hitRate], [5, [6], null]);
  assert.equal(first.parts[0].text, "gpt-4o #5 asked for search #6, which gave nothing.");
  assert.equal(second.hitRate, 0.24);
  assert.equal(isProblem(summary), true);
});

const HEALTHY = { verdict: { state: "ok" }, suspects: [{ event: 2, sentence: "weak" }] };

test("a summary without suspects, or with something else in their place, has none", () => {
  for (const summary of [null, {}, { suspects: null }, { suspects: [{}, { event: "x" }, 0] }, HEALTHY])
    assert.deepEqual(suspectsOf(summary), []);
  assert.equal(isProblem({ verdict: { state: "failed", tone: "error" } }), false);
});
