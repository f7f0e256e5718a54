"""
Operations that raise no audit event, told to the guard as if they did.

`multiprocessing` starts processes by a function of its own, uvloop connects and looks up by itself, pipes and devices
are made unseen, and a database that is open may open others.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from agentdbg.faults import pass_on
from agentdbg.import_hook import when_imported

if TYPE_CHECKING:
    from collections.abc import Callable

    Heard = Callable[[str, tuple[Any, ...]], None]

__all__ = ["ATTACHING", "watch_unheard"]

ATTACHING = "sqlite3.attach"
"""Our own name for it: an open database is about to open another file."""
_SQLITE_ATTACH, _SQLITE_OK = 24, 0
_LOOPS = ("uvloop", "winloop")


def watch_unheard(heard: Heard, is_armed: Callable[[], bool]) -> None:
    """Tell the guard of them from here on. Once for the process: the guard says nothing while it is not armed."""
    _watch_fork_exec(heard)
    for name in ("mkfifo", "mknod"):
        if hasattr(os, name):
            setattr(
                os,
                name,
                _told_first(getattr(os, name), heard, lambda path, *_, name=name, **__: (f"os.{name}", (path,))),
            )
    when_imported(["sqlite3"], lambda _: _watch_databases(heard, is_armed))
    when_imported(_LOOPS, lambda module: _watch_loop(sys.modules[module].Loop, heard))


def _watch_fork_exec(heard: Heard) -> None:
    try:
        posix: Any = importlib.import_module("_posixsubprocess")  # not everywhere
    except ImportError as error:
        pass_on(error)
        return

    def starting(*args: Any) -> tuple[str, tuple[Any, ...]]:
        words = args[0] if args and isinstance(args[0], (list, tuple)) else ()
        return "os.posix_spawn", (words[0] if words else "", list(words), None)

    posix.fork_exec = _told_first(posix.fork_exec, heard, starting)


def _told_first(function: Any, heard: Heard, event_of: Callable[..., tuple[str, tuple[Any, ...]]]) -> Any:
    @functools.wraps(function)
    def told(*args: Any, **kwargs: Any) -> Any:
        heard(*event_of(*args, **kwargs))
        return function(*args, **kwargs)

    return told


def _watch_loop(loop: Any, heard: Heard) -> None:
    """What a loop written in C does without asking Python."""

    def connecting(_: Any, __: Any, host: Any = None, port: Any = None, **kwargs: Any) -> tuple[str, tuple[Any, ...]]:
        return ("socket.connect", (None, (host, port))) if kwargs.get("sock") is None else _NOTHING

    def connecting_here(_: Any, __: Any, path: Any = None, **kwargs: Any) -> tuple[str, tuple[Any, ...]]:
        return ("socket.connect", (None, path)) if kwargs.get("sock") is None else _NOTHING

    def looking_up(_: Any, host: Any, port: Any = None, **__: Any) -> tuple[str, tuple[Any, ...]]:
        return "socket.getaddrinfo", (host, port)

    def connecting_socket(_: Any, __: Any, address: Any) -> tuple[str, tuple[Any, ...]]:
        return "socket.connect", (None, address)

    def sending(_: Any, __: Any, local_addr: Any = None, remote_addr: Any = None, **___: Any) -> Any:
        return (
            ("socket.connect", (None, remote_addr)) if remote_addr else ("socket.bind", (None, local_addr or ("", 0)))
        )

    def starting(_: Any, __: Any, program: Any, *args: Any, **___: Any) -> tuple[str, tuple[Any, ...]]:
        return "subprocess.Popen", (program, [program, *args], None, None)

    methods: dict[str, Callable[..., Any]] = {
        "create_connection": connecting,
        "create_unix_connection": connecting_here,
        "create_datagram_endpoint": sending,
        "getaddrinfo": looking_up,
        "sock_connect": connecting_socket,
        "subprocess_exec": starting,
        "subprocess_shell": starting,
    }
    for name, event_of in methods.items():
        setattr(loop, name, _told_first(getattr(loop, name), heard, event_of))


_NOTHING: tuple[str, tuple[Any, ...]] = ("", ())


def _watch_databases(heard: Heard, is_armed: Callable[[], bool]) -> None:
    """Let an open database ask before it attaches another file, or writes itself into one."""

    def allow(action: int, path: Any, *_: Any) -> int:
        if action == _SQLITE_ATTACH and path != "":  # which is a private one; None is what a parameter names
            heard(ATTACHING, (path or os.path.abspath("a parameter names"),))
        return _SQLITE_OK

    modules: list[Any] = [sys.modules["sqlite3"], sys.modules["sqlite3.dbapi2"]]
    connect = modules[0].connect

    @functools.wraps(connect)
    def connect_watched(*args: Any, **kwargs: Any) -> Any:
        connection = connect(*args, **kwargs)
        if is_armed():
            connection.set_authorizer(allow)
        return connection

    for module in modules:
        module.connect = connect_watched
