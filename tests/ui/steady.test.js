// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { Steady, SteadyHeadlines } from "../../agentdbg/ui_static/model/steady.js";

const live = (/** @type {string | null} */ headline, more = {}) =>
  /** @type {any} */ ({ run_id: "r1", status: "running", headline, ...more });

test("what comes and goes within two seconds is never said, what stays is", () => {
  const steady = new Steady();
  const said = [
    ["model", 0],
    ["tool", 1200],
    ["model", 1600],
    ["tool", 2700],
    ["tool", 4600],
    ["tool", 4700],
  ].map(([value, now]) => steady.of(String(value), Number(now)));

  assert.deepEqual(said, ["model", "model", "model", "model", "model", "tool"]);
});

test("between two calls the last headline stays, and what waits to be shown is known", () => {
  const headlines = new SteadyHeadlines();
  headlines.settle([live("Waiting for gpt-4o")], 0);
  assert.equal(headlines.isWaiting, false);
  assert.equal(headlines.settle([live(null)], 5000)[0].headline, "Waiting for gpt-4o");
  headlines.settle([live("Waiting for search")], 6000);
  assert.equal(headlines.isWaiting, true);
  assert.equal(headlines.settle([live("Waiting for search")], 8000)[0].headline, "Waiting for search");
});

test("how a run ended, and that it waits for somebody, is said at once", () => {
  const headlines = new SteadyHeadlines();
  headlines.settle([live("Waiting for gpt-4o")], 0);
  const [paused] = headlines.settle([live("Paused before refund", { state: "paused" })], 10);
  const [ended] = headlines.settle([live("Seven albums.", { status: "ok" })], 20);

  assert.deepEqual([paused.headline, ended.headline], ["Paused before refund", "Seven albums."]);
});
