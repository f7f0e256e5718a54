"""`agentdbg validate`: is this run what it should be?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentdbg import traced_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.commands.stored import Ran
    from tests.conftest import Recorded

pytestmark = pytest.mark.slow


def test_a_sound_run_is_one_line_and_exit_0(cli: Callable[..., Ran], recorded: Recorded) -> None:
    """In a script the exit code is all that is read."""
    with traced_run("sound"):
        pass

    ran = cli("validate")
    assert ran.code == 0
    assert ran.out == f"✓ {recorded.only().path.name[:8]}: 2 events, valid\n"
    assert cli("validate", "--json").json["valid"] is True


def test_a_problem_is_named_with_its_line_and_exits_1(cli: Callable[..., Ran], recorded: Recorded) -> None:
    """Where to look is the answer, not that something is wrong somewhere."""
    with traced_run("torn"):
        pass
    with (recorded.only().path / "events.jsonl").open("a") as file:
        file.write('{"torn')

    ran = cli("validate")
    assert ran.code == 1
    assert "line 3  the line is not JSON" in ran.out
    found = cli("validate", "latest", "--json")
    assert found.code == 1
    assert [(problem["kind"], problem["line"]) for problem in found.json["problems"]] == [("damaged", 3)]


def test_what_a_line_says_never_acts_on_the_terminal(cli: Callable[..., Ran], recorded: Recorded) -> None:
    """A run from elsewhere is checked because it is not trusted."""
    with traced_run("hostile"):
        pass
    events = recorded.only().path / "events.jsonl"
    events.write_text(events.read_text().replace('"RUN_END"', '"\\u001b[2J"'))

    assert "\x1b" not in cli("validate").out


def test_an_unknown_run_is_exit_2(cli: Callable[..., Ran]) -> None:
    """Not found is not the same as not sound."""
    assert cli("validate", "ffffffff").code == 2


def test_an_older_form_is_noted_and_exits_0(cli: Callable[..., Ran], recorded: Recorded) -> None:
    """What every reader understands is not worth a red build, but worth knowing."""
    with traced_run("theirs"):
        pass
    events = recorded.only().path / "events.jsonl"
    events.write_text(events.read_text().replace('"status":"ok"', '"status":"success"'))

    ran = cli("validate")
    assert ran.code == 0
    assert "line 2  note: event.payload.status is 'success'" in ran.out
    assert "2 events, valid, with older forms that readers understand" in ran.out
    assert [note["line"] for note in cli("validate", "--json").json["notes"]] == [2]
