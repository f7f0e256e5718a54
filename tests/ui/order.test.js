// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { EVERYTHING, matcher, parseFilter } from "../../agentdbg/ui_static/model/filters.js";
import { Tree, listOrder, positionsIn } from "../../agentdbg/ui_static/model/order.js";
import { Skeleton } from "../../agentdbg/ui_static/model/skeleton.js";
import { growsLinearly, row, skeletonOf } from "./helpers.js";

/** A turn: a span written after the model call and the tool inside it. */
function turn() {
  return skeletonOf(
    { kind: "start", start_ms: 0 },
    { kind: "llm", start_ms: 10, parent_n: 4 },
    { kind: "tool", start_ms: 20, parent_n: 2, status: "error" },
    { kind: "span", start_ms: 5, parent_n: 1 },
    { kind: "end", start_ms: 90, parent_n: 1 },
  );
}

/** @param {Tree} tree @param {Skeleton} skeleton @param {string} [filter] @param {number[]} [folded] */
function shown(tree, skeleton, filter = "", folded = []) {
  const wanted = filter ? parseFilter(filter) : EVERYTHING;
  const order = tree.order(matcher(skeleton, wanted), wanted === EVERYTHING, new Set(folded));
  return { numbers: [...order.numbers], depths: [...(order.depths ?? [])] };
}

test("the list is the order of the file, without what is hidden or filtered", () => {
  const skeleton = skeletonOf(
    { kind: "start" },
    { kind: "call_start", ended: true },
    { kind: "tool" },
    { kind: "llm" },
  );

  assert.deepEqual([...listOrder(skeleton, matcher(skeleton, EVERYTHING)).numbers], [1, 3, 4]);
  assert.deepEqual([...listOrder(skeleton, matcher(skeleton, parseFilter("TOOL_CALL"))).numbers], [3]);
});

test("the tree puts a span before what happened inside it, in the order of starting", () => {
  const skeleton = turn();

  assert.deepEqual(shown(new Tree(skeleton), skeleton), { numbers: [1, 4, 2, 3, 5], depths: [0, 0, 1, 2, 0] });
});

test("what is folded away takes everything under it along", () => {
  const skeleton = turn();

  assert.deepEqual(shown(new Tree(skeleton), skeleton, "", [4]).numbers, [1, 4, 5]);
});

test("a filtered tree keeps the ancestors of what it shows, so that it stays a tree", () => {
  const skeleton = turn();

  assert.deepEqual(shown(new Tree(skeleton), skeleton, "errors"), { numbers: [4, 2, 3], depths: [0, 1, 2] });
});

test("parents that are missing, unknown, themselves or in a circle lose no event", () => {
  const skeleton = skeletonOf(
    { kind: "llm", parent_n: 1 },
    { kind: "llm", parent_n: 77 },
    { kind: "llm", parent_n: 4 },
    { kind: "llm", parent_n: 5 },
    { kind: "llm", parent_n: 3 },
    { kind: "tool", parent_n: 4 },
  );
  const { numbers } = shown(new Tree(skeleton), skeleton);

  assert.deepEqual([...numbers].sort(), [1, 2, 3, 4, 5, 6]);
});

test("children of a call's hidden start hang where the start hung", () => {
  const skeleton = skeletonOf(
    { kind: "start" },
    { kind: "span", start_ms: 1 },
    { kind: "call_start", ended: true, parent_n: 2 },
    { kind: "tool", parent_n: 3 },
  );
  const tree = new Tree(skeleton);

  assert.equal(tree.parent[4], 2);
  assert.deepEqual(tree.ancestors(4), [2]);
});

test("any run keeps every shown event exactly once, under its nearest shown ancestor", () => {
  // A law, tried on many random runs: parents before and after their children, circles and gaps included.
  let seed = 20260101;
  const random = (/** @type {number} */ below) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  for (let round = 0; round < 200; round += 1) {
    const count = 1 + random(40);
    const kinds = ["llm", "tool", "span", "state", "call_start", "start"];
    const skeleton = new Skeleton();
    skeleton.applyRows(
      Array.from({ length: count }, (_, index) =>
        row({
          n: index + 1,
          kind: kinds[random(6)],
          parent_n: random(count + 3),
          start_ms: random(50),
          ended: random(2) === 1,
        }),
      ),
    );
    const tree = new Tree(skeleton);
    const { numbers } = shown(tree, skeleton);
    const expected = Array.from({ length: count }, (_, index) => index + 1).filter((n) => skeleton.isShown(n));
    assert.deepEqual(
      [...numbers].sort((a, b) => a - b),
      expected,
    );
    const places = positionsIn(Uint32Array.from(numbers), count);
    for (const n of numbers) if (tree.parent[n] > 0) assert.ok(places[tree.parent[n]] < places[n]);
  }
});

test("putting events in tree order takes time in proportion to their number", () => {
  /** @param {number} count */
  const spans = (count) => {
    const skeleton = new Skeleton();
    skeleton.applyRows(
      Array.from({ length: count }, (_, index) =>
        row({
          n: index + 1,
          kind: index % 20 === 19 ? "span" : "llm",
          parent_n: index % 20 === 19 ? 1 : Math.min(count, index - (index % 20) + 20),
          start_ms: index * 3 - (index % 20 === 19 ? 57 : 0),
        }),
      ),
    );
    return skeleton;
  };
  /** @param {Skeleton} skeleton */
  const order = (skeleton) => new Tree(skeleton).order(matcher(skeleton, EVERYTHING), true, new Set());

  assert.equal(order(spans(100000)).numbers.length, 100000);
  assert.ok(growsLinearly(spans, order, 10000));
});
