// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { callChanges, changesInWords } from "../../../agentdbg/ui_static/model/details/call-changes.js";
import { PART_NAMES, contextParts } from "../../../agentdbg/ui_static/model/details/context-parts.js";

const BEFORE = {
  model: "m",
  temperature: 0,
  prompt: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Where is it?" },
  ],
  tools: [{ name: "find", description: "Find it.", parameters: { properties: { q: {} } } }, { name: "ask" }],
};

test("everything that a call was given differently is told, and the rest is counted", () => {
  const after = {
    ...BEFORE,
    temperature: 0.7,
    prompt: [
      { role: "system", content: "Be brief and kind." },
      BEFORE.prompt[1],
      { role: "assistant", content: "Looking." },
    ],
    tools: [
      { name: "find", description: "Find it.", parameters: { properties: { q: {}, limit: {} } } },
      { name: "book" },
    ],
  };
  const changes = callChanges(BEFORE, after);

  assert.deepEqual(changes.system, { before: "Be brief.", after: "Be brief and kind." });
  assert.deepEqual(changes.messages.steps, [{ kind: "added", before: null, after: 1 }]);
  assert.deepEqual(
    [changes.tools.added, changes.tools.dropped, changes.tools.edited].map((tools) => tools.map((tool) => tool.name)),
    [["book"], ["ask"], ["find"]],
  );
  assert.deepEqual(changes.parameters, { changes: [{ key: "temperature", before: 0, after: 0.7 }], same: 1 });
  assert.equal(changesInWords(changes), "1 message added · system prompt · 3 tools · 1 parameter");
});

test("a system prompt that was only stored in other parts is the same", () => {
  const cut = (/** @type {string} */ text) => ({ ...BEFORE, prompt: [{ role: "system", content: text }] });
  const [more, less] = ["Be brief. Ask no__TRUNCATED__ing else. End.", "Be brief. A__TRUNCATED__e. End."];

  assert.equal(callChanges(cut(more), cut(less)).count, 0);
  assert.equal(callChanges(cut(more), cut("Be brief. Ask nobody for anything else. End.")).count, 0);
  assert.equal(callChanges(cut(more), cut("Be kind. A__TRUNCATED__e. End.")).count, 1);
});

test("the same call again changed nothing", () => {
  assert.equal(callChanges(BEFORE, structuredClone(BEFORE)).count, 0);
});

test("the parts of a context add up to the tokens of the call, or to an estimate where those are not known", () => {
  const payload = {
    ...BEFORE,
    prompt: [
      ...BEFORE.prompt,
      { role: "tool", tool_call_id: "1", content: "x".repeat(400) },
      { __TRUNCATED__: "3 messages, 2 kB" },
    ],
  };
  for (const tokens of [1000, null]) {
    const { parts, total } = contextParts(payload, tokens);
    const sum = PART_NAMES.reduce((all, name) => all + parts[name], 0);
    assert.ok(Math.abs(sum - total) < 1);
    assert.ok(parts.missing > parts.results && parts.results > parts.user && parts.system > 0 && parts.tools > 0);
  }
  assert.equal(contextParts(payload, 1000).total, 1000);
});
