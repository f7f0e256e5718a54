// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { forkBody, forkCommand, forkEdits, quoted, readMocks } from "../../agentdbg/ui_static/model/fork-command.js";

/** @type {import("../../agentdbg/ui_static/model/fork-command.js").ForkRequest} */
const REQUEST = {
  runId: "3f2a19c4-0000",
  eventId: "0123456789abcdef",
  n: 5,
  part: "result",
  shown: { hits: [1], total: 4000 },
  text: '{"hits": [1], "total": 4000}',
  mocks: "",
  writes: "deny",
  trials: 1,
  jobs: 1,
};

test("an unchanged value goes on live behind the step", () => {
  assert.deepEqual(forkEdits(REQUEST), { edits: [] });
  assert.equal(forkCommand(REQUEST), "agentdbg fork 3f2a19c4 --after 5 --writes deny");
  assert.equal(forkCommand({ ...REQUEST, part: "", writes: "ask" }), "agentdbg fork 3f2a19c4 --after 5");
});

test("changed fields are set one by one, anything else as a whole", () => {
  const one = forkEdits({ ...REQUEST, text: '{"hits": [1], "total": 40}' });
  assert.deepEqual(one, { edits: ["result.total=40"] });
  assert.deepEqual(forkEdits({ ...REQUEST, text: '{"hits": [2], "total": 4000}' }), { edits: ["result.hits[0]=2"] });
  assert.deepEqual(forkEdits({ ...REQUEST, text: '{"hits": [1]}' }), { edits: ['result={"hits":[1]}'] });
  assert.deepEqual(forkEdits({ ...REQUEST, shown: { "a b": 1 }, text: '{"a b": 2}' }), { edits: ['result={"a b":2}'] });
  assert.deepEqual(forkEdits({ ...REQUEST, part: "args", shown: [1], text: "[2]" }), { edits: ["args[0]=2"] });
});

test("a text stays a text, also one that looks like JSON", () => {
  const said = { ...REQUEST, part: "response", shown: "No.", text: "{" };
  assert.deepEqual(forkEdits(said), { edits: ['response="{"'] });
});

test("what cannot be read is said, and there is no command", () => {
  assert.deepEqual(forkEdits({ ...REQUEST, text: '{"hits": ' }), { problem: "Line 1: expected a value" });
  assert.equal(forkCommand({ ...REQUEST, text: "{" }), "");
  assert.ok("problem" in forkBody({ ...REQUEST, mocks: "send_email" }));
  assert.ok("problem" in readMocks("a=nothing"));
});

test("mocks, faults and trials stand in the command as they are run", () => {
  const request = { ...REQUEST, mocks: 'send={"q": 1}\n\nsearch#2=timeout\n', trials: 5, jobs: 2 };
  assert.equal(
    forkCommand(request),
    `agentdbg fork 3f2a19c4 --at 5 --mock 'send={"q": 1}' --fault 'search#2=timeout' --writes deny --trials 5 --jobs 2`,
  );
  assert.deepEqual(forkBody(request), {
    what: "fork",
    at: "0123456789abcdef",
    set: [],
    mocks: ['send={"q": 1}'],
    faults: ["search#2=timeout"],
    writes: "deny",
    trials: 5,
    jobs: 2,
  });
});

test("words are quoted for a shell", () => {
  assert.equal(quoted("a=1"), "a=1");
  assert.equal(quoted("it's"), `'it'"'"'s'`);
});
