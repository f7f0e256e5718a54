// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  EVERYTHING,
  chips,
  describeFilter,
  formatFilter,
  isEverything,
  matcher,
  parseFilter,
  toggleChip,
} from "../../agentdbg/ui_static/model/filters.js";
import { skeletonOf } from "./helpers.js";

test("a filter survives the address", () => {
  assert.equal(formatFilter(parseFilter("TOOL_CALL,errors")), "TOOL_CALL,errors");
  assert.ok(isEverything(parseFilter("")));
  assert.ok(isEverything(parseFilter("all")));
});

test("chips add up, errors narrow, all clears", () => {
  let filter = toggleChip(EVERYTHING, "TOOL_CALL");
  filter = toggleChip(filter, "LLM_CALL");
  filter = toggleChip(filter, "errors");
  assert.equal(formatFilter(filter), "TOOL_CALL,LLM_CALL,errors");

  const skeleton = skeletonOf(
    { kind: "llm", status: "ok" },
    { kind: "tool", status: "error" },
    { kind: "error", status: "error" },
    { kind: "llm", status: "error" },
  );
  const wanted = matcher(skeleton, filter);
  assert.deepEqual([1, 2, 3, 4].filter(wanted), [2, 4]);
  assert.ok(isEverything(toggleChip(filter, "all")));
  assert.equal(formatFilter(toggleChip(filter, "TOOL_CALL")), "LLM_CALL,errors");
});

test("errors are failed calls and exceptions, not the run's own end", () => {
  const skeleton = skeletonOf(
    { kind: "start" },
    { kind: "tool", status: "error" },
    { kind: "error" },
    { kind: "span", status: "error" },
    { kind: "end", status: "error" },
  );

  assert.deepEqual([1, 2, 3, 4, 5].filter(matcher(skeleton, parseFilter("errors"))), [2, 3]);
});

test("the familiar chips come first, a user's own after them, start and end last, absent ones never", () => {
  const names = chips(
    new Map([
      ["RUN_END", 1],
      ["APPROVAL", 2],
      ["TOOL_CALL", 3],
      ["RUN_START", 1],
      ["LLM_CALL", 4],
      ["ERROR", 0],
    ]),
  ).map((chip) => chip.type);

  assert.deepEqual(names, ["LLM_CALL", "TOOL_CALL", "APPROVAL", "RUN_START", "RUN_END"]);
});

test("a filter is said in words", () => {
  assert.equal(describeFilter(parseFilter("TOOL_CALL")), "tools");
  assert.equal(describeFilter(parseFilter("TOOL_CALL,LLM_CALL,errors")), "tools and LLM, errors only");
  assert.equal(describeFilter(parseFilter("errors")), "errors only");
});
