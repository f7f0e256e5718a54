// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { parseStack, shortPath } from "../../../agentdbg/ui_static/model/details/stack.js";
import { growsLinearly } from "../helpers.js";

const STACK = `Traceback (most recent call last):
  File "/venv/lib/python3.12/site-packages/langgraph/pregel/runner.py", line 231, in tick
    run_with_retry(t)
  File "/usr/lib/python3.12/asyncio/runners.py", line 194, in run
    return runner.run(main)
           ^^^^^^^^^^^^^^^^
  File "/home/dana/agents/invoice.py", line 41, in parse_invoice
    return Invoice(fields["due_date"])
                   ~~~~~~^^^^^^^^^^^^
KeyError: 'due_date'
`;

test("the reader's frames stay, the libraries' fold into one line that names them", () => {
  const pieces = parseStack(STACK);

  assert.deepEqual(
    pieces?.map((piece) => piece.type),
    ["text", "folded", "frame", "error"],
  );
  assert.deepEqual(pieces?.[1].type === "folded" && pieces[1].libraries, ["langgraph", "asyncio"]);
  assert.deepEqual(pieces?.[2].type === "frame" && pieces[2].frame, {
    file: "/home/dana/agents/invoice.py",
    line: 41,
    name: "parse_invoice",
    code: ['return Invoice(fields["due_date"])'],
    mine: true,
    library: null,
  });
  assert.deepEqual(pieces?.at(-1), { type: "error", text: "KeyError: 'due_date'" });
});

test("chained errors keep their order and what links them", () => {
  const chained = `${STACK}\nThe above exception was the direct cause of the following exception:\n\n${STACK.replace("KeyError: 'due_date'", "ValueError: bad invoice\nwith two lines")}`;
  const pieces = parseStack(chained) ?? [];

  assert.deepEqual(
    pieces.filter((piece) => piece.type === "error").map((piece) => piece.text),
    ["KeyError: 'due_date'", "ValueError: bad invoice\nwith two lines"],
  );
  assert.equal(pieces.filter((piece) => piece.type === "text").length, 3);
});

test("without a line of the reader's own the last frame stays open", () => {
  const pieces = parseStack(
    'Traceback (most recent call last):\n  File "/x/site-packages/a/b.py", line 1, in f\n    g()\n  File "/x/site-packages/c.py", line 2, in g\n    h()\nOSError: no',
  );

  assert.deepEqual(
    pieces?.map((piece) => piece.type),
    ["text", "folded", "frame", "error"],
  );
});

test("Windows paths, frozen modules and line endings are understood", () => {
  const pieces = parseStack(
    'Traceback (most recent call last):\r\n  File "C:\\Python312\\Lib\\runpy.py", line 198, in _run\r\n  File "<frozen importlib._bootstrap>", line 1, in _load\r\n  File "C:\\work\\agent.py", line 3, in main\r\n    go()\r\nRuntimeError: x',
  );

  assert.deepEqual(pieces?.[1].type === "folded" && pieces[1].libraries, ["runpy", "importlib"]);
  assert.equal(pieces?.[2].type === "frame" && pieces[2].frame.file, "C:\\work\\agent.py");
});

test("a list of lines is a stack too, other text is none", () => {
  assert.equal(parseStack(STACK.split("\n").map((line) => `${line}\n`))?.length, 4);
  assert.equal(parseStack("at foo (bar.js:1:2)"), null);
  assert.equal(parseStack(null), null);
  assert.equal(parseStack({ frames: [] }), null);
});

test("a path is shown from the folder of the run, else by its end", () => {
  assert.equal(shortPath("/home/dana/agents/app/invoice.py", "/home/dana/agents/"), "app/invoice.py");
  assert.equal(shortPath("/home/dana/agents/app/invoice.py", null), "app/invoice.py");
  assert.equal(shortPath("app/invoice.py", null), "app/invoice.py");
});

test("parsing a stack takes time in proportion to its frames", () => {
  const frame = '  File "/home/dana/a.py", line 1, in recurse\n    recurse()\n';
  /** @param {number} count */
  const stack = (count) => `Traceback (most recent call last):\n${frame.repeat(count)}RecursionError: deep`;

  assert.equal(parseStack(stack(10_000))?.length, 10_002);
  assert.ok(growsLinearly(stack, parseStack, 2000));
});
