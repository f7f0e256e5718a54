"""A tool of which nobody knows whether it changes anything: never called harmless, and stopped by a gate."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.analysis.checks.runs import baseline, only_failure, refund_story, report
from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable

    Cli = Callable[..., Ran]

_POLICY = Path(".agentdbg/policy.yaml")


def _calls(*calls: tuple[str, Any], error: Any = None) -> Story:
    story = Story()
    for name, args in calls:
        story.tool(name, args, None if error else "done", error=error)
    story.end()
    return story


def _frob(at: str) -> Story:
    return _calls(("get_state", {}), ("frobnicate", {"at": at}))


def _line_to_add(ran: Ran) -> str:
    """The line a person copies from the report into the policy."""
    text = " ".join(ran.out.split())
    found = re.search(r"`(read_tools: \[.*?\])`", text)
    assert found is not None, text
    return found[1]


@pytest.mark.parametrize(
    "came",
    [
        _calls(("get_state", {}), ("frobnicate", {"at": "everything"})),
        _calls(("frobnicate", {"at": "one"}), ("frobnicate", {"at": "two"})),
        _calls(("frobnicate", {"at": "one"}), ("frobnicate", {"at": "one"})),
        _calls(("frobnicate", {"at": "one"}), ("wibble", {})),
        _calls(("frobnicate", {"at": "everything"}), error={"error_type": "CalledProcessError", "message": "1"}),
    ],
    ids=["changed", "another", "twice", "another tool", "failed half-way"],
)
def test_a_new_or_changed_call_fails_with_the_line_to_add(cli: Cli, data_dir: Path, came: Story) -> None:
    """`pytest -q` one day and `rm -rf /` the next: what nobody knows must not pass for harmless."""
    cli("baseline", store(data_dir, _frob("one")), "--out", "b.json")
    run = store(data_dir, came)
    failed = cli("assert", run, "-b", "b.json", "--loops", "off")

    assert failed.code == 1
    assert "✕ effects" in failed.out
    assert "Side effects unknown: #" in failed.out
    _POLICY.parent.mkdir()
    _POLICY.write_text(f"{_line_to_add(failed)}\n")
    assert cli("assert", run, "-b", "b.json", "--loops", "off", "--findings", "off").code == 0


def test_the_difference_is_shown_as_for_any_other_call(cli: Cli, data_dir: Path) -> None:
    """Whoever has to decide looks at what was asked."""
    cli("baseline", store(data_dir, _frob("one")), "--out", "b.json")
    failed = cli("assert", store(data_dir, _frob("everything")), "-b", "b.json")

    assert '      #3 frobnicate\n    - at: "one"\n    + at: "everything"\n' in failed.out


def test_the_line_to_add_keeps_what_the_policy_says_already(cli: Cli, data_dir: Path) -> None:
    """A second `read_tools` in one file is refused, so the line replaces the first."""
    cli("baseline", store(data_dir, _frob("one")), "--out", "b.json")
    _POLICY.parent.mkdir()
    _POLICY.write_text("read_tools: [peruse*]\n")
    run = store(data_dir, _calls(("peruse", {}), ("frobnicate", {"at": "two"}), ("[odd]: #name", {}), ("*", {})))
    line = _line_to_add(cli("assert", run, "-b", "b.json"))

    assert line == "read_tools: [peruse*, frobnicate, '[[]odd]: #name', '[*]']"
    _POLICY.write_text(line)
    assert cli("assert", run, "-b", "b.json").code == 0
    assert cli("assert", store(data_dir, _calls(("wibble", {}))), "-b", "b.json").code == 1, "`*` is one tool here"


@pytest.mark.parametrize(
    "name", ["a,b", " a ", "it's", "true", "Null", "a`b", "a: b", "x#y", "-", "[a", "é", "0", "@x"]
)
def test_the_line_to_add_works_for_tools_of_any_name(cli: Cli, data_dir: Path, name: str) -> None:
    """What a tool is called is not ours, and a line that is copied has to work."""
    run = store(data_dir, _calls((name, {})))
    failed = cli("assert", run, "--effects", "none")
    _POLICY.parent.mkdir()
    _POLICY.write_text(f"effects: none\n{_line_to_add(failed)}\n")

    assert cli("assert", run).code == 0, _POLICY.read_text()


def test_the_same_calls_pass_and_are_called_unknown_not_none(cli: Cli, data_dir: Path) -> None:
    """A reviewed run is accepted as it is, but nobody says that it did nothing."""
    cli("baseline", store(data_dir, _frob("one")), "--out", "b.json")
    passed = cli("assert", store(data_dir, _frob("one")), "-b", "b.json")

    assert passed.code == 0
    assert "none known. Side effects unknown: `frobnicate`, called as in the baseline." in " ".join(passed.out.split())


def test_a_call_that_is_left_out_and_a_failed_try_before_the_same_call_pass() -> None:
    """A lookup less is no change of the world, and a retry of what the baseline did is nothing new."""
    known = baseline(_calls(("weather", {"city": "Rome"}), ("weather", {"city": "Oslo"})))
    retried = Story()
    for city in ("Rome", "Rome", "Oslo"):
        failed = city == "Rome" and len(retried.events) == 1
        retried.tool("weather", {"city": city}, error={"error_type": "Timeout", "message": "5 s"} if failed else None)
    retried.end()

    assert report(_calls(("weather", {"city": "Rome"})), known).passed
    assert report(retried, known).passed


def test_what_any_of_the_good_runs_called_is_nothing_new() -> None:
    """Two good runs look up different things; a third may look up both."""
    rome, oslo = (_calls(("weather", {"city": city})) for city in ("Rome", "Oslo"))
    both = _calls(("weather", {"city": "Oslo"}), ("weather", {"city": "Rome"}))

    assert report(both, baseline(rome, oslo)).passed
    assert not report(both, baseline(rome)).passed


def test_a_dry_run_with_an_unknown_tool_is_not_said_to_have_changed_nothing(cli: Cli, data_dir: Path) -> None:
    """`effects: none` is a promise; who cannot keep it has to say so."""
    run = store(data_dir, _frob("one"))
    failed = cli("assert", run, "--effects", "none")

    assert failed.code == 1
    assert "Side effects unknown: `frobnicate` was called (#3)." in " ".join(failed.out.split())
    assert cli("assert", run, "--effects", "none", "--read-tools", "frobnicate").code == 0
    assert "frobnicate` changed something" in cli("assert", run, "--effects", "none", "--write-tools", "frob*").out


def test_a_tool_that_the_policy_calls_a_write_is_compared_with_the_old_baseline(cli: Cli, data_dir: Path) -> None:
    """The baseline has kept the call, so settling the question needs no new one."""
    cli("baseline", store(data_dir, _frob("one")), "--out", "b.json")
    same, other = store(data_dir, _frob("one")), store(data_dir, _frob("two"))

    assert cli("assert", same, "-b", "b.json", "--write-tools", "frobnicate").code == 0
    assert "Other side effects: #3" in cli("assert", other, "-b", "b.json", "--write-tools", "frobnicate").out


def test_a_baseline_of_an_older_version_stops_what_it_cannot_tell_and_says_why(cli: Cli, data_dir: Path) -> None:
    """It says that the tool was called, and not with what: a changed call would pass unseen."""
    run = store(data_dir, _frob("one"))
    cli("baseline", run, "--out", "b.json")
    stored = json.loads(Path("b.json").read_text())
    assert [call["name"] for call in stored.pop("unknown_calls")] == ["frobnicate"]
    Path("b.json").write_text(json.dumps(stored))
    failed = cli("assert", run, "-b", "b.json")

    assert failed.code == 1
    said = " ".join(failed.out.split())
    assert "The baseline does not say with what its runs called `frobnicate`: make it anew" in said
    assert cli("assert", run, "-b", "b.json", "--read-tools", "frobnicate").code == 0


def test_a_baseline_without_unknown_tools_reads_as_before(cli: Cli, data_dir: Path) -> None:
    """A file in review does not change because of a tool it does not have."""
    assert "unknown_calls" not in cli("baseline", store(data_dir, refund_story())).json


@pytest.mark.parametrize("answer", [{"error": "no such order", "ok": False}, {"success": False}, '{"error": "closed"}'])
def test_a_write_that_was_answered_with_a_refusal_was_not_done(cli: Cli, data_dir: Path, answer: Any) -> None:
    """The agent asked for it, and the shop said no: nobody got any money."""
    refused = Story()
    refused.tool("refund", {"order_id": "A-17", "amount": 40}, answer)
    refused.end()
    done = Story()
    done.tool("refund", {"order_id": "A-17", "amount": 40}, {"ok": True, "error": None})
    done.end()

    assert "#2: `refund` was refused" in only_failure(report(refused, baseline(done))).sentence
    assert report(refused, effects="none").passed
    ran = cli("diff", store(data_dir, done), store(data_dir, refused))
    assert "refund was done in A and refused in B." in ran.out
    assert "refund refused" not in cli("diff", store(data_dir, done), store(data_dir, done)).out


def test_a_comparison_never_says_that_an_unknown_tool_changed_nothing(cli: Cli, data_dir: Path) -> None:
    """The very sentence that let a deleted disk pass."""
    one, other = store(data_dir, _frob("one")), store(data_dir, _frob("two"))
    same = cli("diff", one, store(data_dir, _frob("one"))).out
    differ = cli("diff", one, other)

    assert "Neither run changed anything" not in same + differ.out
    assert same.startswith("= Same")
    assert "Both made the same call with unknown side effects." in same
    assert differ.out.startswith("? Effects unknown")
    assert 'frobnicate got at "one" in A and "two" in B; its side effects are unknown.' in " ".join(differ.out.split())
    assert "Side effects unknown: frobnicate." in differ.out
    assert "frobnicate may write" in differ.out


@pytest.mark.parametrize(
    ("options", "code"), [((), 1), (("--only", "effects"), 1), (("--only", "tools"), 1), (("--only", "prompts"), 0)]
)
def test_a_script_that_asks_for_effects_alone_hears_of_it(
    cli: Cli, data_dir: Path, options: tuple[str, ...], code: int
) -> None:
    """`--only effects` ends with 0 where the effects are the same, and nobody knows that here."""
    one, other = store(data_dir, _frob("one")), store(data_dir, _frob("two"))

    assert cli("diff", one, other, *options).code == code
    found = cli("diff", one, other, *options, "--json").json
    assert found["verdict"] == ("same_prompts" if "prompts" in options else "unknown_effects")
    if options == ("--only", "effects"):
        assert [row["effect"] for row in found["rows"]] == [None]
        assert [pair["b"]["args"] for pair in found["effects"]["unknown"]["changed"]] == [{"at": "two"}]


def test_known_effects_that_differ_are_the_verdict_whatever_else_is_unknown(cli: Cli, data_dir: Path) -> None:
    """What is known to be wrong is not made uncertain by what is not known."""
    runs = [
        store(data_dir, _calls(("refund", {"amount": amount}), ("frobnicate", {"at": amount}))) for amount in (40, 4000)
    ]
    ran = cli("diff", *runs)

    assert ran.out.startswith("≠ Different effects")
    assert "refund got amount 40 in A and 4000 in B." in ran.out
    assert "frobnicate got at 40 in A and 4000 in B; its side effects are unknown." in " ".join(ran.out.split())


def test_reads_known_by_name_or_by_word_stay_silent(cli: Cli, data_dir: Path) -> None:
    """An alarm for each other lookup would be switched off, and with it the one that matters."""

    def run(city: str) -> str:
        story = Story()
        story.tool("search_flights", {"to": city}, [])
        story.tool("weather", {"city": city}, "sunny", meta={"effect": "read"})
        story.end()
        return store(data_dir, story)

    cli("baseline", run("Rome"), "--out", "b.json")
    other = run("Oslo")

    assert cli("assert", other, "-b", "b.json").code == 0
    assert "unknown" not in cli("assert", other, "-b", "b.json").out
    assert "Neither run changed anything outside the agent." in cli("diff", run("Rome"), other).out


def test_a_baseline_lists_what_nobody_knows_with_the_lines_to_fill_in(cli: Cli, data_dir: Path) -> None:
    """When it is made is the best time to say it: whoever makes it has just looked at the run."""
    made = cli("baseline", store(data_dir, _frob("one")), "--out", "b.json").out

    assert "Wrote b.json: 1 run, 0 side effects, 1 call with unknown ones.\n" in made
    assert "Side effects unknown: `frobnicate`. A run with other calls of it will fail until the policy" in made
    assert "\n  write_tools: [frobnicate]\n  read_tools: [frobnicate]\n" in made


def test_init_writes_the_stub_for_the_tools_of_the_latest_runs(cli: Cli, data_dir: Path) -> None:
    """A new project's first gate should not stumble over its own tools."""
    run = store(data_dir, _calls(("frobnicate", {}), ("bash", {"command": "frob"}), ("bash", {"command": "ls"})))
    made = cli("init")

    assert "Side effects unknown: `bash` and `frobnicate`." in made.out
    written = _POLICY.read_text()
    assert "\n# write_tools: [bash, frobnicate]\n# read_tools: [bash, frobnicate]\n" in written
    assert cli("assert", run, "--effects", "none").code == 1
    _POLICY.write_text(written.replace("# read_tools: [bash, frobnicate]", "read_tools: [bash, frobnicate]"))
    assert cli("assert", run, "--effects", "none").code == 0


def test_init_keeps_a_policy_and_says_what_is_missing_in_it(cli: Cli, data_dir: Path) -> None:
    """A file of the user's is not written over, and the line has what it says already."""
    store(data_dir, _calls(("frobnicate", {}), ("peruse", {})))
    _POLICY.parent.mkdir()
    _POLICY.write_text("read_tools: [peruse]\n")
    made = cli("init").out

    assert _POLICY.read_text() == "read_tools: [peruse]\n"
    assert "\n  write_tools: [frobnicate]\n  read_tools: [peruse, frobnicate]\n" in made


def test_a_shell_is_stopped_for_what_it_is_asked_to_do(cli: Cli, data_dir: Path) -> None:
    """`ls` one day and `rm -rf /` the next: the first is no news, the second is the one thing a gate is for."""

    def shell(*commands: str) -> str:
        return store(data_dir, _calls(*(("bash", {"command": command}) for command in commands)))

    cli("baseline", shell("ls -la", "pytest -q"), "--out", "b.json")
    looked, deleted, other = shell("cat x", "git diff", "pytest -q"), shell("pytest -q", "rm -rf /"), shell("make")

    assert cli("assert", looked, "-b", "b.json").code == 0
    failed = cli("assert", deleted, "-b", "b.json")
    assert failed.code == 1
    assert "Other side effects: #3: `bash` is new." in failed.out
    assert "guess" not in failed.out
    assert "Side effects unknown: #2: `bash` has other arguments." in cli("assert", other, "-b", "b.json").out


def test_an_unknown_tool_that_fails_is_a_new_finding(cli: Cli, data_dir: Path) -> None:
    """It was called as in the baseline, so its effects pass; that it failed, and nobody cared, is news."""
    error = {"error_type": "KeyError", "message": "'rows'"}
    cli("baseline", store(data_dir, _calls(("seat_plan", {"flight": "LH 404"}))), "--out", "b.json")
    failed = cli("assert", store(data_dir, _calls(("seat_plan", {"flight": "LH 404"}), error=error)), "-b", "b.json")

    assert failed.code == 1
    assert "✓ effects" in failed.out
    assert "✕ findings" in failed.out
