"""With the network closed (loopback only), no command but `push` tries to reach it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from agentdbg.cli import COMMANDS
from tests.mcp_server.runs import ordinary

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
# What a careless library would act on: proxies, other people's collectors, keys, settings of our own.
TEMPTATIONS = {
    "HTTPS_PROXY": "http://proxy.example:3128",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.example:4318",
    "OTEL_TRACES_EXPORTER": "otlp",
    "LANGSMITH_TRACING": "true",
    "LANGSMITH_API_KEY": "not-a-key",
    "OPENAI_API_KEY": "not-a-key",
}


@dataclass(frozen=True)
class Case:
    """One way to use a command. RUN, OTHER and OUT stand for two stored runs and a folder to write to."""

    arguments: tuple[str, ...] = ()
    code: int = 0
    serves: bool = False
    stdin: str = ""
    needs: tuple[str, ...] = ()
    """A command that has to be given first."""


CASES: dict[str, list[Case]] = {
    "list": [Case(), Case(("--json",))],
    "view": [Case(("--no-browser", "--port", "0"), serves=True)],
    "run": [Case(("OUT/agent.py",))],
    "replay": [Case(("latest", "--", "OUT/agent.py"), needs=("run", "OUT/agent.py"))],
    "fork": [
        Case(
            ("latest", "--after", "last", "--writes", "recorded", "--", "OUT/agent.py"),
            needs=("run", "OUT/agent.py"),
        )
    ],
    "test": [Case(("RUN",), code=2)],
    "attach": [Case(("RUN", "--continue"))],
    "mark": [Case(("RUN", "--failed", "wrong answer"))],
    "effects": [Case(("learn", "RUN"))],
    "gate": [Case(("OUT/nowhere",), code=2)],
    "audit": [Case()],
    "show": [Case(("RUN",)), Case(("RUN", "--event", "2"))],
    "explain": [Case(("RUN",))],
    "baseline": [Case(("RUN", "--out", "OUT/baseline.json"))],
    "assert": [Case(("RUN", "--max-llm-calls", "9"))],
    "diff": [Case(("RUN", "OTHER"), code=1)],
    "init": [Case()],
    "tail": [Case(("RUN",))],
    "export": [
        Case(("RUN", "--out", "OUT/run.json")),
        Case(("RUN", "--format", "html", "--out", "OUT/run.html")),
        Case(("RUN", "--format", "markdown", "--out", "OUT/run.md")),
        Case(("--all", "--format", "parquet", "--out", "OUT/tables")),
    ],
    "sql": [Case(("select count(*) from events",))],
    "import": [Case(("OUT/exported.json",), needs=("export", "RUN", "--out", "OUT/exported.json"))],
    # Where it would go is said without going there; the variables of the environment cause nothing.
    "push": [Case(("RUN", "--otlp", "http://collector.example:4318", "--dry-run"))],
    "receive": [Case(("--port", "0"), serves=True)],
    "mcp": [Case(stdin=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n")],
    "validate": [Case(("RUN",), code=1)],
    "rename": [Case(("RUN", "another name"))],
    "delete": [Case(("RUN", "--yes"))],
    "restore": [Case(("RUN",), needs=("delete", "RUN", "--yes"))],
    "prune": [Case(("--older-than", "1d"))],
    "scrub": [Case(("Oslo", "--fixed", "--yes"))],
    "config": [Case()],
    "prices": [Case(), Case(("--set", "some-model", "--input", "1", "--output", "2"))],
    "doctor": [Case()],
    "demo": [Case(("--no-view", "--live-seconds", "0"))],
}


def _named_cases() -> list[Any]:
    return [
        pytest.param(command, case, id=f"{command} {' '.join(case.arguments)}".strip())
        for command, cases in CASES.items()
        for case in cases
    ]


def test_every_command_has_a_case_here() -> None:
    """A new command may not slip past; say how it is used."""
    assert set(CASES) == set(COMMANDS)


@pytest.mark.parametrize(("command", "case"), _named_cases())
def test_a_command_works_and_asks_nobody(command: str, case: Case, data_dir: Path, tmp_path: Path) -> None:
    """Recorded prompts are often confidential; that nothing leaves the machine has to be a fact, not an intention."""
    places = {"RUN": ordinary(data_dir), "OTHER": ordinary(data_dir, "other", "Lima"), "OUT": str(tmp_path)}
    (tmp_path / "agent.py").write_text(
        "import agentdbg\nagentdbg.record_llm_call('m', prompt='p', response='r')\nagentdbg.tool(len)([1])\n"
    )
    if case.needs:
        assert _closed(tmp_path, [*_agentdbg(), *_placed(case.needs, places)])["code"] == 0

    done = _closed(tmp_path, [*_agentdbg(), command, *_placed(case.arguments, places)], case)

    assert done["attempts"] == ""
    assert done["turned_away"] == 0
    assert done["code"] == case.code, done["printed"]


@pytest.mark.parametrize(
    "attempt",
    [
        "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)",
        "import socket; socket.getaddrinfo('agentdbg.example', 443)",
        "import urllib.request; urllib.request.urlopen('http://192.0.2.1/', timeout=1)",
        "import os, sys; os.spawnl(0, sys.executable, 'python', '-c', 'import socket; socket.gethostbyname(\"a.b\")')",
    ],
)
def test_an_attempt_would_be_seen(attempt: str, tmp_path: Path) -> None:
    """A guard that never objects proves nothing."""
    assert _closed(tmp_path, [sys.executable, "-c", attempt])["attempts"] != ""


def test_an_attempt_of_native_code_would_be_seen(tmp_path: Path) -> None:
    """DuckDB, Arrow and the like open sockets where no hook of Python's is asked."""
    if not _has_namespaces():
        pytest.skip("this system gives no network namespace to ordinary users")
    native = (
        "import ctypes, struct\n"
        "libc = ctypes.CDLL(None)\n"
        "address = struct.pack('<H', 2) + struct.pack('>H', 80) + bytes([192, 0, 2, 1]) + bytes(8)\n"
        "libc.connect(libc.socket(2, 1, 0), address, 16)\n"
    )

    done = _closed(tmp_path, [sys.executable, "-c", native])

    assert done["attempts"] == ""
    assert done["turned_away"] == 1


def _agentdbg() -> list[str]:
    return [sys.executable, "-m", "agentdbg"]


def _placed(arguments: tuple[str, ...], places: dict[str, str]) -> list[str]:
    placed = []
    for argument in arguments:
        head, slash, rest = argument.partition("/")
        placed.append(places.get(head, head) + slash + rest)
    return placed


def _closed(tmp_path: Path, command: list[str], case: Case | None = None) -> dict[str, Any]:
    """Run a command with the network closed; what it printed, how it ended, and whom it tried to reach."""
    case = case or Case()
    log = tmp_path / "attempts"
    asked = {"command": command, "serves": case.serves, "stdin": case.stdin, "is_namespace": _has_namespaces()}
    prefix = ["unshare", "--map-root-user", "--net"] if _has_namespaces() else []
    done = subprocess.run(
        [*prefix, sys.executable, str(HERE / "closed.py"), json.dumps(asked)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=tmp_path,
        env={
            **os.environ,
            **TEMPTATIONS,
            "PYTHONPATH": str(HERE / "guard"),
            "NETWORK_GUARD_LOG": str(log),
            "BROWSER": "true",
        },
    )
    return {**json.loads(done.stdout), "attempts": log.read_text() if log.exists() else ""}


@cache
def _has_namespaces() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(["unshare", "--map-root-user", "--net", "true"], capture_output=True, check=False)
    return tried.returncode == 0
