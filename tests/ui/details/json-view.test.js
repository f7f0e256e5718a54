// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  CHUNK,
  containerOf,
  foldedString,
  initiallyOpen,
  keyText,
  LINES,
  memberOf,
  scalarText,
} from "../../../agentdbg/ui_static/model/details/json-view.js";
import { growsLinearly } from "../helpers.js";

/**
 * The text the view draws, folds opened, as the element puts it together.
 * @param {any} value
 * @param {number} [depth]
 * @returns {string}
 */
function drawn(value, depth = 0) {
  const container = containerOf(value);
  if (!container) return scalarText(value);
  const members = Array.from({ length: container.length }, (_, index) => {
    const key = container.keys ? `${keyText(container.keys[index])}: ` : "";
    return `\n${"  ".repeat(depth + 1)}${key}${drawn(memberOf(value, container, index), depth + 1)}`;
  });
  return `${container.opening}${members.join(",")}\n${"  ".repeat(depth)}${container.closing}`;
}

test("the pieces put together are JSON.stringify(value, null, 2)", () => {
  const value = { a: [1, [], {}, [null, true]], 'b "quoted"': "line\nbreak", c: { d: { e: 1.5 } }, __proto__: null };

  assert.equal(drawn(value), JSON.stringify(value, null, 2));
  assert.equal(scalarText(12345678901234567890n), "12345678901234567890");
});

test("a small event starts wholly open", () => {
  const value = { payload: { args: { list: [1, { deep: [2] }] } } };

  assert.equal(initiallyOpen(value).size, 6);
});

test("a large one opens no more lines than the budget, its outside first, the items of a list alike", () => {
  const inner = Array.from({ length: 90 }, (_, index) => ({ index, values: [1, 2, 3] }));
  const value = { inner, after: { small: 1 } };
  const open = initiallyOpen(value);
  const lines = [...open].reduce((sum, one) => sum + Math.min(Object.keys(one).length, CHUNK), 0);

  assert.ok(open.has(value) && open.has(inner) && open.has(value.after));
  assert.equal(inner.filter((item) => open.has(item)).length, 0, "ninety items of two lines each would not all fit");
  assert.ok(lines <= LINES);
});

test("what opens first is found in time in proportion to the keys", () => {
  /** @param {number} count */
  const wide = (count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, {}]));
  const widest = wide(100_000);

  assert.equal(containerOf(widest)?.summary, "{ 100,000 keys }");
  assert.ok(initiallyOpen(widest).has(widest));
  assert.ok(growsLinearly(wide, initiallyOpen, 10_000));
});

test("a folded string says how it begins and how long it is", () => {
  assert.equal(
    foldedString("Traceback (most recent call last):\n  File x\nKeyError"),
    '"Traceback (most recent call last): File x KeyError\u2026 3 lines"',
  );
  assert.equal(foldedString("word ".repeat(1000)).endsWith('\u2026 5,000 characters"'), true);
});
