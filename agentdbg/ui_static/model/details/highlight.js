// @ts-check
/**
 * Source code as coloured pieces: comments, strings, numbers, keywords. One regular expression per family of languages,
 * walked once; what it does not know stays plain, so a wrong guess costs a colour and never a letter.
 *
 * @typedef {{ text: string, kind: "" | "key" | "str" | "num" | "com" | "add" | "del" | "hunk" }} Piece
 */

/** Longer code stays plain: nobody reads its colours, and they cost. */
const MOST = 60_000;

const NUMBER = String.raw`\b(?:0x[\da-f_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:e[+-]?\d+)?)\b`;
const STRINGS = String.raw`"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?`;
const C_COMMENTS = String.raw`\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`;
const HASH_COMMENT = String.raw`(?<![\w$&])#[^\n]*`;

const PYTHON =
  "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield None True False self";
const SCRIPT =
  "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface let new null number of private protected public readonly return set static string super switch this throw true try type typeof undefined var void while with yield";
const COMPILED =
  "abstract as auto bool boolean break byte case catch chan char class const continue crate default defer do double else enum explicit export extends extern false final float fn for func go goto if impl implements import in int interface let long loop match mod mut namespace new nil null nullptr override package private protected pub public range ref return select self short signed sizeof static std string struct super switch template this throw throws trait true try type typedef union unsafe unsigned use using val var virtual void volatile where while";
const SHELL =
  "case do done elif else esac export fi for function if in local return select set shift then until while cd echo exit source sudo";
const SQL =
  "all alter and as asc between by case cast count create default delete desc distinct drop else end exists false from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references right select set sum table then true union unique update using values view when where with";
const RUBY =
  "alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue return self super then true unless until when while yield";

/** @param {string} comments @param {string} strings @param {string} keywords @param {string} [flags] */
function family(comments, strings, keywords, flags = "g") {
  const words = keywords ? String.raw`|(?<key>(?<![\w$.-])(?:${keywords.split(" ").join("|")})(?![\w$-]))` : "";
  return new RegExp(`(?<com>${comments})|(?<str>${strings})|(?<num>${NUMBER})${words}`, flags);
}

const TRIPLE = String.raw`[rbfu]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$))|[rbfu]{0,2}(?:${STRINGS})`;
const BACKTICKS = "`(?:\\\\[\\s\\S]|[^`\\\\])*`?";

const FAMILIES = {
  python: family(HASH_COMMENT, TRIPLE, PYTHON),
  script: family(C_COMMENTS, `${STRINGS}|${BACKTICKS}`, SCRIPT),
  compiled: family(C_COMMENTS, `${STRINGS}|${BACKTICKS}`, COMPILED),
  shell: family(HASH_COMMENT, STRINGS, SHELL),
  sql: family(String.raw`--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`, STRINGS, SQL, "gi"),
  ruby: family(HASH_COMMENT, STRINGS, RUBY),
  json: /(?<key>"(?:\\.|[^"\\\n])*"(?=\s*:))|(?<str>"(?:\\.|[^"\\\n])*"?)|(?<num>-?\b\d[\d.eE+-]*\b|\b(?:true|false|null)\b)/g,
  yaml: /(?<com>(?<!\S)#[^\n]*)|(?<key>^[ \t-]*[\w.$/-]+(?=\s*[:=](?:\s|$))|^\s*\[[^\]\n]+\])|(?<str>"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?)|(?<num>\b(?:true|false|null|yes|no)\b|-?\b\d[\d._]*\b)/gm,
  markup:
    /(?<com><!-{2}[\s\S]*?(?:-->|$))|(?<key><\/?[\w:-]+|\/?>|(?<![\w:-])[\w:-]{1,80}(?==))|(?<str>(?<==)"[^"]*"?|(?<==)'[^']*'?)|(?<num>&\w+;)/g,
  css: /(?<com>\/\*[\s\S]*?(?:\*\/|$))|(?<str>"[^"\n]*"?|'[^'\n]*'?)|(?<key>(?<![\w-])[\w-]{1,80}(?=\s{0,8}:)|@[\w-]+)|(?<num>#[\da-f]{3,8}\b|-?\b\d[\d.]*[a-z%]*)/gi,
};

/** @type {Record<string, keyof typeof FAMILIES>} */
const LANGUAGES = {
  python: "python",
  py: "python",
  python3: "python",
  pycon: "python",
  javascript: "script",
  js: "script",
  jsx: "script",
  ts: "script",
  tsx: "script",
  typescript: "script",
  mjs: "script",
  java: "compiled",
  kotlin: "compiled",
  swift: "compiled",
  c: "compiled",
  "c++": "compiled",
  cpp: "compiled",
  h: "compiled",
  "c#": "compiled",
  csharp: "compiled",
  cs: "compiled",
  go: "compiled",
  golang: "compiled",
  rust: "compiled",
  rs: "compiled",
  php: "compiled",
  scala: "compiled",
  dart: "compiled",
  bash: "shell",
  sh: "shell",
  shell: "shell",
  zsh: "shell",
  console: "shell",
  dockerfile: "shell",
  makefile: "shell",
  sql: "sql",
  ruby: "ruby",
  rb: "ruby",
  elixir: "ruby",
  lua: "ruby",
  json: "json",
  jsonc: "json",
  json5: "json",
  yaml: "yaml",
  yml: "yaml",
  toml: "yaml",
  ini: "yaml",
  html: "markup",
  xml: "markup",
  svg: "markup",
  vue: "markup",
  css: "css",
  scss: "css",
};

/** @param {string} text @param {string} language as it is named after a fence @returns {Piece[]} */
export function highlight(text, language) {
  if (language === "diff" || language === "patch") return diffPieces(text);
  const known = Object.hasOwn(LANGUAGES, language) ? LANGUAGES[language] : guess(text, language);
  if (known === null || text.length > MOST) return [{ text, kind: "" }];
  /** @type {Piece[]} */
  const pieces = [];
  let at = 0;
  for (const found of text.matchAll(FAMILIES[known])) {
    if (found[0] === "") continue;
    if (found.index > at) pieces.push({ text: text.slice(at, found.index), kind: "" });
    const [kind] = Object.entries(found.groups ?? {}).find(([, value]) => value !== undefined) ?? [""];
    pieces.push({ text: found[0], kind: /** @type {Piece["kind"]} */ (kind) });
    at = found.index + found[0].length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), kind: "" });
  return pieces;
}

/** The lines of a change, each by what it does. @param {string} text @returns {Piece[]} */
export function diffPieces(text) {
  return text.split(/(?<=\n)/).map((line) => {
    if (/^(?:@@|diff |index |\*\*\* )/.test(line) || /^(?:---|\+\+\+) /.test(line)) return { text: line, kind: "hunk" };
    return { text: line, kind: line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : "" };
  });
}

/** Whether a text is the change of a file, as `diff` and `git` write it, from its first line on. @param {string} text */
export function looksLikeDiff(text) {
  return /^\s*(?:diff --git |Index: |(?:index .*\n)?--- \S.*\n\+\+\+ \S.*\n@@ )/.test(text.slice(0, 4000));
}

/** A fence without a name is told by how it begins. @param {string} text @param {string} language @returns {keyof typeof FAMILIES | null} */
function guess(text, language) {
  if (language !== "" && language !== "code") return null;
  const start = text.slice(0, 2000);
  if (/^\s*[[{]/.test(start) && /"\s*:|^\s*\[/.test(start)) return "json";
  if (/^\s*(?:def|class|import|from) \w+.*(?::|import .*|\w)$/m.test(start) && !/[;{]\s*$/m.test(start))
    return "python";
  if (/^\s*(?:const|let|function|export|import) .*[;{]\s*$/m.test(start)) return "script";
  if (/^\s*select\b[\s\S]*\bfrom\b/i.test(start)) return "sql";
  if (/^\s*<[!?a-z]/i.test(start)) return "markup";
  return /^\s*(?:\$ |#!\/)/.test(start) ? "shell" : null;
}
