// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { referencesOf, TextQuery, toJson } from "../../agentdbg/ui_static/model/embedded-text.js";

/** A number as the file writes it. @param {number} number */
const reference = (number) =>
  "\x01" + [...number.toString(16)].map((digit) => String.fromCharCode(0x10 + parseInt(digit, 16))).join("");

const STRINGS = ["a long \x03text\x03 with a \x02 in it, Grüße", "nothing of interest"];
const LINE = `{"name":"search","n":42,"args":{"needle_key":"${reference(0)}"},"again":["${reference(0)}","${reference(17)}"],"note":"say \x03hi\x03"}`;
/** @param {number} number */
const stringOf = (number) => STRINGS[number] ?? `string ${number}`;

test("a line is put together again with its strings, quotes and backslashes", () => {
  const event = JSON.parse(toJson(LINE, stringOf));

  assert.equal(event.args.needle_key, 'a long "text" with a \\ in it, Grüße');
  assert.deepEqual(event.again, ['a long "text" with a \\ in it, Grüße', "string 17"]);
  assert.equal(event.note, 'say "hi"');
  assert.deepEqual(referencesOf(LINE), [0, 0, 17]);
});

/** Search as the file does: strings first, then lines, then the event where only that can tell. @param {string} q */
function finds(q) {
  const query = new TextQuery(q);
  const strings = new Set(STRINGS.flatMap((string, number) => (query.mayHold(string) ? [number] : [])));
  return query.judge(LINE, strings) ?? query.matches(JSON.parse(toJson(LINE, stringOf)));
}

test("text is found in values, whatever its case, in the line and in the strings it refers to", () => {
  for (const q of ["SEARCH", "42", "long", 'say "hi', "\\", "grÜSSE".slice(0, 3), 'text" with', "in it, g"])
    assert.equal(finds(q), true, q);
});

test("names of fields, numbers of strings and the signs of JSON are not text", () => {
  for (const q of ["needle_key", "again", "args", "},", '":"', "\x01", "10", "interest"])
    assert.equal(finds(q), false, q);
});

test("letters stored as escapes are found", () => {
  const query = new TextQuery("é");

  assert.equal(query.judge('{"a":"caf\\u00e9"}', new Set()), null);
  assert.equal(query.matches({ a: "café" }), true);
});

test("a long name of a field is not text either", () => {
  const query = new TextQuery("interest");

  assert.equal(query.judge(`{"${reference(1)}" : 1}`, new Set([1])), false);
  assert.equal(query.judge(`{"a" : "${reference(1)}"}`, new Set([1])), true);
});
