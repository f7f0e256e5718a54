// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { alignLists } from "../../../agentdbg/ui_static/model/details/align-lists.js";
import { countSteps, diffMessages } from "../../../agentdbg/ui_static/model/details/message-diff.js";
import { promptMessages } from "../../../agentdbg/ui_static/model/details/messages.js";
import { diffText } from "../../../agentdbg/ui_static/model/details/text-diff.js";

const said = (/** @type {string} */ role, /** @type {string} */ content) => ({ role, content });
const result = (/** @type {string} */ id, /** @type {string} */ content) => ({
  role: "tool",
  tool_call_id: id,
  content,
});
const counts = (/** @type {any[]} */ a, /** @type {any[]} */ b) =>
  countSteps(diffMessages(promptMessages(a), promptMessages(b)));

test("messages added at the end are added, and nothing else", () => {
  const before = [said("system", "S"), said("user", "Q")];
  assert.deepEqual(counts(before, [...before, said("assistant", "A"), result("1", "R")]), {
    same: 2,
    added: 2,
    dropped: 0,
    edited: 0,
  });
});

test("a program that shortens its history drops the messages it left out", () => {
  const all = Array.from({ length: 9 }, (_, n) => said(n % 2 ? "assistant" : "user", `message number ${n}`));
  const after = [...all.slice(0, 1), ...all.slice(5), said("user", "new one")];
  assert.deepEqual(counts(all, after), { same: 5, added: 1, dropped: 4, edited: 0 });
});

test("a result under the same call id is the same message edited", () => {
  const before = [said("user", "Q"), result("7", "a very long listing of things")];
  assert.deepEqual(counts(before, [before[0], result("7", "cut")]), { same: 1, added: 0, dropped: 0, edited: 1 });
});

test("another system prompt is the system prompt edited", () => {
  assert.deepEqual(counts([said("system", "Be brief.")], [said("system", "Take your time and explain.")]), {
    same: 0,
    added: 0,
    dropped: 0,
    edited: 1,
  });
});

test("where messages were not stored, nobody claims that they were dropped", () => {
  const before = [said("user", "Q"), said("assistant", "one"), said("user", "two"), said("assistant", "three")];
  const after = [before[0], { __TRUNCATED__: "2 messages, 9 kB" }, before[3], said("user", "new")];
  assert.deepEqual(counts(before, after), { same: 2, added: 1, dropped: 0, edited: 0 });
});

test("aligning gives every place of both lists exactly once, in order", () => {
  let seed = 3;
  const next = () => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % 4;
  for (let round = 0; round < 400; round += 1) {
    const [a, b] = [Array.from({ length: next() * 4 }, next), Array.from({ length: next() * 4 }, next)];
    const steps = alignLists(a.length, b.length, (x, y) => a[x] === b[y]);
    assert.deepEqual(
      steps.flatMap(({ before }) => (before === null ? [] : [before])),
      [...a.keys()],
    );
    assert.deepEqual(
      steps.flatMap(({ after }) => (after === null ? [] : [after])),
      [...b.keys()],
    );
    for (const { before, after } of steps) if (before !== null && after !== null) assert.equal(a[before], b[after]);
  }
});

test("a changed word is marked as a word, and both texts can be read from the pieces", () => {
  const [before, after] = ["Today is 15 November.\nBe kind.\n", "Today is 16 November.\nBe kind.\n"];
  const pieces = diffText(before, after);
  assert.deepEqual(
    pieces.filter((piece) => piece.kind !== "same"),
    [
      { kind: "del", text: "15" },
      { kind: "add", text: "16" },
    ],
  );
  assert.equal(
    pieces
      .filter((piece) => piece.kind !== "add")
      .map((piece) => piece.text)
      .join(""),
    before,
  );
  assert.equal(
    pieces
      .filter((piece) => piece.kind !== "del")
      .map((piece) => piece.text)
      .join(""),
    after,
  );
});
