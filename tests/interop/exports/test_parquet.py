"""The Parquet tables hold what the log holds."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from pyarrow import parquet

from agentdbg.events import EVENT_KEYS
from agentdbg.interop.tables import parquet as table_files
from agentdbg.interop.tables.table_columns import EVENTS, RUNS
from agentdbg.storage import list_runs, load_events
from tests.analysis.story import Story
from tests.commands.stored import Ran, store
from tests.interop.exports.runs import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def tables(cli: Callable[..., Ran], rich_run: str, parallel_run: str, tmp_path: Path) -> Path:
    """Both runs, exported."""
    folder = tmp_path / "tables"
    assert cli("export", rich_run, parallel_run, "--format", "parquet", "--out", str(folder)).code == 0
    return folder


def _as_logged(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The log made again from rows of the table."""
    events = []
    for row in rows:
        event = {key: row[key] for key in EVENT_KEYS}
        event["ts"] = row["ts"].strftime("%Y-%m-%dT%H:%M:%S.") + f"{row['ts'].microsecond // 1000:03d}Z"
        event["payload"], event["meta"] = json.loads(row["payload"]), json.loads(row["meta"])
        events.append(event)
    return events


def test_pyarrow_reads_back_the_log(tables: Path, rich_run: str, parallel_run: str) -> None:
    """The tables are a copy, not a summary: nothing of the log is lost on the way."""
    rows = parquet.read_table(tables / "events.parquet").to_pylist()

    assert _as_logged(rows) == [*load_events(rich_run), *load_events(parallel_run)]
    numbers = [row["n"] for row in rows if row["run_id"] == rich_run]
    assert numbers == list(range(1, len(numbers) + 1))


def test_duckdb_reads_back_the_log(tables: Path, rich_run: str, parallel_run: str) -> None:
    """Another engine, another reader of the format: the same events."""
    with duckdb.connect() as connection:
        found = connection.execute(
            f"SELECT * EXCLUDE (started_at) REPLACE (ts AT TIME ZONE 'UTC' AS ts) FROM '{tables}/events.parquet'"
        )
        names = [column[0] for column in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    assert _as_logged(rows) == [*load_events(rich_run), *load_events(parallel_run)]


def test_the_common_columns_are_typed_and_say_what_the_events_say(tables: Path, rich_run: str) -> None:
    """What people ask about most needs no JSON function."""
    table = parquet.read_table(tables / "events.parquet")
    rows = {row["kind"]: row for row in table.to_pylist() if row["run_id"] == rich_run}

    assert table.schema.names == [column.name for column in EVENTS]
    assert str(table.schema.field("ts").type) == "timestamp[us, tz=UTC]"
    assert {str(table.schema.field(name).type) for name in ("n", "duration_ms", "input_tokens")} == {"int64"}
    llm, tool, loop = rows["llm"], rows["tool"], rows["loop"]
    assert (llm["model"], llm["provider"], llm["temperature"], llm["cost_usd"]) == ("gpt-4o", "openai", 0.0, 0.5)
    assert [llm[f"{name}_tokens"] for name in ("input", "output", "total", "cached")] == [200, 40, 240, 120]
    assert (llm["ts"] - llm["started_at"]).total_seconds() == 1.0
    assert (tool["status"], tool["error_type"], tool["error_message"]) == ("error", "KeyError", HOSTILE)
    assert (loop["loop_kind"], loop["loop_severity"], loop["loop_repetitions"]) == ("cycle", "critical", 3)
    assert rows["state"]["status"] is None
    assert rows["state"]["input_tokens"] is None
    assert rows["span"]["status"] == "ok"


def test_the_runs_table_is_what_is_known_of_each_run(tables: Path, rich_run: str) -> None:
    """Recommended metadata has columns of its own; the rest is one JSON."""
    table = parquet.read_table(tables / "runs.parquet")
    row = next(row for row in table.to_pylist() if row["run_id"] == rich_run)
    meta = next(meta for meta in list_runs() if meta["run_id"] == rich_run)

    assert table.schema.names == [column.name for column in RUNS]
    assert (row["run_name"], row["status"], row["llm_calls"], row["cost_usd"]) == ("rich", "error", 1, 0.5)
    assert (row["environment"], row["version"], json.loads(row["tags"])) == ("staging", "3", ["a"])
    assert json.loads(row["metadata"]) == meta.get("metadata")
    assert row["started_at"] == datetime.fromisoformat(meta["started_at"][:23]).replace(tzinfo=timezone.utc)


def test_other_dialects_compressed_and_damaged_logs_are_read_like_anywhere(
    cli: Callable[..., Ran], data_dir: Path, tmp_path: Path
) -> None:
    """Whoever reads the table should not have to know how old the run is."""
    story = Story()
    story.tool("x", {}, 1)
    story.events[-1]["payload"] = {"args": {}, "result": 1, "status": "success"}
    run_id = store(data_dir, story)
    path = data_dir / "runs" / run_id / "events.jsonl"
    content = path.read_bytes() + b'{"event_type": "TOOL_CALL", "ts": "2026-01-01 10:00:00.5+02:00"}\n{"torn": '
    path.with_name("events.jsonl.gz").write_bytes(gzip.compress(content))
    path.unlink()
    cli("export", run_id, "-f", "parquet", "-o", str(tmp_path / "t"))

    rows = parquet.read_table(tmp_path / "t" / "events.parquet").to_pylist()
    assert _as_logged(rows) == list(load_events(run_id))
    assert len(rows) == 3


def test_a_failed_export_leaves_the_tables_that_were_there(
    cli: Callable[..., Ran], tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a table over last night's whole one would be worse than none."""
    before = {path.name: path.read_bytes() for path in tables.iterdir()}

    def breaks(_: int, __: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(table_files, "event_row", breaks)
    assert cli("export", "--all", "-f", "parquet", "-o", str(tables)).code == 10
    assert {path.name: path.read_bytes() for path in tables.iterdir()} == before
    assert {stat.S_IMODE(path.stat().st_mode) for path in tables.iterdir()} == {0o600}


_EXPORT = """
import sys
sys.argv = ["agentdbg", "export", "latest", "--format", "parquet", "--out", sys.argv[1]]
from agentdbg.cli import main
try: main()
except SystemExit: pass
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak is read where Linux tells it")
def test_memory_does_not_grow_with_the_run(data_dir: Path, tmp_path: Path) -> None:
    """A run of a million events is exported by the machine it was recorded on."""
    peaks = []
    for count in (20_000, 120_000):
        story = Story()
        story.tool("step", {"text": "a" * 600}, "b" * 100)
        run_id = store(data_dir, story, started_at=f"2026-01-01T00:00:00.{count % 997:03d}Z")
        path = data_dir / "runs" / run_id / "events.jsonl"
        head, line = path.read_text().splitlines()
        event_id = json.loads(line)["event_id"]
        with path.open("w") as file:
            file.write(head + "\n")
            for number in range(count):
                file.write(line.replace(event_id, f"{number:08d}-0000-4000-8000-000000000000") + "\n")
        command = [sys.executable, "-c", _EXPORT.replace("latest", run_id), str(tmp_path / f"t{count}")]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
        peaks.append(int(printed.split()[1]))
        assert parquet.read_metadata(tmp_path / f"t{count}" / "events.parquet").num_rows == count + 1

    assert peaks[1] < peaks[0] * 1.25
