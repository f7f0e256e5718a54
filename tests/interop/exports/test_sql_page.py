"""The questions on the page about SQL can be asked, and their answers look as the page shows them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from benchmarks.made_up_runs import write_many_runs
from benchmarks.tables_speed import questions
from tests.commands.stored import store
from tests.docs.pages import ROOT, blocks, every_sample, lines_of
from tests.interop.exports.runs import rich_story

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands.stored import Ran

pytestmark = pytest.mark.slow

_PAGE = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
_ANSWERS = [block.text for block in blocks(_PAGE) if block.language == "text"]


def test_there_are_ten() -> None:
    """Ten are promised."""
    assert len(questions()) == len(_ANSWERS) == 10


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough runs for every question to have an answer."""
    folder = tmp_path_factory.mktemp("made-up")
    write_many_runs(folder, 40)
    store(folder, rich_story(), "error")
    return folder


def test_the_first_sample_is_what_is_printed(
    cli: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figure by figure: the runs are made up the same each time."""
    write_many_runs(tmp_path, 40)
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(tmp_path))
    ((command, expected),) = lines_of("docs/sql.md")
    with every_sample("docs/sql.md") as was_compared:
        ran = cli(*shlex.split(command)[1:])

        assert ran.out == expected
        was_compared(command)


@pytest.mark.parametrize("number", range(10), ids=[title for title, _ in questions()])
def test_a_question_of_the_page_is_answered(
    cli: Callable[..., Ran], made_up: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """People copy these first."""
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(made_up))
    ran = cli("sql", questions()[number][1])

    assert ran.code == 0, ran.err
    answer, shown = ran.out.splitlines(), _ANSWERS[number].splitlines()
    assert answer[0].split() == shown[0].split()
    assert len(answer) > 1
