// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  childrenOf,
  previousModelCall,
  previousState,
  rowsAroundLoop,
  rowsBetween,
  sameErrors,
} from "../../../agentdbg/ui_static/model/details/lookups.js";
import { promptMessages } from "../../../agentdbg/ui_static/model/details/messages.js";

/** @typedef {import("../../../agentdbg/ui_static/model/details/types.js").Row} Row */
/** @typedef {import("../../../agentdbg/ui_static/model/details/types.js").DetailsContext} DetailsContext */

/** @param {Partial<Row>[]} parts @param {Record<number, any>} [events] */
function contextOf(parts, events = {}) {
  const asked = { rows: 0, events: 0 };
  const rows = parts.map(
    (part, index) =>
      /** @type {Row} */ ({
        n: index + 1,
        event_id: `id-${index + 1}`,
        event_type: "TOOL_CALL",
        name: "t",
        parent_n: 1,
        start_ms: index * 10,
        duration_ms: 1,
        status: "ok",
        kind: "tool",
        ...part,
      }),
  );
  /** @type {DetailsContext} */
  const context = {
    runId: "r",
    run: {},
    total: rows.length,
    getRow: async (n) => {
      asked.rows += 1;
      return rows[n - 1];
    },
    fetchEvent: async (n) => {
      asked.events += 1;
      if (!events[n]) throw new Error("gone");
      return events[n];
    },
  };
  return { context, rows, asked };
}

/** @param {string[]} texts */
const call = (...texts) => ({
  payload: { prompt: texts.map((text, index) => ({ role: index % 2 ? "assistant" : "user", content: text })) },
});

test("the earlier call is the one this conversation goes on from, not just the nearest", async () => {
  // Two agents side by side write their calls alternately.
  const { context } = contextOf([{}, { kind: "llm" }, { kind: "llm" }, { kind: "llm" }], {
    2: call("a"),
    3: call("other"),
    4: call("a", "b", "c"),
  });
  const earlier = await previousModelCall(context, 4, promptMessages(call("a", "b", "c").payload.prompt));

  assert.equal(earlier?.n, 2);
  assert.equal(earlier?.shared, 1);
});

test("without an earlier call, or when it cannot be had, there is none", async () => {
  const { context } = contextOf([{}, { kind: "llm" }, { kind: "llm" }]);

  assert.equal(await previousModelCall(context, 3, promptMessages("hello")), null);
  assert.equal(await previousModelCall(context, 2, promptMessages("hello")), null);
});

test("a long run is searched only so far", async () => {
  const { context, asked } = contextOf(Array.from({ length: 5000 }, () => ({})));

  assert.equal(await previousModelCall(context, 5000, promptMessages("hello")), null);
  assert.ok(asked.rows <= 600, `${asked.rows} rows asked for`);
});

test("the state before is the last one of the same name", async () => {
  const { context, rows } = contextOf(
    [
      { kind: "state", name: "a" },
      { kind: "state", name: "b" },
      { kind: "state", name: "a" },
    ],
    { 1: { name: "a", payload: { state: { step: 1 } } }, 2: { name: "b", payload: { state: {} } } },
  );

  assert.deepEqual(await previousState(context, rows[2]), { step: 1 });
  assert.equal(await previousState(context, rows[0]), undefined);
});

test("the same error is found before and after, other errors and other tools are not", async () => {
  /** @param {string | null} error */
  const preview = (error) => ({ preview: { input: [], outcome: [], error, same_as: null, rest_as: null } });
  const { context, rows } = contextOf([
    preview("x"),
    preview("y"),
    preview("x"),
    { name: "other", ...preview("x") },
    preview("x"),
    preview(null),
  ]);

  assert.deepEqual(await sameErrors(context, rows[2]), { before: [1], after: [5] });
  assert.deepEqual(await sameErrors(context, rows[5]), { before: [], after: [] });
});

test("a loop's rows begin at its first evidence and go on past the warning", async () => {
  const { context } = contextOf(Array.from({ length: 12 }, () => ({})));
  const around = await rowsAroundLoop(context, 8, ["id-3", "id-5", "id-7"]);

  assert.deepEqual(
    around.rows.map((row) => row.n),
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  );
  assert.equal(around.reachesEnd, true);
  assert.deepEqual((await rowsAroundLoop(context, 8, ["nobody"])).rows, []);
});

test("a span's children are those that name it as parent", async () => {
  const { context, rows } = contextOf([
    {},
    { parent_n: 5, start_ms: 10 },
    { parent_n: 2, start_ms: 12 },
    { parent_n: 5, start_ms: 14 },
    { kind: "span", start_ms: 9 },
  ]);
  const inside = await childrenOf(context, rows[4]);

  assert.deepEqual(
    inside.rows.map((row) => row.n),
    [2, 4],
  );
  assert.equal(inside.whole, true);
});

test("a server that is gone gives nothing and raises nothing", async () => {
  const { context } = contextOf([{}, {}]);
  const gone = { ...context, getRow: async () => Promise.reject(new Error("gone")) };

  assert.deepEqual(await rowsBetween(gone, 1, 2), []);
  assert.deepEqual((await rowsAroundLoop(gone, 2, ["id-1"])).rows, []);
});
