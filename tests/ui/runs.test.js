// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { mergeRuns, nameOf, railItems, runFigures, runLabel, standing } from "../../agentdbg/ui_static/model/runs.js";

const NOW = new Date(2026, 10, 15, 14, 0).getTime();

/** @param {string} id @param {number} minutesAgo @param {Record<string, any>} [more] @returns {any} */
function run(id, minutesAgo, more = {}) {
  return {
    run_id: id,
    run_name: id,
    started_at: new Date(NOW - minutesAgo * 60_000).toISOString(),
    status: "ok",
    duration_ms: 4200,
    counts: { llm_calls: 3, tool_calls: 3, errors: 0, loop_warnings: 0 },
    ...more,
  };
}

test("runs stand under their day, newest first", () => {
  const items = railItems([run("a", 1), run("b", 60), run("c", 60 * 24)], NOW);

  assert.deepEqual(
    items.map((item) => (item.kind === "run" ? item.run.run_id : item.kind === "day" ? item.label : "")),
    ["Today", "a", "b", "Yesterday", "c"],
  );
});

test("runs of one session stand together at the place of its newest, a single one stays alone", () => {
  const items = railItems(
    [
      run("a", 1),
      run("b", 2, { metadata: { session_id: "s" } }),
      run("c", 3, { metadata: { session_id: "lonely" } }),
      run("d", 4, { metadata: { session_id: "s" } }),
    ],
    NOW,
  );

  assert.deepEqual(
    items.map((item) => (item.kind === "run" ? item.run.run_id : item.kind)),
    ["day", "a", "session", "b", "d", "c"],
  );
  assert.deepEqual(
    items.flatMap((item) => (item.kind === "run" ? [item.session] : [])),
    ["", "member", "last", ""],
  );
});

test("changes keep the order, a new run takes its place, a removed one goes", () => {
  const merged = mergeRuns([run("a", 5), run("b", 9)], [run("new", 7), { ...run("b", 9), status: "error" }], ["a"]);

  assert.deepEqual(
    merged.map((one) => one.run_id),
    ["new", "b"],
  );
  assert.equal(merged[1].status, "error");
});

test("a change without a headline does not take away the one there is", () => {
  const [merged] = mergeRuns([run("a", 5, { headline: "KeyError in parse" })], [run("a", 5, { status: "error" })]);

  assert.equal(merged.headline, "KeyError in parse");
});

test("a run says how it stands in a shape and a word, not in a colour alone", () => {
  assert.deepEqual(
    standing(run("a", 1, { status: "error", status_reason: "the process ended without closing the run" })).word,
    "Died",
  );
  assert.equal(standing(run("a", 1, { status: "error" })).glyph, "failed");
  assert.equal(standing(run("a", 1, { status: "running" })).word, "Running");
  assert.equal(standing(run("a", 1, { status: "running", state: "paused" })).glyph, "paused");
});

test("a run's figures and sentence", () => {
  assert.equal(runFigures(run("a", 1, { total_tokens: 9100 }), NOW), "4.2 s · 6 calls · 9.1k tok");
  assert.equal(runFigures(run("a", 1, { cost_usd: 0.49 }), NOW), "4.2 s · 6 calls · $0.49");
  assert.equal(
    runFigures(run("a", 1, { cost_usd: 0.49, loop_cost_usd: 0.3 }), NOW),
    "4.2 s · 6 calls · $0.49, $0.30 in loops",
  );
  assert.equal(runFigures(run("a", 2, { status: "running", duration_ms: null }), NOW), "2 min · 6 calls");
  assert.equal(
    runLabel(run("a", 4, { headline: "all good" }), NOW),
    "a, finished: all good, 4.2 s · 6 calls, 4 min ago",
  );
  assert.equal(nameOf(run("a", 1, { run_name: "  " })), "unnamed run");
});

test("a run whose times nobody recorded is not said to have taken none", () => {
  const imported = run("a", 1, {
    duration_ms: 0,
    metadata: { imported_from: { format: "chat", times: "not recorded" } },
  });

  assert.equal(runFigures(imported, NOW), "6 calls");
});

test("forks of one change are one line, and numbered under it while one of them is selected", () => {
  const fork = (/** @type {string} */ id, /** @type {number} */ minute) =>
    run(id, minute, { replay: { parent_run_id: "root", mode: "fork", at: { n: 5 }, edits: [] } });
  const runs = [fork("third", 1), fork("second", 2), fork("first", 3), run("root", 9)];
  const shown = (/** @type {string | null} */ selected) =>
    railItems(runs, NOW, selected)
      .slice(2)
      .map((item) => (item.kind === "run" ? `${item.run.run_id} ${item.trial} ${item.depth}` : item.kind));

  assert.deepEqual(shown(null), ["trials"]);
  assert.deepEqual(shown("second"), ["trials", "first 1 2", "second 2 2", "third 3 2"]);
});

test("a run that waits at a breakpoint has no clock, and calls that are not stored yet are not counted as none", () => {
  const paused = run("a", 2, { status: "running", state: "paused", duration_ms: null });
  const fresh = run("b", 2, { status: "running", duration_ms: null, counts: { llm_calls: 0, tool_calls: 0 } });

  assert.equal(runFigures(paused, null), "6 calls");
  assert.equal(runFigures(fresh, NOW), "2 min");
  assert.match(runLabel(paused, NOW), /paused.*, 6 calls, /);
});
