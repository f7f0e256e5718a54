"""`agentdbg baseline`, `assert` and `init` as a shell and a CI server see them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.analysis.checks.runs import refund_story
from tests.analysis.story import Story
from tests.commands.stored import HOSTILE, Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable

    Cli = Callable[..., Ran]


@pytest.fixture
def good(data_dir: Path) -> str:
    return store(data_dir, refund_story(), name="refund")


@pytest.fixture
def wrong(data_dir: Path) -> str:
    return store(data_dir, refund_story(amount=4000, tokens=3000), name="refund, after the change")


def test_a_good_run_passes_and_a_wrong_one_fails_with_the_reason(cli: Cli, good: str, wrong: str) -> None:
    """The whole walk: keep a run, change the agent, see what that did."""
    kept = cli("baseline", good, "--out", "refund.json")
    passed = cli("assert", good, "--baseline", "refund.json")
    failed = cli("assert", wrong, "--baseline", "refund.json")

    assert kept.code == 0
    assert "Wrote refund.json: 1 run, 1 side effect." in kept.out
    assert "That `refund` has side effects is a guess from the name" in kept.out
    assert (passed.code, failed.code) == (0, 1)
    assert passed.out.startswith("PASS  5 checks passed  refund  ")
    assert failed.out.startswith("FAIL  2 of 5 checks failed")
    assert "    - amount: 40\n    + amount: 4000\n" in failed.out
    assert f"agentdbg show {wrong[:8]} --event 5 shows #5 in full." in failed.out
    assert f"agentdbg diff {good[:8]} {wrong[:8]} compares it with a run of the baseline." in failed.out
    assert "agentdbg diff" not in passed.out


def test_a_baseline_whose_runs_are_gone_names_none_of_them(cli: Cli, good: str, wrong: str) -> None:
    """In CI the baseline is there and its runs are not; a command that cannot work is no help."""
    cli("baseline", good, "--out", "b.json")
    cli("delete", good, "--yes")

    assert "agentdbg diff" not in cli("assert", wrong, "-b", "b.json").out


def test_several_runs_make_one_baseline(cli: Cli, good: str, wrong: str) -> None:
    """Printed when no file is named, so that it can be looked at first."""
    printed = cli("baseline", good, wrong)

    assert [run["run_id"] for run in printed.json["runs"]] == [good, wrong]
    assert printed.json["totals"]["total_tokens"] == [2000, 6000]


def test_runs_that_left_different_things_behind_are_said_to(cli: Cli, data_dir: Path, good: str) -> None:
    """`0 side effects` of a baseline that accepts a run with one and a run with none is half of the truth."""
    idle = store(data_dir, refund_story(refunds=0))
    made = cli("baseline", idle, good, "--out", "b.json").out

    assert "Wrote b.json: 2 runs, 0 to 1 side effect.\n" in made
    assert "These runs had 2 different sets of side effects; each will be accepted.\n" in made


def test_a_baseline_of_a_failed_run_is_made_but_not_without_a_word(cli: Cli, data_dir: Path) -> None:
    """Most likely the wrong run was named."""
    failed = store(data_dir, refund_story(), "error")
    made = cli("baseline", failed, "--out", "b.json")

    assert made.code == 0
    assert "ended with an error, and the baseline will expect that" in made.err
    assert cli("assert", failed, "-b", "b.json").code == 0


def test_a_run_from_elsewhere_is_judged_where_it_lies(cli: Cli, data_dir: Path, good: str, wrong: str) -> None:
    """What a CI job uploaded is a folder or a file on another machine, and nobody wants to import it first."""
    cli("export", wrong, "--out", "wrong.json")
    folder = data_dir / "runs" / wrong
    kept, made = (cli("baseline", run, "--json").json for run in (good, str(data_dir / "runs" / good)))
    cli("baseline", good, "--out", "b.json")
    by_id = cli("assert", wrong, "-b", "b.json", "--max-errors", "0", "--json").json

    assert {**made, "runs": []} == {**kept, "runs": []}
    for path in ("wrong.json", str(folder), str(folder / "events.jsonl")):
        told = cli("assert", path, "-b", "b.json", "--max-errors", "0", "--json").json
        assert told["checks"] == by_id["checks"]
    printed = cli("assert", "wrong.json", "-b", "b.json").out
    assert "agentdbg show" not in printed
    assert f"agentdbg diff {good[:8]} wrong.json compares it with a run of the baseline." in printed


def test_nothing_to_check_is_wrong_use(cli: Cli, good: str) -> None:
    """Exit 2 and not 0: an empty gate is a mistake."""
    Path(".agentdbg").mkdir()
    Path(".agentdbg/policy.yaml").write_text("# nothing yet\n")
    ran = cli("assert", good)

    assert ran.code == 2
    assert "no checks is not a pass" in ran.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("assert", "ffffffff", "--max-steps", "5"), "no run matches 'ffffffff'"),
        (("assert", "GOOD", "--baseline", "gone.json"), "the baseline gone.json cannot be read: No such file"),
        (("assert", "GOOD", "--policy", "gone.yaml"), "the policy gone.yaml cannot be read: No such file"),
        (("assert", "GOOD", "--policy", "list.yaml"), "the policy list.yaml is not a table of rules"),
        (("assert", "GOOD", "--policy", "torn.yaml"), "the policy torn.yaml is not YAML"),
        (("assert", "GOOD", "--baseline", "torn.yaml"), "the baseline torn.yaml is not JSON"),
        (("assert", "GOOD", "--status", "ok", "--baseline", ""), "--baseline is empty; name a file, or leave the"),
        (("assert", "GOOD", "--status", "ok", "--policy", " "), "--policy is empty; name a file, or leave the"),
        (("baseline", "GOOD", "--out", ""), "--out is empty; name a file, or leave the option out"),
        (("assert", "GOOD", "--max-tokens", "few"), "max_tokens in the options is 'few'"),
        (("assert", "GOOD", "--status", "ok", "--max-tokens", ""), "max_tokens in the options is ''"),
        (("assert", "GOOD", "--status", "ok", "--must-call", ""), "must_call in the options is ['']"),
        (("assert", "GOOD", "--effects", "baseline"), "effects: baseline needs a baseline"),
        (("assert", "GOOD", "--max-steps", "5", "--format", "html"), "--format html is not known"),
        (("baseline", "GOOD", "--out", "torn.yaml/b.json"), "the baseline torn.yaml/b.json cannot be written: "),
        (("baseline", "GOOD", "--out", "."), "is a folder; name a file in it"),
    ],
)
def test_what_cannot_be_done_is_said_and_exits_with_two(
    cli: Cli, good: str, arguments: tuple[str, ...], says: str
) -> None:
    """A CI server must be able to tell a broken gate from a run that does not pass it."""
    Path("list.yaml").write_text("- max_steps\n")
    Path("torn.yaml").write_text("a: [1,\n")
    ran = cli(*(good if word == "GOOD" else word for word in arguments))

    assert ran.code == 2
    assert says in ran.err
    assert ran.out == ""


def test_a_policy_that_leads_nowhere_is_not_passed_over(cli: Cli, good: str) -> None:
    """A gate that silently forgets its rules passes everything."""
    Path(".agentdbg").mkdir()
    Path(".agentdbg/policy.yaml").symlink_to("gone.yaml")
    ran = cli("assert", good, "--max-steps", "30")

    assert ran.code == 2
    assert "policy.yaml cannot be read: No such file" in ran.err


def test_options_beat_the_policy_of_the_project(cli: Cli, good: str) -> None:
    """The file is found from the current folder upwards."""
    Path(".agentdbg").mkdir()
    Path(".agentdbg/policy.yaml").write_text("max_steps: 3\nmust_call: [refund]\n")

    assert cli("assert", good).code == 1
    assert cli("assert", good, "--max-steps", "30").code == 0
    assert cli("assert", good, "--max-steps", "off", "--must-call", "gone").code == 1
    assert "nothing to check" in cli("assert", good, "--max-steps", "off", "--must-call", "off").err


def test_names_with_commas_are_several_tools(cli: Cli, good: str) -> None:
    """People write `--must-not-call a,b`, as `--tools` is written."""
    assert cli("assert", good, "--must-call", "find_order,refund").code == 0
    assert cli("assert", good, "--must-not-call", "delete_order,refund").code == 1


def test_a_damaged_log_does_not_pass(cli: Cli, data_dir: Path, good: str) -> None:
    """The one line that cannot be read may be the one that deleted everything."""
    cli("baseline", good, "--out", "b.json")
    story = refund_story(ended=False)
    story.tool("delete_all", {}, "ok")
    story.end()
    run = store(data_dir, story)
    log = data_dir / "runs" / run / "events.jsonl"
    lines = log.read_text().splitlines()
    log.write_text("".join(f"{line[:60] if 'delete_all' in line else line}\n" for line in lines))
    ran = cli("assert", run, "-b", "b.json", "--must-not-call", "delete_*")

    assert ran.code == 1
    assert " ✕ complete       1 line of the log is damaged, so nobody can say what stood there." in ran.out
    assert cli("baseline", run).code == 2


@pytest.mark.parametrize(
    ("kept", "says"),
    [
        (0, "The log holds no events, so nobody can say what the run did."),
        (-1, "The log stops before the run's end, so nobody can say what came after."),
    ],
)
def test_a_log_that_was_cut_off_does_not_pass(cli: Cli, data_dir: Path, good: str, kept: int, says: str) -> None:
    """run.json still says that all went well, and no line is damaged: what is missing had no side effects either."""
    log = data_dir / "runs" / good / "events.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:kept]))
    ran = cli("assert", good, "--max-steps", "30", "--effects", "none", "--write-tools", "never")

    assert ran.code == 1
    assert f" ✕ complete   {says}\n" in ran.out
    assert f"is not whole: {says} Take another run" in cli("baseline", good).err


def test_a_run_of_which_events_were_never_written_does_not_pass(cli: Cli, data_dir: Path, good: str) -> None:
    """The disk was full, or the agent went on after its run had ended: what it did there is in no log."""
    cli("baseline", good, "--out", "b.json")
    run = store(data_dir, refund_story(), dropped_events=2)
    ran = cli("assert", run, "-b", "b.json")

    assert ran.code == 1
    assert " ✕ complete    2 events were never written, so nobody can say what happened there." in ran.out
    assert "is not whole: 2 events were never written, so nobody can say what" in cli("baseline", run).err
    assert "B is not whole: 2 events were never written, and could not be compared." in cli("diff", good, run).out


def test_a_run_imported_without_times_took_nobody_knows_how_long(cli: Cli) -> None:
    """A transcript without times has every event at once, and `<1 ms` would pass any budget."""
    transcript = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    Path("chat.json").write_text(json.dumps([{"messages": transcript}]))
    cli("import", "chat.json")
    cli("baseline", "latest", "--out", "b.json")
    capped = cli("assert", "latest", "--max-duration-s", "5")
    compared = cli("assert", "latest", "-b", "b.json", "--max-duration-s", "baseline")

    assert (capped.code, compared.code) == (1, 1)
    assert "The run did not record how long it took, so the budget cannot be checked." in capped.out
    assert "The baseline's runs did not record how long it took, so nothing is known to compare with." in compared.out
    assert '"duration_ms": [null]' in Path("b.json").read_text()


def test_json_has_every_check_with_its_events(cli: Cli, good: str, wrong: str) -> None:
    """For programs: nothing has to be read out of a sentence."""
    cli("baseline", good, "--out", "b.json")
    told = cli("assert", wrong, "-b", "b.json", "--format", "json").json

    assert told["passed"] is False
    assert told["run"]["run_id"] == wrong
    assert [check["name"] for check in told["checks"]] == ["status", "loops", "findings", "effects", "max_tokens"]
    failed = {check["name"]: check for check in told["checks"] if not check["passed"]}
    assert failed["effects"]["events"][0]["n"] == 5
    assert failed["effects"]["diff"].endswith("+ amount: 4000")


def test_junit_is_what_a_ci_server_reads(cli: Cli, data_dir: Path, good: str) -> None:
    """Valid XML whatever a run is called and whatever its arguments hold."""
    cli("baseline", good, "--out", "b.json")
    story = refund_story(ended=False)
    story.tool("delete_file", {"path": HOSTILE + ']]></failure> & "quoted" <b>'}, "ok")
    story.end()
    hostile = store(data_dir, story, name=HOSTILE)
    suites = ET.fromstring(cli("assert", hostile, "-b", "b.json", "--format", "junit").out)
    suite = suites[0]
    cases = {case.get("name"): case for case in suite.findall("testcase")}

    assert suites.tag == "testsuites"
    assert (suite.get("tests"), suite.get("failures")) == ("5", "1")
    assert cases["status"].find("failure") is None
    failure = cases["effects"].find("failure")
    assert failure is not None
    assert failure.text is not None
    assert "delete_file" in failure.text
    assert "]]></failure>" in failure.text
    assert "`delete_file` is new" in (failure.get("message") or "")
    assert {case.get("time") for case in cases.values()} == {"0.000"}


def test_junit_calls_a_check_the_same_in_every_build(cli: Cli, data_dir: Path) -> None:
    """A server that finds a new name each time can neither tell what broke nor what is flaky."""
    names = ("agents/shop.py:main - 2026-11-15 23:36", "agents/shop.py:main - 2026-11-16 08:02", "shop")
    runs = [store(data_dir, refund_story(), name=name) for name in names]
    suites = [ET.fromstring(cli("assert", run, "--status", "ok", "--format", "junit").out)[0] for run in runs]

    classes = [case.get("classname") for suite in suites for case in suite.findall("testcase")]
    assert classes == ["agents/shop.py:main", "agents/shop.py:main", "shop"]


def test_markdown_is_a_table_and_a_diff_that_recorded_text_cannot_break_out_of(
    cli: Cli, data_dir: Path, good: str
) -> None:
    """It is posted on pull requests, where a fence or a pipe in an argument would spill over the page."""
    cli("baseline", good, "--out", "b.json")
    story = refund_story(ended=False)
    story.tool("delete_file", {"path": "```\n| a | b |\n<script>"}, "ok")
    story.end()
    hostile = store(data_dir, story, name="| x <img> |")
    page = cli("assert", hostile, "-b", "b.json", "--format", "markdown").out
    rows = [re.split(r"(?<!\\)\|", line) for line in page.splitlines() if line.startswith("|")]
    fence = re.search(r"^(`{3,})diff\n(.*?)\n\1$", page, re.MULTILINE | re.DOTALL)

    assert page.startswith("## ❌ 1 of 5 checks failed: ")
    assert "<img>" not in page.splitlines()[0]
    assert [len(row) for row in rows] == [5] * 7
    assert [row[2].strip() for row in rows[2:]] == ["`status`", "`loops`", "`findings`", "`effects`", "`max_tokens`"]
    assert fence is not None
    assert len(fence[1]) > 3
    assert "<script>" in fence[2]


def test_markdown_calls_nobody_and_points_at_no_issue(cli: Cli, data_dir: Path) -> None:
    """`#5` on a pull request is issue 5, a recorded `@team` wakes a team, and a recorded picture tells who looked."""
    story = Story()
    hostile = "``a` @team ![p](http://e/p.png) *b* #12"
    story.tool(hostile, {}, error={"error_type": "E", "message": hostile})
    story.tool("`", {}, error={"error_type": "E", "message": "`"})
    story.end("error", error={"error_type": "E", "message": hostile})
    run = store(data_dir, story, "error", name=f"{hostile} &amp; \\")
    page = cli("assert", run, "--status", "ok", "--max-errors", "0", "--tools", "search", "--format", "markdown").out
    prose = re.sub(r"^(`{3,})diff\n.*?\n\1$", "", page, flags=re.MULTILINE | re.DOTALL)
    # What is left when escaped characters and code are taken away is what a page would act on.
    acting = re.sub(r"`[^`]+`", "", re.sub(r"\\[^\w\s]", "", prose))

    assert "`#2`" in prose
    assert "`@team`" in prose
    assert not re.search(r"@|#\d|\*|\]\(|`", acting)


def test_a_terminal_gets_no_control_characters(cli: Cli, data_dir: Path) -> None:
    """A run's name comes from anywhere."""
    hostile = store(data_dir, refund_story(), name=HOSTILE)
    ran = cli("assert", hostile, "--max-steps", "1")

    assert ran.code == 1
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]", ran.out)


def test_tools_are_named_as_writes_on_the_command_line_and_by_settings(
    cli: Cli, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that says nothing is unknown until somebody who knows says more."""
    story = refund_story(refunds=0, reads=("frobnicate",))
    run = store(data_dir, story)

    assert cli("assert", run, "--effects", "none").code == 1
    assert cli("assert", run, "--effects", "none", "--read-tools", "frob*").code == 0
    assert cli("assert", run, "--effects", "none", "--write-tools", "frob*").code == 1
    monkeypatch.setenv("AGENTDBG_WRITE_TOOLS", "frobnicate")
    assert cli("assert", run, "--effects", "none").code == 1
    assert cli("assert", run, "--effects", "none", "--read-tools", "frobnicate").code == 0


def test_init_writes_three_files_once(cli: Cli, good: str) -> None:
    """What a person has changed since is theirs."""
    first = cli("init")
    Path("tests/test_agent.py").write_text("# mine\n")
    second = cli("init")
    checked = cli("assert", good)

    assert first.code == second.code == 0
    assert re.findall(r"wrote +(\S+)", first.out) == [
        ".agentdbg/policy.yaml",
        "tests/test_agent.py",
        ".github/workflows/agent.yml",
    ]
    assert second.out.count("kept ") == 3
    assert "it passes; put your agent into it" in first.out
    assert "it passes" not in second.out  # nobody knows
    assert "--force replaces it" in second.out
    assert Path("tests/test_agent.py").read_text() == "# mine\n"
    assert checked.code == 0
    assert [line.split()[1] for line in checked.out.splitlines()[1:]] == ["status", "loops"]
    assert cli("init", "--force").code == 0
    assert "def test_" in Path("tests/test_agent.py").read_text()
    assert cli("init", "nowhere").code == 2


def test_init_says_what_is_in_its_way_and_where_to_go_on(cli: Cli) -> None:
    """A project may have a file called `tests`, a folder where a file should be, and a space in its name."""
    Path("my shop").mkdir()
    Path("taken/.agentdbg/policy.yaml").mkdir(parents=True)
    Path("tests").write_text("")
    in_the_way, taken = cli("init"), cli("init", "taken", "--force")

    assert (in_the_way.code, taken.code) == (2, 2)
    assert "the folder tests cannot be made: " in in_the_way.err
    assert "taken/.agentdbg/policy.yaml cannot be written: Is a directory" in taken.err
    assert "Next, in my shop:\n" in cli("init", "my shop").out


def test_the_workflow_that_init_writes_is_yaml_with_steps() -> None:
    """A workflow that does not parse is silently not run."""
    import yaml

    from agentdbg.commands.init import WORKFLOW

    workflow = yaml.safe_load(WORKFLOW)
    steps = workflow["jobs"]["agent"]["steps"]

    assert workflow["permissions"] == {"contents": "read"}
    assert any("pytest tests/test_agent.py" in step.get("run", "") for step in steps)
    assert json.dumps(steps)
