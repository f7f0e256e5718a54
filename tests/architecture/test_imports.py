"""Who may import whom. Data walks one way, and so do imports."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import agentdbg
from tests.architecture.trees import PACKAGE, PATHS, tree_of

# Low to high. A module may import from its own layer and from lower ones, never from a higher one.
LAYERS: list[set[str]] = [
    {
        "version",
        "bounded",
        "exceptions",
        "encoding",
        "extra_packages",
        "faults",
        "import_hook",
        "interpreter",
        "interruptions",
        "loading",
        "owner",
        "own_os",
        "safe_text",
        "user_code",
        "events",
        "config",
        "schemas",
    },
    {"redaction", "loops", "storage", "tape", "strict_yaml"},
    {"index", "analysis", "effect_contracts", "policy_file"},
    {"recorder", "around", "public"},
    {"control"},
    {"integrations", "interop", "autorun", "demo", "loopdetect", "tracing"},
    {"server", "mcp_server", "receiver"},
    {"commands", "pytest_plugin", "cli", "__main__", "__init__"},
]
# What records does so through the one pipeline; everything else lives on the read side and never loads it.
MAY_RECORD = {
    "around",
    "control",
    "integrations",
    "interop",
    "receiver",
    "autorun",
    "demo",
    "pytest_plugin",
    "tracing",
    "__init__",
}
RECORDING_COMMANDS = {
    f"commands/{name}.py" for name in ("demo", "run", "import_runs", "fork_program", "replay_program")
}


def _room(path: Path) -> str:
    """The folder a file lies in, or its own name."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def _layer(room: str) -> int:
    for number, rooms in enumerate(LAYERS):
        if room in rooms:
            return number
    pytest.fail(f"{room} has no layer: add it to LAYERS where it belongs")


def _imports(path: Path) -> set[str]:
    """The rooms of ours a file imports when it is loaded or run."""
    return {room for room in map(_room_of_module, _imported_names(path)) if room}


@cache
def _imported_names(path: Path) -> set[str]:
    """What a file imports from the package, inside functions too; imports for type checkers do not count."""
    found: set[str] = set()
    waiting: list[ast.AST] = [tree_of(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "agentdbg":
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("agentdbg.")}
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += node.orelse
        elif not isinstance(node, ast.expr):  # no import stands inside an expression
            waiting += ast.iter_child_nodes(node)
    return found


@cache
def _room_of_module(module: str) -> str | None:
    """The room of `agentdbg.room.file.name`; None for a name of the package itself."""
    parts = module.split(".")[1:]
    return parts[0] if (PACKAGE / parts[0]).exists() or (PACKAGE / f"{parts[0]}.py").exists() else None


FILES = {str(path.relative_to(PACKAGE)): path for path in PATHS}


def test_no_module_imports_upwards() -> None:
    """The direction is what keeps every part understandable on its own."""
    upwards = {name: _above(path) for name, path in FILES.items() if _above(path)}

    assert not upwards, "these import from above"


def _above(path: Path) -> set[str]:
    own = _layer(_room(path))
    return {room for room in _imports(path) if _layer(room) > own}


def test_no_modules_import_each_other_in_a_ring() -> None:
    """Imports inside functions count too: what needs each other is one thing, or has a third below it."""
    waiting = {path: _imported_files(path) - {path} for path in FILES.values()}
    while ready := [path for path, below in waiting.items() if not below & waiting.keys()]:
        for path in ready:
            del waiting[path]

    assert not {str(path.relative_to(PACKAGE)) for path in waiting}, "these, and what imports them, stand in a ring"


def _imported_files(path: Path) -> set[Path]:
    found = set()
    for name in _imported_names(path):
        parts = name.split(".")[1:]
        for end in (len(parts), len(parts) - 1):  # a module, or a name in one
            module = PACKAGE.joinpath(*parts[:end])
            for file in (module.with_suffix(".py"), module / "__init__.py"):
                if end and file.exists():
                    found.add(file)
                    break
            else:
                continue
            break
    return found


def test_no_two_modules_have_one_name() -> None:
    """`lines.py` in three folders is a name that tells a newcomer nothing."""
    stems = Counter(path.stem for path in FILES.values() if path.stem != "__init__")

    assert [stem for stem, count in stems.items() if count > 1] == []


def test_the_read_side_never_imports_the_write_side() -> None:
    """The files on disk are all the two sides share."""
    reading = {
        name: path
        for name, path in FILES.items()
        if _room(path) not in MAY_RECORD and _room(path) != "recorder" and name not in RECORDING_COMMANDS
    }
    recording = {name for name, path in reading.items() if "recorder" in _imports(path)}

    assert len(reading) > len(FILES) / 2
    assert not recording


def _loaded_by(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ},
    )
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    """It is imported by every process of the user's program, whether it records or not."""
    heavy = {"typer", "rich", "starlette", "yaml", "asyncio", "sqlite3", "msgspec", "re2", "json", "inspect", "logging"}
    bare = _loaded_by("")
    assert not (_loaded_by("import agentdbg") - bare) & heavy


def test_recording_loads_no_server_no_yaml_and_opens_no_socket() -> None:
    """What the agent's process does not need it does not get."""
    program = (
        "import agentdbg, sys\n"
        "def watch(event, arguments):\n"
        "    if event.startswith(('socket.', 'subprocess.', 'os.posix_spawn', 'os.exec', 'os.system')):\n"
        "        raise SystemExit(f'{event} {arguments}')\n"
        "sys.addaudithook(watch)\n"
        "with agentdbg.traced_run('r', max_llm_calls=9):\n"
        "    agentdbg.record_llm_call('m', prompt='password=hunter2')\n"
    )
    assert not _loaded_by(program) & {"typer", "rich", "starlette", "yaml", "asyncio", "sqlite3", "socket", "http"}


def test_what_few_ask_for_is_loaded_when_one_does() -> None:
    """Whoever opens the viewer waits for all that it loads; most compare nothing and run nothing again."""
    seldom = {"agentdbg.analysis.diff", "agentdbg.policy_file", "agentdbg.control.again_words", "agentdbg.redaction"}
    viewer = _loaded_by("from agentdbg.server.viewer import create_app; create_app('nowhere')")
    assert "agentdbg.server.routes" in viewer
    assert not viewer & {*seldom, "agentdbg.server.compare", "agentdbg.server.control"}
    asking = _loaded_by("import agentdbg.commands.sql")
    assert not asking & {*seldom, "agentdbg.analysis.findings"}
    assisting = _loaded_by("import agentdbg.commands.mcp, agentdbg.commands.validate")
    assert "agentdbg.tape.tape_check" in assisting
    assert not assisting & {"agentdbg.redaction", "agentdbg.control.again_words", "agentdbg.mcp_server.tools_control"}


def test_what_an_extra_brings_is_loaded_by_its_own_command_alone() -> None:
    """Whoever imports or exports runs has no use for what sends them, queries them or serves them to an assistant."""
    sending = {"agentdbg.interop.otel.otlp", "agentdbg.interop.otel.pushing"}
    folders = ("commands", "interop", "mcp_server", "server")
    names = {_module(path) for path in FILES.values() if _room(path) in folders} - sending
    program = (
        "import importlib, sys\n"
        "sys.modules.update(dict.fromkeys(['duckdb', 'google.protobuf', 'mcp', 'opentelemetry.proto', 'pyarrow']))\n"
        f"for name in {sorted(names)}: importlib.import_module(name)\n"
    )

    assert names <= _loaded_by(program)


def _module(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def test_the_public_names_are_sorted_and_exist() -> None:
    """`from agentdbg import *` and the documentation agree with the package."""
    assert agentdbg.__all__ == sorted(agentdbg.__all__)
    assert all(hasattr(agentdbg, name) for name in agentdbg.__all__)
    assert set(agentdbg.__all__) == {
        "AgentDbgGuardrailExceeded",
        "AgentDbgLoopAbort",
        "AgentDbgReplayDiverged",
        "__version__",
        "around",
        "breakpoint",
        "current_run",
        "draw",
        "has_active_run",
        "llm",
        "llm_call",
        "record_error",
        "record_event",
        "record_llm_call",
        "record_outcome",
        "record_state",
        "record_tool_call",
        "replay",
        "tool",
        "tool_call",
        "trace",
        "traced_run",
    }


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("version", ["__version__"]),
        ("config", ["load_config"]),
        ("tracing", ["record_llm_call", "record_state", "record_tool_call", "trace", "traced_run"]),
        ("events", ["EVENT_TYPES"]),
        ("storage", ["list_runs", "load_events", "load_run_meta"]),
        ("loopdetect", ["LoopDetector"]),
        ("cli", ["main"]),
        ("server", []),
    ],
)
def test_the_modules_of_the_specification_are_there(module: str, names: list[str]) -> None:
    """Whoever read SPEC.md imports what it names, and gets the same thing as everybody."""
    found = importlib.import_module(f"agentdbg.{module}")

    assert all(hasattr(found, name) for name in names)
    assert all(getattr(found, name) is getattr(agentdbg, name, None) for name in names if module == "tracing")


MOST_EXCEPTIONS_FROM_RULES = 138


def test_the_rules_of_the_linter_are_rarely_set_aside() -> None:
    """A rule that is set aside in many places is no rule; whoever needs another exception takes one away."""
    root = PACKAGE.parent
    others = [
        path for folder in ("tests", "benchmarks", "examples", "scripts") for path in (root / folder).rglob("*.py")
    ]
    paths = {*FILES.values(), *others, root / "pytest_agentdbg.py"} - {Path(__file__)}
    set_aside = Counter({path.name: path.read_text(encoding="utf-8").count("# noqa") for path in paths})

    assert set_aside.total() <= MOST_EXCEPTIONS_FROM_RULES, set_aside.most_common(10)


def test_every_browser_test_says_that_it_is_one() -> None:
    """Without the mark the fast lane would start a browser, whose event loop then stands in other tests' way."""
    files = sorted((Path(__file__).parents[1] / "browser").glob("test_*.py"))

    assert files
    assert [path.name for path in files if "\npytestmark = pytest.mark.browser\n" not in path.read_text("utf-8")] == []
