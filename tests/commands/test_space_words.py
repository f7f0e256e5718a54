"""`agentdbg list --size` and the doctor: what takes the space, and what would free some."""

from __future__ import annotations

import fcntl
import json
import os
from typing import TYPE_CHECKING

from agentdbg.owner import describe_owner
from agentdbg.storage.housekeeping import compress_run, delete_run
from agentdbg.storage.space import freed_by_compressing, measure
from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def told(words: int) -> Story:
    story = Story()
    for number in range(words):
        story.llm(f"question {number} of {words}", f"answer {number * 7919 % 1000}")
    story.end()
    return story


def bytes_below(folder: Path) -> int:
    return sum(os.lstat(path).st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def test_every_byte_of_the_folder_is_counted_once(cli: Callable[..., Ran], data_dir: Path) -> None:
    """A sum that leaves something out sends a person looking in the wrong place."""
    small, large, gone = (store(data_dir, told(count)) for count in (1, 300, 20))
    (data_dir / "runs" / small / "tape.jsonl").write_bytes(b"t" * 1234)
    delete_run(gone, data_dir)
    cli("show", large)  # makes what the index keeps of it
    tables = data_dir / "index" / "tables"
    tables.mkdir(parents=True)
    (tables / "events.parquet").write_bytes(b"p" * 777)
    (data_dir / "index" / "elsewhere").symlink_to("/usr")

    said = cli("list", "--size", "--json").json
    assert said["all"]["total"] == sum(bytes_below(data_dir / name) for name in ("runs", "index", "trash"))
    assert (said["all"]["tape"], said["all"]["tables"]) == (1234, 777)
    assert said["all"]["trash"] == bytes_below(data_dir / "trash")
    assert [run["run_id"] for run in said["runs"]] == [large, small]
    assert said["runs"][1]["events"] == (data_dir / "runs" / small / "events.jsonl").stat().st_size
    assert [run["run_id"] for run in cli("list", "--size", "-n", "1", "--json").json["runs"]] == [large]


def test_what_would_be_freed_is_what_is_freed(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Compressing is tried on parts of the files, so its figure is near; deleting is exact."""
    runs = [store(data_dir, told(count)) for count in (40, 4000)]
    (data_dir / "runs" / runs[0] / "tape.jsonl").write_bytes(os.urandom(300_000))  # nothing to gain there
    live = store(data_dir, told(500), "running", owner=describe_owner())
    with open(data_dir / "runs" / live / "events.jsonl", "ab") as written:
        fcntl.flock(written, fcntl.LOCK_EX)

        free = cli("list", "--size", "--json").json["would_free"]
        assert (
            free["delete_old"]
            == json.loads(cli("prune", "--older-than", "30d", "--dry-run", "--json").out)["freed_bytes"]
        )
        assert abs(sum(compress_run(run, data_dir) for run in runs) - free["compress"]) < 0.1 * free["compress"]
        assert freed_by_compressing(data_dir, runs) == 0


def test_the_doctor_says_it_in_a_sentence(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Where a person asks what is wrong, a full disk is one of the answers."""
    store(data_dir, told(2000))
    texts = [finding for finding in cli("doctor", "--json").json["findings"] if " take " in finding["text"]]
    assert [finding["tone"] for finding in texts] == ["ok"]
    assert "events" in texts[0]["text"]
    assert "--compress` would free about" in texts[0]["advice"]


def test_a_link_is_not_followed(data_dir: Path, tmp_path: Path) -> None:
    """Somebody else's files are not ours to count."""
    (tmp_path / "big").write_bytes(b"x" * 10_000)
    run = store(data_dir, told(1))
    before = measure(data_dir).runs[run].total
    (data_dir / "runs" / run / "link").symlink_to(tmp_path / "big")
    (data_dir / "trash").symlink_to(tmp_path, target_is_directory=True)
    assert measure(data_dir).runs[run].total == before
    assert measure(data_dir).trash == 0
