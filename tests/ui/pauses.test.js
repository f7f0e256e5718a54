// @ts-check
import assert from "node:assert/strict";
import test from "node:test";

import {
  changedPaths,
  continueLabel,
  editedPart,
  editorText,
  endsSoon,
  pauseFacts,
  pauseHeadline,
  pauseOutcome,
  pauseTitle,
  readEditor,
} from "../../agentdbg/ui_static/model/pauses.js";

/** @param {Partial<import("../../agentdbg/ui_static/model/pauses.js").Pause>} more @returns {any} */
const pause = (more) => ({
  pause_id: "p",
  when: "before",
  call: { kind: "tool", name: "refund", number: 12, call_id: "c" },
  source: "agent.py:88",
  lane: "",
  reason: "tool:refund",
  error: null,
  spent: "$0.04 so far",
  value: { amount: 4000, tags: ["a"] },
  can: ["edit", "skip"],
  breaks: [],
  until: null,
  since: "",
  ...more,
});

test("a pause says what waits and where", () => {
  assert.deepEqual(pauseTitle(pause({})), { words: "Before tool", name: "refund" });
  assert.equal(pauseTitle(pause({ when: "after" })).words, "After tool");
  assert.equal(pauseFacts(pause({})), "call 12 · agent.py:88 · $0.04 so far");
  assert.equal(editedPart(pause({})), "Arguments");
  assert.equal(editedPart(pause({ when: "after" })), "Result");
});

test("what cannot be read names its line", () => {
  assert.deepEqual(readEditor('{"a": 1}'), { value: { a: 1 } });
  const problems = {
    '{\n  "a": 1,\n  "b": ,\n}': "Line 3: expected a value",
    "{\n  a: 1\n}": "Line 2: expected a name in double quotes",
    '{"a" 1}': "Line 1: expected a colon after the name",
    "[1\n2]": "Line 2: expected a comma or ]",
    '{"a": 1': "Line 1: expected a comma or }",
    '{"a": 1}\n}': "Line 2: expected nothing more",
    '{"a": [1, {"b": tru}]}': "Line 1: expected a value",
    "": "Line 1: expected JSON",
  };
  for (const [text, problem] of Object.entries(problems)) assert.deepEqual(readEditor(text), { problem });
});

test("changes are counted by their paths", () => {
  assert.deepEqual(changedPaths({ amount: 4000, tags: ["a"] }, { amount: 40, tags: ["b"] }), ["amount", "tags[0]"]);
  assert.deepEqual(changedPaths({ a: 1 }, { a: 1 }), []);
  assert.deepEqual(changedPaths({ a: 1 }, { a: 1, b: 2 }), ["b"]);
  assert.equal(continueLabel(0), "Continue");
  assert.equal(continueLabel(1), "Continue with 1 change");
  assert.equal(continueLabel(2), "Continue with 2 changes");
});

test("the editor shows the value as a person would write it", () => {
  assert.equal(editorText(pause({ value: { a: 1 } })), '{\n  "a": 1\n}');
});

test("a pause that ends soon says so", () => {
  assert.equal(endsSoon(pause({ until: 1030 }), 1_000_000), "Goes on by itself in 30 s");
  assert.equal(endsSoon(pause({ until: 5000 }), 1_000_000), "");
  assert.equal(endsSoon(pause({}), 1_000_000), "");
});

test("a run that waits says where, in the list of runs and in the row of the call", () => {
  assert.equal(pauseHeadline(pause({})), "Paused before refund, waiting for you");
  assert.equal(pauseHeadline(pause({ when: "after" })), "Paused after refund, waiting for you");
  assert.equal(pauseHeadline(pause({ when: "here" })), "Paused at refund, waiting for you");
  assert.equal(pauseOutcome(pause({})), "waiting at a breakpoint, not called yet");
  assert.equal(pauseOutcome(pause({ when: "after" })), "waiting at a breakpoint");
});
