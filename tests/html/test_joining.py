"""The page's modules as one script."""

from __future__ import annotations

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
    ],
)
def test_what_is_not_understood_is_refused(module: str) -> None:
    """A page that is half right would fail in front of somebody who cannot mend it."""
    modules = {"a.js": module + "\n", "b.js": "export const a = 1;\n"}
    with pytest.raises(UnknownSyntax):
        join_modules(modules.__getitem__, "a.js", {})


def test_the_page_can_be_joined_and_holds_everything() -> None:
    """Every module and style sheet of the page is in, also those it loads later, and nothing written for readers."""
    script, styles = page_script(), page_styles()

    assert '"views/details/event-details.js"() {' in script
    assert '"core/embedded-api.js": (() => {' in script
    assert "/**" not in script
    assert "event-details" in styles
    assert "file-foot" in styles
    assert styles.startswith("@layer")
    assert "@import" not in styles
