// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { classify, imageOf, inline, openWithin, sameValue } from "../../../agentdbg/ui_static/model/details/values.js";
import { growsLinearly } from "../helpers.js";

const PNG = "iVBORw0KGgo=";

test("marks of redaction and cutting are recognised as what they are", () => {
  const cut = `${"x".repeat(20_000 - 13)}__TRUNCATED__`;

  assert.deepEqual(classify("__REDACTED__"), { kind: "redacted" });
  assert.deepEqual(classify("__TRUNCATED__"), { kind: "cut", bytes: null });
  assert.equal(/** @type {any} */ (classify(cut)).cut, 20_000);
  assert.equal(
    /** @type {any} */ (classify(`${"é".repeat(9993)}__TRUNCATED__`)).cut,
    20_000,
    "a character may not be split, so a byte may be missing",
  );
  assert.equal(/** @type {any} */ (classify([1, 2, "__TRUNCATED__"])).cut, true);
  assert.equal(/** @type {any} */ (classify({ a: 1, __TRUNCATED__: "__TRUNCATED__" })).cut, true);
});

test("a list of alike flat objects is a table, others are lists", () => {
  assert.deepEqual(
    /** @type {any} */ (
      classify([
        { a: 1, b: "x" },
        { b: "y", a: 2 },
      ])
    ).columns,
    ["a", "b"],
  );
  assert.equal(classify([{ a: 1 }, { b: 1 }]).kind, "list");
  assert.equal(classify([{ a: { deep: 1 } }, { a: 1 }]).kind, "list");
  assert.equal(classify([{ a: "long ".repeat(20) }, { a: 1 }]).kind, "list");
});

test("sound is sound in every provider's shape, and what the log does not hold is said", () => {
  const wav = "UklGRiQ=";
  for (const block of [
    { type: "input_audio", input_audio: { data: wav, format: "wav" } },
    { type: "audio", data: wav, mimeType: "audio/wav" },
    { type: "audio", base64: wav, mime_type: "audio/wav" },
    { inlineData: { mimeType: "audio/wav", data: wav } },
    `data:audio/wav;base64,${wav}`,
  ]) {
    const shape = /** @type {any} */ (classify(block));
    assert.deepEqual([shape.kind, shape.url], ["audio", `data:audio/wav;base64,${wav}`]);
  }
  for (const block of [
    { type: "input_audio", input_audio: { data: "__MEDIA__ audio/wav, 16044 bytes", format: "wav" } },
    { type: "audio", data: "__MEDIA__ audio/wav, 16044 bytes", mimeType: "audio/wav" },
  ])
    assert.deepEqual(classify(block), { kind: "missing", text: "Audio not recorded (16.0 kB)" });
  assert.equal(classify({ audio: "on", format: "wav" }).kind, "object");
});

test("only whole raster images from the payload itself are images", () => {
  assert.equal(imageOf(`data:image/png;base64,${PNG}`)?.mediaType, "image/png");
  assert.equal(
    imageOf({ type: "image_url", image_url: { url: `data:image/jpeg;base64,${PNG}` } })?.mediaType,
    "image/jpeg",
  );
  assert.equal(
    imageOf({ type: "image", source: { type: "base64", media_type: "image/webp", data: PNG } })?.mediaType,
    "image/webp",
  );
  assert.equal(imageOf({ inline_data: { mime_type: "image/gif", data: PNG } })?.mediaType, "image/gif");
  for (const refused of [
    "data:image/svg+xml;base64,PHN2Zz4=",
    "data:text/html;base64,PHA+",
    "https://example.org/a.png",
    `data:image/png;base64,${PNG}__TRUNCATED__ "`,
    { image_url: "https://example.org/a.png" },
    { media_type: "image/png", data: "<script>" },
  ]) {
    assert.equal(imageOf(refused), null);
  }
});

test("big integers, null, nothing and long text have their own kinds", () => {
  assert.deepEqual(classify(12345678901234567890n), { kind: "scalar", text: "12345678901234567890", type: "number" });
  assert.deepEqual(
    ["", null, [], {}].map((value) => classify(value).kind),
    ["empty", "empty", "empty", "empty"],
  );
  assert.deepEqual(
    ["short", "two\nlines", "x".repeat(80)].map((value) => classify(value).kind),
    ["string", "prose", "prose"],
  );
});

test("one line stays one line, whatever is in it", () => {
  assert.equal(inline({ flight: "HAT023", seats: [1, 2] }), '{flight: "HAT023", seats: [1, 2]}');
  /** @param {number} count */
  const many = (count) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`key_${index}`, "v".repeat(10)]));

  assert.ok(inline(many(100_000), 100).length <= 101);
  assert.ok(growsLinearly(many, (value) => inline(value, 100), 10_000));
  assert.ok(!inline({ a: "x\n\u202ey" }).includes("\u202e"));
});

test("values are the same whatever the order of their keys, and deep ones do not overflow", () => {
  let left = /** @type {any} */ ([]);
  let right = /** @type {any} */ ([]);
  for (let depth = 0; depth < 50_000; depth += 1) [left, right] = [[left], [right]];

  assert.ok(sameValue({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }));
  assert.ok(!sameValue({ a: 1 }, { a: 1, b: undefined }));
  assert.ok(!sameValue([], {}));
  assert.ok(sameValue(left, right));
});

test("what starts open fits the room, and the items of a list open together or not at all", () => {
  const flight = () => ({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9 });
  const small = { x: 1 };
  const value = { flights: [flight(), flight(), flight(), flight(), flight()], small };
  const open = openWithin(value, 40);

  assert.ok(open.has(value) && open.has(value.flights) && open.has(small));
  assert.ok(value.flights.every((one) => !open.has(one)));
  assert.equal(openWithin({ flights: [flight(), flight()] }, 40).size, 4);
  assert.equal(
    openWithin(
      [
        [flight(), flight()],
        [flight(), flight()],
        [flight(), flight()],
      ],
      40,
    ).size,
    4,
    "cousins too",
  );
});
