// @ts-check
import assert from "node:assert/strict";
import test from "node:test";

import { forkCommand, forkEdits, quoted } from "../../agentdbg/ui_static/model/fork-command.js";

/** @type {import("../../agentdbg/ui_static/model/fork-command.js").ForkRequest} */
const request = {
  runId: "3f2a19c4-0000-4000-8000-000000000000",
  eventId: "9b1c7a10-1111-4000-8000-000000000000",
  part: "result",
  shown: '{\n  "ok": true\n}',
  text: '{\n  "ok": false\n}',
  writes: "deny",
};

test("the command says what is changed where", () => {
  assert.equal(forkCommand(request), `agentdbg fork 3f2a19c4 --at 9b1c7a10-1111 --set 'result={"ok":false}'`);
  assert.equal(
    forkCommand({ ...request, writes: "allow" }),
    `agentdbg fork 3f2a19c4 --at 9b1c7a10-1111 --set 'result={"ok":false}' --writes allow`,
  );
});

test("without a change it goes on live behind the step", () => {
  assert.equal(forkCommand({ ...request, text: request.shown }), "agentdbg fork 3f2a19c4 --after 9b1c7a10-1111");
  assert.deepEqual(forkEdits({ ...request, text: request.shown }), []);
});

test("a text needs no JSON, and quotes are safe in a shell", () => {
  assert.deepEqual(forkEdits({ ...request, part: "response", text: "It's no." }), ["response=It's no."]);
  assert.equal(quoted("a'b c"), `'a'"'"'b c'`);
  assert.equal(quoted("plain=1"), "plain=1");
});
