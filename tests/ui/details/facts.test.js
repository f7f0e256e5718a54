// @ts-check
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { costOf, factsOf, tokensOf } from "../../../agentdbg/ui_static/model/details/facts.js";
import { dollars, tokensInColumn, word } from "../../../agentdbg/ui_static/model/details/format.js";

const cases = JSON.parse(readFileSync(new URL("../../events/cases.json", import.meta.url), "utf8"));

/** @param {Partial<import("../../../agentdbg/ui_static/model/details/types.js").StoredEvent>} more */
const event = (more) => ({
  event_id: "e",
  event_type: "LLM_CALL",
  ts: "2026-11-15T14:03:06.806Z",
  duration_ms: 1900,
  name: "gpt-4o",
  payload: {},
  ...more,
});

/** @param {ReturnType<typeof factsOf>} facts */
const asPairs = (facts) => Object.fromEntries(facts.map((fact) => [fact.label, fact.value]));

test("a model call tells its model, tokens and cost exactly, and leaves out what nobody knows", () => {
  const usage = {
    prompt_tokens: 7719,
    completion_tokens: 74,
    prompt_tokens_details: { cached_tokens: 1024 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
  const facts = asPairs(
    factsOf(
      event({
        payload: {
          model: "gpt-4o",
          provider: "unknown",
          temperature: 0,
          stop_reason: "tool_calls",
          usage,
          cost_usd: 0.0204,
          status: "ok",
        },
      }),
      null,
    ),
  );

  assert.equal(facts["tokens in"], "7,719");
  assert.equal(facts.cached, "1,024");
  assert.equal(facts["tokens out"], "74");
  assert.equal(facts.temperature, "0");
  assert.equal(facts.cost, "$0.020");
  assert.equal(facts.time, "1.9 s");
  assert.ok(!("provider" in facts) && !("reasoning" in facts) && !("status" in facts));
});

test("an event with a duration began that much before it was written", () => {
  const started = factsOf(event({}), null).find((fact) => fact.label === "started");

  assert.equal(started?.title, "2026-11-15T14:03:04.906Z");
});

test("a failed call, a guardrail and a loop say so in their tone", () => {
  const failed = factsOf(event({ event_type: "TOOL_CALL", payload: { status: "error" } }), null);
  const guard = asPairs(
    factsOf(
      event({
        event_type: "ERROR",
        payload: { guardrail: "max_tokens", threshold: 50000, actual: 50212, fatal: true },
      }),
      null,
    ),
  );
  const loop = factsOf(event({ event_type: "LOOP_WARNING", payload: { kind: "stall", severity: "warning" } }), null);

  assert.deepEqual(failed[0], { label: "status", value: "failed", tone: "error" });
  assert.deepEqual([guard.guardrail, guard.limit, guard.reached], ["max_tokens", "50,000", "50,212"]);
  assert.equal(loop.find((fact) => fact.label === "severity")?.tone, "warn");
});

test("tokens and costs are read by the law that Python reads them by", () => {
  for (const { usage, tokens } of cases.usages) {
    const read = tokensOf(usage);
    assert.deepEqual([read.in, read.out, read.total], tokens, JSON.stringify(usage));
  }
  for (const { cost_usd, cost } of cases.costs) assert.equal(costOf(cost_usd), cost, JSON.stringify(cost_usd));
});

test("every provider's token names are known, and a missing usage is no crash", () => {
  assert.deepEqual(
    tokensOf({ input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 3, cache_creation_input_tokens: 1 }),
    { in: 9, out: 2, total: 11, cached: 3, written: 1, reasoning: null },
  );
  assert.equal(tokensOf({ prompt_token_count: 5, thoughts_token_count: 9 }).reasoning, 9);
  assert.equal(tokensOf(null).in, null);
  assert.equal(tokensOf("many").in, null);
});

test("a broken clock leaves the time out", () => {
  assert.ok(!factsOf(event({ ts: "yesterday" }), null).some((fact) => fact.label === "started"));
});

test("figures keep the digits that a comparison needs", () => {
  assert.deepEqual([950, 7600, 15_840, 188_400].map(tokensInColumn), ["950", "7.6k", "15.8k", "188k"]);
  assert.deepEqual([0, 0.49, 0.0204, 0.000051].map(dollars), ["$0", "$0.49", "$0.020", "$0.000051"]);
  assert.deepEqual([5, 40].map(word), ["Five", "40"]);
});
