// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { parseJson, stringifyJson } from "../../../agentdbg/ui_static/model/details/parse-json.js";
import { growsLinearly } from "../helpers.js";

test("an integer over 2^53 keeps its digits, wherever it stands", () => {
  // Snowflake ids and nanosecond clocks are the values people compare by eye.
  const text = '{"id":9007199254740993,"list":[-12345678901234567890,1],"deep":{"n":18446744073709551615}}';
  const value = parseJson(text);

  assert.equal(value.id, 9007199254740993n);
  assert.equal(value.list[0], -12345678901234567890n);
  assert.equal(stringifyJson(value), text);
});

test("a safe integer stays a number, also one of sixteen digits", () => {
  assert.equal(parseJson('{"a":9007199254740991}').a, 9007199254740991);
  assert.equal(parseJson("1234567890123456"), 1234567890123456);
});

test("digits inside strings, fractions and exponents are left alone", () => {
  const text = String.raw`{"a":"99999999999999999999","b":0.12345678901234567890,"c":1e-12345678901234567890,"d":"x\" 99999999999999999999"}`;

  assert.deepEqual(parseJson(text), JSON.parse(text));
});

test("a backslash before the closing quote does not hide what follows", () => {
  const value = parseJson(String.raw`{"path":"C:\\","id":99999999999999999999}`);

  assert.equal(value.path, "C:\\");
  assert.equal(value.id, 99999999999999999999n);
});

test("damaged text fails as JSON.parse fails", () => {
  // The caller shows "damaged line"; a half-read event would be a lie.
  for (const text of [
    '{"a":99999999999999999999',
    '{"a" 99999999999999999999}',
    '"99999999999999999999',
    "0099999999999999999999",
  ]) {
    assert.throws(() => parseJson(text), SyntaxError);
  }
});

test("a key named __proto__ is data and changes no prototype", () => {
  const value = parseJson('{"__proto__":{"id":99999999999999999999},"list":[{"__proto__":99999999999999999999}]}');

  assert.deepEqual(Object.keys(value), ["__proto__", "list"]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal(
    stringifyJson(value),
    '{"__proto__":{"id":99999999999999999999},"list":[{"__proto__":99999999999999999999}]}',
  );
});

test("writing equals JSON.stringify, with and without indent", () => {
  const plain = {
    a: [],
    b: {},
    c: [1, "two", null, true, { d: [[]] }],
    'with "quote"': "line\nbreak \u2028",
    e: -0,
    f: 1.5,
  };
  const withBig = { ...plain, big: 12345678901234567890n };

  for (const indent of [0, 2]) {
    assert.equal(stringifyJson(plain, indent), JSON.stringify(plain, null, indent));
    const expected = JSON.stringify({ ...plain, big: "BIG" }, null, indent).replace('"BIG"', "12345678901234567890");
    assert.equal(stringifyJson(withBig, indent), expected);
  }
});

test("nesting deeper than the call stack is read and written", () => {
  const depth = 60_000;
  const text = `${"[".repeat(depth)}99999999999999999999${"]".repeat(depth)}`;

  assert.equal(stringifyJson(parseJson(text)), text);
});

test("reading big integers takes time in proportion to the text", () => {
  /** @param {number} count */
  const text = (count) => {
    const rows = Array.from(
      { length: count },
      (_, index) => `{"id":${10n ** 18n + BigInt(index)},"name":"${'n\\"'.repeat(20)}"}`,
    );
    return `[${rows.join(",")}]`;
  };

  assert.equal(parseJson(text(9000)).length, 9000);
  assert.ok(growsLinearly(text, parseJson, 1000));
});
