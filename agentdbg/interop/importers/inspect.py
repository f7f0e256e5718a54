"""
Inspect AI evaluation logs, as JSON or as `.eval` archives: every sample is a run.

The transcript's model and tool events are read where there are any, else the sample's messages. Spans, errors, limits
and scores are kept; the bookkeeping of the state and the store is not.
"""

from __future__ import annotations

import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agentdbg.bounded import TooMuch
from agentdbg.bounded.archives import open_archive
from agentdbg.events.facts import whole_number
from agentdbg.interop.drafts import EntryProblem, RunDraft, Step, error_step, model_call, span, tool_call
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import NotReadable, moment_ms
from agentdbg.interop.transcripts import is_transcript, plain_content, steps_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "Inspect AI log"

_ATTACHMENT = "attachment://"
_KEPT = {"score": "SCORE", "sample_limit": "SAMPLE_LIMIT", "info": "INFO"}


def recognises(source: Source) -> bool:
    if source.is_folder:
        return False
    if source.is_zip:
        return True
    (_, document), *rest = source.documents
    return not rest and isinstance(document, dict) and isinstance(document.get("eval"), dict) and "status" in document


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    log, samples = _archive(source) if source.is_zip else _document(source)
    number = 0
    for number, (where, sample) in enumerate(samples, 1):
        if isinstance(sample, EntryProblem):
            yield sample
        elif not isinstance(sample, dict):
            yield EntryProblem(where or f"sample {number}", "not an object")
        else:
            try:
                yield _draft(source, log, sample, where or f"sample {number}")
            except ValueError as error:
                yield EntryProblem(where or f"sample {number}", str(error))
    if not number:
        yield EntryProblem("", "the log holds no samples")


def _document(source: Source) -> tuple[dict[str, Any], Iterator[tuple[str, Any]]]:
    log = source.documents[0][1]
    samples = as_list(log.get("samples"))
    source.expected = len(samples)
    return log, (("", sample) for sample in samples)


def _archive(source: Source) -> tuple[dict[str, Any], Iterator[tuple[str, Any]]]:
    """What an archive says of all samples, and the samples, each read when it is asked for."""
    with _opened(source) as archive:
        names = archive.namelist()
        header = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
        if header is None:
            raise NotReadable(f"{source.shown} is a zip archive, but no Inspect log: it has no header.json")
        log = source.member(archive, header)
    wanted = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
    source.expected = len(wanted)
    return log if isinstance(log, dict) else {}, _samples(source, wanted)


def _samples(source: Source, names: list[str]) -> Iterator[tuple[str, Any]]:
    with _opened(source) as archive:
        for name in names:
            try:
                sample = source.member(archive, name)
            except NotReadable:
                raise
            except (ValueError, zipfile.BadZipFile, NotImplementedError) as error:
                sample = EntryProblem(name, str(error))
            yield name, sample


@contextmanager
def _opened(source: Source) -> Iterator[zipfile.ZipFile]:
    try:
        with source.open() as file, open_archive(file) as archive:
            yield archive
    except (zipfile.BadZipFile, NotImplementedError, TooMuch) as error:
        raise NotReadable(
            f"{source.shown} cannot be unpacked here ({error}); `inspect log convert --to json` makes a file that can"
        ) from None


def _draft(source: Source, log: dict[str, Any], sample: dict[str, Any], where: str) -> RunDraft:
    sample = _with_attachments(sample)
    evaluated = as_dict(log.get("eval"))
    events = [event for event in as_list(sample.get("events")) if isinstance(event, dict)]
    if any(event.get("event") in ("model", "tool") for event in events):
        steps = _steps(events)
    elif is_transcript(sample.get("messages")):
        steps = steps_of(sample["messages"], model=evaluated.get("model"))
    else:
        raise ValueError("neither model events nor messages in it")
    failure = sample.get("error")
    started = moment_ms(sample.get("started_at"))
    if started is None and not any(step.at_ms for step in steps):
        started = moment_ms(evaluated.get("created"))
    task, epoch = evaluated.get("task"), sample.get("epoch")
    named = f"{task or source.stem} {sample.get('id', '')}".strip()
    return RunDraft(
        identity=[evaluated.get("run_id"), evaluated.get("task_id"), sample],
        name=f"{named}/{epoch}" if isinstance(epoch, int) and epoch > 1 else named,
        format="inspect",
        steps=steps,
        entry=where,
        started_ms=started,
        ended_ms=moment_ms(sample.get("completed_at")),
        error=_failure(failure) if failure else None,
        result=as_dict(sample.get("output")).get("completion"),
        meta=_facts(evaluated, sample),
    )


def _facts(evaluated: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {"framework": "inspect_ai"}
    for key in ("task", "model"):
        if isinstance(evaluated.get(key), str):
            facts[key] = evaluated[key]
    for key in ("id", "epoch", "target"):
        if isinstance(sample.get(key), (str, int)):
            facts[f"sample_{key}"] = sample[key]
    scores = as_dict(sample.get("scores"))
    if scores:
        facts["scores"] = {name: as_dict(score).get("value", score) for name, score in scores.items()}
    return facts


def _steps(events: list[dict[str, Any]]) -> list[Step]:
    """Model calls, tool calls, spans and errors, in the order they ended."""
    steps: list[Step] = []
    open_spans: dict[str, dict[str, Any]] = {}
    answers: dict[str, str] = {}
    for number, event in enumerate(events, 1):
        kind = as_word(event.get("event"))
        if kind == "model" and not event.get("pending"):
            step = _model_step(event, f"model {number}")
            steps.append(step)
            answers.update(dict.fromkeys(_asked_ids(step.fields["response"]), f"model {number}"))
        elif kind == "tool" and not event.get("pending"):
            steps += _tool_steps(event, answers.get(str(event.get("id"))))
        elif kind == "span_begin" and isinstance(event.get("id"), str):
            open_spans[event["id"]] = event
        elif kind == "span_end" and as_word(event.get("id")) in open_spans:
            steps.append(_span_step(open_spans.pop(event["id"]), _at(event)))
        elif kind == "error":
            steps.append(error_step(_failure(event.get("error")), parent=_parent(event), at_ms=_at(event)))
        elif kind in _KEPT:
            payload = {key: value for key, value in event.items() if key not in ("event", "uuid", "span_id", "pending")}
            steps.append(
                Step(_KEPT[kind], str(event.get("scorer") or kind), payload, parent=_parent(event), at_ms=_at(event))
            )
    last = max((step.at_ms for step in steps if step.at_ms is not None), default=None)
    # A span that never ended belongs to a sample that was cut off; it lasted as long as the sample did.
    steps += [_span_step(begun, last) for begun in reversed(open_spans.values())]
    return steps


def _model_step(event: dict[str, Any], key: str) -> Step:
    output = as_dict(event.get("output"))
    choice = next(map(as_dict, as_list(output.get("choices"))), {})
    error = event.get("error") or output.get("error")
    return model_call(
        event.get("model") or output.get("model"),
        event.get("input"),
        choice.get("message"),
        usage=_usage(as_dict(output.get("usage"))),
        tools=event.get("tools") or None,
        temperature=as_dict(event.get("config")).get("temperature"),
        stop_reason=choice.get("stop_reason"),
        error=_failure(error) if error else None,
        key=key,
        parent=_parent(event),
        **_times(event),
    )


def _tool_steps(event: dict[str, Any], answer: str | None) -> list[Step]:
    error = event.get("error")
    used = tool_call(
        event.get("function"),
        event.get("arguments"),
        None if error else plain_content(event.get("result")),
        error=_failure(error) if error else None,
        parent=answer or _parent(event),
        **_times(event),
    )
    inner = [item for item in as_list(event.get("events")) if isinstance(item, dict)]
    if inner:  # an agent that is used as a tool has a transcript of its own
        used.key = f"tool {event.get('id')}"
        inside = _steps(inner)
        for step in inside:
            step.key = None if step.key is None else f"{used.key} {step.key}"
            step.parent = used.key if step.parent is None else f"{used.key} {step.parent}"
        return [*inside, used]
    return [used]


def _span_step(begun: dict[str, Any], ended: float | None) -> Step:
    began = _at(begun)
    parent = begun.get("parent_id")
    return span(
        str(begun.get("name") or begun.get("type") or "span"),
        key=f"span {begun['id']}",
        parent=f"span {parent}" if isinstance(parent, str) else None,
        at_ms=ended,
        duration_ms=max(ended - began, 0.0) if ended is not None and began is not None else None,
    )


def _times(event: dict[str, Any]) -> dict[str, float | None]:
    """A transcript notes when a call began; when it ended, if it says so, or how long it worked."""
    began, ended, worked = _at(event), moment_ms(event.get("completed")), event.get("working_time")
    if began is None:
        return {"at_ms": ended, "duration_ms": None}
    if ended is None and isinstance(worked, (int, float)):
        ended = began + worked * 1000
    return {"at_ms": began if ended is None else ended, "duration_ms": None if ended is None else max(ended - began, 0)}


def _at(event: dict[str, Any]) -> float | None:
    return moment_ms(event.get("timestamp"))


def _parent(event: dict[str, Any]) -> str | None:
    return f"span {event['span_id']}" if isinstance(event.get("span_id"), str) else None


def _asked_ids(message: Any) -> list[str]:
    return [str(as_dict(call).get("id")) for call in as_list(as_dict(message).get("tool_calls"))]


def _failure(error: Any) -> dict[str, Any]:
    if isinstance(error, dict):
        return {
            "error_type": error.get("type") or "Error",
            "message": error.get("message") or "",
            "stack": error.get("traceback"),
        }
    return {"error_type": "Error", "message": str(error)}


def _with_attachments(sample: dict[str, Any]) -> dict[str, Any]:
    """Long texts are stored once, beside the events, and referred to; put them back."""
    attachments = sample.get("attachments")
    if not isinstance(attachments, dict) or not attachments:
        return sample

    def resolve(value: Any) -> Any:
        if isinstance(value, str):
            return attachments.get(value.removeprefix(_ATTACHMENT), value) if value.startswith(_ATTACHMENT) else value
        if isinstance(value, list):
            return [resolve(item) for item in value]
        return {key: resolve(item) for key, item in value.items()} if isinstance(value, dict) else value

    return {key: resolve(value) for key, value in sample.items() if key != "attachments"}


def _usage(told: dict[str, Any]) -> dict[str, Any] | None:
    """Its counts; what came from the cache and went there stands beside the input, where the total says so."""
    given, put_out = whole_number(told.get("input_tokens")), whole_number(told.get("output_tokens"))
    cached, kept = (whole_number(told.get(f"input_tokens_cache_{name}")) or 0 for name in ("read", "write"))
    if given is None or put_out is None or not (cached or kept):
        return told or None
    if told.get("total_tokens") == given + put_out + cached + kept:
        given += cached + kept
    usage: dict[str, Any] = {"prompt_tokens": given, "completion_tokens": put_out, "total_tokens": given + put_out}
    usage["prompt_tokens_details"] = {"cached_tokens": cached}
    if whole_number(told.get("reasoning_tokens")):
        usage["completion_tokens_details"] = {"reasoning_tokens": told["reasoning_tokens"]}
    return usage
