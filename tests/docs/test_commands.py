"""What the pages tell people to type exists."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from agentdbg.cli import COMMANDS
from agentdbg.commands import command_module
from agentdbg.commands.options import Option, parameters_of
from tests.docs.pages import PAGES, ROOT, blocks, without_blocks

if TYPE_CHECKING:
    from pathlib import Path

# These hand everything after the program's name to the program, so they read their own command line.
READS_ITS_OWN = {"run", "replay", "fork"}
GLOBAL_OPTIONS = {"--help", "-h", "--version", "--install-completion", "--show-completion"}


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _typed(page: Path) -> list[str]:
    """Every line of a shell block, and every inline piece of code, of a page."""
    text = page.read_text(encoding="utf-8")
    in_blocks = [
        line for block in blocks(text) if block.language in ("sh", "console") for line in block.text.split("\n")
    ]
    return [line.removeprefix("$ ") for line in in_blocks] + re.findall(r"`([^`\n]+)`", without_blocks(text))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_command_on_a_page_exists_with_its_options(page: Path) -> None:
    """A command that is refused as soon as it is copied loses a reader."""
    for line in _typed(page):
        found = re.match(r"(?:\w+=\S+ )*agentdbg ([a-z_]+)(.*)", line)
        if found is None:
            continue
        command, rest = found.groups()
        assert command in {*COMMANDS, *READS_ITS_OWN}, f"{_name(page)}: `{line}`"
        if command not in READS_ITS_OWN:
            unknown = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", _without_quoted(rest))) - _options(command)
            assert not unknown, f"{_name(page)}: `{line}` has {unknown}"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_make_target_on_a_page_exists(page: Path) -> None:
    """The set-up commands are the first thing a contributor types."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    used = {found.group(1) for line in _typed(page) if (found := re.match(r"make ([a-z-]+)", line))}

    assert used <= targets


def test_every_make_target_is_explained_to_contributors() -> None:
    """`make help` is for those who are here already; the page is for those who come."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for target in re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE):
        assert f"make {target}" in page, target


def test_every_decision_says_what_was_given_up_and_what_would_change_it() -> None:
    """A decision without its price is an advertisement."""
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))

    assert [page.name[:4] for page in pages] == [f"{number:04d}" for number in range(1, len(pages) + 1)]
    for number, page in enumerate(pages, 1):
        headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert headings[0].startswith(f"{number}. "), page.name
        needed = ("What we chose", "What we gave up", "What would change our mind")
        assert [heading for heading in headings if heading in needed] == list(needed), page.name


def _options(command: str) -> set[str]:
    function = command_module(command).command
    declared = [parameter.declared for parameter in parameters_of(function)]
    return GLOBAL_OPTIONS | {name for option in declared if isinstance(option, Option) for name in option.names}


def _without_quoted(rest: str) -> str:
    """The words of a command line that are not quoted text, up to a pipe or a comment."""
    try:
        words = shlex.split(rest.split("|", maxsplit=1)[0], comments=True)
    except ValueError:
        words = rest.split()
    return " ".join(word for word in words if " " not in word)
