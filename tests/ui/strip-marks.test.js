// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { sideBySide, wordSides } from "../../agentdbg/ui_static/model/strip-marks.js";

/** Numbers that are the same in each run. @param {number} seed */
function drawn(seed) {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
}

test("marks keep their places where there is room", () => {
  assert.deepEqual(sideBySide([10, 100, 300], 18, 400), [10, 100, 300]);
});

test("marks of one moment stand side by side, also at the right edge", () => {
  assert.deepEqual(sideBySide([50, 50, 51], 18, 400), [50, 68, 86]);
  assert.deepEqual(sideBySide([399, 400, 400], 18, 400), [346, 364, 382]);
});

test("no mark lies on another or outside, wherever the moments are", () => {
  const chance = drawn(7);
  for (let round = 0; round < 2000; round += 1) {
    const width = 60 + chance() * 1000;
    const wanted = Array.from({ length: 3 }, () => chance() ** (1 + 4 * chance()) * width).sort((a, b) => a - b);
    const lefts = sideBySide(wanted, 18, width);
    lefts.forEach((left, at) => {
      assert.ok(left > -1e-6 && left + 18 <= width + 1e-6);
      assert.ok(at === 0 || left - lefts[at - 1] >= 18 - 1e-6);
    });
  }
});

test("a word stands before its bracket, else after it, else nowhere", () => {
  assert.deepEqual(wordSides([{ begin: 100, end: 200 }], 36, 400), ["before"]);
  assert.deepEqual(wordSides([{ begin: 10, end: 200 }], 36, 400), ["after"]);
  assert.deepEqual(wordSides([{ begin: 10, end: 390 }], 36, 400), ["none"]);
  const twice = { begin: 100, end: 200 };
  assert.deepEqual(wordSides([twice, { ...twice }], 36, 400), ["before", "none"]);
});

test("no word lies on a word or on another bracket", () => {
  const chance = drawn(11);
  for (let round = 0; round < 2000; round += 1) {
    const width = 300 + chance() * 900;
    const brackets = Array.from({ length: 1 + Math.floor(chance() * 4) }, () => {
      const begin = chance() * width;
      return { begin, end: Math.min(width, begin + 3 + chance() ** 3 * width) };
    });
    const words = wordSides(brackets, 36, width).map((side, at) => {
      const { begin, end } = brackets[at];
      return side === "none" ? null : side === "before" ? [begin - 36, begin] : [end, end + 36];
    });
    words.forEach((word, at) => {
      if (!word) return;
      assert.ok(word[0] >= 0 && word[1] <= width);
      for (const [other, taken] of words.entries())
        assert.ok(other === at || !taken || word[1] <= taken[0] || taken[1] <= word[0]);
      for (const [other, { begin, end }] of brackets.entries())
        assert.ok(other === at || word[1] <= begin || end <= word[0]);
    });
  }
});
