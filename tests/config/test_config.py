"""Settings: where they come from, who wins, and what is said of those that cannot be used."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import agentdbg
from agentdbg import record_tool_call, traced_run
from agentdbg.config import GUARDRAILS, SETTINGS, Config, load_config, settings_markdown

if TYPE_CHECKING:
    from tests.conftest import Recorded


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a folder two levels down, which is the current one."""
    below = tmp_path / "project" / "src" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    return tmp_path / "project"


def _write(folder: Path, text: str) -> Path:
    path = folder / ".agentdbg" / "config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_anything_the_defaults_hold(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Defaults are right: nobody has to configure anything."""
    monkeypatch.delenv("AGENTDBG_DATA_DIR")
    config = load_config()
    assert config.data_dir == home / ".agentdbg"
    assert config.redact
    assert config.redact_keys == ("api_key", "token", "authorization", "cookie", "secret", "password")
    assert (config.loop_window, config.loop_repetitions, config.max_field_bytes) == (12, 3, 20_000)
    assert not config.problems
    assert not config.sources


def test_environment_beats_project_beats_user_key_by_key(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each key has its own winner; a file does not replace another as a whole."""
    user = _write(home, "loop_window: 20\nloop_repetitions: 5\nmax_field_bytes: 500\n")
    mine = _write(project, "loop_window: 30\nloop_repetitions: 6\n")
    monkeypatch.setenv("AGENTDBG_LOOP_WINDOW", "40")
    config = load_config()
    assert (config.loop_window, config.loop_repetitions, config.max_field_bytes) == (40, 6, 500)
    assert config.sources["loop_window"] == "AGENTDBG_LOOP_WINDOW"
    assert config.sources["loop_repetitions"] == str(mine)
    assert config.sources["max_field_bytes"] == str(user)


def test_guardrails_are_nested_in_files(project: Path) -> None:
    """The form the documentation shows."""
    _write(project, "guardrails:\n  max_llm_calls: 7\n  stop_on_loop: true\n  max_cost_usd: 0.5\n")
    config = load_config()
    assert (config.max_llm_calls, config.stop_on_loop, config.max_cost_usd) == (7, True, 0.5)


def test_the_earlier_nested_form_of_redaction_is_accepted(project: Path) -> None:
    """Files written for an earlier version go on working."""
    _write(project, "redaction:\n  enabled: true\n  keys: [api_key, mine]\n  max_field_bytes: 900\n")
    config = load_config()
    assert config.redact_keys == ("api_key", "mine")
    assert config.max_field_bytes == 900


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("AGENTDBG_LOOP_WINDOW", "3", "kept 12"),
        ("AGENTDBG_LOOP_REPETITIONS", "1", "kept 3"),
        ("AGENTDBG_MAX_FIELD_BYTES", "99", "kept 20000"),
        ("AGENTDBG_REDACT", "maybe", "kept 1"),
        ("AGENTDBG_REDACT_KEYS", ",,,", "kept api_key, token, authorization, cookie, secret, password"),
        ("AGENTDBG_MAX_COST_USD", "nan", "kept unset"),
        ("AGENTDBG_MAX_LLM_CALLS", "-1", "kept unset"),
        ("AGENTDBG_DATA_DIR", "\0", "kept"),
    ],
)
def test_a_value_that_cannot_be_used_is_reported_with_what_was_kept(name: str, value: str, kept: str) -> None:
    """Name, source, value, and what holds instead: all a person needs to fix it."""
    config = load_config(environ={"HOME": "/nonexistent", name: value})
    (problem,) = config.problems
    assert problem.startswith(f"{name} is ")
    assert kept in problem


def test_a_bad_value_in_one_file_falls_back_to_the_next_source(project: Path, home: Path) -> None:
    """A typo in the project's file does not throw away the user's own setting."""
    _write(home, "loop_window: 20\n")
    mine = _write(project, "loop_window: wide\n")
    config = load_config()
    assert config.loop_window == 20
    assert config.problems == (f"loop_window in {mine} is 'wide', which is not a whole number; kept 20",)


def test_typing_mistakes_are_pointed_at(project: Path) -> None:
    """A setting that silently does nothing is the worst kind."""
    mine = _write(project, "loop_windw: 20\nrun_name: no\n")
    config = load_config(environ={"HOME": "/nonexistent", "AGENTDBG_MAX_LLM_CALL": "3"})
    assert "AGENTDBG_MAX_LLM_CALL is not a setting and was ignored; did you mean AGENTDBG_MAX_LLM_CALLS?" in (
        config.problems
    )
    assert f"'loop_windw' in {mine} is not a setting and was ignored; did you mean loop_window?" in config.problems


def test_no_variable_that_is_read_anywhere_is_taken_for_a_mistake() -> None:
    """Who sets a breakpoint by AGENTDBG_BREAK was told that it is no setting."""
    sources = (path.read_text(encoding="utf-8") for path in Path(agentdbg.__file__).parent.rglob("*.py"))
    read = {name for source in sources for name in re.findall(r'"(AGENTDBG_[A-Z_]*[A-Z])"', source)}
    assert "AGENTDBG_BREAK" in read

    problems = load_config(environ={"HOME": "/nonexistent", **dict.fromkeys(read, "1")}).problems

    assert [problem for problem in problems if "is not a setting" in problem] == []


@pytest.mark.parametrize("content", ["[1, 2]", "just text", "a: [", "\tbad", "{]", "!!python/object:os.system {}"])
def test_a_file_that_is_no_config_is_reported_and_ignored(project: Path, content: str) -> None:
    """Whatever is in that file, the agent runs."""
    mine = _write(project, content)
    config = load_config()
    assert any(str(mine) in problem and "ignored" in problem for problem in config.problems)


def test_weaker_redaction_by_a_project_is_obeyed_said_and_marked(
    project: Path, recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cloning a repository must not switch off redaction in silence."""
    mine = _write(project, "redact: false\n")
    for _ in range(2):
        with traced_run("in clear"):
            record_tool_call("t", {"password": "hunter2"})

    run = recorded.all()[0]
    assert run.of_type("TOOL_CALL")[0]["payload"]["args"] == {"password": "hunter2"}
    assert run.meta["redaction"] == "off"
    assert capsys.readouterr().err.count(f"redaction is switched off by {mine}") == 1


def test_another_data_folder_by_a_project_is_obeyed_and_said(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs that go somewhere unexpected are runs somebody will search for."""
    monkeypatch.delenv("AGENTDBG_DATA_DIR")
    mine = _write(project, f"data_dir: {project}/traces\n")
    with traced_run("elsewhere"):
        pass

    assert len(list((project / "traces" / "runs").iterdir())) == 1
    assert f"as {mine} says" in capsys.readouterr().err


@pytest.mark.parametrize("given", [r"ACME-\d+", '["ACME-\\\\d+"]', "ACME-\\d+\n"])
def test_own_patterns_may_be_text_lines_or_json(given: str) -> None:
    """A pattern may hold a comma, so a comma does not separate them."""
    config = load_config(environ={"HOME": "/nonexistent", "AGENTDBG_REDACT_PATTERNS": given})
    assert config.redact_patterns == (r"ACME-\d+",)


def test_the_table_prints_every_setting() -> None:
    """The documentation is generated from the one table."""
    table = settings_markdown()
    for setting in SETTINGS:
        if setting.environment:
            assert f"`{setting.environment}`" in table
    assert set(GUARDRAILS) <= set(Config._fields)


def test_a_home_that_may_not_be_read_keeps_nothing_from_being_recorded(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container that changes the user but not HOME is an ordinary place to run an agent."""

    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.is_file", refuse)
    with traced_run("r"):
        record_tool_call("t")

    assert recorded.only().meta["status"] == "ok"


def test_a_file_that_is_no_yaml_says_where(project: Path) -> None:
    """YAML first tells what it was doing; the line and the reason are what one needs to mend the file."""
    path = _write(project, "fsync: 0\nredact: [")

    (problem,) = load_config().problems
    assert problem.startswith(f"{path} could not be read (line 2: expected the node content")


def test_a_failure_without_words_is_reported_too(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some exceptions have no message; their name is better than nothing, and than a crash."""
    path = _write(project, "redact: 1")

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("agentdbg.config.config_file._parse", fail)
    assert load_config().problems == (f"{path} could not be read (MemoryError) and was ignored",)


def test_a_relative_home_still_is_one_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A program that changes its folder in the middle of a run must not split the run in two."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "here")
    monkeypatch.delenv("AGENTDBG_DATA_DIR", raising=False)
    assert load_config().data_dir == tmp_path / "here" / ".agentdbg"


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the home is not in HOME")
def test_an_empty_home_is_no_home() -> None:
    """Python takes it for the root folder, where nobody looks for runs."""
    assert load_config(environ={"HOME": ""}).data_dir == load_config(environ={}).data_dir
    assert load_config(environ={"HOME": ""}).data_dir.parent != Path("/")
