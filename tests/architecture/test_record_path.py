"""
Between a verb and its write nothing is imported.

An import takes a lock: a child that another thread forks meanwhile waits for it for ever. And what a signal handler
raises inside an import may be swallowed there.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING

from tests.architecture.trees import PACKAGE, tree_of

if TYPE_CHECKING:
    from pathlib import Path

# What runs in the agent's process: the package itself, what the first run loads, and what `agentdbg run` brings.
ROOTS = ["__init__", "recorder.active_run", "recorder.deadline", "autorun.process", "autorun.departure"]
ROOTS += [f"integrations.{path.stem}" for path in (PACKAGE / "integrations").glob("*.py")]
# Functions that may import, because they run before anything is recorded: when the settings are read, when a run
# starts, when an integration is switched on or off, or only where nothing is recorded at all.
BEFORE_ANY_RECORD = {
    "control.replay": "a replay begins",
    "control.surroundings.RecordedClock.set_back": "a replay sets the clock before the program starts",
    "__init__._enable_integrations": "a replay begins",
    "__init__._follow_exchanges": "the first run with a tape starts",
    "autorun.process._enable": "a package is being imported by the program",
    "autorun.process.enable_integrations": "the program's run starts",
    "autorun.process.start_child": "the program's run starts",
    "config._default_data_dir": "settings",
    "config._did_you_mean": "settings",
    "config.load_config": "settings",
    "config._from_file": "settings",
    "config.config_file._parse": "settings",
    "config.setting_values._json_list": "settings",
    "control.breakpoint": "a program pauses here for a person",
    "events._schemas": "asked for by readers",
    "integrations.crewai._crewai": "switched on or off",
    "integrations.http._recogniser": "switched on or off, or a library is being imported",
    "integrations.openai._clients": "switched on or off",
    "integrations.pydantic_ai.recorder": "switched on",
    "owner._exists": "asked by readers, on Windows",
    "owner._host": "Windows; the first run.json is written when the run starts",
    "recorder.active_run.ActiveRun._watch_clock": "the run, or a span with a time of its own, starts",
    "recorder.run_lifecycle.RunHandle.path": "recording is off",
    "recorder.run_lifecycle._close_with_worker": "the run starts",
    "recorder.run_lifecycle._load_recorder": "the run starts",
    "recorder.run_lifecycle._load_settings": "the run starts",
    "storage.__getattr__": "asked for by readers",
}


def _tree(module: str) -> ast.Module:
    path = PACKAGE / (module.replace(".", "/") + ".py")
    path = path if path.exists() else PACKAGE / module.replace(".", "/") / "__init__.py"
    return tree_of(path)


def _is_module(name: str) -> bool:
    path = PACKAGE / name.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def _loaded_with(module: str) -> set[str]:
    """The modules of ours that are loaded when this one is."""
    found = {module.rpartition(".")[0]} if "." in module else set()
    waiting: list[ast.AST] = [_tree(module)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "agentdbg":
            inner = node.module.partition(".")[2]
            found |= {inner} if inner else set()
            found |= {f"{inner}.{alias.name}".lstrip(".") for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or _is_for_types(node):
            continue
        waiting += ast.iter_child_nodes(node)
    return {name for name in found if _is_module(name)}


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


@cache
def write_side() -> frozenset[str]:
    """Every module of ours that recording loads."""
    known: set[str] = set()
    waiting = list(ROOTS)
    while waiting:
        module = waiting.pop()
        if module not in known:
            known.add(module)
            waiting += _loaded_with(module)
    return frozenset(known)


def _importing_functions(module: str) -> set[str]:
    found: set[str] = set()

    def look(node: ast.AST, place: str, function: str | None) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.Import, ast.ImportFrom)) and function is not None:
                found.add(function)
            elif isinstance(child, ast.ClassDef):
                look(child, f"{place}.{child.name}", function)
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                look(child, place, function or f"{place}.{child.name}")
            else:
                look(child, place, function)

    look(_tree(module), module, None)
    return found


def test_no_function_on_the_way_from_a_verb_to_its_write_imports_anything() -> None:
    """Whatever recording needs is loaded when the run starts."""
    importing = {name for module in write_side() for name in _importing_functions(module)}
    importing = {name for name in importing if not re.fullmatch(r"integrations\.\w+\.(enable|disable)", name)}

    assert len(write_side()) > 60
    assert importing <= set(BEFORE_ANY_RECORD), "load these with their module, or when the run starts"


_PROGRAM = """
import sys, agentdbg

class Odd:
    def __repr__(self): return "odd"

class Loud(Exception):
    def __str__(self): raise ValueError("no")

def record_everything():
    from_model = "The key is sk-proj-" + "a1B2" * 12 + " and password=hunter2; \\ud83d lone"
    for number in range(9):
        agentdbg.record_llm_call("gpt-4o", [{"role": "user", "content": from_model}], from_model,
                                 usage={"input_tokens": 3, "output_tokens": 4, "details": Odd()}, meta={"a": Odd()})
        agentdbg.record_tool_call("search", {"q": "2026-01-01T10:00:00Z", "id": "req_8f3a9c2b1d"}, Odd(), effect="read")
        agentdbg.record_tool_call("search", b"\\xff\\xfe", {1, 2}, error=Loud("x"), meta=[("a", 1)])
        agentdbg.record_state({"number": number, "at": Odd(), "deep": [[[[[[[[[[[[1]]]]]]]]]]]]})
        agentdbg.record_event("CHECKPOINT", Odd(), {"long": "x" * 90_000, "many": list(range(9_000))})
        agentdbg.record_error(KeyError(number), context=Odd(), details={"x": complex(1, 2)}, fatal=Odd())
    try:
        fails()
    except ZeroDivisionError as error:
        agentdbg.record_error(error)
    with agentdbg.tool_call("block", {"a": Odd()}, effect="write", meta=Odd()) as call:
        call.result = Odd()
    with agentdbg.llm_call("m", prompt=Odd()) as call:
        call.response = Odd()
    with agentdbg.traced_run("span", max_llm_calls=3):
        list(yields(3))

@agentdbg.tool
def fails(): return 1 / 0

@agentdbg.llm(model="m")
def yields(count): yield from map(str, range(count))

@agentdbg.trace(stop_on_loop=False, max_events=10_000)
def agent():
    record_everything()
    return Odd()

class Watch:
    def find_spec(self, name, path=None, target=None):
        sys.stderr.write(f"{name} is looked for\\n")

with agentdbg.traced_run("first"):
    sys.meta_path.insert(0, Watch())
    agent()
"""


def test_recording_anything_imports_nothing(tmp_path: Path) -> None:
    """The standard library imports too: a codec, a parser of dates. After the start of the run there is none of it."""
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM, encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=60)

    assert done.stderr == ""
    assert done.returncode == 0


# What an operation itself says, and nobody's signal handler raises.
_OF_AN_OPERATION = {
    "BlockingIOError",
    "FileExistsError",
    "FileNotFoundError",
    "ImportError",
    "IndexError",
    "NotADirectoryError",
    "RecursionError",
    "StopAsyncIteration",
    "StopIteration",
    "UnicodeDecodeError",
    "UnicodeEncodeError",
    # Our own.
    "AgentDbgGuardrailExceeded",
    "CalledOff",
    "RunStopped",
    "UsageError",
    "STOPS",
    "TooLong",
    "Unproved",
    "_TakenBack",
}
# Where what was caught goes on in another way.
_HANDED_ON = {
    "autorun.launcher.execute": "it is what ended the program",
    "loading._give_back": "raised when every handler is in its place again",
    "loading.not_swallowed": "what a handler raised is raised behind it",
    "recorder.consultation._async_items_of": "as below",
    "recorder.consultation._items_of": "thrown into the recorded generator, and raised at its end at the latest",
    "recorder.wrappers.wrapper": "thrown into the generator it was meant for",
}


def test_no_except_takes_an_interruption_for_what_it_expects() -> None:
    """
    A timeout's handler raises TimeoutError, which is an OSError, in the middle of a write.

    So every `except` on the write side begins with `pass_on` or `contain`, or by raising what is an interruption, ends
    with `raise`, or stands around instructions at which nothing can arrive.
    """
    careless = {place for module in write_side() for place in _careless(module)}

    assert careless == set()


def _careless(module: str) -> set[str]:
    found: set[str] = set()

    def look(node: ast.AST, function: str) -> None:
        for child in ast.iter_child_nodes(node):
            inside = (
                f"{module}.{child.name}" if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
            )
            if isinstance(child, ast.Try) and inside not in _HANDED_ON:
                found.update(
                    f"{inside}, line {handler.lineno}"
                    for handler in child.handlers
                    if _could_swallow(handler) and _admits_signals(child.body)
                )
            if isinstance(child, ast.Call) and ast.unparse(child.func).endswith("suppress"):
                found.add(f"{inside}, line {child.lineno}")
            look(child, inside)

    look(_tree(module), module)
    return found


def _could_swallow(handler: ast.ExceptHandler) -> bool:
    caught = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} if handler.type else {"all"}
    if caught <= _OF_AN_OPERATION | {"binascii"}:
        return False
    calls = [
        statement.value.func.id
        for statement in handler.body
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
    ]
    first = handler.body[0]
    raises_interruptions = isinstance(first, ast.If) and re.fullmatch(
        r"if is_(interruption|not_ours)\((\w+)\):\n    raise", ast.unparse(first)
    )
    ends_by_raising = isinstance(handler.body[-1], ast.Raise) and not any(
        isinstance(node, (ast.Return, ast.Break, ast.Continue)) for part in handler.body for node in ast.walk(part)
    )
    raises_unless_contained = handler.name is not None and any(
        f"if not is_contained({handler.name}, " in ast.unparse(part) and "raise" in ast.unparse(part)
        for part in handler.body
    )
    return not (ends_by_raising or raises_interruptions or raises_unless_contained) and not {
        "pass_on",
        "contain",
    } & set(calls)


def _admits_signals(body: list[ast.stmt]) -> bool:
    """Whether anything in there is called, awaited or repeated: elsewhere the interpreter does not look for signals."""
    calling = (ast.Call, ast.With, ast.AsyncWith, ast.Await, ast.Yield, ast.YieldFrom, ast.Import, ast.ImportFrom)
    repeating = (ast.For, ast.While, ast.AsyncFor, ast.comprehension)
    return any(isinstance(node, (*calling, *repeating)) for part in body for node in ast.walk(part))
