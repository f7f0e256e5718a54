"""
Keep the machine closed while a program is replayed: no connection, no process, no write outside a private folder.

One audit hook, installed once (it cannot be removed) and armed by a flag. It is asked by the interpreter before an
operation, and raises in its place; `unheard_effects` tells it of some that raise no event. It cannot see what C and
Rust libraries do by themselves, nor writes to descriptors and connections that were open before: `not_guarded` names
what is loaded of that kind, `open_sockets` what is open.
"""

from __future__ import annotations

import gc
import importlib
import os
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

from agentdbg.control.unheard_effects import ATTACHING, watch_unheard
from agentdbg.exceptions import UsageError
from agentdbg.faults import pass_on
from agentdbg.interpreter import frame_above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Allowed", "EffectsGuard", "Paused", "guard", "not_guarded", "open_sockets", "parse_allow"]

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_MODES = re.compile("[wax+]")
_BYTECODE = re.compile(r"__pycache__(?:[/\\][^/\\]+\.pyc(?:\.\d+)?)?$")
_CHANGING = {
    # The event: which of its arguments is a path, and which the folder (a descriptor) that the path begins in.
    "os.remove": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.lchown": ((0, None),),
    "os.utime": ((0, 3),),
    "os.setxattr": ((0, None),),
    "os.removexattr": ((0, None),),
    "os.chflags": ((0, None),),
    "os.mkfifo": ((0, 2),),
    "os.mknod": ((0, 3),),
}
_VERBS = {
    "os.remove": "remove",
    "os.rename": "rename",
    "os.rmdir": "remove the folder",
    "os.mkdir": "make the folder",
    "os.link": "make the link",
    "os.symlink": "make the link",
    "os.truncate": "cut the file",
    "os.chmod": "change the mode of",
    "os.chown": "change the owner of",
    "os.lchown": "change the owner of",
    "os.utime": "change the times of",
    "os.setxattr": "change the attributes of",
    "os.removexattr": "change the attributes of",
    "os.chflags": "change the flags of",
    "os.mkfifo": "make the pipe",
    "os.mknod": "make the file",
    "sqlite3.connect": "open the database",
    ATTACHING: "open the database",
    "os.kill": "send a signal to process",
    "os.killpg": "send a signal to process group",
    "signal.pthread_kill": "send a signal to thread",
    "webbrowser.open": "open the browser at",
    "syslog.syslog": "write to the system log:",
}
_STARTING = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn"}
_STARTING |= {"os.fork", "os.forkpty"}
_DATABASES = {"sqlite3.connect", ATTACHING}
_SENDING = {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind"}
_LOOKUPS = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
_SIGNALS = {"os.kill", "os.killpg", "signal.pthread_kill"}
_HARMLESS_COMMANDS = {"ldconfig", "uname"}  # the standard library asks them; they change nothing
# C and Rust libraries with sockets or files of their own, by the module that a program has loaded.
_UNSEEN = {
    "_dbm": "dbm.ndbm",
    "_gdbm": "dbm.gnu",
    "grpc": "grpc",
    "psycopg": "psycopg",
    "psycopg2": "psycopg2",
    "asyncpg": None,
    "MySQLdb": "mysqlclient",
    "confluent_kafka": "confluent-kafka",
    "duckdb": "duckdb",
    "lancedb": "lancedb",
    "pycurl": "pycurl",
    "curl_cffi": "curl_cffi",
    "primp": "primp",
    "zmq": "pyzmq",
    "_rocksdb": "rocksdb",
    "polars": "polars",
    "chromadb_rust_bindings": "chromadb",
}
_HOUSEKEEPING = {
    "crewai": re.compile(
        r"[/\\]latest_kickoff_task_outputs\.db(?:-journal|-wal|-shm)?$"
        r"|[/\\]\.crewai_user\.json$"
        r"|[/\\]crewai(?:[/\\](?:\.crewai_write_test\.\w+|credentials(?:[/\\]secret\.key)?))?$"
    ),
}
"""Files that a framework keeps for itself at every start, whatever the agent does: by the package that is loaded."""
_STORAGE = re.compile(
    r"[/\\]\.(?:local(?:[/\\]share)?|config)$|[/\\](?:\.local[/\\]share|Application Support)[/\\][^/\\]+$"
)
"""Folders of the user that such a package makes for those files; they may be made, and nothing else."""


class _Here(threading.local):
    is_ours = False


_here = _Here()


class Paused:
    """Let our own code write meanwhile, in this thread."""

    def __enter__(self) -> None:
        self._before, _here.is_ours = _here.is_ours, True

    def __exit__(self, *_: object) -> None:
        _here.is_ours = self._before


class Allowed:
    """What a strict replay may do all the same."""

    def __init__(self, rules: Iterable[tuple[str, str]] = (), folders: Iterable[str] = ()) -> None:
        self.hosts = [what for kind, what in rules if kind == "net"]
        self.commands = [what for kind, what in rules if kind == "run"]
        self.folders = [*map(_whole_path, folders), *(_whole_path(what) for kind, what in rules if kind == "write")]


def parse_allow(text: str) -> tuple[str, str]:
    """`net:HOST[:PORT]`, `write:PATH` or `run:COMMAND`. Raises UsageError."""
    kind, _, what = text.partition(":")
    if kind not in ("net", "write", "run") or not what:
        raise UsageError(f"--allow {text!r} does not fit; use net:HOST, net:HOST:PORT, write:PATH or run:COMMAND")
    return kind, what


class EffectsGuard:
    """The one guard of the process."""

    def __init__(self) -> None:
        self._is_installed = False
        self._is_armed = False
        self._allowed = Allowed()
        self._tell: Callable[[str], BaseException | None] = lambda _: None
        self._may_write: Callable[[str], bool] = lambda _: False

    def arm(
        self,
        tell: Callable[[str], BaseException | None],
        allowed: Allowed,
        may_write: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """From here on ask `tell` what to raise in place of an effect; None lets it happen."""
        self._tell, self._allowed, self._may_write = tell, allowed, may_write
        if not self._is_installed:
            self._is_installed = True
            sys.addaudithook(self._heard)
            watch_unheard(self._heard, lambda: self._is_armed)
        self._is_armed = True

    def disarm(self) -> None:
        """Let everything happen again."""
        self._is_armed = False

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._is_armed or event not in _EVENTS or _here.is_ours:
            return
        _here.is_ours = True  # what is done to find out is ours
        try:
            what = self._effect(event, args)
            error = None if what is None else self._tell(what)
        finally:
            _here.is_ours = False
        if error is not None:
            raise error

    def _effect(self, event: str, args: tuple[Any, ...]) -> str | None:
        """What the program is about to do, in words; None when it may."""
        if event == "open":
            return self._opening(*args)
        if event in _CHANGING:
            return self._changing(event, args)
        if event in _SENDING or event in _LOOKUPS:
            return self._network(event, args)
        if event in _STARTING:
            return self._starting(event, args)
        is_private = event in _DATABASES and self._is_private_database(args[0])
        if is_private or (event in _SIGNALS and args[:1] == (os.getpid(),)):
            return None
        return f"{_VERBS.get(event, event)} {_shown(args[0]) if args else ''}".rstrip()

    def _changing(self, event: str, args: tuple[Any, ...]) -> str | None:
        paths = [_in_folder(args[at], args, folder) for at, folder in _CHANGING[event] if at < len(args)]
        wrong = next((path for path in paths if not self._is_writable(path)), None)
        if wrong is None:
            return None
        if event == "os.mkdir" and (os.path.isdir(wrong) or _is_storage(_whole_path(wrong))):  # which does nothing
            return None
        return f"{_VERBS[event]} {_shown(wrong)}"

    def _opening(self, path: Any, mode: Any, flags: Any) -> str | None:
        is_writing = bool(_MODES.search(mode)) if isinstance(mode, str) else bool((flags or 0) & _WRITING)
        if not is_writing or isinstance(path, int) or self._is_writable(path):
            return None
        return f"write the file {_shown(path)}"

    def _is_writable(self, path: Any) -> bool:
        if path is None or isinstance(path, int):  # an open descriptor
            return True
        whole = _whole_path(path)
        if whole == os.devnull or _BYTECODE.search(whole) or _is_housekeeping(whole) or self._may_write(whole):
            return True
        return any(_is_in(whole, folder) for folder in self._allowed.folders)

    def _is_private_database(self, name: Any) -> bool:
        text = os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else ""
        if text in ("", ":memory:"):
            return True
        if text.startswith("file:"):
            text, _, query = text[5:].partition("?")
            modes = [value for key, _, value in (one.partition("=") for one in query.split("&")) if key == "mode"]
            if text == ":memory:" or (modes and set(modes) <= {"memory", "ro"}):
                return True
        return self._is_writable(text)

    def _network(self, event: str, args: tuple[Any, ...]) -> str | None:
        address = args[0] if event in _LOOKUPS else args[1] if len(args) > 1 else None
        port = args[1] if event == "socket.getaddrinfo" and len(args) > 1 else None
        if event == "socket.sendmsg" and address is None:  # on a connection that was let through
            return None
        if isinstance(address, tuple) and address:
            address, port = address[0], address[1] if len(address) > 1 else None
        host = os.fsdecode(address) if isinstance(address, (str, bytes)) else str(address)
        if event in _LOOKUPS and host in ("", "None", "0.0.0.0", "::"):  # noqa: S104 -- the own machine's address
            return None
        if event == "socket.bind" and port == 0:  # nobody can know where it is: a look whether IPv6 works
            return None
        if self._is_allowed_host(host, port) or _is_socketpair():
            return None
        verb = {"socket.bind": "listen on", "socket.connect": "connect to"}.get(event)
        verb = verb or ("look up" if event in _LOOKUPS else "send to")
        return f"{verb} {_printable(host)}{'' if port in (None, 0) else f':{port}'}"

    def _is_allowed_host(self, host: str, port: Any) -> bool:
        return any(rule in (host, f"{host}:{port}") for rule in self._allowed.hosts)

    def _starting(self, event: str, args: tuple[Any, ...]) -> str | None:
        command = args[0] if args else event
        if event == "subprocess.Popen" and len(args) > 1:
            given = args[1]
            command = given[0] if isinstance(given, (list, tuple)) and given else given or command
        if event == "os.spawn":
            command = args[1]
        text = os.fsdecode(command) if isinstance(command, (str, bytes, os.PathLike)) else str(command)
        name = os.path.basename(text.split(" ")[0])
        if name in _HARMLESS_COMMANDS or any(rule in (text, name) for rule in self._allowed.commands):
            return None
        return f"start the process {_printable(text)}"


_EVENTS = frozenset(
    {"open", "syslog.syslog", "webbrowser.open"}
    | _DATABASES
    | set(_CHANGING)
    | _STARTING
    | _SENDING
    | _LOOKUPS
    | _SIGNALS
)


def _is_housekeeping(path: str) -> bool:
    return any(package in sys.modules and files.search(path) for package, files in _HOUSEKEEPING.items())


def _is_storage(path: str) -> bool:
    return any(package in sys.modules for package in _HOUSEKEEPING) and bool(_STORAGE.search(path))


def _is_socketpair() -> bool:
    """Whether Python itself connects the two ends of a pair over loopback, as it does on Windows."""
    if os.name != "nt":
        return False
    frame: Any = frame_above(4)
    return any(code.f_code.co_name in ("socketpair", "_fallback_socketpair") for code in _frames(frame))


def _frames(frame: Any) -> Iterator[Any]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _whole_path(path: Any) -> str:
    text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else str(path)
    try:
        return os.path.realpath(text)
    except (OSError, ValueError) as error:
        pass_on(error)
        return os.path.abspath(text)


def _in_folder(path: Any, args: tuple[Any, ...], at: int | None) -> Any:
    """The path as it is meant: relative ones may begin in a folder that is open, as `shutil.rmtree` has it."""
    folder = args[at] if at is not None and at < len(args) else -1
    if isinstance(path, int):  # a descriptor: a file that is open for reading has a mode and times all the same
        return _opened_as(path)
    if not isinstance(folder, int) or folder < 0 or os.path.isabs(path):
        return path
    return os.path.join(_opened_as(folder), os.fsdecode(path))


def _opened_as(descriptor: int) -> str:
    """The path that a descriptor was opened with; one that may not be written where nobody knows."""
    try:
        if os.path.isdir("/proc/self/fd"):
            return os.readlink(f"/proc/self/fd/{descriptor}")
        fcntl: Any = importlib.import_module("fcntl")  # not on Windows, which has no such descriptors
        return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))  # macOS
    except (AttributeError, ImportError, OSError) as error:
        pass_on(error)
        return os.sep


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _shown(path: Any) -> str:
    return _printable(os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else repr(path))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)[:200]


def not_guarded() -> list[str]:
    """Packages that the program has loaded whose connections and writes the guard cannot see."""
    return sorted({name for module, name in _UNSEEN.items() if name is not None and module in sys.modules})


def open_sockets() -> list[str]:
    """Connections that are open already; what is sent over them is not seen."""
    found: list[str] = []
    module: Any = sys.modules.get("socket")
    if module is None:  # then nobody can have opened one
        return found
    for candidate in gc.get_objects():
        # Not isinstance, which asks a proxy for the class of what may be gone.
        if issubclass(type(candidate), module.socket) and candidate.fileno() >= 0:
            try:
                found.append(":".join(map(str, candidate.getpeername()[:2])))
            except OSError as error:  # it listens, or is not connected
                pass_on(error)
    return sorted(found)


guard = EffectsGuard()
"""An audit hook cannot be removed, so there is one for the process."""
