"""The command line as a whole: help, mistakes, exit codes, and the two ways arguments are read."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.cli import COMMANDS, GROUPS
from agentdbg.commands import command_module
from agentdbg.commands import list as list_command
from agentdbg.commands.help_text import help_of
from agentdbg.commands.options import parameters_of, read_arguments
from agentdbg.commands.terminal import Column, Terminal, cell_width, clean, fit
from agentdbg.exceptions import AgentDbgError, UsageError
from scripts.cli_reference import rewrite
from tests.analysis.story import Story
from tests.commands.stored import HOSTILE, Ran, run_in_terminal, run_process, store

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_examples(cli: Callable[..., Ran], name: str) -> None:
    """Examples are what people read first."""
    ran = cli(name, "--help")

    assert ran.code == 0
    assert "Examples:\n" in ran.out
    assert f"agentdbg {name}" in ran.out
    assert f"Usage: agentdbg {name}" in ran.out


@pytest.mark.parametrize("name", ["show", "export", "baseline"])
def test_usage_puts_an_argument_into_brackets_once(cli: Callable[..., Ran], name: str) -> None:
    """`[[RUN]...]...` makes a reader wonder what else there is to know about it."""
    usage = cli(name, "--help").out.splitlines()[0]

    assert "RUN" in usage
    assert not re.search(r"\[\[|\.\.\.\S|\]\]", usage)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "run"])
def test_help_shows_what_was_declared_and_no_python_types(cli: Callable[..., Ran], name: str) -> None:
    """`RUN <list[str]>` and `[x>=0]` are answers to questions no user asked."""
    helped = " ".join(cli(name, "--help").out.split())

    assert "<" not in helped.partition("Options:")[0].partition("Arguments:")[2]
    assert "x>=" not in helped
    for found in parameters_of(command_module(name).command):
        assert " ".join(found.declared.help.split()) in helped


def test_a_mistyped_command_is_answered_with_the_one_meant(cli: Callable[..., Ran]) -> None:
    """Nobody should have to read through twenty-five names for one wrong letter."""
    assert "did you mean `agentdbg list`?" in cli("lits").err
    assert "did you mean" not in cli("frobnicate").err


@pytest.mark.parametrize(
    "arguments", [["assert", "--max-errors", "99"], ["sql"], ["sql", "select run_id from runs"], ["export", "-o", "-"]]
)
def test_json_is_short_for_the_format(cli: Callable[..., Ran], failed_run: str, arguments: list[str]) -> None:
    """Half of the commands have formats and half have not; nobody remembers which."""
    name, *rest = arguments
    runs = [] if name == "sql" else [failed_run]
    short, long = cli(name, *runs, *rest, "--json"), cli(name, *runs, *rest, "--format", "json")

    assert short.json == long.json
    assert short.code == long.code
    both = cli(name, *runs, *rest, "--json", "--format", "other")
    assert (both.code, "choose one" in both.err) == (2, True)


def test_a_baseline_is_printed_also_where_it_is_written(
    cli: Callable[..., Ran], failed_run: str, tmp_path: Path
) -> None:
    """A script may want to look at what it keeps."""
    printed = cli("baseline", failed_run, "--out", str(tmp_path / "good.json"), "--json")

    assert printed.json == json.loads((tmp_path / "good.json").read_text())


def test_help_lists_every_command_once_under_a_heading(cli: Callable[..., Ran]) -> None:
    """Thirty commands in one list are read by nobody."""
    helped = cli("--help").out

    assert list(GROUPS) == [line[:-1] for line in helped.splitlines() if line[:-1] in GROUPS]
    for name, text in COMMANDS.items():
        assert len(re.findall(rf"^  {name} +{re.escape(text)}$", helped, re.MULTILINE)) == 1


def test_without_a_command_or_a_run_it_says_how_to_begin(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Typing the bare name is how one meets a tool."""
    ran = cli()

    assert ran.code == 0
    assert f"No runs in {data_dir} yet." in ran.out
    assert "agentdbg demo" in ran.out
    assert "agentdbg --help" in ran.out


def test_without_a_command_the_newest_five_runs_are_shown_and_what_to_do_next(
    cli: Callable[..., Ran], data_dir: Path, failed_run: str
) -> None:
    """After the first run, the bare name answers: what happened last, and what can I do with it."""
    for number in range(6):
        story = Story()
        story.end()
        store(data_dir, story, name=f"run number {number}", started_at=f"2026-11-15T20:4{number}:55.444Z")
    ran = cli()

    assert len(re.findall("run number|invoice", ran.out)) == 5
    for typed in re.findall(r"^  agentdbg (\w+)", ran.out, re.MULTILINE):
        assert typed in COMMANDS
    assert "agentdbg view" in ran.out
    assert ("agentdbg explain" in ran.out) == (failed_run[:8] in ran.out)


def test_a_run_with_a_tape_is_offered_for_replay(cli: Callable[..., Ran], data_dir: Path) -> None:
    """And a run without one is not: the command would be refused."""
    run_id = store(data_dir, Story())
    without = cli().out
    (data_dir / "runs" / run_id / "tape.jsonl").write_text("")

    assert "agentdbg replay" not in without
    assert f"agentdbg replay {run_id[:8]}" in cli().out


def test_help_is_given_however_it_is_asked_for(cli: Callable[..., Ran]) -> None:
    """`help` is the first word many try, and half of the tools of this world know it."""
    assert cli("help").out == cli("--help").out
    assert cli("help", "show").out == cli("show", "--help").out
    assert cli("help", "shwo").err == "agentdbg: there is no command 'shwo'; did you mean `agentdbg show`?\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["list", "--limit", "many"], "agentdbg: --limit is 'many', which is not a whole number\n"),
        (["list", "-n", "-1"], "agentdbg: --limit is -1, but the least is 0\n"),
        (["list", "--limt", "3"], "agentdbg: `agentdbg list` has no option --limt; did you mean --limit?\n"),
        (["list", "--limit"], "agentdbg: --limit needs a value\n"),
        (["list", "--json=1"], "agentdbg: --json takes no value\n"),
        (["lits"], "agentdbg: there is no command 'lits'; did you mean `agentdbg list`?\n"),
        (["frobnicate"], "agentdbg: there is no command 'frobnicate'; `agentdbg --help` lists them\n"),
        (["diff"], "agentdbg: `agentdbg diff` needs A; `agentdbg diff --help` has examples\n"),
        (["show", "a", "b"], "agentdbg: `agentdbg show` has no use for 'b'; `agentdbg show --help` has examples\n"),
        (["--nonsense"], "agentdbg: `agentdbg` has no option --nonsense; `agentdbg --help` has examples\n"),
    ],
)
def test_every_mistake_is_answered_in_one_voice(cli: Callable[..., Ran], arguments: list[str], sentence: str) -> None:
    """One line that begins with our name, and says what to do: not the words of the library that read the line."""
    ran = cli(*arguments)

    assert (ran.code, ran.out, ran.err) == (2, "", sentence)


def test_an_export_without_a_name_picks_one_that_is_free(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Nobody wants to think of a name first, and nothing of theirs may be overwritten."""
    run_id = store(data_dir, Story())
    first, second = cli("export", "latest"), cli("export", "latest", "--format", "html")
    again = cli("export", "latest")

    assert first.err == f"Wrote run-{run_id[:8]}.json: 1 run as json.\n"
    assert second.err == f"Wrote run-{run_id[:8]}.html: 1 run as html.\n"
    assert again.err == f"Wrote run-{run_id[:8]}-2.json: 1 run as json.\n"
    assert json.loads(Path(f"run-{run_id[:8]}-2.json").read_text())["run"]["run_id"] == run_id


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["export"], "--all"),
        (["rename", "latest"], "NAME"),
        (["delete"], "RUN"),
        (["prune", "--older-than"], "--older-than"),
    ],
)
def test_a_mistake_is_answered_on_stderr_with_exit_code_two(
    cli: Callable[..., Ran], arguments: list[str], word: str
) -> None:
    """And with the option that was probably meant."""
    ran = cli(*arguments)

    assert (ran.code, ran.out) == (2, "")
    assert word in ran.err


def test_a_run_is_named_by_id_beginning_or_latest(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Nobody types 36 characters."""
    story = Story()
    older = store(data_dir, story, name="older", started_at="2026-01-01T00:00:00.000Z", run_id="aaaaaaaa1" + "0" * 23)
    newer = store(data_dir, story, name="newer", started_at="2026-01-02T00:00:00.000Z", run_id="aaaaaaaa2" + "0" * 23)

    assert "older" in cli("show", older).out
    assert "older" in cli("show", "aaaaaaaa-1").out
    assert "newer" in cli("show", "latest").out
    ambiguous = cli("show", "aaaa")
    assert ambiguous.code == 2
    assert older in ambiguous.err
    assert newer in ambiguous.err


@pytest.mark.parametrize("wanted", ["ffff", "not/an/id", "../../etc", "latest"])
def test_a_run_that_is_not_there_is_exit_code_two(cli: Callable[..., Ran], wanted: str) -> None:
    """Every command finds runs the same way."""
    for command in (["show", wanted], ["tail", wanted], ["export", wanted, "--out", "-"], ["rename", wanted, "x"]):
        ran = cli(*command)
        assert (ran.code, ran.out) == (2, ""), command
        # Without any run there is nothing to list, and something to try.
        assert ("agentdbg demo" if wanted == "latest" else "agentdbg list") in ran.err


def test_a_fault_of_ours_is_one_line_and_exit_code_ten(
    cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stack trace helps only those who ask for it."""

    def broken() -> None:
        raise RuntimeError(f"no idea {HOSTILE}")

    monkeypatch.setattr(list_command, "default_data_dir", broken)
    ran = cli("list")
    assert ran.code == 10
    assert ran.err.startswith("agentdbg: internal error, RuntimeError: no idea evil")
    assert len(ran.err.splitlines()) == 1
    assert "\x1b" not in ran.err

    monkeypatch.setenv("AGENTDBG_TRACEBACK", "1")
    assert "Traceback" in cli("list").err


def test_the_exit_code_is_the_exceptions(cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands catch nothing; one place knows the codes."""

    class Unusual(AgentDbgError):
        exit_code = 7

    def unusual() -> None:
        raise Unusual("seven")

    monkeypatch.setattr(list_command, "default_data_dir", unusual)
    assert cli("list").code == 7


def test_a_reader_that_goes_away_is_no_error(data_dir: Path) -> None:
    """`agentdbg show | head -1` ends quietly."""
    story = Story()
    for number in range(2000):
        story.tool("step", {"n": number}, "x" * 300)
    store(data_dir, story)
    for command in (["show", "--full"], ["export", "latest", "--out", "-"], ["show", "--json"]):
        process = subprocess.Popen(
            [sys.executable, "-m", "agentdbg", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0
        process.stderr.close()


@pytest.mark.parametrize(
    ("line", "offered", "not_offered"),
    [
        ("agentdbg ", "export", "--version"),
        ("agentdbg ex", "explain", "show"),
        ("agentdbg --", "--install-completion", "show"),
        ("agentdbg show ", "RUN", "--full"),
        ("agentdbg show latest --", "--event", "RUN"),
        ("agentdbg show --event ", "", "RUN"),
        ("agentdbg fork ", "RUN", "--at"),
        ("agentdbg fork RUN --", "--set-all", "RUN"),
        ("agentdbg fork RUN --at ", "", "RUN"),
        ("agentdbg replay RUN -- agent.py --", "", "--until"),
        ("agentdbg run --max", "--max-llm-calls", "--name"),
        ("agentdbg run --name nightly --", "--mock", "RUN"),
        ("agentdbg run agent.py --", "", "--mock"),
        ("agentdbg nonsense ", "", "show"),
        ("agentdbg show 'la", "", "show"),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_what_may_stand_there(
    data_dir: Path, shell: str, line: str, offered: str, not_offered: str
) -> None:
    """Commands, options and runs; behind the name of a program everything belongs to the program."""
    run_id = store(data_dir, Story(), name="airline: the second\nattempt")
    line, offered, not_offered = (text.replace("RUN", run_id[:8]) for text in (line, offered, not_offered))
    if shell == "fish":
        asked = {"COMP_WORDS": line}
    else:
        words = line.split(" ")
        asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    ran = run_process(_AGENTDBG_COMPLETE=f"complete_{shell}", **asked)
    words = [re.split("\t|:", printed)[0] for printed in ran.out.splitlines()]

    assert (ran.code, ran.err) == (0, "")
    assert not_offered not in words
    assert offered in words if offered else words == []
    assert all(ran.out.splitlines())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_once(
    cli: Callable[..., Ran], shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What people have in their settings stays, and doing it twice adds nothing."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    settings = tmp_path / f".{shell}rc"
    settings.write_text("alias ll='ls -l'")  # without an end of line
    first = cli("--install-completion", shell)
    kept = settings.read_text()
    again = cli(f"--install-completion={shell}")

    assert (first.code, again.code) == (0, 0)
    assert settings.read_text() == kept
    assert kept.splitlines()[0] == "alias ll='ls -l'"
    written = re.search(r"installed in (\S+);", first.out)
    assert written is not None
    assert Path(written[1]).read_text() == cli("--show-completion", shell).out
    assert kept.splitlines()[1:] == ([] if shell == "fish" else [f"source {written[1]}"])


def test_a_shell_without_completion_is_named(cli: Callable[..., Ran]) -> None:
    """And those that have it."""
    ran = cli("--install-completion", "tcsh")

    assert (ran.code, ran.err) == (2, "agentdbg: there is no completion for 'tcsh', only for bash, zsh, fish\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_options_that_help_shows_are_those_a_command_takes(name: str) -> None:
    """Shells complete what the help shows, so an option that is missing there is missing twice."""
    rows = help_of(name).sections["Options"]
    shown = {part.split()[0] for left, _ in rows for part in left.split(", ")}
    if name in ("run", "replay", "fork"):
        assert {"--mock", "--fault", "--break", "-h", "--help"} <= shown
    else:
        declared = [getattr(found.declared, "names", ()) for found in parameters_of(command_module(name).command)]
        assert shown == {option for names in declared for option in names} | {"-h", "--help"}


def _examples() -> list[tuple[str, list[str]]]:
    found = []
    for name in COMMANDS:
        if name in ("run", "replay", "fork"):
            continue  # reads its own command line: what follows the program belongs to the program
        module = command_module(name)
        for line in module.EXAMPLES.strip().splitlines():
            command = line.partition(" >> ")[0].partition("|")[0 if line.startswith("agentdbg") else 2].strip()
            words = shlex.split(command, comments=True)
            while words and "=" in words[0]:
                words.pop(0)
            if words[:2] == ["agentdbg", name]:
                found.append((name, words[2:]))
    return found


@pytest.mark.parametrize(("name", "arguments"), _examples(), ids=str)
def test_every_example_is_understood(name: str, arguments: list[str]) -> None:
    """An example that is refused is worse than none."""
    values = read_arguments(name, parameters_of(command_module(name).command), arguments)

    assert values is not None
    for word in arguments:
        if not word.startswith("-"):
            assert word in str(values) or word.isdigit() or "\\" in word, word


@pytest.mark.parametrize(
    ("name", "arguments", "read"),
    [
        ("list", ["-n5"], {"limit": 5}),
        ("list", ["--limit=5", "--json"], {"limit": 5, "as_json": True}),
        ("list", ["-n", "5", "-n", "6"], {"limit": 6}),
        ("delete", ["-y", "a", "b"], {"runs": ["a", "b"], "yes": True}),
        ("delete", ["--yes", "--", "-a"], {"runs": ["-a"], "yes": True}),
        ("explain", ["-m", "--where", "-5"], {"as_markdown": True, "where": "-5"}),
        ("diff", ["a", "--ignore", "x", "--ignore=y=z"], {"ignore": ["x", "y=z"]}),
        ("export", ["a", "-o-"], {"out": "-"}),
    ],
)
def test_arguments_are_read_as_everybody_writes_them(name: str, arguments: list[str], read: dict[str, Any]) -> None:
    """Short options with their value at once, values behind `=`, and `--` before what only looks like an option."""
    values = read_arguments(name, parameters_of(command_module(name).command), arguments)

    assert values is not None
    assert {key: values[key] for key in read} == read


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["stray", "-h"], ["-n", "5", "--help"]])
def test_help_is_given_wherever_it_is_asked_for(arguments: list[str]) -> None:
    """People add it to the line that did not work."""
    assert read_arguments("list", parameters_of(list_command.command), arguments) is None


@pytest.mark.parametrize(
    "arguments", [["--json=1"], ["-n"], ["--wrong"], ["-nx"], ["-x5"], ["stray"], ["-n", "--json"], ["-"]]
)
def test_what_is_wrong_is_refused(arguments: list[str]) -> None:
    """Nothing is guessed."""
    with pytest.raises(UsageError):
        read_arguments("list", parameters_of(list_command.command), arguments)


def test_cleaning_shows_what_it_disarms() -> None:
    """A name with an escape in it is suspicious, and the reader should see that."""
    assert clean("a\x1b[31mb") == "a\\x1b[31mb"
    assert clean("a\nb\tc") == "a b c"
    assert clean("a\nb\x07", keep_lines=True) == "a\nb\\x07"
    assert clean("\u202eabc\U000e0041") == "\\u202eabc\\U000e0041"
    assert clean("naïve 漢字 🙂 – fine") == "naïve 漢字 🙂 – fine"


def test_width_counts_columns_and_not_characters() -> None:
    """A table with Chinese names in it is aligned too."""
    assert cell_width("漢字") == 4
    assert fit("漢字漢字", 5) == "漢字…"
    assert fit("abcdef", 4) == "abc…"


def test_a_table_gives_up_optional_columns_before_it_cuts(capsys: pytest.CaptureFixture[str]) -> None:
    """Half a status is worth nothing, a shorter name is."""
    out = Terminal()
    out.width = 21
    out.table(
        [Column("id"), Column("name", least=8), Column("extra", optional=1), Column("status")],
        [["ab", "a very long name", "something", "running"]],
    )

    assert capsys.readouterr().out == "id  name      status\nab  a very…   running\n"


def test_python_dash_m_is_the_command() -> None:
    """Where the script is not on the path."""
    assert run_process("--version").out.startswith("agentdbg ")
    assert os.path.exists(importlib.import_module("agentdbg.__main__").__file__ or "")


def test_the_reference_is_what_the_commands_say() -> None:
    """A documented option that does not exist is worse than an undocumented one."""
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")

    assert page == rewrite(page, COMMANDS), "python scripts/cli_reference.py docs/cli.md brings it up to date"


@pytest.mark.parametrize(
    "command", [("list", "--json"), ("show", "latest", "--json"), ("explain", "latest", "--json"), ("export", "latest")]
)
def test_json_on_a_terminal_means_the_same_and_acts_on_nothing(command: tuple[str, ...], data_dir: Path) -> None:
    """JSON may hold what clears the screen or turns text round as it stands; a terminal must not get it so."""
    story = Story()
    story.tool(HOSTILE + "\U000e0041", {}, HOSTILE)
    story.end()
    store(data_dir, story, name=HOSTILE)
    arguments = [*command, "--out", "-"] if command[0] == "export" else [*command]
    shown = run_in_terminal(*arguments, NO_COLOR="1").out

    assert clean(shown, keep_lines=True) == shown
    assert json.loads(shown) == run_process(*arguments).json


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["list", "list --json", "--help", "config", "export latest --out -"])
def test_a_closed_stream_is_no_fault(command: str, closed: str, data_dir: Path) -> None:
    """A service manager may start a program without any of its streams."""
    store(data_dir, Story())
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {shlex.quote(sys.executable)} -m agentdbg {command} {closed}"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (0, b"")


def test_the_help_of_run_may_be_cut_off(tmp_path: Path) -> None:
    """`agentdbg run --help | head -1` is no reason for a traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "agentdbg", "run", "--help"],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writer)

    assert (done.returncode, done.stderr) == (0, b"")


def test_asking_for_a_deleted_run_says_that_it_was_deleted(cli: Callable[..., Ran], failed_run: str) -> None:
    """Not found would be half the truth, and it can be brought back."""
    cli("delete", failed_run, "--yes")
    ran = cli("show", failed_run[:6])

    assert ran.code == 2
    assert f"agentdbg restore {failed_run[:8]}" in ran.err


@pytest.mark.parametrize(
    "words", [["run"], ["replay"], ["fork", "--at", "1", "--set", "result=1"], ["assert"], ["import"]]
)
def test_the_name_of_a_file_cannot_act_on_the_terminal(words: list[str], tmp_path: Path) -> None:
    """Also in the commands that read their line themselves; a checkout may hold a file of any name."""
    bad = tmp_path / "a\x1b]0;title\x07\x1b[2J\u202eb.json"
    bad.write_text("{}")
    ran = run_process(*words, "missing\x1b[31m.py" if words == ["run"] else str(bad))

    assert ran.code == 2
    assert "\\x1b" in ran.err
    assert not {"\x1b", "\x07", "\u202e"} & set(ran.err + ran.out)
