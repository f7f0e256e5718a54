// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { editorHref, EDITORS, parseSource } from "../../../agentdbg/ui_static/model/details/editor.js";

test("a source opens at its line, a relative one from the folder of the run", () => {
  assert.equal(
    editorHref("vscode", { file: "/home/dana/a b.py", line: 42 }, null),
    "vscode://file/home/dana/a%20b.py:42",
  );
  assert.equal(
    editorHref("cursor", { file: "app/a.py", line: 1 }, "/home/dana/"),
    "cursor://file/home/dana/app/a.py:1",
  );
  assert.equal(
    editorHref("pycharm", { file: "C:\\work\\a.py", line: 3 }, null),
    "pycharm://open?file=/C:/work/a.py&line=3",
  );
});

test("where no file can be meant there is no link", () => {
  assert.equal(editorHref("vscode", { file: "app/a.py", line: 1 }, null), null);
  assert.equal(editorHref("vscode", { file: "<string>", line: 1 }, "/home"), null);
  assert.equal(editorHref("constructor", { file: "/a.py", line: 1 }, null), null);
});

test("a hostile source never leaves the editor's scheme", () => {
  for (const editor of Object.keys(EDITORS)) {
    for (const file of ["javascript:alert(1)", "/a?x=1#y&line=9", "//evil.example/x", '/a"><script>']) {
      const href = editorHref(editor, { file, line: 1 }, "/home");
      assert.match(String(href), /^(vscode|cursor|windsurf|zed|pycharm|idea|subl):\/\//);
      assert.doesNotMatch(String(href).slice(href?.indexOf("//")), /[#"<>]|\?x/);
    }
  }
});

test("file and line are told apart, also on Windows", () => {
  assert.deepEqual(parseSource("agents/invoice.py:41"), { file: "agents/invoice.py", line: 41 });
  assert.deepEqual(parseSource("C:\\a.py:7"), { file: "C:\\a.py", line: 7 });
  assert.deepEqual(parseSource("agents/invoice.py"), { file: "agents/invoice.py", line: null });
  assert.equal(parseSource(7), null);
});
