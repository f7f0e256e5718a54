"""
What a file that cannot be imported seems to be, and what to do with it.

Told from its first bytes where it is no text, and from the names in it where it is JSON of another kind.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.interop.shapes import as_dict, as_list

if TYPE_CHECKING:
    from agentdbg.interop.sources import Source

__all__ = ["looks_like", "seems_in_documents", "seems_in_text", "seems_to_be"]

_MAGIC = (
    (b"SQLite format 3\x00", "is a SQLite database; export what is in it as JSON and import that"),
    (b"PAR1", "is a Parquet file; write its rows as JSON lines (duckdb: COPY (FROM 'file') TO 'rows.jsonl') first"),
    (b"%PDF", "is a PDF; there is no trace in it that could be read"),
    (b"\x89PNG", "is a picture; there is no trace in it that could be read"),
    (b"\xff\xd8\xff", "is a picture; there is no trace in it that could be read"),
    (b"\x7fELF", "is a program; there is no trace in it"),
    (b"\x28\xb5\x2f\xfd", "is packed with zstd; unpack it first (zstd -d)"),
    (b"BZh", "is packed with bzip2; unpack it first (bunzip2)"),
    (b"\xfd7zXZ", "is packed with xz; unpack it first (unxz)"),
    (b"\x80\x04", "is a Python pickle, which is not opened, since it may run code; save it as JSON"),
    (b"\x80\x05", "is a Python pickle, which is not opened, since it may run code; save it as JSON"),
    (b"\xff\xfe", "is text in UTF-16, as PowerShell writes it; save it as UTF-8 (Out-File -Encoding utf8)"),
    (b"\xfe\xff", "is text in UTF-16; save it as UTF-8"),
    (b"ARROW1", "is an Arrow file; write its rows as JSON lines first"),
)
_HEAD = 4096
_COLUMN = re.compile(r'"?[A-Za-z_][\w.\-]{0,60}(?: [\w.\-]{1,20}){0,3}"?')
_YAML = re.compile(r"(?:---|%YAML|[A-Za-z_][\w-]*:(?: .*)?)\s*$")
_PAGE = (b"<!doctype html", b"<html")
_MOST_NAMES = 6
_AS_A_LIST = " save its messages as a list"
_AS_OTLP = " have the spans written as OTLP JSON (a collector's file exporter) or sent to `agentdbg receive`"
_CURSOR = "is a chat of Cursor, whose form is not read;" + _AS_A_LIST
_LOOKALIKES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"resourceMetrics"}), "holds OpenTelemetry metrics; export the traces (spans) instead"),
    (frozenset({"resourceLogs"}), "holds OpenTelemetry logs; export the traces (spans) instead"),
    (frozenset({"traceEvents"}), "is a Chrome or Perfetto profile; import the trace it was made from"),
    (frozenset({"log", "entries"}), "is a HAR file of a browser; import the agent's own log instead"),
    (frozenset({"cells", "nbformat"}), "is a Jupyter notebook; import the agent's own log instead"),
    (
        frozenset({"mapping", "current_node"}),
        "is a ChatGPT conversation, whose form is not read; save its messages as a list",
    ),
    (
        frozenset({"chat_messages", "uuid"}),
        "is a conversation of claude.ai, whose form is not read; save its messages as a list",
    ),
    (frozenset({"openapi", "paths"}), "is a description of an API (OpenAPI); there is no trace in it"),
    (frozenset({"$schema", "properties"}), "is a JSON Schema; there is no trace in it"),
    (frozenset({"name", "version", "dependencies"}), "is a package.json; there is no trace in it"),
    (
        frozenset({"display", "pastedContents"}),
        "is the list of what was typed into Claude Code; its sessions are found by `agentdbg import --from claude`",
    ),
    (
        frozenset({"session_id", "ts", "text"}),
        "is the list of what was typed into Codex; its sessions are found by `agentdbg import --from codex`",
    ),
    (
        frozenset({"summary", "leafUuid"}),
        "has only titles of Claude Code sessions; what was said is in the other files of its folder",
    ),
    (
        frozenset({"messageId", "snapshot"}),
        "has only file versions that Claude Code kept; what was said is in the other files of its folder",
    ),
    (
        frozenset({"working_dir", "message_count"}),
        "is a session of goose, whose form is not read; save its messages as a list",
    ),
    (
        frozenset({"role", "sessionID", "modelID"}),
        "is one message of an opencode session; `opencode export` writes the whole session",
    ),
    (
        frozenset({"session_type", "conversation"}),
        "is a session of goose, whose form is not read; save its messages as a list",
    ),
    (
        frozenset({"ts", "say", "text"}),
        "is what Cline or Roo Code showed in its window; import api_conversation_history.json beside it",
    ),
    (
        frozenset({"files_in_context", "model_usage"}),
        "has only facts about a task of Cline; import api_conversation_history.json beside it",
    ),
    (
        frozenset({"task", "tokensIn", "totalCost"}),
        "has only facts about a task of Roo Code; import api_conversation_history.json beside it",
    ),
    (
        frozenset({"type", "agentId", "key"}),
        "is the journal of a workflow of Claude Code; what its agents did comes in with their session",
    ),
    (frozenset({"type", "id", "owner"}), "is a session of Factory's Droid, whose form is not read;" + _AS_A_LIST),
    (frozenset({"composerId", "conversation"}), _CURSOR),
    (frozenset({"tabs"}), _CURSOR),
    (frozenset({"chatHistory", "sessionId"}), "is a session of Auggie, whose form is not read;" + _AS_A_LIST),
    (frozenset({"history", "workspaceDirectory"}), "is a session of Continue, whose form is not read;" + _AS_A_LIST),
    (frozenset({"conversation_id", "history"}), "is a chat of Kiro or Amazon Q, whose form is not read;" + _AS_A_LIST),
    (frozenset({"llm_interactions"}), "is a trajectory of Trae Agent, whose form is not read;" + _AS_A_LIST),
    (frozenset({"trajectoryId", "steps"}), "is a trajectory of Windsurf, whose form is not read;" + _AS_A_LIST),
    (
        frozenset({"cumulative_token_usage", "messages"}),
        "is a thread of Zed, whose form is not read;" + _AS_A_LIST,
    ),
    (
        frozenset({"type", "version", "id", "cwd"}),
        "is a session of pi, whose form is not read; save its messages as a list",
    ),
    (
        frozenset({"requests", "responderUsername"}),
        "is a chat of VS Code, whose form is not read; save its messages as a list",
    ),
    (frozenset({"mcpServers"}), "is a list of MCP servers; there is no trace in it"),
    (frozenset({"traceID", "spans", "processes"}), "is an export of Jaeger, whose form is not read;" + _AS_OTLP),
    (frozenset({"traceId", "localEndpoint"}), "holds spans of Zipkin, whose form is not read;" + _AS_OTLP),
    (frozenset({"trace_id", "span_id", "meta"}), "holds spans of Datadog, whose form is not read;" + _AS_OTLP),
    (frozenset({"project_name", "start_time", "input"}), "is an export of Opik, whose form is not read;" + _AS_OTLP),
    (
        frozenset({"custom_id", "response"}),
        "is the output of a batch, which has answers without what was asked; import what was sent beside it",
    ),
)


def seems_to_be(source: Source) -> str:
    """What a file that is not text is, with what to do; empty where it may be read."""
    if source.is_folder:
        return ""
    head = source.head
    found = next((said for magic, said in _MAGIC if head.startswith(magic)), "")
    if not found and head.lstrip().lower().startswith(_PAGE):
        return "is a web page; if it was shared by AgentDbg, ask for the run as JSON (`agentdbg export`)"
    return found


def seems_in_documents(source: Source) -> str:
    """What a file of JSON that nobody reads holds, with what to do."""
    known = "`agentdbg import --help` lists the formats, and `--format` tells which one to try"
    if source.is_folder or source.is_zip:
        return f"is in no format that is known here; {known}"
    first = source.documents[0][1]
    return (
        looks_like(source)
        or f"is in no format that is known here; it holds {_described(first, _entry(first))}. {known}"
    )


def looks_like(source: Source) -> str:
    """The kind of JSON that a file holds, with what to do, where its names tell; else nothing."""
    if source.is_folder or source.is_zip:
        return ""
    entry = as_dict(_entry(source.documents[0][1]))
    listed = as_list(entry.get("data")) or as_list(entry.get("content"))
    inner = as_dict(next(iter(listed), None))
    told = (set(entry) | set(as_dict(entry.get("log"))), set(inner))
    return next((said for marks, said in _LOOKALIKES for names in told if marks <= names), "")


def seems_in_text(content: bytes, error: ValueError) -> str:
    """What a text is that holds no JSON, with what to do."""
    head = content[:_HEAD].decode("utf-8", "replace")
    first, _, rest = head.partition("\n")
    if content[:1] in (b"{", b"["):
        place, length = getattr(error, "pos", None), len(content.decode("utf-8", "replace").rstrip())
        if "Unterminated string" in str(error) or (isinstance(place, int) and place >= length - 1):
            return "is JSON that ends too early: it was cut off, or is still being written; get the whole file"
        return f"is not JSON: {error}"
    for sign, name in ((",", "CSV"), ("\t", "TSV"), (";", "CSV")):
        row = rest.partition("\n")[0]
        if sign in first and all(map(_COLUMN.fullmatch, first.strip().split(sign))) and row.count(sign):
            return f"is a table ({name}); write its rows as JSON lines (duckdb: COPY (FROM 'file') TO 'rows.jsonl')"
    if _YAML.match(first):
        return "seems to be YAML; save it as JSON"
    return f"is not JSON: {error}"


def _entry(first: Any) -> Any:
    return first if isinstance(first, dict) else next(iter(as_list(first)), None)


def _described(first: Any, entry: Any) -> str:
    shown = ", ".join(sorted(map(str, as_dict(entry)))[:_MOST_NAMES])
    if isinstance(first, list):
        return f"a list of objects with {shown}" if shown else f"a list of {len(first)} values that are no objects"
    return f"an object with {shown}" if shown else "an empty object"
