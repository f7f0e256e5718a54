"""Files made to take all memory, against every command that reads a file: each stays small, and others are served."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
import uuid
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.storage import list_runs, load_events
from agentdbg.storage.housekeeping import compress_run
from tests.server.running import viewer
from tests.storage.handmade import as_line, event, run_json, usual_events, write_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux counts it"),
]

MB = 1 << 20
MOST_MB = 300

# Runs commands one after the other in one process: what it took at most is what the worst of them took.
_RUN = """
import json, sys
from agentdbg.cli import _run
codes = []
for arguments in json.loads(sys.argv[1]):
    codes.append(_run(arguments))
sys.stdout.flush()
with open("/proc/self/status") as file:  # getrusage would tell of the process that started this one, too
    peak_kb = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
print(json.dumps([codes, peak_kb >> 10]), file=sys.stderr)
"""


@dataclass
class Measured:
    """What commands printed, how each ended, and how much memory they took at most."""

    codes: list[int]
    memory_mb: int
    out: str
    err: str


def measured(*commands: list[str | Path], **variables: str | Path) -> Measured:
    """Run commands in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN, json.dumps([[str(word) for word in command] for command in commands])],
        capture_output=True,
        env={**os.environ, **{name: str(value) for name, value in variables.items()}},
        timeout=300,
        check=False,
    )
    err = done.stderr.decode(errors="replace")
    codes, memory_mb = json.loads(err.splitlines()[-1])
    return Measured(codes, memory_mb, done.stdout.decode(errors="replace"), err)


def pack(piece: bytes, times: int) -> bytes:
    """A piece, so many times, packed."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6) as file:
        for _ in range(times):
            file.write(piece)
    return out.getvalue()


def _packed(piece: bytes, times: int, name: str = "events.jsonl") -> Callable[[Path, str], None]:
    def make(folder: Path, _: str) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / f"{name}.gz").write_bytes(pack(piece, times))

    return make


def _line(payload: str, kind: str = "TOOL_CALL") -> Callable[[Path, str], None]:
    def make(folder: Path, run_id: str) -> None:
        line = json.dumps(event(run_id, kind, 60, payload="HERE")).replace('"HERE"', payload)
        with (folder / "events.jsonl").open("a") as file:
            file.write(f"{line}\n")

    return make


def _stretched(name: str, size: int, then: bytes = b"") -> Callable[[Path, str], None]:
    def make(folder: Path, _: str) -> None:
        with (folder / name).open("ab") as file:
            file.truncate(size)
            file.write(then)

    return make


def _metadata(text: str) -> Callable[[Path, str], None]:
    def make(folder: Path, run_id: str) -> None:
        (folder / "run.json").write_text(json.dumps(run_json(run_id))[:-1] + f',"metadata":{text}}}')

    return make


def _instead_of(name: str, make: Callable[[Path], object]) -> Callable[[Path, str], None]:
    def replace(folder: Path, _: str) -> None:
        (folder / name).unlink(missing_ok=True)
        make(folder / name)

    return replace


_FILES = ("events.jsonl", "run.json", "tape.jsonl", "tape.jsonl.gz", "../../index/RUN.columns", "label.json")
_NO_FILES: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a folder": lambda path: path.mkdir(),
}
BAD_RUNS: dict[str, Callable[[Path, str], None]] = {
    "zeros, packed": _packed(bytes(MB), 600),
    "newlines, packed": _packed(b"\n" * MB, 300),
    "short lines, packed": _packed(b"x\n" * (MB // 2), 300),
    "short events, packed": _packed(b'{"event_type":"A"}\n' * 50_000, 300),
    "one line without an end": _stretched("events.jsonl", 600 * MB),
    "a long line in the middle": _stretched("events.jsonl", 600 * MB, b"\n"),
    "lists in lists": _line('{"a":[' + "[]," * 5_000_000 + "0]}"),
    "objects": _line('{"a":[' + '{"a":0},' * 1_800_000 + "0]}"),
    "deep lists": _line("[" * 1_000_000 + "]" * 1_000_000),
    "deep objects": _line('{"a":' * 900 + "1" + "}" * 900),
    "a long number": _line('{"n":' + "9" * 15_000_000 + "}"),
    "a tape without an end": _stretched("tape.jsonl", 1 << 30),
    "a tape of zeros, packed": _packed(bytes(MB), 600, "tape.jsonl"),
    "a tape of objects": _stretched("tape.jsonl", 0, b'{"a":[' + b'{"a":0},' * 3_000_000 + b"0]}\n"),
    "run.json without an end": _stretched("run.json", 2 << 30),
    "run.json of lists": _metadata('{"x":[' + "[]," * 2_500_000 + "0]}"),
    "run.json of deep lists": _metadata('{"x":' + "[" * 1_000_000 + "]" * 1_000_000 + "}"),
    "label.json without an end": _stretched("label.json", 2 << 30),
    "columns without an end": _stretched("../../index/RUN.columns", 2 << 30),
    "viewer.lock without an end": _stretched("../../viewer.lock", 2 << 30),
    "a packed tape with other bytes in it": _instead_of(
        "tape.jsonl.gz", lambda path: path.write_bytes(gzip.compress(bytes(100))[:12] + b"\xff" * 900)
    ),
    **{f"{name} is {kind}": _instead_of(name, make) for name in _FILES for kind, make in _NO_FILES.items()},
}
del BAD_RUNS["label.json is a folder"]  # `rename` cannot replace it, and says so


@pytest.mark.parametrize("kind", BAD_RUNS)
def test_one_bad_run_takes_no_command_down(kind: str, tmp_path: Path) -> None:
    """It came with a checkout, a backup, or from a colleague; the other runs are what the user is after."""
    data_dir, good, bad = tmp_path / "data", str(uuid.uuid4()), str(uuid.uuid4())
    write_run(data_dir, good, events=usual_events(good))
    write_run(data_dir, bad, events=usual_events(bad), meta=b"{" if "run.json" not in kind else None)
    (data_dir / "index").mkdir()
    BAD_RUNS[kind](data_dir / "runs" / bad, bad)
    for planted in (data_dir / "index").glob("RUN.*"):
        planted.rename(planted.with_name(f"{bad}.columns"))
    done = measured(
        ["list", "--json"],
        ["show", bad],
        ["show", good],
        ["explain", bad],
        ["diff", bad, good],
        ["validate", bad],
        ["export", bad, "--out", tmp_path / "run.json"],
        ["export", bad, "--format", "markdown", "--out", tmp_path / "run.md"],
        ["export", bad, "--format", "html", "--out", tmp_path / "run.html"],
        ["assert", bad, "--max-errors", "5"],
        ["tail", bad],
        ["show", bad, "--full"],
        ["export", bad, "--with-tape", "--out", tmp_path / "whole.json"],
        ["audit"],
        ["scrub", "a-secret-of-mine", "--yes"],
        ["rename", bad, "another name"],
        ["prune", "--older-than", "9999d", "--dry-run"],
        ["doctor"],
        ["delete", bad, "--yes"],
        AGENTDBG_DATA_DIR=data_dir,
    )

    assert done.memory_mb < MOST_MB
    assert done.codes[0] == 0
    assert good in done.out
    assert done.codes[2] == 0
    assert set(done.codes) <= {0, 1, 2}
    assert "internal error" not in done.err
    assert [run["run_id"] for run in list_runs(data_dir=data_dir)] == [good]


def test_a_line_of_three_gigabytes_is_one_damaged_line(tmp_path: Path) -> None:
    """What stands before it and behind it is read as if it were not there."""
    run_id = write_run(tmp_path, meta=b"{")
    last = as_line(event(run_id, "STATE_UPDATE", payload={"state": "still there", "diff": None}))
    _stretched("events.jsonl", 3 << 30, b"\n" + last)(tmp_path / "runs" / run_id, run_id)
    done = measured(["list", "--json"], ["show", run_id], AGENTDBG_DATA_DIR=tmp_path)

    assert (done.codes, done.out.count("still there")) == ([0, 0], 1)
    assert '"damaged_lines":1' in done.out.replace(" ", "")
    assert done.memory_mb < 150


@pytest.mark.parametrize("kind", ["zeros, packed", "one line without an end", "objects", "run.json without an end"])
def test_the_viewer_serves_the_others(kind: str, tmp_path: Path) -> None:
    """One index for all pages: what one run does to it, everybody feels."""
    good, bad = str(uuid.uuid4()), str(uuid.uuid4())
    write_run(tmp_path, good, events=usual_events(good))
    write_run(tmp_path, bad, events=usual_events(bad), meta=b"{" if "run.json" not in kind else None)
    BAD_RUNS[kind](tmp_path / "runs" / bad, bad)
    with viewer(tmp_path) as served:
        assert {run["run_id"] for run in served.ask("/api/runs").json()["runs"]} == {good, bad}
        for run_id in (bad, good):
            for path in ("", "/rows?offset=0&limit=80", "/summary", "/events", "/skeleton", "/search?q=x", "/html"):
                assert served.ask(f"/api/runs/{run_id}{path}").status in (200, 202)
        assert served.peak_kb() >> 10 < MOST_MB


def test_tables_and_questions_stay_small_too(tmp_path: Path) -> None:
    """They read every run, in processes of their own."""
    good = str(uuid.uuid4())
    write_run(tmp_path, good, events=usual_events(good))
    for kind in ("zeros, packed", "one line without an end", "objects"):
        bad = write_run(tmp_path, events=[], meta=b"{")
        BAD_RUNS[kind](tmp_path / "runs" / bad, bad)
    done = measured(["sql", "select count(*) as n from events", "--json"], AGENTDBG_DATA_DIR=tmp_path)

    assert done.codes == [0]
    assert done.memory_mb < MOST_MB


def _archive(members: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def _many_names() -> bytes:
    return _archive([("header.json", b"{}"), *((f"samples/{number}.json", b"") for number in range(60_000))])


BAD_FILES: dict[str, Callable[[], bytes]] = {
    "zeros.json.gz": lambda: pack(bytes(MB), 400),
    "spaces.json.gz": lambda: pack(b" " * MB, 400),
    "lists.json.gz": lambda: pack(b"[" * MB, 400),
    "lines.jsonl.gz": lambda: pack(b"{}\n" * (MB // 3), 400),
    "lists.json": lambda: b"[" + b"[]," * 10_000_000 + b"[]]",
    "objects.jsonl": lambda: b'{"a":{}}\n' * 3_000_000,
    "deep.json": lambda: b"[" * 1_000_000 + b"]" * 1_000_000,
    "text.json": lambda: '["{}😀"]'.format("a" * (30 * MB)).encode(),
    "nothing.traj": lambda: b'{"a":' * 1_000_000,
    "sample.eval": lambda: _archive([("header.json", b'{"eval":{}}'), ("samples/1.json", bytes(400 * MB))]),
    "header.eval": lambda: _archive([("header.json", bytes(400 * MB))]),
    "many.eval": lambda: _archive(
        [("header.json", b"{}"), *((f"samples/{number}.json", bytes(20 * MB)) for number in range(30))]
    ),
    "objects.eval": lambda: _archive(
        [("header.json", b"{}"), *((f"samples/{number}.json", b'{"a":[' + b"{}," * 4_000_000) for number in range(3))]
    ),
    "bzip2.eval": lambda: _archive([("header.json", bytes(600 * MB))], zipfile.ZIP_BZIP2),
    "names.eval": _many_names,
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_in_words(name: str, tmp_path: Path) -> None:
    """Nothing of it is imported, and the good one beside it is."""
    files = tmp_path / "files"
    files.mkdir()
    (files / name).write_bytes(BAD_FILES[name]())
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    (files / "zz.json").write_text(json.dumps({"messages": chat}))
    done = measured(["import", files], AGENTDBG_DATA_DIR=tmp_path / "data")

    assert done.memory_mb < MOST_MB
    assert done.codes == [2]
    assert name in done.err
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    assert len(list_runs(data_dir=tmp_path / "data")) == 1


def test_a_file_that_only_looks_large_is_not_read_at_all(tmp_path: Path) -> None:
    """A sparse file costs its sender nothing."""
    for name in ("a.json", "a.jsonl", "a.eval"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(3 << 30)
    done = measured(["import", tmp_path], AGENTDBG_DATA_DIR=tmp_path / "data")

    assert (done.codes, done.err.count("--any-size")) == ([2], 3)
    assert done.memory_mb < 150


def test_a_folder_with_a_pipe_or_a_device_in_it_is_imported_without_them(tmp_path: Path) -> None:
    """Nobody ever writes to that pipe."""
    files = tmp_path / "files"
    files.mkdir()
    os.mkfifo(files / "a.json")
    (files / "b.jsonl").symlink_to("/dev/zero")
    (files / "c.jsonl").symlink_to("c.jsonl")
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    (files / "zz.json").write_text(json.dumps({"messages": chat}))
    done = measured(["import", files], AGENTDBG_DATA_DIR=tmp_path / "data")

    assert done.codes == [2]
    assert [name for name in ("a.json", "b.jsonl", "c.jsonl") if name not in done.err] == []
    assert "internal error" not in done.err
    assert len(list_runs(data_dir=tmp_path / "data")) == 1


def test_a_large_file_can_be_imported_when_that_is_said(tmp_path: Path) -> None:
    """The bound is there to protect, not to forbid."""
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello " * 7_000_000}]
    (tmp_path / "a.json").write_text(json.dumps({"messages": chat}))
    refused = measured(["import", tmp_path / "a.json"], AGENTDBG_DATA_DIR=tmp_path / "data")
    taken = measured(["import", tmp_path / "a.json", "--any-size"], AGENTDBG_DATA_DIR=tmp_path / "data")

    assert refused.codes == [2]
    assert "split it, or import it with --any-size" in refused.err
    assert taken.codes == [0]


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".jsonl.gz", ""])
@pytest.mark.parametrize("content", ["zeros", "objects", "deep"])
def test_runs_policies_and_baselines_named_on_the_command_line_are_bounded(
    suffix: str, content: str, tmp_path: Path
) -> None:
    """A gate reads what a pull request brings along."""
    made = {"zeros": bytes(600 * MB), "objects": b"{" + b'"a":{},' * 4_000_000, "deep": b"[" * 1_000_000}[content]
    bad = tmp_path / f"bad{suffix}"
    bad.write_bytes(gzip.compress(made) if suffix.endswith(".gz") else made)
    good = write_run(tmp_path / "data", events=None)
    done = measured(
        ["assert", bad if suffix else tmp_path / "bad.yaml", "--max-errors", "5"],
        ["assert", good, "--baseline", bad],
        ["assert", good, "--policy", bad],
        AGENTDBG_DATA_DIR=tmp_path / "data",
    )

    assert done.memory_mb < MOST_MB
    assert done.codes == [2, 2, 2]
    assert done.err.count("agentdbg: ") == 3
    assert "internal error" not in done.err
    assert "recursion" not in done.err


def test_a_hostile_project_stops_no_agent(tmp_path: Path) -> None:
    """Its settings are read when an agent starts: aliases without end, a pipe, a device, gigabytes."""
    folder = tmp_path / ".agentdbg"
    folder.mkdir()
    program = "from agentdbg import traced_run\nwith traced_run('x'): print('worked')\n"
    program += "print(next(int(line.split()[1]) >> 10 for line in open('/proc/self/status') if line[:5] == 'VmHWM'))"
    laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"redact_keys{n}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
    )

    def sparse(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(3 << 30)

    makers: list[Callable[[Path], Any]] = [
        lambda path: path.write_text(laughs + "redact_keys: *j\n"),
        lambda path: path.write_text("redact_keys: " + "[" * 200_000),
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        sparse,
    ]
    for make in makers:
        path = folder / "config.yaml"
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        make(path)
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "AGENTDBG_DATA_DIR": str(tmp_path / "data")},
            timeout=60,
            check=True,
        )
        worked, memory_mb = done.stdout.split()
        assert worked == "worked"
        assert int(memory_mb) < 100
        assert done.stderr.count("could not be read") <= 1  # a pipe or a device is no settings file at all


@pytest.mark.parametrize("content", ["deep", "zeros", "pipe"])
def test_hostile_prices_stop_no_agent_and_no_command(content: str, tmp_path: Path) -> None:
    """They lie in the data folder, which can come with an archive; they are read with the first call of a model."""
    path = tmp_path / "prices.json"
    if content == "deep":
        path.write_text("[" * 900_000)
    elif content == "zeros":
        with path.open("wb") as file:
            file.truncate(3 << 30)
    else:
        os.mkfifo(path)
    program = "from agentdbg import traced_run, record_llm_call\n"
    program += "with traced_run('x'): record_llm_call(model='m', prompt='a', response='b')\nprint('worked')"
    settings = {"AGENTDBG_DATA_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
        timeout=120,
        check=True,
    )
    done = measured(["list"], ["prices"], **settings)

    assert ran.stdout == "worked\n"
    assert ran.stderr.count("prices.json cannot be read") == 1
    assert len(list_runs(data_dir=tmp_path)) == 1
    assert done.memory_mb < MOST_MB
    assert done.codes == [0, 0]


def test_a_run_is_not_packed_into_what_nobody_would_unpack(tmp_path: Path) -> None:
    """One thing repeated for ever packs too well: readers would stop in the middle, and events would be lost."""
    run_id = write_run(tmp_path)
    path = tmp_path / "runs" / run_id / "events.jsonl"
    before = len(list(load_events(run_id, tmp_path)))
    line = as_line(event(run_id, "STATE_UPDATE", payload={"state": "a" * 900_000, "diff": None}))
    path.write_bytes(path.read_bytes() + line * 20)

    assert compress_run(run_id, tmp_path) == 0
    assert path.exists()
    assert len(list(load_events(run_id, tmp_path))) == before + 20


# Runs a piece of Python that ends in an error of ours, and says which and how much memory that took.
_ASKED = """
import sys
from pathlib import Path
from agentdbg.exceptions import AgentDbgError
try:
    exec(sys.argv[1])
    said = "nothing"
except AgentDbgError as error:
    said = str(error)
with open("/proc/self/status") as file:
    print(next(int(line.split()[1]) >> 10 for line in file if line.startswith("VmHWM")), said)
"""


def _asked(program: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", _ASKED, program], capture_output=True, text=True, timeout=120, check=True
    )
    memory_mb, _, said = done.stdout.strip().partition(" ")
    return int(memory_mb), said


@pytest.mark.parametrize("content", ["zeros", "objects", "deep"])
@pytest.mark.parametrize(
    "program",
    [
        "from agentdbg.control.mocks import parse_mock; parse_mock('refund=@{}')",
        "from agentdbg.control.edits import parse_edit; parse_edit('result=@{}')",
    ],
    ids=["--mock", "--set"],
)
def test_a_value_in_a_file_is_bounded(program: str, content: str, tmp_path: Path) -> None:
    """The file is often one that a tool has written."""
    path = tmp_path / "value.json"
    if content == "zeros":
        with path.open("wb") as file:
            file.truncate(3 << 30)
    else:
        path.write_bytes(b"[" + b"{}," * 5_000_000 + b"{}]" if content == "objects" else b"[" * 2_000_000)
    memory_mb, said = _asked(program.format(path))

    assert memory_mb < MOST_MB
    assert said != "nothing"
    assert "recursion" not in said  # Python's word for it helps nobody


def test_a_recording_with_one_endless_line_is_bounded(tmp_path: Path) -> None:
    """A recording lies beside the tests, where a pull request can put another one."""
    path = tmp_path / "recording.jsonl"
    with path.open("wb") as file:
        file.write(b'{"spec_version":"0.1","event_type":"RUN_START"')
        file.truncate(1 << 30)
    with path.open("ab") as file:
        file.write(b'\n{"tape":1,"process":"x","started":0}\n')
    memory_mb, said = _asked(
        f"from agentdbg.control.recorded_runs import open_recorded; open_recorded({str(path)!r}, Path('.'))"
    )

    assert (memory_mb < MOST_MB, said) == (True, "nothing")


def test_a_test_is_not_made_of_a_run_that_unpacks_without_end(tmp_path: Path) -> None:
    """A run that came with a data folder can be packed to hold anything."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "events.jsonl.gz").write_bytes(pack(b"\n" * MB, 900))
    (folder / "tape.jsonl").write_bytes(b'{"tape":1}\n')
    memory_mb, said = _asked(
        "from agentdbg.control.recording_file import write_recording; "
        f"write_recording(Path({str(folder)!r}), Path({str(tmp_path / 'made.jsonl')!r}))"
    )

    assert memory_mb < MOST_MB
    assert "cannot be read" in said
    assert os.listdir(tmp_path) == ["run"]
