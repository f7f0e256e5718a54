"""The way to the disk: whole lines, private files, and an agent that runs on whatever the disk does."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import own_os, record_llm_call, record_state, record_tool_call, traced_run
from agentdbg.recorder.context import current_scope
from agentdbg.storage.layout import make_private_folder, replace_file
from agentdbg.storage.writer import RunWriter

if TYPE_CHECKING:
    from tests.conftest import Recorded


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277])
def test_folders_and_files_are_private_whatever_the_umask(recorded: Recorded, data_dir: Path, umask: int) -> None:
    """Traces hold what people told their agents."""
    before = os.umask(umask)
    try:
        with traced_run("private"):
            record_llm_call("m")
    finally:
        os.umask(before)

    run = recorded.only()
    assert _mode(data_dir) == _mode(data_dir / "runs") == _mode(run.path) == 0o700
    assert {path.name: _mode(path) for path in run.path.iterdir()} == {"events.jsonl": 0o600, "run.json": 0o600}


def test_programs_that_begin_at_once_share_a_new_folder(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between our look and our step another one has made what was missing."""
    make, made = os.mkdir, []

    def make_late(path: Any, mode: int = 0o777) -> None:
        try:
            make(path, mode)
        except FileNotFoundError:
            for folder in (*reversed(Path(path).parents), Path(path)):
                if not folder.exists():
                    made.append(folder)
                    make(folder, 0o700)
            raise

    monkeypatch.setattr(own_os.os, "mkdir", make_late)
    make_private_folder(data_dir / "traces" / "of agents")

    assert made == [data_dir, data_dir / "traces", data_dir / "traces" / "of agents"]


def test_a_wider_folder_is_tightened(data_dir: Path) -> None:
    """An earlier version, or a hand, may have made it readable for all."""
    (data_dir / "runs").mkdir(parents=True)
    data_dir.chmod(0o755)
    (data_dir / "runs").chmod(0o777)
    with traced_run("private"):
        pass

    assert _mode(data_dir) == _mode(data_dir / "runs") == 0o700


def test_a_folder_that_holds_other_things_too_is_not_taken_from_its_owner(data_dir: Path) -> None:
    """Who stores runs inside their project does not want the project closed to their group."""
    data_dir.mkdir()
    (data_dir / "main.py").write_text("print()")
    data_dir.chmod(0o755)
    with traced_run("in the project"):
        pass

    assert _mode(data_dir) == 0o755
    assert _mode(data_dir / "runs") == 0o700


def test_each_event_is_in_the_file_when_the_call_returns(recorded: Recorded) -> None:
    """No buffer, no background thread: what was recorded cannot be lost by a crash of the process."""
    with traced_run("now"):
        for n in range(5):
            record_tool_call(f"t{n}")
            assert recorded.only().events[-1]["name"] == f"t{n}"


def test_a_symlink_in_place_of_the_events_file_is_not_followed(tmp_path: Path, capsys: Any) -> None:
    """Whoever can write into the folder must not be able to aim us at another file."""
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "events.jsonl").symlink_to(victim)
    writer = RunWriter(folder)
    assert writer.append(b"{}\n") is False
    assert victim.read_text() == "precious\n"


class _Disk:
    """A disk that fills up in the middle of a write."""

    def __init__(self, free: int) -> None:
        self.free = free

    def write(self, descriptor: int, data: bytes) -> int:
        if self.free == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = min(self.free, len(data))
        self.free -= taken
        return _real_write(descriptor, data[:taken])


_real_write = os.write


@pytest.mark.parametrize("free", [0, 1, 7, 8, 9, 15])
def test_after_a_full_disk_the_next_event_starts_on_its_own_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    """One torn line is the worst a full disk may do."""
    writer = RunWriter(tmp_path / "run")
    writer.append(b'{"n":0}\n')
    disk = _Disk(free)
    monkeypatch.setattr(own_os.os, "write", disk.write)
    assert writer.append(b'{"n":1}\n{"n":2}\n') is False
    monkeypatch.undo()
    assert writer.append(b'{"n":3}\n') is True

    lines = (tmp_path / "run" / "events.jsonl").read_bytes().split(b"\n")
    whole = []
    for line in lines:
        try:
            whole.append(json.loads(line)["n"])
        except ValueError:
            continue
    # What of a line came through is taken back, so that no other process writes behind it.
    expected = [0, *([1] if free >= 8 else []), *([2] if free >= 16 else []), 3]
    assert whole == expected
    assert writer.dropped == (1 if free >= 8 else 2)


@pytest.mark.parametrize("free", [0, 3])
def test_a_run_that_began_on_a_full_disk_gets_its_start_as_soon_as_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    """The file can be made on a full disk; a run without its RUN_START would have no name and no limits."""
    writer = RunWriter(tmp_path / "run")
    disk = _Disk(free)
    monkeypatch.setattr(own_os.os, "write", disk.write)
    writer.prepare(b'{"n":0}\n')
    assert writer.begin() is False
    assert writer.append(b'{"n":1}\n') is False
    monkeypatch.undo()
    assert writer.append(b'{"n":2}\n') is True

    lines = (tmp_path / "run" / "events.jsonl").read_bytes().splitlines()
    assert lines[-2:] == [b'{"n":0}', b'{"n":2}']
    assert writer.dropped == 1


def _in_a_process(tmp_path: Path, data_dir: Path, program: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    return subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "AGENTDBG_DATA_DIR": str(data_dir), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


_AGENT = """
from agentdbg import trace, record_llm_call, record_tool_call
@trace
def agent():
    for n in range({events}):
        record_tool_call(f"t{{n % 40}}", {{"n": n}}, "x" * 500)
    return "answer"
print(agent())
"""


@pytest.mark.slow
def test_a_file_size_limit_harms_nothing(tmp_path: Path, data_dir: Path, recorded: Recorded) -> None:
    """`ulimit -f` makes every further write fail; the agent's answer is still the answer."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
    done = _in_a_process(tmp_path, data_dir, limit + textwrap.dedent(_AGENT.format(events=100)))
    assert done.stdout == "answer\n", done.stderr
    assert done.returncode == 0
    assert done.stderr.count("cannot write") == 1
    lines = (recorded.only().path / "events.jsonl").read_bytes().split(b"\n")
    assert all(json.loads(line) for line in lines[:-1])


@pytest.mark.slow
def test_no_descriptors_left_harms_nothing_and_recording_resumes(
    tmp_path: Path, data_dir: Path, recorded: Recorded
) -> None:
    """A program that has run out of files has other worries than us."""
    done = _in_a_process(
        tmp_path,
        data_dir,
        """
        import os, resource
        from agentdbg import traced_run, record_tool_call
        with traced_run("warm up"):
            pass
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        held = []
        try:
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        with traced_run("starved"):
            record_tool_call("at once")
            for descriptor in held:
                os.close(descriptor)
            record_tool_call("kept")
        print("answer")
        """,
    )
    assert done.stdout == "answer\n", done.stderr
    assert done.stderr.count("cannot write") == 1
    starved = recorded.all()[-1]
    assert starved.types() == ["RUN_START", "TOOL_CALL", "RUN_END"]
    assert starved.meta["dropped_events"] == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="as root a read-only folder needs a mount")
def test_a_folder_that_cannot_be_made_harms_nothing(tmp_path: Path, recorded: Recorded) -> None:
    """The data folder may be a file, or lie on something that cannot be written."""
    blocked = tmp_path / "a file"
    blocked.write_text("x")
    done = _in_a_process(tmp_path, blocked / "below", _AGENT.format(events=5))
    assert done.stdout == "answer\n"
    assert done.stderr.count("agentdbg:") == 1


def test_a_deleted_run_folder_is_put_back_with_what_it_held(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody tidies up while the agent runs."""
    with traced_run("deleted") as run:
        record_tool_call("before")
        shutil.rmtree(run.path.parent)
        record_tool_call("meanwhile")

    assert recorded.only().types() == ["RUN_START", "TOOL_CALL", "TOOL_CALL", "RUN_END"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no fork here")
def test_a_deleted_run_folder_is_put_back_once_by_all_processes_of_the_run(
    tmp_path: Path, data_dir: Path, recorded: Recorded
) -> None:
    """Each of them finds that it is gone."""
    done = _in_a_process(
        tmp_path,
        data_dir,
        """
        import os, shutil, time
        from agentdbg import traced_run, record_tool_call
        with traced_run("deleted") as run:
            record_tool_call("before")
            shutil.rmtree(run.path)
            for number in range(3):
                if os.fork() == 0:
                    time.sleep(1.2)  # so much later run.json is written anew, which is when it is noticed
                    record_tool_call(f"child {number}")
                    os._exit(0)
                os.wait()
                record_tool_call(f"parent {number}")
        """,
    )
    assert done.returncode == 0, done.stderr
    run = recorded.only()
    names = [call["name"] for call in run.of_type("TOOL_CALL")]
    assert sorted(names) == sorted(
        ["before", *(f"{who} {number}" for who in ("child", "parent") for number in (0, 1, 2))]
    )
    assert len({event["event_id"] for event in run.events}) == len(run.events)
    assert (run.types()[0], run.types()[-1]) == ("RUN_START", "RUN_END")


def test_a_run_moved_away_while_it_runs_goes_on_there(recorded: Recorded, tmp_path: Path) -> None:
    """Deleting a live run in the viewer moves it to the trash; taking it back must bring all of it."""
    with traced_run("moved") as run:
        record_tool_call("before")
        run.path.rename(tmp_path / "elsewhere")
        record_tool_call("after")

    lines = (tmp_path / "elsewhere" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["event_type"] for line in lines] == ["RUN_START", "TOOL_CALL", "TOOL_CALL", "RUN_END"]
    assert recorded.run_dirs() == []


@pytest.mark.slow
def test_a_program_that_closes_all_descriptors_loses_nothing(
    tmp_path: Path, data_dir: Path, recorded: Recorded
) -> None:
    """Daemons close everything they did not open, and must not find our lines in their own files."""
    done = _in_a_process(
        tmp_path,
        data_dir,
        f"""
        import os
        from agentdbg import traced_run, record_tool_call
        with traced_run("daemon"):
            record_tool_call("before")
            os.closerange(3, 4096)
            mine = [os.open({str(tmp_path)!r} + f"/mine{{n}}", os.O_CREAT | os.O_WRONLY) for n in range(20)]
            record_tool_call("at once")
            record_tool_call("after")
        """,
    )
    assert done.returncode == 0, done.stderr
    names = [call["name"] for call in recorded.only().of_type("TOOL_CALL")]
    assert names == ["before", "at once", "after"]
    assert done.stderr == ""
    assert all((tmp_path / f"mine{n}").stat().st_size == 0 for n in range(20))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"AGENTDBG_LOOP_WINDOW": "-3", "AGENTDBG_MAX_FIELD_BYTES": "lots"}, 2),
        ({"AGENTDBG_REDACT_PATTERNS": "(unclosed"}, 1),
        ({"AGENTDBG_MAX_LLM_CALLS": "many", "AGENTDBG_FSYNC": "1"}, 1),
    ],
)
def test_nonsense_settings_are_said_and_harm_nothing(
    tmp_path: Path, data_dir: Path, recorded: Recorded, env: dict[str, str], said: int
) -> None:
    """A typo in a variable must not cost a run."""
    done = _in_a_process(tmp_path, data_dir, _AGENT.format(events=3), **env)
    assert done.stdout == "answer\n"
    assert done.stderr.count("agentdbg:") == said, done.stderr
    assert recorded.only().meta["status"] == "ok"


@pytest.mark.slow
def test_no_home_and_a_deleted_current_folder_harm_nothing(tmp_path: Path) -> None:
    """Containers have no home, and build tools delete the folder under their children."""
    done = _in_a_process(
        tmp_path,
        Path("unused"),
        f"""
        import os, shutil, tempfile
        for name in ("HOME", "AGENTDBG_DATA_DIR"):
            os.environ.pop(name, None)
        os.environ["TMPDIR"] = {str(tmp_path)!r}
        gone = tempfile.mkdtemp()
        os.chdir(gone)
        shutil.rmtree(gone)
        import pwd
        def nobody(uid):
            raise KeyError(uid)
        pwd.getpwuid = nobody
        """
        + textwrap.indent(_AGENT.format(events=2), " " * 8),
    )
    assert done.stdout == "answer\n", done.stderr
    assert done.stderr.count("agentdbg:") == 1, done.stderr
    assert "there is no home folder; runs go to" in done.stderr
    assert len(list(tmp_path.glob("agentdbg-*/runs/*/events.jsonl"))) == 1


def test_replacing_a_file_leaves_the_old_one_when_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """run.json is whole or it is the one before."""
    (tmp_path / "run").mkdir()
    path = tmp_path / "run" / "run.json"
    replace_file(path, b"old")

    def fail(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(own_os.os, "write", fail)
    with pytest.raises(OSError, match="full"):
        replace_file(path, b"new")
    monkeypatch.undo()

    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_run_json_is_kept_fresh_while_the_run_goes_on(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """`agentdbg list` beside a long run should not show it as empty."""
    from agentdbg.recorder import walk

    with traced_run("long"):
        record_tool_call("first")
        assert recorded.only().meta["counts"]["tool_calls"] == 0
        monkeypatch.setattr(walk, "_REFRESH_SECONDS", 0.0)
        record_tool_call("second")
        meta = recorded.only().meta
        assert meta["status"] == "running"
        assert meta["counts"]["tool_calls"] == 2
        assert meta["ended_at"] is None


@pytest.mark.slow
def test_two_processes_may_append_to_one_run_without_tearing_lines(
    tmp_path: Path, data_dir: Path, recorded: Recorded
) -> None:
    """Forked workers write big events at once; O_APPEND and one write keep each line whole."""
    done = _in_a_process(
        tmp_path,
        data_dir,
        """
        import os
        from agentdbg import traced_run, record_tool_call
        with traced_run("big"):
            for child in range(3):
                if os.fork() == 0:
                    for n in range(40):
                        record_tool_call(f"child{child}-{n}", {"text": "ü" * 9000}, ["z" * 15_000] * 4)
                    os._exit(0)
            for child in range(3):
                os.wait()
        """,
    )
    assert done.returncode == 0, done.stderr
    assert len(recorded.only().of_type("TOOL_CALL")) == 120


def test_the_lock_says_that_somebody_writes(recorded: Recorded) -> None:
    """Readers tell a live run from a dead one by it."""
    import fcntl

    with traced_run("locked") as run, open(run.path / "events.jsonl", "rb") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with open(run.path / "events.jsonl", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_memory_and_descriptors_do_not_grow_with_runs(recorded: Recorded) -> None:
    """A server makes a run per request for weeks."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(30):
        with traced_run("short"):
            record_state({"n": 1})
    assert current_scope() is None
    assert len(os.listdir("/proc/self/fd")) == before


def _lines(folder: Path) -> list[bytes]:
    return (folder / "events.jsonl").read_bytes().splitlines()


def test_a_descriptor_that_the_program_closed_is_opened_again(tmp_path: Path, capsys: Any) -> None:
    """Daemons close what they did not open; the line that found out is written too, and once."""
    writer = RunWriter(tmp_path / "run")
    assert writer.append(b"first\n")
    os.close(writer._descriptor)

    assert writer.append(b"second\n")
    assert writer.dropped == 0
    assert _lines(tmp_path / "run") == [b"first", b"second"]
    assert capsys.readouterr().err == ""
    writer.close()


def test_an_interruption_while_the_file_is_opened_leaves_no_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that stops runs by a signal would run out of them."""

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    writer = RunWriter(tmp_path / "run")
    before = len(os.listdir("/dev/fd"))
    with monkeypatch.context() as patched:
        patched.setattr("agentdbg.storage.writer._lock_shared", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.append(b"lost\n")

    assert len(os.listdir("/dev/fd")) == before
    assert writer.append(b"kept\n")
    assert _lines(tmp_path / "run") == [b"kept"]
    writer.close()


@pytest.mark.parametrize("is_written", [True, False])
def test_an_interruption_around_the_first_line_neither_doubles_nor_loses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    """A signal comes just before the write or just after it, and the writer cannot know which."""
    real = os.write

    def interrupted(descriptor: int, data: bytes) -> int:
        if is_written:
            real(descriptor, data)
        raise KeyboardInterrupt

    writer = RunWriter(tmp_path / "run")
    writer.prepare(b"start\n")
    with monkeypatch.context() as patched:
        patched.setattr(own_os.os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.begin()

    assert writer.append(b"call\n")
    assert _lines(tmp_path / "run") == [b"start", b"call"]
    writer.close()


def test_run_json_on_a_full_disk_holds_the_new_content_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written over in its place; what was longer before must leave no tail."""

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "full")

    writer = RunWriter(tmp_path / "run")
    writer.append(b"start\n")
    writer.replace_meta(b"a longer content than the next one")
    monkeypatch.setattr("agentdbg.storage.writer.replace_file", full)
    writer.replace_meta(b"short")

    assert (tmp_path / "run" / "run.json").read_bytes() == b"short"
    assert writer.problem is None
    writer.close()


def test_a_line_is_looked_for_at_the_end_of_the_file_only(tmp_path: Path) -> None:
    """The file of a run of hours is large, and an interruption must not be answered by reading all of it."""
    writer = RunWriter(tmp_path / "run")
    writer.append(b"early\n")
    writer.append(b"x" * 1_000_000 + b"\n")
    writer.append(b"late\n")

    assert writer.holds(b"late\n")
    assert not writer.holds(b"early\n")
    writer.close()


def test_the_line_after_an_interrupted_write_starts_anew(tmp_path: Path) -> None:
    """Whether the interruption came before, in or after the write, the file itself says."""
    writer = RunWriter(tmp_path / "run")
    assert not writer.holds(b"first\n")
    writer.append(b"first\n")
    with open(tmp_path / "run" / "events.jsonl", "ab") as file:
        file.write(b"half of a li")

    assert not writer.holds(b"half of a line\n")
    writer.append(b"second\n")
    writer.close()
    assert _lines(tmp_path / "run") == [b"first", b"half of a li", b"second"]


def test_a_file_that_ends_inside_a_line_is_gone_on_with_on_a_new_one(tmp_path: Path) -> None:
    """What a killed process left must not swallow the next event of another."""
    (tmp_path / "run").mkdir(mode=0o700)
    (tmp_path / "run" / "events.jsonl").write_bytes(b'{"n":0}\n{"n":')
    writer = RunWriter(tmp_path / "run")

    assert writer.append(b'{"n":2}\n')
    assert writer.append(b'{"n":3}\n')
    writer.close()
    assert _lines(tmp_path / "run") == [b'{"n":0}', b'{"n":', b'{"n":2}', b'{"n":3}']


@pytest.mark.parametrize(("setting", "each"), [("1", 1), ("0", 0)])
def test_every_event_is_on_the_disk_itself_where_that_was_asked_for(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, setting: str, each: int
) -> None:
    """Only then a power cut loses nothing; it takes a hundred times as long, so nobody gets it unasked."""
    synced: list[str] = []
    sync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("names of open files are told on Linux")
    monkeypatch.setenv("AGENTDBG_FSYNC", setting)
    monkeypatch.setattr(own_os.os, "fsync", noted)
    with traced_run("careful"):
        before = len([path for path in synced if path.endswith("events.jsonl")])
        record_llm_call("m")
        record_state({"a": 1})
        after = len([path for path in synced if path.endswith("events.jsonl")])

    assert after - before == 2 * each
    assert recorded.only().path.is_dir()


def test_a_disk_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, with the place and what to expect; a run without its events would else look like one that did nothing."""
    writer = RunWriter(tmp_path / "run")
    writer.append(b"first\n")
    monkeypatch.setattr(own_os.os, "write", _Disk(0).write)
    writer.append(b"second\n")
    writer.append(b"third\n")
    monkeypatch.undo()
    writer.close()

    assert writer.problem == "No space left on device"
    told = capsys.readouterr().err
    assert told.count("No space left on device") == 1
    assert str(tmp_path / "run") in told


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors as Linux lists them")
@pytest.mark.parametrize("disk_is_full", [False, True])
def test_putting_a_deleted_run_back_keeps_no_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], disk_is_full: bool
) -> None:
    """An agent of days whose folder is tidied away hourly would run out of them, also on a full disk."""
    writer = RunWriter(tmp_path / "run")
    writer.append(b"first\n")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        shutil.rmtree(tmp_path / "run")
        if disk_is_full:
            monkeypatch.setattr(own_os.os, "write", _Disk(0).write)
        writer.replace_meta(b"{}")
        monkeypatch.undo()
        assert len(os.listdir("/proc/self/fd")) == before
    writer.append(b"last\n")
    writer.close()

    assert _lines(tmp_path / "run") == ([b"last"] if disk_is_full else [b"first", b"last"])
    assert "was deleted" not in capsys.readouterr().err


def test_a_deleted_run_too_long_to_be_put_back_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Copying gigabytes would hold the agent up; it is told that only the rest will be there."""
    writer = RunWriter(tmp_path / "run")
    writer.append(b"first\n")
    shutil.rmtree(tmp_path / "run")
    monkeypatch.setattr("agentdbg.storage.writer._RESCUE_BYTES", 5)
    writer.replace_meta(b"{}")
    writer.append(b"last\n")
    writer.close()

    assert _lines(tmp_path / "run") == [b"last"]
    assert "was deleted; the run goes on from here" in capsys.readouterr().err


@pytest.mark.parametrize("others", [b'{"n":8}\n', b'{"half'])
def test_what_another_process_wrote_behind_a_torn_line_is_not_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: bytes
) -> None:
    """The file is cut back to its last whole line; an event that somebody else was told is written must stay."""

    def write_with_others(descriptor: int, data: bytes) -> int:
        written = _real_write(descriptor, data[:4])
        with open(tmp_path / "run" / "events.jsonl", "ab") as file:
            file.write(others)
        return written

    writer = RunWriter(tmp_path / "run")
    writer.append(b'{"n":0}\n')
    monkeypatch.setattr(own_os.os, "write", write_with_others)
    assert writer.append(b'{"n":1}\n') is False
    monkeypatch.undo()
    assert writer.append(b'{"n":2}\n')
    writer.close()

    content = (tmp_path / "run" / "events.jsonl").read_bytes()
    assert others.strip() in content
    assert content.endswith(b'\n{"n":2}\n')
