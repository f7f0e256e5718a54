// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { Matches, nextWhere, shiftToMatch, splitMatches } from "../../agentdbg/ui_static/model/search.js";
import { positionsIn } from "../../agentdbg/ui_static/model/order.js";

test("text is cut into matches and the rest, and nothing is lost", () => {
  const text = "Paid 833, then 833 again";
  const pieces = splitMatches(text, "833");

  assert.deepEqual(pieces.filter((piece) => piece.hit).length, 2);
  assert.equal(pieces.map((piece) => piece.text).join(""), text);
});

test("case does not matter, and a query is never a pattern", () => {
  assert.equal(splitMatches("KeyError", "keyerror")[0].hit, true);
  assert.deepEqual(
    splitMatches("a.c abc", ".")
      .filter((piece) => piece.hit)
      .map((piece) => piece.text),
    ["."],
  );
});

test("letters that grow in lower case are left unmarked instead of marked in the wrong place", () => {
  assert.deepEqual(splitMatches("İstanbul x", "x"), [{ text: "İstanbul x", hit: false }]);
});

test("a late match is brought into sight", () => {
  const text = `${"word ".repeat(30)}needle`;

  assert.match(shiftToMatch(text, "needle"), /^….{0,14}needle$/);
  assert.equal(shiftToMatch("needle first", "needle"), "needle first");
});

test("matches are stepped through in the order shown, going round at the ends", () => {
  const order = Uint32Array.from([5, 3, 9, 7]);
  const matches = new Matches([3, 7, 8], 3, order, positionsIn(order, 10));

  assert.deepEqual(matches.places, [1, 3]);
  assert.equal(matches.hidden, 1, "8 is filtered away");
  assert.equal(matches.step(1, 1), 3);
  assert.equal(matches.step(3, 1), 1);
  assert.equal(matches.step(1, -1), 3);
  assert.equal(matches.rankOf(3), 2);
});

test("stepping to the next failure begins at the top and goes round", () => {
  const order = Uint32Array.from([1, 2, 3, 4]);
  const odd = (/** @type {number} */ n) => n % 2 === 1;

  assert.equal(nextWhere(order, -1, 1, odd), 0);
  assert.equal(nextWhere(order, 0, 1, odd), 2);
  assert.equal(nextWhere(order, 2, 1, odd), 0);
  assert.equal(nextWhere(order, -1, -1, odd), 2, "backwards from nowhere is from the end");
  assert.equal(
    nextWhere(order, 1, 1, () => false),
    -1,
  );
});
