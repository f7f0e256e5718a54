"""What the tests of the documentation share: the pages, their code blocks, their links, what is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SPEC.md")),
        *(ROOT / "docs").rglob("*.md"),
    ]
)

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WHY_NOT = re.compile(r"<!-- not compared: ([^\n]+) -->\n\Z")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
_HEADING = re.compile(r"^#{1,6} +(.+?)$", re.MULTILINE)
# What differs from run to run: ids, times of day, how long it took.
_CHANGING = [
    (re.compile(r"\S*pytest-of-\w+/pytest-\d+/agentdbg\d+"), "FOLDER"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b\d+\.\d+s\b"), "DURATION"),
    (re.compile(r"\b\d+ kB\b"), "SIZE"),
    (re.compile(r"\b[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+Z)?)?"), "WHEN"),
    (re.compile(r"<?\d[\d.,]* (ms|s)\b"), "DURATION"),
    (re.compile(r"(?<=WHEN) +\d+"), " DURATION"),
    (re.compile(r"[ ]+"), " "),
]


class Block(NamedTuple):
    """One fenced block: its language, its text, the line it begins on, and why it is compared with nothing."""

    language: str
    text: str
    line: int
    why_not: str = ""


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = []
    for fence in _FENCE.finditer(text):
        why_not = _WHY_NOT.search(text, max(0, fence.start() - 200), fence.start())
        line = text.count("\n", 0, fence.start()) + 1
        found.append(Block(fence.group(1), fence.group(2), line, why_not.group(1) if why_not else ""))
    return found


def lines_of(page: str) -> Iterator[tuple[str, str]]:
    """Each line that a page tells to type, with what the page shows below it."""
    for block in blocks((ROOT / page).read_text(encoding="utf-8")):
        if block.language == "console":
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                yield command, expected


@contextmanager
def every_sample(page: str, among: Callable[[str], bool] = lambda _: True) -> Iterator[Callable[[str], None]]:
    """
    Fail at the end when something that a page shows of a terminal was compared with nothing.

    What is given takes the command of each sample that was compared; `among` says which of the page are meant.
    """
    left = [command for command, expected in lines_of(page) if expected.strip() and among(command)]
    assert left, f"{page} shows nothing of a terminal"

    def was_compared(command: str) -> None:
        if command in left:
            left.remove(command)

    yield was_compared
    assert left == [], f"{page} shows what nothing was compared with"


def links(text: str) -> list[str]:
    """Where a page links to, also its pictures."""
    return [found.group(1) or found.group(2) for found in _LINK.finditer(without_blocks(text))]


def anchors(text: str) -> set[str]:
    """The names a page's headings can be linked by."""
    found: set[str] = set()
    for heading in _HEADING.findall(without_blocks(text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = 0
        while (name if not count else f"{name}-{count}") in found:
            count += 1
        found.add(name if not count else f"{name}-{count}")
    return found


def without_blocks(text: str) -> str:
    """A page's own words."""
    return _FENCE.sub("", text)


def printed(folder: Path, *arguments: str, **environment: str) -> str:
    """What Python prints for these arguments in a folder; it must say nothing beside it."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.stderr == "", done.stderr
    return done.stdout


def steady(text: str, changing: Iterable[tuple[re.Pattern[str], str]]) -> str:
    """The text with a stand-in for all that differs from run to run."""
    for pattern, stand_in in changing:
        text = pattern.sub(stand_in, text)
    return text.strip()


def steady_output(text: str) -> str:
    """What is printed, without what differs from run to run."""
    for pattern, stand_in in _CHANGING:
        text = pattern.sub(stand_in, text)
    return "\n".join(line.strip() for line in text.strip().splitlines())
