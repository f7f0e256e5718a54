"""In a strict replay nothing happens but what is served: each way to change the machine is stopped before it does."""

from __future__ import annotations

import asyncio
import gc
import http.client
import mmap
import multiprocessing
import os
import shutil
import smtplib
import socket
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import replay, tool, traced_run
from agentdbg.exceptions import AgentDbgReplayDiverged

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

ran: list[Any] = []


@tool
def look(what: Any) -> Any:
    ran.append(what)
    return what


def record(program: Callable[[], Any]) -> str:
    with traced_run("program") as run:
        program()
    ran.clear()
    return run.run_id


def again(program: Callable[[], Any], run_id: str, **options: Any) -> None:
    with replay(run_id, **options), traced_run("program"):
        program()
    assert not ran


def _effects(folder: Path) -> dict[str, Callable[[], Any]]:
    victim, other, here = folder / "victim.txt", folder / "elsewhere", socket.socket
    return {
        "write": lambda: victim.write_text("changed"),
        "append": lambda: victim.open("a"),
        "os.open": lambda: os.open(victim, os.O_WRONLY),
        "os.open to create": lambda: os.open(other, os.O_CREAT),
        "touch": victim.touch,
        "utime": lambda: os.utime(victim, (1, 1)),
        "remove": victim.unlink,
        "remove in a folder": lambda: os.remove("victim.txt", dir_fd=os.open(folder, os.O_RDONLY)),
        "rename": lambda: victim.rename(other),
        "replace": lambda: os.replace(victim, other),
        "move": lambda: shutil.move(victim, other),
        "copy": lambda: shutil.copy(victim, other),
        "rmtree": lambda: shutil.rmtree(folder),
        "chmod": lambda: victim.chmod(0o777),
        "chmod of what is open": lambda: os.fchmod(os.open(victim, os.O_RDONLY), 0o777),
        "truncate": lambda: os.truncate(victim, 0),
        "mkdir": (folder / "new").mkdir,
        "mkfifo": lambda: os.mkfifo(other),
        "symlink": lambda: (folder / "link").symlink_to(victim),
        "link": lambda: os.link(victim, other),
        "map": lambda: mmap.mmap(victim.open("r+b").fileno(), 0),
        "temporary file elsewhere": lambda: tempfile.mkstemp(dir=folder),
        "system temp": lambda: Path("/tmp/agentdbg-test-victim").write_text("x"),
        "sqlite": lambda: sqlite3.connect(folder / "victim.db"),
        "sqlite that only says it is private": lambda: sqlite3.connect(f"file:{other}?a=mode=memory", uri=True),
        "sqlite that only says it is read": lambda: sqlite3.connect(f"file:{other}?mode=rwc&a=mode=ro", uri=True),
        "sqlite by a private one": lambda: sqlite3.connect(":memory:").execute("ATTACH ? AS a", (str(other),)),
        "sqlite copied out": lambda: sqlite3.connect(":memory:").execute("VACUUM INTO ?", (str(other),)),
        "subprocess": lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
        "subprocess of asyncio": lambda: asyncio.run(_start()),
        "system": lambda: os.system("true"),
        "fork": lambda: os.fork() or os._exit(0),
        "multiprocessing": lambda: multiprocessing.get_context("spawn").Process(target=print).start(),
        "multiprocessing by fork": lambda: multiprocessing.get_context("fork").Process(target=print).start(),
        "exec": lambda: os.execv("/bin/false", ["false"]),
        "spawn": lambda: os.spawnv(os.P_WAIT, "/bin/true", ["true"]),
        "connect": lambda: socket.create_connection(("127.0.0.1", 9)),
        "connect here": lambda: here(socket.AF_UNIX).connect(str(other)),
        "listen": lambda: here().bind(("127.0.0.1", 39_999)),
        "lookup": lambda: socket.getaddrinfo("example.com", 80),
        "http": lambda: http.client.HTTPConnection("127.0.0.1", 9).request("GET", "/"),
        "mail": lambda: smtplib.SMTP("127.0.0.1", 9),
        "connection of asyncio": lambda: asyncio.run(_connect()),
        "sendto": lambda: here(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9)),
        "kill": lambda: os.kill(os.getppid(), 0),
    }


async def _start() -> None:
    await asyncio.create_subprocess_exec(sys.executable, "-c", "pass")


async def _connect() -> None:
    await asyncio.open_connection("127.0.0.1", 9)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", list(_effects(Path())))
@pytest.mark.parametrize("inside", [False, True])
def test_strict_replay_stops_before_an_effect(name: str, inside: bool, tmp_path: Path) -> None:
    """Between two served calls, and in code that is run again, a program may do anything; now it does nothing."""
    folder = tmp_path / "project"
    folder.mkdir()
    victim = folder / "victim.txt"
    victim.write_text("untouched")
    before = victim.stat()

    @tool(replay="run")
    def work(dangerous: bool) -> None:
        if dangerous:
            _effects(folder)[name]()

    def program(dangerous: bool) -> None:
        look("before")
        if inside:
            work(dangerous)
        elif dangerous:
            _effects(folder)[name]()

    run_id = record(lambda: program(False))
    with pytest.raises((AgentDbgReplayDiverged, sqlite3.DatabaseError)):
        again(lambda: program(True), run_id, ignore=["tool:work args"])
    with replay(run_id, check=False, ignore=["tool:work args"]) as replayed, suppress(Exception), traced_run("program"):
        program(True)

    assert replayed.divergence is not None
    assert replayed.divergence.kind_of == "effect"
    assert replayed.divergence.source is not None
    assert "test_effects_guard.py" in replayed.divergence.source
    assert [path.name for path in folder.iterdir()] == ["victim.txt"]
    assert victim.read_text() == "untouched"
    assert (victim.stat().st_mode, victim.stat().st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert not Path("/tmp/agentdbg-test-victim").exists()
    gc.collect()  # what the program left open is this test's, not the next one's


def test_temporary_files_are_private_and_go_away(tmp_path: Path) -> None:
    """Programs unpack things; they may, in a folder of their own."""
    seen: list[str] = []

    def program() -> None:
        look(1)
        with tempfile.NamedTemporaryFile("w", delete=False) as file:
            file.write("x")
        seen.append(file.name)

    run_id = record(program)
    Path(seen.pop()).unlink()
    again(program, run_id)

    assert "agentdbg-replay-" in seen[0]
    assert not Path(seen[0]).exists()


def test_what_is_allowed_happens(tmp_path: Path) -> None:
    """A local database may be needed by a replay; the user says so."""

    def program() -> None:
        look(1)
        (tmp_path / "out.txt").write_text("x")

    run_id = record(lambda: look(1))

    again(program, run_id, allow=[f"write:{tmp_path}"])
    assert (tmp_path / "out.txt").exists()


def test_the_guard_is_gone_when_the_block_is_over(tmp_path: Path) -> None:
    """An audit hook cannot be removed, so it must fall silent."""
    run_id = record(lambda: look(1))
    again(lambda: look(1), run_id)

    (tmp_path / "file").write_text("x")
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def test_a_temporary_folder_is_emptied_again() -> None:
    """`shutil.rmtree` names what it removes from the folder that it has open."""

    def program() -> None:
        look(1)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "inner").mkdir()
            (Path(folder) / "inner" / "file").write_text("x")

    again(program, record(program))
