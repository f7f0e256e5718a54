// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPart, sharedPart } from "../../../agentdbg/ui_static/model/details/conversation.js";
import { isGap, markedPieces, notRecorded, sameAsStored } from "../../../agentdbg/ui_static/model/details/markers.js";
import { promptMessages } from "../../../agentdbg/ui_static/model/details/messages.js";
import { changesOf, differences } from "../../../agentdbg/ui_static/model/details/state-diff.js";
import { classify, inline } from "../../../agentdbg/ui_static/model/details/values.js";

const GAP = { __TRUNCATED__: "31 messages, 84 kB" };
const HASH = "ab".repeat(32);

test("a gap says how much is missing, and nothing else is taken for one", () => {
  assert.equal(notRecorded(GAP), "31 messages, 84 kB, were not recorded");
  assert.equal(notRecorded({ __TRUNCATED__: "1 item" }), "1 item, was not recorded");
  assert.equal(notRecorded("__TRUNCATED__"), "more was not recorded");
  for (const other of [null, "x", "x__TRUNCATED__", {}, { a: 1, __TRUNCATED__: "__TRUNCATED__" }, [GAP], 1])
    assert.equal(isGap(other), false);
});

test("missing messages are no message of anybody", () => {
  const prompt = [{ role: "system", content: "S" }, GAP, { role: "user", content: "Why?" }];

  const messages = promptMessages(prompt);

  assert.deepEqual(
    messages.map((one) => one.role),
    ["system", "missing", "user"],
  );
  assert.deepEqual(messages[1].parts, [{ type: "missing", text: "31 messages, 84 kB, were not recorded" }]);
  assert.deepEqual(promptMessages(["first", "__TRUNCATED__", { role: "user", content: "x" }])[1].role, "missing");
});

test("the new part of a conversation with a gap begins after what came last before", () => {
  const long = "The quick brown fox. ".repeat(60);
  const cut = `${long.slice(0, 400)}__TRUNCATED__${long.slice(-400)}`;
  const earlier = promptMessages([
    { role: "system", content: "S" },
    { role: "user", content: "Begin." },
    { role: "assistant", content: long },
    { role: "user", content: "Go on." },
  ]);
  const later = promptMessages([
    { role: "system", content: "S" },
    { role: "user", content: "Begin." },
    GAP,
    { role: "assistant", content: cut },
    { role: "user", content: "Go on." },
    { role: "assistant", content: "Well." },
    { role: "user", content: "And now?" },
  ]);

  assert.equal(sharedPart(earlier, later).continues, true);
  assert.deepEqual(newPart(later, earlier), { system: 1, from: 5 });
});

test("texts that were stored in part are compared by what is stored", () => {
  assert.equal(sameAsStored("abcdef", "ab__TRUNCATED__ef"), true);
  assert.equal(sameAsStored("abc__TRUNCATED__def", "ab__TRUNCATED__ef"), true);
  assert.equal(sameAsStored("abcdef", "abc__TRUNCATED__"), true);
  assert.equal(sameAsStored("abcdef", "ab__TRUNCATED__eg"), false);
  assert.equal(sameAsStored("abcdef", "abcdeg"), false);
});

test("marks inside a text are told apart from its words", () => {
  const text = `a __REDACTED__ b__TRUNCATED__c __MEDIA__ image/png, 30123 bytes, sha256 ${HASH}`;

  assert.deepEqual(markedPieces(text), [
    { kind: "text", text: "a " },
    { kind: "redacted", text: "redacted" },
    { kind: "text", text: " b" },
    { kind: "cut", text: "not all of this text was recorded" },
    { kind: "text", text: "c " },
    { kind: "media", text: "Image not recorded (30.1 kB)" },
  ]);
  assert.deepEqual(markedPieces(""), []);
});

test("rows around a gap are still a table", () => {
  const rows = [{ id: 1, name: "a" }, { __TRUNCATED__: "1960 items, about 80 kB" }, { id: 1962, name: "b" }];

  const shape = /** @type {any} */ (classify(rows));

  assert.equal(shape.kind, "table");
  assert.deepEqual(shape.rows, rows);
  assert.deepEqual(classify(rows[1]), { kind: "missing", text: "1960 items, about 80 kB, were not recorded" });
});

test("a line of text says what is missing instead of a key nobody wrote", () => {
  assert.equal(inline([1, GAP, 9]), "[1, … 31 messages, 84 kB, were not recorded …, 9]");
  assert.equal(inline({ path: "a", __TRUNCATED__: "__TRUNCATED__" }), '{path: "a", …}');
  assert.equal(inline({ text: "head__TRUNCATED__tail" }), '{text: "head…tail"}');
});

test("a state that was cut has lost and gained nothing by that", () => {
  const cut = { a: 1, __TRUNCATED__: "__TRUNCATED__" };

  assert.deepEqual(differences({ a: 1, b: 2 }, cut), []);
  assert.deepEqual(differences(cut, { a: 2, b: 2 }), [{ sign: "~", path: "a", before: 1, after: 2 }]);
  assert.deepEqual(changesOf({ a: 1, __TRUNCATED__: "__TRUNCATED__" }), [{ sign: "~", path: "a", after: 1 }]);
});
