// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { newPart, sharedPart } from "../../../agentdbg/ui_static/model/details/conversation.js";
import { promptMessages } from "../../../agentdbg/ui_static/model/details/messages.js";

const EARLIER = [
  { role: "system", content: "S" },
  { role: "user", content: "Book it." },
];
const LATER = [...EARLIER, { role: "assistant", content: "Booking." }, { role: "tool", content: "failed" }];

test("what the earlier call had is found, and the new part begins after it", () => {
  const [earlier, later] = [promptMessages(EARLIER), promptMessages(LATER)];

  assert.equal(sharedPart(earlier, later).count, 2);
  assert.deepEqual(newPart(later, earlier), { system: 1, from: 2 });
});

test("the guess before the earlier call is known is the same place", () => {
  // Otherwise the fold would jump under the reader's eyes a moment after opening.
  assert.deepEqual(newPart(promptMessages(LATER), null), newPart(promptMessages(LATER), promptMessages(EARLIER)));
});

test("the very same prompt again still shows its last message", () => {
  const messages = promptMessages(LATER);

  assert.deepEqual(newPart(messages, messages), { system: 1, from: 3 });
});

test("sharing only the system text is not going on from it", () => {
  // Agents that run side by side share their policy but not their conversation.
  const other = promptMessages([EARLIER[0], { role: "user", content: "Something else." }]);

  assert.equal(sharedPart(other, promptMessages(LATER)).continues, false);
  assert.equal(sharedPart(promptMessages(EARLIER), promptMessages(LATER)).continues, true);
});

test("an empty or lone message has no earlier part", () => {
  assert.deepEqual(newPart(promptMessages("hi"), null), { system: 0, from: 0 });
  assert.deepEqual(newPart([], null), { system: 0, from: 0 });
});
