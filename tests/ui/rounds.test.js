// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { findingOf, gutterOf } from "../../agentdbg/ui_static/model/rounds.js";
import { row } from "./helpers.js";

/** book fails four times, with a model call before each; the warning came after the third failure, as #7. */
function retries() {
  const fails = {
    kind: "tool",
    name: "book",
    status: "error",
    preview: { input: [], outcome: [], error: "too expensive", same_as: null, rest_as: null },
  };
  return [
    row({ n: 1, kind: "llm", name: "gpt" }),
    row({ n: 2, ...fails }),
    row({ n: 3, kind: "llm", name: "gpt" }),
    row({ n: 4, ...fails }),
    row({ n: 5, kind: "llm", name: "gpt" }),
    row({ n: 6, ...fails }),
    row({ n: 7, kind: "loop" }),
    row({ n: 8, kind: "llm", name: "gpt" }),
    row({ n: 9, ...fails }),
    row({ n: 10, kind: "llm", name: "gpt" }),
  ];
}

const WARNING = {
  n: 7,
  payload: {
    pattern: "TOOL_CALL:book",
    kind: "error_retry",
    severity: "critical",
    repetitions: 3,
    evidence_event_ids: ["id-2", "id-4", "id-6"],
  },
};

test("the rounds of a loop are numbered, those after the warning too", () => {
  assert.deepEqual(findingOf(WARNING, retries()), {
    n: 7,
    severity: "critical",
    rounds: [2, 4, 6, 9],
    first_n: 2,
    last_n: 9,
  });
});

test("a warning whose evidence is not here gives no rounds", () => {
  assert.equal(findingOf({ n: 7, payload: {} }, retries()), null);
  assert.equal(findingOf({ n: 7, payload: { evidence_event_ids: "odd" } }, retries()), null);
});

test("the gutter has a line from the first round to the last and a number at each round", () => {
  const at = gutterOf([/** @type {any} */ (findingOf(WARNING, retries()))]);

  assert.equal(at(1), null);
  assert.deepEqual(at(2), { severity: "critical", round: 1, edge: "first" });
  assert.deepEqual(at(3), { severity: "critical", round: 0, edge: "" });
  assert.deepEqual(at(9), { severity: "critical", round: 4, edge: "last" });
  assert.equal(at(10), null);
});
