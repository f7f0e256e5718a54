// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { RowHeights, ScrollTrack, scrollToShow, windowOf } from "../../agentdbg/ui_static/model/heights.js";

test("tops and indexes answer each other for any mix of heights", () => {
  const heights = Array.from({ length: 1000 }, (_, index) => 28 + (index % 7) * 6 + (index === 500 ? 900 : 0));
  const rows = new RowHeights(heights.length, (index) => heights[index]);
  let top = 0;
  for (let index = 0; index < heights.length; index += 1) {
    assert.equal(rows.topOf(index), top);
    assert.equal(rows.indexAt(top + 1), index);
    assert.equal(rows.indexAt(top + heights[index] - 1), index);
    top += heights[index];
  }
  assert.equal(rows.total, top);
});

test("a row that opens moves those after it and no other", () => {
  const heights = new Array(400).fill(28);
  const rows = new RowHeights(400, (index) => heights[index]);
  heights[130] = 328;
  rows.changed(130, 300);

  assert.equal(rows.topOf(130), 130 * 28);
  assert.equal(rows.topOf(131), 131 * 28 + 300);
  assert.equal(rows.topOf(399), 399 * 28 + 300);
  assert.equal(rows.total, 400 * 28 + 300);
  assert.equal(rows.indexAt(131 * 28 + 100), 130);
});

test("an empty list has nothing to draw and asks for nothing", () => {
  const rows = new RowHeights(0, () => 28);

  assert.deepEqual(windowOf(rows, 0, 600, 8), { first: 0, last: -1, inSightFirst: 0, inSightLast: -1 });
  assert.equal(rows.total, 0);
});

test("only what is in sight and a little beyond is drawn", () => {
  const rows = new RowHeights(1_000_000, () => 28);

  assert.deepEqual(windowOf(rows, 28 * 500, 280, 8), { first: 492, last: 517, inSightFirst: 500, inSightLast: 509 });
  assert.equal(windowOf(rows, 28e6, 280, 8).last, 999_999);
});

test("showing a row moves as little as possible", () => {
  const rows = new RowHeights(100, () => 28);

  assert.equal(scrollToShow(rows, 10, 100, 600), null);
  assert.equal(scrollToShow(rows, 1, 500, 600), 28);
  assert.equal(scrollToShow(rows, 50, 0, 280), 51 * 28 - 280);
});

test("a list taller than a browser can scroll is read row by row and crossed in a drag", () => {
  const track = new ScrollTrack(10_000_000);
  track.resize(52_000_000, 1000);
  assert.equal(track.height, 10_000_000);

  assert.equal(track.moved(100), 100, "a small step moves by as much");
  assert.equal(track.moved(10_000_000 - 1000), 52_000_000 - 1000, "the end of the track is the end of the list");
  const bound = track.bind(26_000_000);
  assert.ok(Math.abs(bound - 5_000_000) < 1000, "half way is half way");
  assert.equal(track.moved(bound + 40), 26_000_040, "and from there small steps are small again");
});

test("a list that fits is scrolled as it is", () => {
  const track = new ScrollTrack(10_000_000);
  track.resize(5000, 1000);

  assert.equal(track.moved(1234), 1234);
  assert.equal(track.bind(9999), 4000, "not beyond the end");
});
