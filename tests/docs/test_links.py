"""The pages hang together, and speak plainly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, blocks, lines_of, links, without_blocks
from tests.docs.test_console import PRODUCED
from tests.docs.test_examples import PAGES as RUN

CODE = {"python", "py", "sh", "json", "sql", "yaml", "toml"}
# What a terminal shows, and what the Python block before it prints.
SHOWN = {"console", "output"}

if TYPE_CHECKING:
    from pathlib import Path

# Made by commands that need more than a checkout: a browser, minutes of measuring.
MADE_BY_COMMANDS = {"docs/images": "make screenshots"}


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    """A dead link costs a reader more than a missing one."""
    for link in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if str(target.parent.relative_to(ROOT)) in MADE_BY_COMMANDS:
            continue
        assert target.exists(), f"{_name(page)} links to {link}, which is not there"
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), f"{_name(page)}: no heading for {link}"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_no_page_leads_to_another_machine_or_shows_this_one(page: Path) -> None:
    """What is read offline works offline, and no path of a developer's machine is in it."""
    text = page.read_text(encoding="utf-8")

    assert not re.search(r"(?<![\w.])/(work|root|tmp/\w)", text)
    assert not re.search(r"<(script|iframe)", text)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_files_that_pages_mention_exist(page: Path) -> None:
    """Paths move; the pages have to move with them."""
    for path in re.findall(
        r"`((?:agentdbg|tests|docs|scripts|benchmarks|examples|requirements)/[\w./-]+)`", _words(page)
    ):
        if not path.startswith("docs/images"):
            assert (ROOT / path).exists(), f"{_name(page)} mentions {path}, which is not there"


def test_every_page_can_be_reached_from_the_readme() -> None:
    """A page nobody links to is a page nobody reads."""
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        for link in links(page.read_text(encoding="utf-8")):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in seen:
                waiting.append(target)

    assert {_name(page) for page in PAGES} - {_name(page) for page in seen} == set()


def _words(page: Path) -> str:
    return without_blocks(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_a_page_says_first_what_it_is_for(page: Path) -> None:
    """Whoever came by a search decides in two lines whether to stay."""
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.strip()]

    assert lines[0].startswith("# ")
    assert re.match(r"[A-Za-z`*\[]", lines[1]), lines[1]
    assert len(lines[1]) > 12


def test_what_pages_show_of_a_terminal_is_produced_by_a_test() -> None:
    """A sample that nobody makes anew is wrong after a month; `every_sample` fails for one that is not compared."""
    showing = {_name(page) for page in PAGES if any(expected.strip() for _, expected in lines_of(_name(page)))}

    assert showing == set(PRODUCED)
    for name, file in PRODUCED.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert name.rpartition("/")[2] in text, f"{file} makes nothing of {name}"
        assert "every_sample(" in text, f"{file} may leave out what {name} shows"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_block_is_code_is_compared_or_says_why_not(page: Path) -> None:
    """Output without a language, or in a block that no test looks at, would slip through."""
    for block in blocks(page.read_text(encoding="utf-8")):
        where = f"{_name(page)}:{block.line}"
        assert block.language in CODE | SHOWN | {"text"}, f"{where}: {block.language or 'no language'}"
        if block.text.startswith("$ "):
            assert block.language == "console", f"{where} is what a terminal shows"
        if block.language == "text":
            assert block.why_not, f"{where}: make it a console sample, or say why it is compared with nothing"
        if block.language == "output":
            assert _name(page) in RUN, f"{where}: no test runs the code before it"
