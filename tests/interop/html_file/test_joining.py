"""The page's modules as one script."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from agentdbg.interop.html_file.joining import UnknownSyntax, join_modules
from agentdbg.interop.html_file.page import page_script, page_styles

if TYPE_CHECKING:
    from pathlib import Path

NODE = shutil.which("node")

MODULES = {
    "app.js": """// @ts-check
/** What the page does. @typedef {import("./model/types.js").Row} Row */
import { greet, NAME as who } from "./core/words.js";
import "./core/effect.js";
export async function later() { return (await import("./core/late.js")).late; }
log(greet(who), typeof later);
later().then((late) => log(late()));
""",
    "core/words.js": """import {
  shout,
} from "../model/loud.js";
export const NAME = "world"; /** @type {string} */
export function greet(name) { return shout(`hello ${name}`); }
""",
    "core/effect.js": 'log("effect");\n',
    "core/late.js": 'import { greet } from "./words.js";\nconst late = () => greet("late");\nexport { late };\n',
    "model/loud.js": "const up = (text) => text.toUpperCase();\nexport { up as shout };\n",
    "model/quiet.js": 'import { shout as loud } from "./loud.js";\nexport const shout = (text) => `(${loud(text)})`;\n',
}


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="needs Node to run the script")
@pytest.mark.parametrize(
    ("instead", "said"),
    [
        ({}, ["effect", "HELLO WORLD function", "HELLO LATE"]),
        ({"model/loud.js": "model/quiet.js"}, ["effect", "(HELLO WORLD) function", "(HELLO LATE)"]),
    ],
)
def test_a_joined_script_does_what_its_modules_do(instead: dict[str, str], said: list[str], tmp_path: Path) -> None:
    """Imports, renames, later imports and a module put in another's place, which may still use that other."""
    script = tmp_path / "joined.js"
    joined = join_modules(MODULES.__getitem__, "app.js", instead)
    script.write_text(f"const log = (...words) => console.log(...words);\n{joined}")
    done = subprocess.run([str(NODE), str(script)], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == said


@pytest.mark.parametrize(
    "module",
    [
        "export default 1;",
        'import * as all from "./b.js";',
        'import one from "./b.js";',
        "export let changing = 1;",
        'export * from "./b.js";',
        'const end = "</script>";',
        'import { a } from "./a.js";',
        "let count = 1;\nexport { count };",
        "var one = 1, two = 2;\nexport { two as second };",
        "const here = import.meta.url;",
        "const path = './b.js'; import(path);",
        "export const { a, b } = pair;",
        'const text = "no end;',
        "const text = `no ${end`;",
        "const pattern = /no end;\n",
    ],
)
def test_what_is_not_understood_is_refused(module: str) -> None:
    """A page that is half right would fail in front of somebody who cannot mend it."""
    modules = {"a.js": module + "\n", "b.js": "export const a = 1;\n"}
    with pytest.raises(UnknownSyntax):
        join_modules(modules.__getitem__, "a.js", {})


@pytest.mark.parametrize(
    "code",
    [
        "log(`one\n// two\n/** three */\n\n\nfour`);",
        "log(`${`// ${1 /* gone */ + 1}`} /* kept */`);",
        "log(\"// kept\", '/* kept */');",
        "log('https://example.org'.replace(/[/]\\/\\*\"'`/g, ''));",
        "log(8 / 2 / 2, /\\/\\/'/.test(\"//'\"));",
        "const rate = (8) / 2; // a remark's end\nlog(rate / 2);",
        "const one = 1\nconst two = 2 /* a\nline's end */ log(one, two);",
        "const words = { import: 1, export: 2 };\nlog(words.import, words.export);",
        "log(`export let a = 1;`, 'import x from y');",
        "const f = () => { return /}`/.test('}`') };\nlog(f());",
        "log([1, 2].map((n) => n /2).join(), typeof /a/);",
    ],
)
@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="needs Node to run the script")
def test_what_only_looks_like_a_comment_or_a_statement_is_kept(code: str, tmp_path: Path) -> None:
    """A line in a text that begins with // was dropped without a word."""
    log = "const log = (...words) => console.log(JSON.stringify(words));\n"
    plain, joined = tmp_path / "plain.mjs", tmp_path / "joined.js"
    plain.write_text(log + code)
    joined.write_text(log + join_modules({"a.js": code}.__getitem__, "a.js", {}))

    said = [
        subprocess.run([str(NODE), str(file)], capture_output=True, text=True, check=False) for file in (plain, joined)
    ]
    assert said[0].stdout
    assert said[0].stdout == said[1].stdout, said[1].stderr


def test_the_page_can_be_joined_and_holds_everything() -> None:
    """Every module and style sheet of the page is in, also those it loads later, and nothing written for readers."""
    script, styles = page_script(), page_styles()

    assert '"views/details/event-details.js"() {' in script
    assert '"core/embedded-api.js": (() => {' in script
    assert re.search(r"^\s*/\*\*", script, re.MULTILINE) is None
    assert "event-details" in styles
    assert "file-foot" in styles
    assert styles.startswith("@layer")
    assert "@import" not in styles
