"""
OpenHands: events one on each line or in a list, the folder of a conversation (one file for each event), and the
`output.jsonl` of an evaluation, which holds a run on each line.

Events come in the forms of the agent SDK (`openhands_sdk`) and of OpenHands before it (`openhands_v0`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.importers import openhands_sdk, openhands_v0
from agentdbg.interop.importers.openhands_metrics import Metrics
from agentdbg.interop.sessions import in_order, short_name
from agentdbg.interop.shapes import as_dict, as_word
from agentdbg.interop.sources import NotReadable, event_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "OpenHands events"

_FACTS = ("instance_id", "attempt", "resolved")


def recognises(source: Source) -> bool:
    if source.is_zip:
        return False
    if source.is_folder:
        return bool(event_files(source.path))
    first = source.documents[0][1]
    if _history(first) is not None:
        return True
    return any(_is_event(item) for _, item in _events(source)[:20])


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    if source.is_folder:
        yield from _read_folder(source)
        return
    if not any(_history(document) is not None for _, document in source.documents):
        yield from _read_events(source, _events(source), {}, "")
        return
    source.expected = len(source.documents)
    for place, document in source.documents:
        history = _history(document)
        if history is None:
            yield EntryProblem(place, "no history of OpenHands events in it")
            continue
        numbered = [(f"{place}, event {number}".removeprefix(", "), item) for number, item in enumerate(history, 1)]
        yield from _read_events(source, numbered, document, place)


def _read_folder(source: Source) -> Iterator[RunDraft | EntryProblem]:
    """The conversation that the files of a folder are, one event in each."""
    found: list[tuple[str, Any]] = []
    for path in event_files(source.path):
        try:
            found += [(path.name, item) for _, item in source.beside(path).documents]
        except NotReadable as error:
            yield EntryProblem(path.name, str(error).removeprefix(str(path)).strip())
    state: dict[str, Any] = {}
    for folder in (source.path, source.path.parent):
        if (folder / "base_state.json").is_file():
            state = as_dict(source.beside(folder / "base_state.json").documents[0][1])
            break
    yield from _read_events(source, found, state, "")


def _read_events(
    source: Source, events: list[tuple[str, Any]], around: dict[str, Any], place: str
) -> Iterator[RunDraft | EntryProblem]:
    """One run: its events, and what stands around them."""
    is_sdk = any("kind" in item for _, item in events[:50] if isinstance(item, dict))
    told: openhands_sdk.Told | openhands_v0.Told
    told = openhands_sdk.Told(Metrics(around)) if is_sdk else openhands_v0.Told(Metrics(around))
    ids: list[Any] = []
    for where, item in events:
        if _is_event(item):
            ids.append([item.get("id"), item.get("timestamp")])
            told.take(item)
        else:
            yield EntryProblem(where, "no OpenHands event: it has no kind, action or observation")
    told.finish()
    failure = told.ending
    if as_word(around.get("error")):
        failure = {"error_type": "OpenHandsError", "message": around["error"]}
    facts = {key: around[key] for key in _FACTS if isinstance(around.get(key), (str, int, float))}
    result = as_dict(around.get("test_result"))
    facts.update({key: value for key, value in result.items() if isinstance(value, (bool, int, float))})
    fallback = source.stem if source.stem != "events" else f"{source.path.resolve().parent.name} events"
    yield RunDraft(
        identity=["openhands", facts.get("instance_id"), ids],
        name=short_name(as_word(around.get("instance_id")), told.session.first_request, fallback),
        format="openhands",
        steps=in_order(told.session.close()),
        entry=place,
        started_ms=told.session.began_ms,
        ended_ms=told.session.ended_ms,
        error=failure,
        result=as_word(result.get("git_patch")) or told.result,
        meta={"framework": "openhands", **facts, **told.facts},
    )


def _is_event(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    return as_word(item.get("kind"))[:1].isupper() or isinstance(item.get("action", item.get("observation")), str)


def _history(document: Any) -> list[Any] | None:
    """The events of a run of an evaluation; older ones stand in pairs of an action and its observation."""
    history = as_dict(document).get("history")
    if not isinstance(history, list):
        return None
    flat: list[Any] = []
    for item in history:
        flat += item if isinstance(item, list) else [item]
    looked_at = flat[:5]
    is_ours = any(_is_event(item) for item in looked_at) and not any("role" in as_dict(item) for item in looked_at)
    return flat if is_ours else None


def _events(source: Source) -> list[tuple[str, Any]]:
    documents = source.documents
    if len(documents) == 1 and isinstance(documents[0][1], list):
        return [(f"entry {number}", item) for number, item in enumerate(documents[0][1], 1)]
    return documents
