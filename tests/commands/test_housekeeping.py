"""Commands that change what is stored: export, rename, delete, restore, prune."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import traced_run
from agentdbg.exceptions import RunNotFound
from agentdbg.interop.exports import json_document
from agentdbg.storage import housekeeping, load_events
from tests.analysis.story import Story
from tests.commands.stored import Ran, run_in_terminal, store

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow


def test_an_export_is_the_run_and_all_its_events(cli: Callable[..., Ran], failed_run: str, tmp_path: Path) -> None:
    """One file to send, to keep, or to read with any tool."""
    target = tmp_path / "run.json"
    assert cli("export", failed_run[:8], "--out", str(target)).code == 0

    document = json.loads(target.read_text())
    assert list(document) == ["spec_version", "run", "events"]
    assert document["run"]["run_id"] == failed_run
    assert document["events"] == list(load_events(failed_run))
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert cli("export", "latest", "-o", "-").json == document


def test_an_export_of_another_dialect_is_written_the_way_readers_see_it(
    cli: Callable[..., Ran], data_dir: Path
) -> None:
    """Old names, a torn line, compressed: whoever gets the export should not have to know."""
    story = Story()
    story.tool("x", {}, 1)
    story.events[-1]["payload"] = {"args": {}, "result": 1, "status": "success"}
    run_id = store(data_dir, story)
    path = data_dir / "runs" / run_id / "events.jsonl"
    content = path.read_bytes() + b'{"torn": '
    with gzip.open(path.with_name("events.jsonl.gz"), "wb") as packed:
        packed.write(content)
    path.unlink()

    events = cli("export", run_id, "--out", "-").json["events"]
    assert [event["event_type"] for event in events] == ["RUN_START", "TOOL_CALL"]
    assert events[1]["payload"]["status"] == "ok"
    assert events == list(load_events(run_id))


def test_an_export_is_written_whole_or_not_at_all(
    cli: Callable[..., Ran], failed_run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a document over last week's whole one would be worse than none."""
    target = tmp_path / "run.json"
    target.write_text("before")

    def breaks(*_: Any) -> Any:
        yield [b"{}"], 0.5
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(json_document, "line_blocks", breaks)
    ran = cli("export", "latest", "--out", str(target))

    assert ran.code == 10
    assert ran.err == "agentdbg: No space left on device\n"
    assert target.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir() if "run.json" in entry.name] == ["run.json"]


@pytest.mark.parametrize(("out", "word"), [(".", "is a folder")])
def test_an_export_to_nowhere_says_so(cli: Callable[..., Ran], failed_run: str, out: str, word: str) -> None:
    """A typing mistake is wrong use, not a fault of ours."""
    ran = cli("export", "latest", "--out", out)

    assert ran.code == 2
    assert word in ran.err


def test_an_export_to_a_device_is_written_to_it(cli: Callable[..., Ran], failed_run: str) -> None:
    """Replacing /dev/null by a file has happened to people."""
    assert cli("export", "latest", "--out", os.devnull).code == 0
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_new_name_is_shown_and_taken_back(cli: Callable[..., Ran], failed_run: str) -> None:
    """What was recorded stays; the name lies over it."""
    assert cli("rename", failed_run[:8], "the broken one").out == "invoice is now the broken one.\n"
    assert "the broken one" in cli("list").out
    assert cli("rename", "latest", "").out == "the broken one is now invoice.\n"
    assert cli("rename", "latest", "again", "--json").json["run_name"] == "again"


def test_a_mark_says_what_the_status_does_not_and_is_taken_back(cli: Callable[..., Ran], data_dir: Path) -> None:
    """An agent that ends without an error and is wrong: explain then names steps, --check says no; a name stays."""
    story = Story()
    story.llm([{"role": "user", "content": "Refund order 7"}], "I refunded order 9.")
    story.end()
    run_id = store(data_dir, story)
    cli("rename", run_id, "refund")
    assert cli("explain", run_id, "--check").code == 0
    assert "marked as failed" in cli("mark", run_id[:8], "--failed", "the wrong\norder").out
    explained = cli("explain", run_id, "--check")
    assert explained.code == 1
    assert "! Finished with problems  refund" in explained.out
    assert "Marked as failed: the wrong order." in explained.out
    assert "Look first at" in explained.out
    told = cli("explain", run_id, "--json").json
    assert (told["run"]["status"], told["state"]) == ("ok", "problems")
    assert told["outcome"] == {"outcome": "failed", "source": "mark", "why": "the wrong order"}
    assert "problems" in cli("list").out
    assert [run["state"] for run in cli("list", "--status", "problems", "--json").json["runs"]] == ["problems"]
    assert cli("show", run_id).out.startswith("! Finished with problems")
    cli("rename", run_id, "")
    assert cli("mark", run_id, "--passed", "--json").json["mark"] == {"outcome": "passed", "why": ""}
    assert cli("explain", run_id, "--json").json["suspects"] == []
    assert cli("list", "--status", "problems", "--json").json["runs"] == []
    assert "has no mark now" in cli("mark", run_id, "--clear").out
    assert not list(data_dir.glob("runs/*/label.json"))


def test_deleting_asks_and_can_be_undone(cli: Callable[..., Ran], failed_run: str) -> None:
    """One wrong prefix should not cost a run."""
    refused = cli("delete", failed_run)
    assert refused.code == 2
    assert "--yes" in refused.err

    assert "Nothing was deleted" in run_in_terminal("delete", failed_run[:8], answer="n\n").out
    assert cli("list", "--json").json["runs"]

    assert f"agentdbg restore {failed_run[:8]}" in cli("delete", failed_run[:8], "--yes").out
    assert cli("list", "--json").json["runs"] == []

    assert cli("restore", failed_run[:8]).out == f"invoice ({failed_run[:8]}) is back.\n"
    assert cli("list", "--json").json["runs"]


def test_what_was_deleted_is_listed_to_choose_from(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Who no longer knows the id has nowhere else to look: `list` does not show the trash."""
    oldest, middle, _ = prunable(data_dir)
    assert cli("restore").out == "No deleted run waits to be brought back.\n"
    cli("delete", oldest, "--yes")
    os.utime(data_dir / "trash" / oldest, (time.time() - 7200, time.time() - 7200))
    assert cli("delete", middle, "--yes", "--json").json == {"deleted": [middle]}

    lines = cli("restore").out.splitlines()
    assert [line.split()[0] for line in lines] == ["run_id", middle[:8], oldest[:8]]
    assert lines[1].endswith("just now")
    assert lines[2].endswith("2 h ago")
    assert [run["run_id"] for run in cli("restore", "--json").json["deleted"]] == [middle, oldest]
    assert cli("restore", "latest", "--json").json["run_id"] == middle


@pytest.mark.parametrize("wanted", ["ffffffff", "invoice", "latest", ""])
def test_a_deleted_run_that_is_not_there_is_answered_with_where_to_look(
    cli: Callable[..., Ran], failed_run: str, wanted: str
) -> None:
    """`agentdbg list` would send people round in circles."""
    ran = cli("restore", wanted)

    assert ran.code == 2
    assert f"no deleted run matches {wanted!r}" in ran.err
    assert "`agentdbg restore` shows" in ran.err


def test_a_beginning_that_two_deleted_runs_share_lists_them(cli: Callable[..., Ran], data_dir: Path) -> None:
    """As everywhere else; restoring one of them at random would be worse."""
    for last in ("a", "b"):
        cli("delete", store(data_dir, Story(), run_id=f"11111111-1111-4111-8111-11111111111{last}"), "--yes")
    ran = cli("restore", "1111")

    assert ran.code == 2
    assert "matches 2 runs" in ran.err


def test_one_wrong_id_deletes_nothing(cli: Callable[..., Ran], failed_run: str) -> None:
    """All are looked up before the first goes."""
    assert cli("delete", failed_run, "ffffffff", "--yes").code == 2
    assert len(cli("list", "--json").json["runs"]) == 1


def test_answering_yes_on_a_terminal_deletes(failed_run: str, data_dir: Path) -> None:
    """The question names the run, so that a person can see which it is."""
    printed = run_in_terminal("delete", failed_run[:8], answer="y\n", NO_COLOR="1").out

    assert f"invoice ({failed_run[:8]})" in printed
    assert "Delete this run? [y/N]" in printed
    assert not (data_dir / "runs" / failed_run).exists()


def prunable(data_dir: Path) -> list[str]:
    story = Story()
    story.tool("x", {"text": "a" * 5000}, 1)
    story.end()
    return [store(data_dir, story, name=f"n{day}", started_at=f"2026-01-0{day}T00:00:00.000Z") for day in (1, 2, 3)]


def test_pruning_says_what_it_would_do_and_then_does_it(cli: Callable[..., Ran], data_dir: Path) -> None:
    """A dry run first is how anybody sane uses it."""
    oldest, *_ = prunable(data_dir)

    assert f"Would delete {oldest[:8]}  2026-01-01  n1" in cli("prune", "--keep", "2", "--dry-run").out
    assert len(cli("list", "--json").json["runs"]) == 3

    assert cli("prune", "--older-than", "1d", "--keep", "2", "--json").json["deleted"] == [oldest]
    assert len(cli("list", "--json").json["runs"]) == 2
    assert cli("prune", "--older-than", "9999d").out == "Nothing to prune.\n"


def test_pruning_asks_where_somebody_can_answer(cli: Callable[..., Ran], data_dir: Path) -> None:
    """A mistyped age on a terminal should not cost a month of runs; a cron job has nobody to ask."""
    oldest, *_ = prunable(data_dir)

    asked = run_in_terminal("prune", "--keep", "2", answer="n\n", NO_COLOR="1").out
    assert f"{oldest[:8]}  2026-01-01  n1\nDelete this run? [y/N]" in asked
    assert "Nothing was deleted." in asked
    assert len(cli("list", "--json").json["runs"]) == 3

    assert f"Deleted {oldest[:8]}" in run_in_terminal("prune", "--keep", "2", answer="y\n", NO_COLOR="1").out
    assert "Delete" not in run_in_terminal("prune", "--keep", "2", "--compress", NO_COLOR="1").out
    assert "[y/N]" not in run_in_terminal("prune", "--keep", "1", "--yes", NO_COLOR="1").out
    assert "Deleted" in cli("prune", "--keep", "0").out


def test_pruning_may_compress_instead(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Old runs that are kept still read like any other."""
    oldest, *_ = prunable(data_dir)

    assert f"Compressed {oldest[:8]}" in cli("prune", "--older-than", "1h", "--compress").out
    assert (data_dir / "runs" / oldest / "events.jsonl.gz").exists()
    assert cli("show", oldest).code == 0


def test_pruning_compresses_what_the_settings_say(
    cli: Callable[..., Ran], data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """compress_after_days is obeyed whenever prune runs."""
    prunable(data_dir)
    monkeypatch.setenv("AGENTDBG_COMPRESS_AFTER_DAYS", "1")

    assert cli("prune").out.count("Compressed") == 3


def test_pruning_everything_by_mistake_is_not_possible(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Without saying which runs, nothing happens."""
    prunable(data_dir)
    ran = cli("prune")

    assert ran.code == 2
    assert "--older-than 30d" in ran.err


def test_a_line_too_long_to_be_kept_is_left_out_of_an_export(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Other writers know no limit; what follows such a line is still exported."""
    story = Story()
    story.tool("step", {}, "done")
    run_id = store(data_dir, story)
    path = data_dir / "runs" / run_id / "events.jsonl"
    first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b"x" * 17_000_000 + b"\n" + b"".join(rest))

    assert len(cli("export", run_id, "--out", "-").json["events"]) == 1 + len(rest)


@pytest.mark.slow
def test_a_hundred_thousand_events_are_exported_in_little_memory(data_dir: Path) -> None:
    """Memory is flat: the export of a long run must not need the run in memory."""
    story = Story()
    story.tool("step", {"text": "a" * 600}, "b" * 100)
    run_id = store(data_dir, story)
    path = data_dir / "runs" / run_id / "events.jsonl"
    head, line = path.read_text().splitlines()
    event_id = json.loads(line)["event_id"]
    with path.open("w") as file:
        file.write(head + "\n")
        for number in range(100_000):
            file.write(line.replace(event_id, f"{number:08d}-0000-4000-8000-000000000000") + "\n")
    code = (
        "import sys\n"
        f"sys.argv = ['agentdbg', 'export', 'latest', '--out', {str(data_dir / 'out.json')!r}]\n"
        "from agentdbg.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        # Not getrusage: its peak is inherited from the process that started this one.
        "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )

    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout

    assert int(printed.split()[1]) < 60_000


def test_a_run_that_is_deleted_while_it_is_renamed_is_gone(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tabs of the page: that is no fault of ours to be told as one."""
    with traced_run("brief") as run:
        pass

    def deleted(*_: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(housekeeping, "replace_file", deleted)

    with pytest.raises(RunNotFound):
        housekeeping.rename_run(run.run_id, "other", data_dir)
