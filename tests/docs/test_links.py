"""The pages hang together, and speak plainly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, links, without_blocks
from tests.docs.test_console import PRODUCED, lines_of

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
    """A sample that nobody makes anew is wrong after a month. Page by page: not every line of a block is compared."""
    showing = {_name(page) for page in PAGES if any(expected.strip() for _, expected in lines_of(_name(page)))}

    assert showing == set(PRODUCED)
    for name, file in PRODUCED.items():
        assert name.rpartition("/")[2] in (ROOT / file).read_text(encoding="utf-8"), f"{file} makes nothing of {name}"
