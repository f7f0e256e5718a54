"""The file that good runs make: small, stable, and the same whichever way it is added up."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.analysis.checks.run_baseline import baseline_of, combine, parse_baseline
from agentdbg.commands.run_files import baseline_bytes, read_baseline, write_baseline
from agentdbg.exceptions import UsageError
from tests.analysis.checks.runs import baseline, facts_of, refund_story, report

if TYPE_CHECKING:
    from pathlib import Path


def test_a_baseline_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """What a review saw is what is compared."""
    made = baseline(refund_story(), refund_story(amount=10), refund_story(tokens=1500))
    path = tmp_path / "new" / "refund.json"
    write_baseline(path, made)

    assert read_baseline(path).as_json() == made.as_json()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_baseline_is_short_and_its_lines_say_one_thing_each() -> None:
    """Twenty runs must not make twenty lines of each number, or nobody reads the difference."""
    stories = [refund_story(tokens=1000 + 10 * number) for number in range(20)]
    lines = baseline_bytes(baseline(*stories)).decode().splitlines()

    assert '    "find_order": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],' in lines
    assert len([line for line in lines if "run_id" not in line]) < 130
    assert json.loads("\n".join(lines))["totals"]["total_tokens"][0] == 2000


def test_several_runs_accept_each_of_their_sets_of_effects() -> None:
    """Some tasks have two right answers."""
    made = baseline(refund_story(), refund_story(amount=20), refund_story())

    assert [(variant.runs, len(variant.calls)) for variant in made.effects] == [(2, 1), (1, 1)]
    assert report(refund_story(amount=20), made).passed
    assert not report(refund_story(amount=30), made).passed


def test_several_runs_widen_the_budget_to_the_largest_of_them() -> None:
    """That is the noise of the agent itself."""
    noisy = baseline(refund_story(tokens=1000), refund_story(tokens=1700))

    assert not report(refund_story(tokens=2000), baseline(refund_story(tokens=1000))).passed
    assert report(refund_story(tokens=2000), noisy).passed
    assert not report(refund_story(tokens=2000), noisy, tolerance=0).passed


def test_the_same_run_counts_once() -> None:
    """`agentdbg baseline latest latest` must not look like two runs that agree."""
    facts = facts_of(refund_story())

    assert len(combine([baseline_of(facts), baseline_of(facts)]).runs) == 1


def test_a_tool_that_a_run_did_not_call_counts_as_nought() -> None:
    """Numbers stand in the order of the runs, so none may be left out."""
    made = baseline(refund_story(reads=("find_order",)), refund_story(reads=("get_customer",)))

    assert made.as_json()["tools"] == {"find_order": [1, 0], "get_customer": [0, 1], "refund": [1, 1]}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ([], "agentdbg_baseline"),
        ({"spec_version": "0.1"}, "agentdbg_baseline"),
        ({"agentdbg_baseline": "1"}, "its agentdbg_baseline is not 1"),
        ({"agentdbg_baseline": 1, "runs": []}, "runs is empty"),
        ({"agentdbg_baseline": 1, "budget": 3}, "'budget' is not known"),
    ],
)
def test_what_is_no_baseline_is_refused_with_the_reason(content: Any, why: str) -> None:
    """A wrong file that compares equal to everything would be a gate that is always open."""
    with pytest.raises(UsageError, match=r"refund.json is not a baseline") as caught:
        parse_baseline(content, "refund.json")

    assert why in str(caught.value)
    assert "agentdbg baseline RUN --out FILE" in str(caught.value)


_DEEP: Any = json.loads('{"a":' * 300 + "1" + "}" * 300)


@pytest.mark.parametrize(
    ("edited", "why"),
    [
        ({"totals": {"total_tokens": ["many"]}}, "totals.total_tokens has 'many', which is not a number"),
        ({"totals": {"total_tokens": [float("inf")]}}, "totals.total_tokens has inf, which is not a number"),
        ({"totals": {"total_tokens": [1, 2]}}, "totals.total_tokens should have a number for each run"),
        ({"totals": {"total_token": [1]}}, "totals.total_token is not known"),
        ({"totals": []}, "totals is not a table"),
        ({"tools": {"find_order": "12"}}, "tools.find_order is not a list"),
        ({"statuses": "ok"}, "statuses is not a list"),
        ({"statuses": []}, "statuses is empty"),
        ({"statuses": ["fine"]}, "statuses has 'fine', which is neither ok nor error"),
        ({"runs": []}, "runs is empty"),
        ({"runs": ["a41f"]}, "run 1 is not a table"),
        ({"effects": []}, "effects is empty"),
        ({"effects": [{"runs": 1}]}, "effects 1 has no 'calls'"),
        ({"effects": [{"runs": True, "calls": []}]}, "effects 1: runs is not a number"),
        ({"effects": [{"runs": 1, "calls": [{"name": "refund"}]}]}, "effects 1: refund has no 'args'"),
        ({"effects": [{"runs": 1, "calls": [{"name": "x", "args": {}, "returned": "no"}]}]}, "is not a true or false"),
        ({"effects": [{"runs": 1, "calls": [], "call": []}]}, "effects 1: 'call' is not known"),
        (
            {"effects": [{"runs": 1, "calls": [{"name": "x", "args": {}, "retuned": False}]}]},
            "x: 'retuned' is not known",
        ),
        ({"loops": [{"kind": "stall"}]}, "loop 1 has no 'pattern'"),
    ],
)
def test_a_baseline_that_was_edited_wrongly_is_refused_with_the_place(edited: dict[str, Any], why: str) -> None:
    """Merged by hand at midnight: half a baseline is half a gate, and nobody would see it."""
    with pytest.raises(UsageError) as caught:
        parse_baseline({**baseline().as_json(), **edited}, "refund.json")

    assert why in str(caught.value)


def test_arguments_nested_without_end_differ_and_are_no_fault() -> None:
    """A file in a pull request is written by anybody."""
    content = {**baseline().as_json(), "effects": [{"runs": 1, "calls": [{"name": "refund", "args": _DEEP}]}]}
    found = report(refund_story(), parse_baseline(content, "refund.json"))

    assert [failed.name for failed in found.failures] == ["effects"]


def test_a_baseline_of_a_newer_version_asks_for_an_update_and_not_for_its_own_end() -> None:
    """Who follows `make one` here would throw a colleague's baseline away."""
    with pytest.raises(UsageError, match=r"of a newer AgentDbg \(its format is 2, and this version reads 1\); update"):
        parse_baseline({"agentdbg_baseline": 2, "what": "ever"}, "refund.json")


def test_a_baseline_that_is_a_link_stays_one(tmp_path: Path) -> None:
    """Shared between two suites; replacing the link would part them without a word."""
    (tmp_path / "shared.json").write_text("{}")
    (tmp_path / "mine.json").symlink_to("shared.json")
    write_baseline(tmp_path / "mine.json", baseline())

    assert (tmp_path / "mine.json").is_symlink()
    assert read_baseline(tmp_path / "shared.json").effects


def test_a_key_that_a_merge_left_in_twice_is_refused(tmp_path: Path) -> None:
    """Both sides of a conflict kept: the last would win, and the effects of the first be checked by nobody."""
    path = tmp_path / "refund.json"
    write_baseline(path, baseline())
    path.write_text(path.read_text().replace('  "loops": [],', '  "loops": [],\n  "effects": [],'))

    with pytest.raises(UsageError, match=r"refund\.json is not JSON that can be used: 'effects' stands twice"):
        read_baseline(path)
