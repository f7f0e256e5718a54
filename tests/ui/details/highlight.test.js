// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { highlight, looksLikeDiff } from "../../../agentdbg/ui_static/model/details/highlight.js";

/** @param {string} text @param {string} language */
const marked = (text, language) =>
  highlight(text, language)
    .filter((piece) => piece.kind)
    .map((piece) => `${piece.kind} ${piece.text}`);

test("keywords, strings, numbers and comments are told apart", () => {
  assert.deepEqual(marked('def f(x):  # why\n    return f"a {x}" + 3.5', "python"), [
    "key def",
    "com # why",
    "key return",
    'str f"a {x}"',
    "num 3.5",
  ]);
  assert.deepEqual(marked("const x = `a`; // y", "js"), ["key const", "str `a`", "com // y"]);
  assert.deepEqual(marked('{"a": "b", "n": -1}', "json"), ['key "a"', 'str "b"', 'key "n"', "num -1"]);
  assert.deepEqual(marked("SELECT a FROM b -- x", "sql"), ["key SELECT", "key FROM", "com -- x"]);
});

test("colours never change a letter, whatever the language and the text", () => {
  const texts = [
    '"""never closed',
    "/* open",
    "'a\\",
    "`${",
    "<a href='",
    "#!/bin/sh\n$X",
    "",
    "__REDACTED__",
    "é 漢字 \ud83d\ude00",
  ];
  for (const language of [
    "python",
    "js",
    "rust",
    "sh",
    "sql",
    "json",
    "yaml",
    "html",
    "css",
    "ruby",
    "diff",
    "",
    "klingon",
  ])
    for (const text of texts)
      assert.equal(
        highlight(text, language)
          .map((piece) => piece.text)
          .join(""),
        text,
      );
});

test("a long line of one sign is coloured in no time", () => {
  for (const language of ["python", "js", "json", "yaml", "html", "css", "sql", "sh"])
    for (const sign of ['"', "/*", "'''", "`", "a", "0", "<", "- ", '"\\', "a-"]) {
      const began = performance.now();
      highlight(sign.repeat(Math.floor(50_000 / sign.length)), language);
      assert.ok(performance.now() - began < 1000, `${language} ${sign}`);
    }
});

test("a change of a file is known by its first lines, not by a change it quotes", () => {
  const change = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b";
  assert.equal(looksLikeDiff(change), true);
  assert.equal(looksLikeDiff(`Here it is:\n\n\`\`\`diff\n${change}\n\`\`\``), false);
  assert.deepEqual(marked(change, "diff").slice(-2), ["del -a\n", "add +b"]);
});
