"""
Write the parts of the documentation that follow from the code: `make docs`.

A generated part stands between `<!-- name: begin -->` and `<!-- name: end -->`; the words around it are written by
hand. `tests/docs` fails when a part is out of date, or when a field of the trace format has no meaning below.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.checks.policy import rules_markdown
from agentdbg.cli import GROUPS
from agentdbg.config import settings_markdown
from agentdbg.events import EVENT_TYPES, load_schema
from agentdbg.public import PUBLIC_MODULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["MEANINGS", "PAGES", "field_names", "main", "page_with_parts"]

ROOT = Path(__file__).resolve().parent.parent

# What each field means, by the part of the page it stands in. The types come from the schemas.
MEANINGS: dict[str, dict[str, str]] = {
    "event": {
        "spec_version": "The version of the format.",
        "event_id": "Unique among all events of all runs.",
        "run_id": "The run it belongs to, which is also the name of the run's folder.",
        "parent_id": "The event it hangs under; null for RUN_START alone.",
        "event_type": "One of the types below, or one of your own in capitals.",
        "ts": "When it was written, in UTC. For a call or a span that is its end.",
        "duration_ms": "How long it took, by the monotonic clock; null where nothing was measured.",
        "name": "What a person calls it: the model, the tool, the run, the exception class.",
        "payload": "What the type says below.",
        "meta": "Yours: tags and facts, `{}` when there are none.",
    },
    "RUN_START": {
        "run_name": "`AGENTDBG_RUN_NAME`, else the name given, else `path/file.py:function - YYYY-MM-DD HH:MM`.",
        "python_version": "For example `3.12.1`.",
        "platform": "`sys.platform`: `linux`, `darwin`, `win32`.",
        "cwd": "The folder the program ran in; null when it had been deleted.",
        "argv": "The program's arguments, redacted.",
        "function_name": "The traced function; absent for a block.",
        "args": "What was passed by position, by parameter name, without `self`.",
        "kwargs": "What was passed by keyword.",
        "guardrails": "Every limit of the run, null where unset.",
        "agentdbg_version": "What recorded it.",
    },
    "RUN_END": {
        "status": "How the run ended.",
        "summary": "What the run did, in numbers.",
        "summary.llm_calls": "Model calls, failed ones too.",
        "summary.tool_calls": "Tool calls, failed ones too.",
        "summary.errors": "ERROR events and failed calls; an exception that a call recorded and that then ended the "
        "run is one error.",
        "summary.duration_ms": "The same number as the event's `duration_ms` and run.json's.",
        "summary.loop_warnings": "LOOP_WARNING events of every severity.",
        "summary.total_tokens": "The sum over the calls whose usage is known; null when none is.",
        "summary.cost_usd": "The sum over the calls whose cost is known; null when none is.",
        "paused_ms": "How long the run was paused at breakpoints; left out when it was not.",
        "summary.dropped_events": "How many events could not be written; only where there were any.",
        "summary.loop_cost_usd": "How much of it was spent in loops of severity warning and critical; null when there "
        "was none, or its cost is not known.",
        "result": "What the traced function returned; absent for a block and when it failed.",
        "error": "What ended the run, when something did.",
        "final_state": "The state recorded last; absent when none was.",
        "http_status": "Only for a request to a web server: its status, or a WebSocket's closing code.",
        "exit_code": "Only for a whole program under `agentdbg run`: what it exited with.",
    },
    "LLM_CALL": {
        "model": "The model's name; `unknown` when nobody said.",
        "prompt": "What was sent: a text, a list of messages, or whatever was given.",
        "response": "What came back; null when the call failed.",
        "usage": "Tokens; null when nothing is known.",
        "provider": "Any text; `unknown` when nobody said.",
        "temperature": "As it was given.",
        "stop_reason": "Why the model stopped: `stop`, `tool_calls`, `length` …",
        "status": "Whether the call worked.",
        "error": "What went wrong.",
        "tools": "The tools the model was offered.",
        "cost_usd": "As given, else from the price table; null when the price or the usage is not known.",
        "served": "Only for a call that was not made: `recorded`, `edited`, `mock`, `fault` or `refused`.",
        "source": "Where in your code it was recorded: `agent.py:42`.",
    },
    "TOOL_CALL": {
        "tool_name": "The tool's name.",
        "args": "What the tool was given; by parameter name for `@tool`.",
        "result": "What it gave back; null when it failed.",
        "status": "Whether the call worked.",
        "error": "What went wrong.",
        "served": "Only for a call that was not made: `recorded`, `edited`, `mock`, `fault` or `refused`.",
        "source": "Where in your code it was recorded.",
    },
    "STATE_UPDATE": {
        "state": "The state as it was at that moment; null for a span.",
        "diff": "The keys that changed since the last state of that name, with their new values, removed ones null; "
        "null when there is nothing to compare.",
        "error": "Only in a span: the exception that left it, or null.",
        "source": "Where in your code it was recorded.",
    },
    "ERROR": {
        "error_type": "The exception's class.",
        "message": "Its text.",
        "stack": "Its traceback, without our own frames; null when there is none.",
        "details": "More about it, where the caller gave more.",
        "context": "What the program was doing, where the caller said so.",
        "fatal": "Whether it ended the run.",
        "call_id": "The failed call that recorded the same exception first; such an error is not counted again.",
        "guardrail": "Only for a guardrail: which one.",
        "threshold": "Only for a guardrail: the limit. Repetitions for `stop_on_loop`, seconds for `max_duration_s`.",
        "actual": "Only for a guardrail: the number that crossed it.",
        "source": "Where in your code it was recorded.",
    },
    "LOOP_WARNING": {
        "pattern": "What repeats: `LLM_CALL:gpt-4 -> TOOL_CALL:search`.",
        "repetitions": "How often, at that moment.",
        "window_size": "How many events were looked at.",
        "evidence_event_ids": "The events that repeat, oldest first.",
        "severity": "How bad it is.",
        "kind": "What sort of repetition it is.",
        "explanation": "One sentence for a person.",
        "evidence": "Up to three of those events, in short.",
        "first_event_id": "Where the loop began.",
        "spent": "What it has cost since then: events, model calls, tokens, seconds, and USD where known.",
    },
    "CALL_START": {
        "call_id": "The `event_id` that the LLM_CALL or TOOL_CALL will have when the call ends.",
        "kind": "Which of the two it will be.",
        "name": "The model or the tool.",
        "input": "The prompt or the arguments, texts cut at 4,000 bytes.",
    },
    "BREAK": {
        "when": "`before` or `after` the call, or `here` for `agentdbg.breakpoint()`.",
        "reason": "The breakpoint that was reached, or `step`.",
        "call_id": "The call that waited.",
        "action": "What was answered.",
        "by": "Who answered: `terminal`, `page`, `attach`, `assistant` or `nobody`.",
        "edited": "The input or outcome that was put in place, or null.",
        "paused_ms": "How long it waited. This time is in no duration.",
    },
    "error": {
        "error_type": "The exception's class; `Error` where only a text was given.",
        "message": "Its text.",
        "stack": "Its traceback, or null.",
        "details": "Anything more, or null.",
    },
    "usage": {
        "prompt_tokens": "What was read, cached tokens included.",
        "completion_tokens": "What was written, reasoning tokens included.",
        "total_tokens": "Both together.",
    },
    "guardrails": {
        "stop_on_loop": "Stop a run that goes round in circles.",
        "stop_on_loop_min_repetitions": "How many repetitions stop it; 3 when null.",
        "max_llm_calls": "Model calls.",
        "max_tool_calls": "Tool calls.",
        "max_events": "Calls, states, errors and own events.",
        "max_tokens": "Tokens, as far as they are known.",
        "max_cost_usd": "US dollars, as far as they are known.",
        "max_duration_s": "Seconds.",
    },
    "run": {
        "spec_version": "The version of the format.",
        "run_id": "The run, and the name of its folder.",
        "run_name": "As in RUN_START, or the name given later.",
        "started_at": "When RUN_START was written.",
        "ended_at": "When RUN_END was written; null while it runs.",
        "duration_ms": "By the monotonic clock; null while it runs.",
        "status": "`running` until RUN_END.",
        "counts": "The four counters every tool may rely on.",
        "counts.llm_calls": "Model calls.",
        "counts.tool_calls": "Tool calls.",
        "counts.errors": "ERROR events and failed calls.",
        "counts.loop_warnings": "LOOP_WARNING events of every severity.",
        "last_event_ts": "The `ts` of the newest event.",
        "event_counts": "How many events of each type.",
        "total_tokens": "As in RUN_END's summary.",
        "cost_usd": "As in RUN_END's summary.",
        "loop_cost_usd": "As in RUN_END's summary. Of a run that nobody closed: what its loops had cost when they were "
        "told.",
        "guardrails": "Every limit of the run, null where unset.",
        "metadata": "The run's own meta, the same as RUN_START's.",
        "agentdbg_version": "What recorded it.",
        "redaction": "`on`, `weakened` or `off`.",
        "dropped_events": "Events that could not be written, or came after the end.",
        "replay": "What is known of the tape; of a run that was replayed, more.",
        "replay.state": "Whether the tape has everything: `whole`, `partial` or `none`.",
        "replay.why": "Why not everything is on it.",
        "replay.mode": "`replay` or `fork`: the run was made from another one.",
        "replay.parent_run_id": "The run it was made from.",
        "replay.root_run_id": "The first run of that line.",
        "replay.equal": "Of a replay that is over: whether the program did what it had done.",
        "replay.divergence": "Where it did something else: `class`, `n` (the recorded call's number) `of` how many, "
        "`event_id`, `name`, `source`, `path` of the input, `what`. No values.",
        "replay.until": "The number of the call that `--until` stopped it at.",
        "replay.served": "How many calls were answered from the recording.",
        "replay.live": "How many calls were really made.",
        "replay.edited": "Of a fork: how many calls were answered with what was changed.",
        "replay.mock": "Of a fork: how many calls were answered by mocks and faults.",
        "owner": "The process that records, so that readers can tell whether it still lives.",
        "owner.pid": "Its number.",
        "owner.started": "When it began, to tell it from a later process with the same number.",
        "owner.host": "The machine.",
        "status_reason": "Added by readers: why a run is not what its run.json says.",
        "damaged_lines": "Added by readers: how many lines could not be read.",
    },
}


def main() -> None:
    """Write every generated part; with `--check` only say which are out of date, and fail if any is."""
    stale = [path for path in PAGES if page_with_parts(path) != _read(path)]
    if "--check" in sys.argv[1:]:
        sys.exit(f"out of date: {', '.join(stale)}; run `make docs`" if stale else 0)
    for path in stale:
        (ROOT / path).write_text(page_with_parts(path), encoding="utf-8")
        print(f"wrote {path}")


def page_with_parts(path: str) -> str:
    """A page as it should be: its own words, and its generated parts made anew."""
    text = _read(path)
    for name, make in PAGES[path].items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"{path} needs one {begin} and one {end}")
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{make()}{end}{rest.partition(end)[2]}"
    return text


def field_names(part: str) -> list[str]:
    """The fields of an event (`event`), of run.json (`run`), of a payload or of a shared shape, nested ones dotted."""
    return [name for name, _, _ in _fields(_shape(part), "")]


def _read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _shape(part: str) -> dict[str, Any]:
    if part in ("event", "run"):
        return load_schema("run" if part == "run" else None)
    shape: dict[str, Any] = load_schema()["$defs"][part]
    return shape.get("anyOf", [shape])[-1]  # type: ignore[no-any-return] # `usage` is null or an object


def _fields(shape: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    """Name, schema and whether it is required, of every field and of the fields inside it."""
    required = shape.get("required", ())
    for name, schema in shape.get("properties", {}).items():
        yield prefix + name, schema, name in required
        yield from _fields(schema, f"{prefix}{name}.")


def _field_table(part: str) -> Callable[[], str]:
    def make() -> str:
        lines = ["| field | type | always there | what it says |", "|---|---|---|---|"]
        for name, schema, required in _fields(_shape(part), ""):
            lines.append(f"| `{name}` | {_type_words(schema)} | {'yes' if required else ''} | {MEANINGS[part][name]} |")
        return "\n".join(lines) + "\n"

    return make


def _type_words(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        shape = schema["$ref"].rpartition("/")[2]
        return f"[{shape}](#the-{shape}-shape)"
    if "anyOf" in schema:
        return " or ".join(sorted((_type_words(option) for option in schema["anyOf"]), key=lambda word: word == "null"))
    if "const" in schema:
        return f'`"{schema["const"]}"`'
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    kind = schema.get("type")
    words = " or ".join(kind) if isinstance(kind, list) else kind or "anything"
    pattern = str(schema.get("pattern", ""))
    return "UUIDv4" if pattern.startswith("^[0-9a-f]{8}") else "timestamp" if pattern.startswith("^\\d{4}") else words


def _command_table() -> str:
    lines = ["| for | command | what it does |", "|---|---|---|"]
    for heading, group in GROUPS.items():
        for position, (name, text) in enumerate(group.items()):
            lines.append(f"| {'' if position else heading} | `agentdbg {name}` | {text} |")
    return "\n".join(lines) + "\n"


def _page_list(folder: str, *first: str) -> Callable[[], str]:
    """The pages of a folder by title and first sentence, those named first before the others."""

    def make() -> str:
        names = sorted(path.name for path in (ROOT / folder).glob("*.md") if path.name != "README.md")
        ordered = [name for name in first if name in names] + [name for name in names if name not in first]
        return "".join(_page_line(f"{folder}/{name}") for name in ordered) or "None yet.\n"

    return make


def _page_line(path: str) -> str:
    lines = [line for line in _read(path).splitlines() if line.strip()]
    # A link in the opening would start from another folder.
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", lines[1])
    return f"- [{lines[0].lstrip('# ')}]({path.removeprefix('docs/')}): {plain}\n"


def _public_table() -> str:
    lines = ["| module | what it is for |", "|---|---|"]
    return "\n".join(lines + [f"| `{module}` | {purpose} |" for module, purpose in PUBLIC_MODULES.items()]) + "\n"


def _layer_table() -> str:
    lines = ["| layer | modules and packages |", "|---|---|"]
    for number, rooms in enumerate(_layers(), 1):
        here = sorted(room for room in rooms if _is_room(room))
        lines.append(f"| {number} | {', '.join(f'`{room}`' for room in here)} |")
    return "\n".join(lines) + "\n"


def _layers() -> list[set[str]]:
    """The list that the test of the imports holds; read, not run."""
    tree = ast.parse(_read("tests/architecture/test_imports.py"))
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "LAYERS" and node.value is not None:
            layers: list[set[str]] = ast.literal_eval(node.value)
            return layers
    raise SystemExit("tests/architecture/test_imports.py has no LAYERS")


def _is_room(room: str) -> bool:
    path = ROOT / "agentdbg" / room.replace(".", "/")
    return path.with_suffix(".py").exists() or path.is_dir()


PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"commands": _command_table},
    "docs/README.md": {
        "pages": _page_list(
            "docs",
            "getting-started.md",
            "sdk.md",
            "cli.md",
            "run.md",
            "findings.md",
            "diff.md",
            "gates.md",
            "pytest.md",
            "guardrails.md",
            "loops.md",
            "export.md",
            "viewer.md",
            "html.md",
            "sql.md",
            "mcp.md",
            "import.md",
            "receive.md",
            "opentelemetry.md",
            "privacy.md",
            "configuration.md",
            "events.md",
        ),
        "integrations": _page_list("docs/integrations"),
        "tutorials": _page_list("docs/tutorials", "fix-and-test.md"),
        "reference": _page_list("docs/reference"),
        "decisions": _page_list("docs/decisions"),
    },
    "docs/configuration.md": {"settings": settings_markdown},
    "docs/gates.md": {"rules": rules_markdown},
    "docs/sdk.md": {"public": _public_table},
    "docs/architecture.md": {"layers": _layer_table},
    "docs/reference/trace-format.md": {
        part: _field_table(part) for part in ("event", *EVENT_TYPES, "error", "usage", "guardrails", "run")
    },
}

if __name__ == "__main__":
    main()
