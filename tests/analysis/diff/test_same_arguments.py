"""When two calls ask for the same, by the arguments they were given."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.analysis.diff.same_arguments import ask_for_the_same

_LETTER = "Dear Mr. Tanaka, your scan was moved to Tuesday, June 11, 2024, at 8:40 am, room R2."


@pytest.mark.parametrize(
    ("args", "other"),
    [
        ({"start": "2024-06-11T08:40"}, {"start": "2024-06-11T08:40:00.000"}),
        ({"start": "2024-06-11 08:40:00Z"}, {"start": "2024-06-11T08:40:00+00:00"}),
        ({"body": _LETTER}, {"body": _LETTER.replace("Mr. Tanaka", "Kenji Tanaka")}),
        (
            {"body": _LETTER},
            {"body": "Hello,\n\n| scan | new |\n|---|---|\n| Mr. Tanaka | June 11, 2024, 8:40 am, R2 |"},
        ),
    ],
)
def test_what_is_spelled_otherwise_is_the_same(args: Any, other: Any) -> None:
    """A moment has several spellings, a person several names, a letter several layouts."""
    assert ask_for_the_same("reschedule", args, other)


@pytest.mark.parametrize(
    ("args", "other"),
    [
        ({"start": "2024-06-11T08:40"}, {"start": "2024-06-11T20:40"}),
        ({"start": "2024-06-11T08:40Z"}, {"start": "2024-06-11T08:40+09:00"}),
        ({"body": _LETTER}, {"body": _LETTER.replace("Tanaka", "Tanabe")}),
        ({"body": f"{_LETTER} Tell Kenji Tanaka."}, {"body": f"{_LETTER} Tell Hana Tanaka."}),
        ({"body": f"{_LETTER} cc @ward"}, {"body": f"{_LETTER} cc @press"}),
        ({"values": ["2024-06-11", "08:40", "R2"]}, {"values": ["08:40", "2024-06-11", "R2"]}),
    ],
)
def test_what_says_something_else_is_not(args: Any, other: Any) -> None:
    """Another hour, another person, another cell of a sheet."""
    assert not ask_for_the_same("reschedule", args, other)
