// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { originText, valueAt } from "../../../agentdbg/ui_static/model/details/origins.js";

const from = { number: 9, who: "tool", name: "get_order", path: "result.items[0].price" };
const VALUES = [
  { value: "36", path: "answer", from },
  { value: "364", path: "answer", from },
  { value: "HAT 364", path: "answer", from: null },
];

test("the value under the pointer is found whole, the longest where several stand there", () => {
  const text = "It costs 364 euros with HAT 364, not 1364.";
  assert.equal(valueAt(VALUES, text, 10)?.value, "364");
  assert.equal(valueAt(VALUES, text, text.indexOf("HAT") + 1)?.value, "HAT 364");
  assert.equal(valueAt(VALUES, text, text.indexOf("HAT") + 5)?.value, "HAT 364");
  assert.equal(valueAt(VALUES, text, text.indexOf("1364") + 2), null);
  assert.equal(valueAt(VALUES, text, 3), null);
});

test("a source is named with its event and path, and nowhere is said", () => {
  assert.equal(originText(VALUES[1]), "364: from get_order #9, result.items[0].price");
  assert.equal(originText(VALUES[2]), "HAT 364: from nowhere. Nothing before this step holds it.");
  const given = { number: null, who: "asked", name: "", path: "" };
  assert.equal(originText({ value: "A-1", path: "args.id", from: given }), "A-1: given to the run.");
});
