// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { changesOf, differences } from "../../../agentdbg/ui_static/model/details/state-diff.js";

test("added, removed and changed become lines, pairs in every spelling", () => {
  for (const pair of [
    { from: "read", to: "parse" },
    { old: "read", new: "parse" },
    { before: "read", after: "parse" },
    ["read", "parse"],
  ]) {
    assert.deepEqual(changesOf({ changed: { stage: pair }, added: { total: 5 }, removed: { draft: "x" } }), [
      { sign: "~", path: "stage", before: "read", after: "parse" },
      { sign: "+", path: "total", after: 5 },
      { sign: "\u2212", path: "draft", before: "x" },
    ]);
  }
});

test("a changed object is told path by path", () => {
  // "fields changed" with two long objects makes the reader compare them by eye.
  assert.deepEqual(changesOf({ changed: { fields: { from: { a: 1, b: 2, gone: 0 }, to: { a: 1, b: 3, new: 4 } } } }), [
    { sign: "~", path: "fields.b", before: 2, after: 3 },
    { sign: "+", path: "fields.new", after: 4 },
    { sign: "\u2212", path: "fields.gone", before: 0 },
  ]);
});

test("the plain form has only what is new", () => {
  assert.deepEqual(changesOf({ step: 2 }), [{ sign: "~", path: "step", after: 2 }]);
  assert.deepEqual(
    changesOf({ draft: null, note: null }, { note: null }),
    [
      { sign: "\u2212", path: "draft" },
      { sign: "~", path: "note", after: null },
    ],
    "gone and become null are not the same",
  );
  assert.deepEqual(changesOf({ added: "a key of the user's own" }), [
    { sign: "~", path: "added", after: "a key of the user's own" },
  ]);
});

test("an empty diff has no changes, and what is no diff is none", () => {
  assert.deepEqual(changesOf({ added: {}, removed: {}, changed: {} }), []);
  assert.equal(changesOf(null), null);
  assert.equal(changesOf("text"), null);
});

test("a key named __proto__ is compared like any other", () => {
  assert.deepEqual(differences(JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":2}')), [
    { sign: "~", path: "__proto__", before: 1, after: 2 },
  ]);
});
