// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  foldPoint,
  looksLaidOut,
  oneLine,
  visibleJson,
  visibleText,
  withoutSigns,
} from "../../../agentdbg/ui_static/model/details/text.js";

test("controls and characters that reorder text are shown, not obeyed", () => {
  assert.equal(visibleText("\u001b[1;31mred\u001b[0m\u0007"), "red\u2407");
  assert.equal(visibleText("\u001b[8mconcealed\u001b[2Jgone"), "concealed\u241b[2Jgone");
  assert.equal(visibleText("photo\u202egnp.exe"), "photo\u27e8U+202E\u27e9gnp.exe");
  assert.equal(visibleText("a\u009bb\u200bc\ud800"), "a\u27e8U+009B\u27e9b\u27e8U+200B\u27e9c\u27e8U+D800\u27e9");
});

test("ordinary text of any language is untouched", () => {
  for (const text of ["tab\there\nline", "emoji 👩‍👩‍👧 joined", "עברית وعربية", "日本語"])
    assert.equal(visibleText(text), text);
  assert.equal(visibleText("dos\r\nline"), "dos\nline");
});

test("inside JSON the escape is the sign, and the text still parses to the same value", () => {
  const value = "a\u202eb\u009bc";

  assert.equal(visibleJson(JSON.stringify(value)), '"a\\u202eb\\u009bc"');
  assert.equal(JSON.parse(visibleJson(JSON.stringify(value))), value);
});

test("a long text folds at its limit, a text that is only a little longer does not", () => {
  assert.equal(foldPoint("x".repeat(5000), 1200, 14), 1200);
  assert.equal(foldPoint("x".repeat(1250), 1200, 14), 1250);
  assert.equal(foldPoint("line\n".repeat(100), 1200, 3), 14);
  assert.equal(foldPoint("short", 1200, 14), 5);
});

test("no cut goes through a character", () => {
  const text = "😀".repeat(1000);

  assert.equal(foldPoint(text, 101, 14) % 2, 0);
  assert.ok(oneLine(text, 11).isWellFormed?.() ?? true);
  assert.equal(oneLine("two  words\nhere", 40), "two words here");
});

test("code and listings are told from prose", () => {
  assert.ok(looksLaidOut("def f():\n    return 1\n    # more"));
  assert.ok(!looksLaidOut("Dear team,\n\nthe invoice is attached.\n\nKind regards"));
});

test("signs of Markdown go where nothing is laid out, and a power or a bare star stays", () => {
  assert.equal(
    withoutSigns("# Title\n\nIn **aisle 2**, `rack`:\n```sql\nselect *\n```"),
    "Title\n\nIn aisle 2, rack:\n\nselect *\n",
  );
  assert.equal(withoutSigns("2 ** 3 and a * b"), "2 ** 3 and a * b");
});
