"""
Run one command where the only network is loopback, and say what became of it. This file is a program of its own.

    python closed.py '{"command": […], "serves": false, "stdin": ""}'

It is started inside a network namespace where the system allows one. There the kernel itself counts every packet that
found no way out, also those of native code, which no hook in Python sees.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import urllib.request

_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


def main() -> None:
    """Run what the first argument asks for, and print what became of it as JSON."""
    asked = json.loads(sys.argv[1])
    is_closed = asked["is_namespace"]
    if is_closed:
        _raise_loopback()
    before = _turned_away() if is_closed else 0
    process = subprocess.Popen(
        asked["command"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    printed = _use(process) if asked["serves"] else ""
    try:
        rest, _ = process.communicate(asked["stdin"] or None, timeout=90)
    except subprocess.TimeoutExpired:
        process.kill()
        rest = f"{process.communicate()[0]}\n(killed: it did not end)"
    turned_away = _turned_away() - before if is_closed else 0
    print(json.dumps({"code": process.returncode, "printed": printed + rest, "turned_away": turned_away}))


def _use(process: subprocess.Popen[str]) -> str:
    """Ask a server once for its page, and end it as a person would."""
    assert process.stdout is not None
    printed = ""
    while (line := process.stdout.readline()) and not (found := re.search(r"http://127\.0\.0\.1:\d+", printed + line)):
        printed += line
    printed += line
    if found := re.search(r"http://127\.0\.0\.1:\d+", printed):
        with contextlib.suppress(OSError):  # any answer will do, a refusal too
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(found[0], timeout=20).read()
    process.send_signal(signal.SIGINT)
    return printed


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


def _turned_away() -> int:
    """How often somebody in this namespace tried to reach another machine."""
    with open("/proc/net/snmp") as table:
        names, values = [line.split() for line in table if line.startswith("Ip:")]
    count = int(values[names.index("OutNoRoutes")])
    with contextlib.suppress(OSError), open("/proc/net/snmp6") as table:
        count += sum(int(line.split()[1]) for line in table if line.startswith("Ip6OutNoRoutes"))
    return count


if __name__ == "__main__":
    main()
