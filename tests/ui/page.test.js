// @ts-check
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

const ROOT = fileURLToPath(new URL("../../agentdbg/ui_static/", import.meta.url));
const PAGE = readFileSync(join(ROOT, "index.html"), "utf8");

/** Every module a module reaches by static import. @param {string} file @param {Set<string>} reached */
function reach(file, reached = new Set()) {
  if (reached.has(file)) return reached;
  reached.add(file);
  for (const [, path] of readFileSync(join(ROOT, file), "utf8").matchAll(/^import (?:[^"]*? from )?"(\.[^"]+)"/gm)) {
    reach(normalize(join(dirname(file), path)), reached);
  }
  return reached;
}

function files(folder = ROOT) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath ?? entry.path, entry.name)));
}

test("every module the page reaches is there, and in a form that can be joined with the others", () => {
  const reached = [...reach("app.js")];

  assert.ok(reached.length > 40, "the walk through the imports found the page");
  for (const file of reached) {
    const left = readFileSync(join(ROOT, file), "utf8").replace(/^import (?:\{[^}]*\} from )?"[^"]+";$/gm, "");
    assert.doesNotMatch(left, /^import\b|^export (?:default|\*|let|var)/m, file);
  }
});

test("everything the page names is there", () => {
  for (const [, path] of PAGE.matchAll(/(?:href|src)="\/static\/([^"]+)"/g))
    assert.ok(existsSync(join(ROOT, path)), path);
});

test("nothing inline, nothing from elsewhere, no way in for markup", () => {
  assert.doesNotMatch(PAGE, /<script(?![^>]*src=)|\sstyle=|\son\w+=|https?:/i);
  for (const file of files().filter((name) => name.endsWith(".js"))) {
    const code = readFileSync(join(ROOT, file), "utf8");
    assert.doesNotMatch(
      code,
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\(|setAttribute\("style"/,
      file,
    );
    assert.doesNotMatch(code.replaceAll("http://www.w3.org/2000/svg", ""), /["'`]https?:\/\/(?!\$)/, file);
  }
  for (const file of files().filter((name) => name.endsWith(".css"))) {
    assert.doesNotMatch(readFileSync(join(ROOT, file), "utf8"), /url\(["']?(https?:|\/\/|data:)/, file);
  }
});

test("colours are tokens, so that light and dark cannot differ in one place", () => {
  for (const file of files().filter((name) => name.endsWith(".css") && !name.endsWith("tokens.css"))) {
    const bare = readFileSync(join(ROOT, file), "utf8").replace(/light-dark\([^()]*(\([^()]*\)[^()]*)*\)/g, "");
    assert.doesNotMatch(bare, /#[0-9a-f]{3,8}\b(?![^{]*\{)/i, file);
  }
});
