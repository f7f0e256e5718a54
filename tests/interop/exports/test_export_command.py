"""Which runs are exported, and where they go."""

from __future__ import annotations

import json
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from agentdbg.interop.exports.run_content import appearing
from agentdbg.storage import load_events
from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_several_runs_go_into_one_file_of_lines(
    cli: Callable[..., Ran], rich_run: str, parallel_run: str, data_dir: Path
) -> None:
    """Every event says which run it is of, so the lines of many runs are one file."""
    lines = cli("export", rich_run[:8], parallel_run, "--format", "jsonl", "--out", "-").out.splitlines()

    assert [json.loads(line) for line in lines] == [*load_events(rich_run), *load_events(parallel_run)]
    stored = (data_dir / "runs" / rich_run / "events.jsonl").read_text().splitlines()
    assert lines[: len(stored)] == stored


def test_a_format_of_one_run_a_file_makes_a_folder_of_them(
    cli: Callable[..., Ran], rich_run: str, parallel_run: str, tmp_path: Path
) -> None:
    """`--all` with a format for single runs should do what was meant."""
    folder = tmp_path / "out"
    assert cli("export", "--all", "--out", str(folder)).code == 0

    assert sorted(path.stem for path in folder.iterdir()) == sorted([rich_run, parallel_run])
    assert json.loads((folder / f"{rich_run}.json").read_text())["events"] == list(load_events(rich_run))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_since_chooses_by_when_a_run_began_and_the_oldest_comes_first(cli: Callable[..., Ran], data_dir: Path) -> None:
    """A nightly export wants yesterday's runs, in the order they happened."""
    old = store(data_dir, Story(), started_at="2020-01-01T00:00:00.000Z")
    later = store(data_dir, Story(), started_at="2026-01-02T00:00:00.000Z")
    sooner = store(data_dir, Story(), started_at="2026-01-01T00:00:00.000Z")

    out = cli("export", "--since", "2025-12-31", "-f", "jsonl", "-o", "-").out
    assert [json.loads(line)["run_id"] for line in out.splitlines()] == [sooner, later]
    assert old in cli("export", "--all", "-f", "jsonl", "-o", "-").out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((), "say which runs"),
        (("latest", "--all"), "in one way"),
        (("--all", "--since", "2d"), "in one way"),
        (("latest", "--format", "xml"), "jsonl, markdown, chrome, parquet"),
        (("--since", "3000-01-01"), "there are no runs"),
        (("latest", "--format", "parquet"), "a folder"),
    ],
)
def test_what_makes_no_sense_is_said_kindly(
    cli: Callable[..., Ran], rich_run: str, arguments: tuple[str, ...], word: str
) -> None:
    """Wrong use is exit code 2 and a sentence with the way out."""
    ran = cli("export", *arguments, "--out", "-")

    assert (ran.code, ran.out) == (2, "")
    assert word in ran.err


def test_a_missing_extra_is_named(cli: Callable[..., Ran], rich_run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever installed the bare package should know what to type, not read a stack."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "duckdb", None)

    for arguments in (("export", "latest", "-f", "parquet", "-o", "tables"), ("sql", "select 1")):
        ran = cli(*arguments)
        assert ran.code == 2
        assert 'pip install "duckdb>=1.2" "pyarrow>=18"' in ran.err


def test_two_exports_to_one_place_do_not_disturb_each_other(tmp_path: Path) -> None:
    """In two containers over one volume both may be process 1; whoever comes last wins, and both were whole."""
    out = tmp_path / "run.json"
    with appearing(out) as first:
        with appearing(out) as second:
            second.write_bytes(b"the second")
        first.write_bytes(b"the first")

    assert out.read_bytes() == b"the first"
    assert list(tmp_path.glob("*run.json*")) == [out]


def test_a_link_at_the_place_of_an_export_is_replaced_and_not_followed(
    cli: Callable[..., Ran], rich_run: str, tmp_path: Path
) -> None:
    """What the link leads to is somebody else's file."""
    theirs, out = tmp_path / "theirs.txt", tmp_path / "run.html"
    theirs.write_text("kept")
    out.symlink_to(theirs)

    assert cli("export", rich_run, "--format", "html", "--out", str(out)).code == 0
    assert theirs.read_text() == "kept"
    assert not out.is_symlink()
    assert out.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("run.html", "<!doctype html"),
        ("run.md", "# "),
        ("run.jsonl", '{"spec_version"'),
        ("run.json", '{"spec_version"'),
    ],
)
def test_the_ending_chooses_the_format_and_folders_are_made(
    cli: Callable[..., Ran], rich_run: str, tmp_path: Path, name: str, begins: str
) -> None:
    """`--out report/run.html` says it all, and the sentence on stderr confirms it."""
    path = tmp_path / "new" / "folder" / name
    ran = cli("export", rich_run, "--out", str(path))

    assert ran.code == 0, ran.err
    assert path.read_text(encoding="utf-8").lower().startswith(begins)
    assert ran.err.startswith(f"Wrote {path}: 1 run as ")
    assert ran.out == ""


def test_an_ending_of_another_kind_of_file_is_refused(cli: Callable[..., Ran], rich_run: str, tmp_path: Path) -> None:
    """JSON in a file called `.csv` is opened by a program that cannot read it."""
    refused = cli("export", rich_run, "--out", str(tmp_path / "run.csv"))
    written = cli("export", rich_run, "--out", str(tmp_path / "run.csv"), "--format", "jsonl")

    assert refused.code == 2
    assert "no run is written as .csv" in refused.err
    assert written.code == 0, written.err
