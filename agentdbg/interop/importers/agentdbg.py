"""
AgentDbg's own exports (`agentdbg export`): the run as it was, events byte for byte.

An export is read line by line, so its size does not matter. One that another program has reformatted is read whole.
A plain `events.jsonl` is taken too. Where the export holds the run's tape, that comes with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.bounded.json_size import check_json_size
from agentdbg.encoding import encode_json
from agentdbg.interop.drafts import EntryProblem
from agentdbg.interop.sources import read_json
from agentdbg.interop.stored_runs import StoredCopy
from agentdbg.storage.layout import is_run_id
from agentdbg.storage.lines import iter_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "AgentDbg export"

_OPENING = b',"events":['
_LONGEST_HEAD = 8_000_000


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    head = _head(source)
    if head is not None:
        return True
    if b'"spec_version"' not in source.content[:4096]:
        return False
    first = source.documents[0][1]
    return _is_export(first) or _is_event(first)


def read(source: Source) -> Iterator[StoredCopy | EntryProblem]:
    head = _head(source)
    if head is not None:
        copy = StoredCopy(str(head["run"].get("run_id")), _lines_after_head(source), head["run"])
    else:
        document = source.documents[0][1]
        if _is_export(document):
            taped = document.get("tape")
            lines = map(encode_json, [*document["events"], *(taped if isinstance(taped, list) else [])])
            copy = StoredCopy(str(document["run"].get("run_id")), lines, document["run"])
        else:
            copy = StoredCopy(str(document.get("run_id")), iter(source.content.split(b"\n")))
    if is_run_id(copy.run_id):
        yield copy
    else:
        yield EntryProblem("run", f"{copy.run_id!r} is not a run id")


def _head(source: Source) -> dict[str, Any] | None:
    """What stands before the events in an export as we write it: one line."""
    if b'"spec_version"' not in source.head:
        return None
    with source.open() as file:
        line = file.readline(_LONGEST_HEAD).rstrip(b"\r\n")
    if not line.endswith(_OPENING):
        return None
    try:
        check_json_size(line)
        head = read_json(line.removesuffix(_OPENING) + b"}")
    except ValueError:
        return None
    return head if isinstance(head, dict) and isinstance(head.get("run"), dict) else None


def _lines_after_head(source: Source) -> Iterator[bytes]:
    with source.open() as file:
        file.readline(_LONGEST_HEAD)
        for _, line in iter_lines(file):
            event = b"" if line is None else line.rstrip(b"\r").removesuffix(b",")
            if event not in (b"]}", b'],"tape":['):
                yield event


def _is_export(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and isinstance(document.get("run"), dict)
        and isinstance(document.get("events"), list)
        and "spec_version" in document
    )


def _is_event(document: Any) -> bool:
    return isinstance(document, dict) and {"event_type", "event_id", "run_id", "spec_version"} <= set(document)
