// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import { looksLikeMarkdown, parseMarkdown } from "../../../agentdbg/ui_static/model/details/markdown.js";
import { blockLength, splitBlocks } from "../../../agentdbg/ui_static/model/details/markdown-split.js";

/** All text in a piece of the tree, in order. @param {any} node @returns {string} */
function textOf(node) {
  if (Array.isArray(node)) return node.map(textOf).join("");
  if (node === null || typeof node !== "object") return "";
  return (
    [node.text, node.alt].filter((one) => typeof one === "string").join("") +
    Object.values(node)
      .filter((one) => typeof one === "object")
      .map(textOf)
      .join("")
  );
}

/** @param {string} text */
function inline(text) {
  const [block] = parseMarkdown(text);
  return block.type === "paragraph" ? block.parts : assert.fail(`${block.type} is no paragraph`);
}

test("emphasis, code and links are told apart", () => {
  assert.deepEqual(inline("**bold _it_**"), [
    {
      type: "strong",
      parts: [
        { type: "text", text: "bold " },
        { type: "em", parts: [{ type: "text", text: "it" }] },
      ],
    },
  ]);
  assert.deepEqual(inline("`a *b*`"), [{ type: "code", text: "a *b*" }]);
  assert.deepEqual(inline("[l](https://a.b/c(d))"), [
    { type: "link", href: "https://a.b/c(d)", parts: [{ type: "text", text: "l" }] },
  ]);
});

test("what programs write is not taken for emphasis", () => {
  // Names and sums are far more frequent in what agents say than words set in underscores.
  for (const text of [
    "__init__",
    "snake_case_name",
    "2*3*4",
    "a ** b",
    "* ",
    "x_1 and y_2",
    "**never closed",
    "5 > 3 < 7",
  ])
    assert.equal(textOf(parseMarkdown(text)), text.trimEnd().replace(/^\* ?$/, ""));
  for (const text of ["__init__", "snake_case_name", "2*3*4"]) assert.deepEqual(inline(text), [{ type: "text", text }]);
});

test("marks of what was taken out or cut stay whole", () => {
  assert.deepEqual(inline("a __REDACTED__ b __TRUNCATED__"), [
    { type: "text", text: "a __REDACTED__ b __TRUNCATED__" },
  ]);
});

test("HTML stays text, and pictures keep their address to themselves", () => {
  assert.deepEqual(inline("<b onclick=x>hi</b>"), [{ type: "text", text: "<b onclick=x>hi</b>" }]);
  assert.deepEqual(inline("![a chart](https://evil.example/x.png)"), [
    { type: "image", href: "https://evil.example/x.png", alt: "a chart" },
  ]);
});

test("a bare address ends before the full stop of its sentence", () => {
  const [, link, rest] = inline("See https://example.com/a_b(c).");
  assert.equal(link.type === "link" && link.href, "https://example.com/a_b(c)");
  assert.deepEqual(rest, { type: "text", text: "." });
});

test("headings, lists in lists, quotes, tables, fences and rules are blocks", () => {
  const text = [
    "# Title",
    "",
    "- a",
    "- b",
    "  1. c",
    "  2. d",
    "- e",
    "",
    "> said",
    "",
    "| x | n |",
    "|---|--:|",
    "| `1` | 2 |",
    "",
    "---",
    "```py",
    "- not a list",
    "```",
    "end",
  ].join("\n");
  const blocks = parseMarkdown(text);
  assert.deepEqual(
    blocks.map((block) => block.type),
    ["heading", "list", "quote", "table", "rule", "code", "paragraph"],
  );
  const [, list, , table, , code] = blocks;
  assert.ok(list.type === "list" && list.items.length === 3);
  const nested = list.items[1][1];
  assert.ok(nested.type === "list" && nested.ordered && nested.items.length === 2);
  assert.ok(table.type === "table" && table.align[1] === "end" && table.rows.length === 1);
  assert.deepEqual(code, { type: "code", language: "py", text: "- not a list" });
});

test("lines stay lines, and a fence that never closes holds the rest", () => {
  assert.deepEqual(inline("one\ntwo"), [{ type: "text", text: "one\ntwo" }]);
  assert.deepEqual(parseMarkdown("```\na\nb"), [{ type: "code", language: "", text: "a\nb" }]);
});

test("no letter is lost or made up, whatever the text", () => {
  // Generated from the signs that mean something, which is where a parser loses letters.
  const signs = [
    "*",
    "**",
    "_",
    "`",
    "``",
    "[",
    "]",
    "(",
    ")",
    "!",
    "~~",
    "<",
    ">",
    "a",
    "b c",
    " ",
    "h",
    "https://x.y",
    "|",
    "#",
    "-",
    "\\",
  ];
  let seed = 7;
  const next = () => (seed = (seed * 1103515245 + 12345) % 2 ** 31);
  for (let round = 0; round < 3000; round += 1) {
    const text = `x${Array.from({ length: 1 + (next() % 14) }, () => signs[next() % signs.length]).join("")}`;
    const letters = (/** @type {string} */ of) => of.replace(/[^abcxyh]/g, "");
    const shown = textOf(parseMarkdown(text).map((block) => JSON.parse(JSON.stringify(block))));
    const hidden = [...JSON.stringify(parseMarkdown(text)).matchAll(/"href":"([^"]*)"/g)]
      .map((found) => found[1])
      .join("");
    for (const letter of "abc")
      assert.ok(
        letters(shown + hidden).split(letter).length >= letters(text).split(letter).length,
        `${JSON.stringify(text)} lost ${letter}`,
      );
  }
});

test("a text of nothing but signs takes no longer than any other", () => {
  const texts = ["*", " *a", "[", "`", "[a](", "> ", "- ", "**a _b ", "![", "]()", "|", "~~a", "http://", "\\", "1. "];
  for (const sign of texts) {
    const began = performance.now();
    parseMarkdown(sign.repeat(20_000));
    assert.ok(performance.now() - began < 1500, sign);
  }
});

test("only what looks like Markdown is read as such when nobody said it is", () => {
  assert.equal(looksLikeMarkdown("total 12\n-rw-r--r-- 1 root a.py\n-rw-r--r-- 1 root b.py"), false);
  assert.equal(looksLikeMarkdown("# Results\n\n- one\n- two"), true);
  assert.equal(looksLikeMarkdown("| a | b |\n|---|---|\n| 1 | 2 |"), true);
});

test("a long text folds near the wanted length, and both halves together are all of it", () => {
  const texts = [
    "word ".repeat(2000),
    "- item\n".repeat(900),
    "```\nline\n".concat("code\n".repeat(900), "```"),
    "a\n\n".repeat(3000),
  ];
  for (const text of texts) {
    const blocks = parseMarkdown(text);
    const [head, rest] = splitBlocks(blocks, 1500);
    assert.ok(rest.length > 0);
    const length = head.reduce((sum, block) => sum + blockLength(block), 0);
    assert.ok(length > 300 && length < 2200, String(length));
    assert.equal(textOf([...head, ...rest]).replace(/\s/g, ""), textOf(blocks).replace(/\s/g, ""));
  }
});

test("headings with a line below, tasks and signs written as entities are read", () => {
  assert.equal(parseMarkdown("What I did\n==========\nNothing.")[0].type, "heading");
  assert.equal(parseMarkdown("What I did\n---\nNothing.")[0].type, "paragraph");
  assert.equal(textOf(parseMarkdown("- [ ] ask\n- [x] answer\n- [link](https://a.b)")), "☐ ask☑ answerlink");
  assert.equal(textOf(parseMarkdown("&lt;b&gt; &amp; R&D, AT&T; `&lt;`")), "<b> & R&D, AT&T; &lt;");
});
