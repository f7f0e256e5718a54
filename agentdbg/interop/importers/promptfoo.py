"""
Results of promptfoo evaluations, as `promptfoo eval --output` and `promptfoo export` write them.

Every result (a test with a prompt and a provider) is a run here; whether it passed, and its scores, are its metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import amount
from agentdbg.interop.drafts import EntryProblem, RunDraft, model_call, read_arguments
from agentdbg.interop.importers.message_forms import answer_in, messages_in_value, request_in
from agentdbg.interop.importers.span_trees import error_in_words
from agentdbg.interop.sessions import short_name
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "promptfoo results"

_ERRED = 2
"""promptfoo's own number for a result that is an error, not a failed assertion."""


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return any(_is_result(item) for _, document in source.documents[:5] for item in _results(document)[1][:3])


def _results(document: Any) -> tuple[dict[str, Any], list[Any]]:
    """What is said of the evaluation, and its results."""
    told = as_dict(document)
    if isinstance(told.get("results"), dict):
        return {**told, **as_dict(told["results"])}, as_list(told["results"].get("results"))
    if isinstance(told.get("results"), list):
        return told, told["results"]
    return {}, document if isinstance(document, list) else [document]


def _is_result(item: Any) -> bool:
    told = as_dict(item)
    return isinstance(told.get("success"), bool) and "prompt" in told and ("provider" in told or "vars" in told)


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    for place, document in source.documents:
        evaluation, results = _results(document)
        source.expected = len(results)
        for number, item in enumerate(results, 1):
            where = place if item is document else f"{place}, entry {number}".removeprefix(", ")
            if _is_result(item):
                yield _draft(source, where, evaluation, item)
            else:
                yield EntryProblem(where, "no result of promptfoo: it does not say whether it passed")


def _draft(source: Source, where: str, evaluation: dict[str, Any], item: dict[str, Any]) -> RunDraft:
    provider = as_dict(item.get("provider"))
    provider_id = as_word(provider.get("id")) or as_word(item.get("provider"))
    prompt = as_dict(item.get("prompt"))
    given = read_arguments(prompt.get("raw", item.get("prompt")))
    response = as_dict(item.get("response"))
    output = response.get("output")
    words = as_word(response.get("error")) or (as_word(item.get("error")) if _has_erred(item, response) else "")
    error = error_in_words(words)
    asked = messages_in_value(given) if isinstance(given, (list, dict)) else [{"role": "user", "content": given}]
    began, lasted = moment_ms(evaluation.get("timestamp")), amount(item.get("latencyMs"))
    ended = None if began is None else began + (lasted or 0.0)
    maker, _, model = provider_id.partition(":")
    used = as_dict(response.get("tokenUsage")) or as_dict(item.get("tokenUsage"))
    step = model_call(
        as_word(provider.get("label")) or model.rpartition(":")[2] or provider_id,
        asked,
        None if error is not None else answer_in(output) if isinstance(output, (dict, list)) else output,
        usage=_usage(used),
        provider=maker,
        error=error,
        cost_usd=item.get("cost", response.get("cost")),
        at_ms=ended,
        duration_ms=lasted,
        key="1",
    )
    variables = as_dict(item.get("vars")) or as_dict(as_dict(item.get("testCase")).get("vars"))
    label = as_word(as_dict(item.get("testCase")).get("description")) or request_in(asked)
    facts = {
        "framework": "promptfoo",
        "evaluation": evaluation.get("evalId"),
        "provider": provider_id,
        "vars": variables,
        "success": item["success"],
        "scores": {"score": item.get("score"), **as_dict(item.get("namedScores"))},
        "score_comments": as_word(as_dict(item.get("gradingResult")).get("reason")),
    }
    place = [evaluation.get("evalId"), item.get("testIdx"), item.get("promptIdx"), provider_id, where]
    return RunDraft(
        identity=[*place, given, variables],
        name=short_name(f"{label} ({provider_id})" if label and provider_id else label, provider_id, source.stem),
        format="promptfoo",
        steps=[step],
        entry=where,
        started_ms=began,
        ended_ms=ended,
        error=error,
        result=None if error is not None else output,
        meta={key: value for key, value in facts.items() if value not in (None, "", {}, [])},
    )


def _has_erred(item: dict[str, Any], response: dict[str, Any]) -> bool:
    """Whether there was no answer; a failed assertion is told as an error too."""
    return item.get("failureReason") == _ERRED or (not item["success"] and response.get("output") is None)


def _usage(used: dict[str, Any]) -> dict[str, Any] | None:
    names = {"prompt": "prompt_tokens", "completion": "completion_tokens", "total": "total_tokens"}
    usage: dict[str, Any] = {name: used.get(key) for key, name in names.items() if used.get(key) is not None}
    if used.get("cached") and "prompt_tokens" not in usage:
        usage["cached_tokens"] = used["cached"]
    reasoning = as_dict(used.get("completionDetails")).get("reasoning")
    if reasoning:
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return usage or None
