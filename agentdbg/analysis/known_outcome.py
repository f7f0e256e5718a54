"""
Whether a run is known to have done its task: a person's mark, what the program recorded, or a score in its metadata.

That is another question than how the run ended: an agent may stop without any error and be wrong. `status` in run.json
says how it ended. Where several say something, a mark stands above what was recorded, and that above the metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import one_line

if TYPE_CHECKING:
    from agentdbg.events import RunMeta

__all__ = ["KnownOutcome", "outcome_in_metadata", "outcome_of_payload", "outcome_of_run"]

_DEEPEST = 4
_MOST_KEYS = 200
_SCORES = frozenset(
    {"reward", "score", "utility", "accuracy", "correctness", "final_score", "final_reward", "pass_rate", "exact_match"}
    | {"overall_score", "task_score", "success_rate", "pass@1", "pass_at_1"}
)
_ANSWERS = frozenset(
    {
        "passed",
        "pass",
        "success",
        "successful",
        "succeeded",
        "resolved",
        "solved",
        "is_correct",
        "is_corrected",
        "correct",
        "is_success",
    }
    | {"is_passed", "task_passed", "is_successful", "test_status", "test_result", "exact_match", "em"}
    | {"task_success", "task_completed", "is_resolved", "is_solved", "outcome", "verdict", "grade"}
)
_LESS_IS_BETTER = re.compile(
    r"(?:^|_)(?:toxicity|bias|harm(?:fulness)?|hallucinations?|errors?|failures?|loss|latency|cost|duration|tokens|distance"
    r"|violations?|leaks?|leakage|refusals?|perplexity|risk|spam|penalty|wer|cer|mae|rmse)(?:_(?:rate|count|ms|s|usd))?$"
)
"""Scores of which none is what everybody wants."""
_ENDED_BY = ("error", "exit_status", "exit_reason", "termination_reason", "terminated_reason")
_BROKEN_OFF = re.compile(
    r"(?!(?:no|none|null|ok|submitted|success\w*|completed?|finished|done)\b)(?:(?:exit|early)_\w+|max\w*|.*\b(?:abort|context|cost"
    r"|error|exceed|exception|fail|limit|stuck|time-?d?[ _-]?out|too[ _]many)\w*)",
    re.IGNORECASE,
)
_PASS_MARKS = ("pass_mark", "threshold", "passing_score", "min_score")
_EVALUATES = re.compile(r"(?:^|[._])(?:eval|grad|judg|test|verdict|assess|annotat)", re.IGNORECASE)
"""Below such a name a `status`, a `result` and a `label` are about the task, not about the program."""
_OF_EVALUATION = frozenset({"conclusion", "label", "result", "status"})
_SURE = frozenset({"correct", "failed", "incorrect", "passed", "resolved", "solved", "unresolved", "unsolved", "wrong"})
"""Words that are about a task wherever they stand."""
_YES = frozenset(
    {"true", "pass", "passed", "success", "successful", "succeeded", "correct", "resolved", "solved", "c", "yes"}
)
_NO = frozenset({"false", "fail", "failed", "failure", "incorrect", "unresolved", "unsolved", "wrong", "i", "no"})


class KnownOutcome(NamedTuple):
    """`passed`, who says so, and in which words."""

    passed: bool
    source: Literal["mark", "recorded", "metadata"]
    why: str

    @property
    def sentence(self) -> str:
        word = "passed" if self.passed else "failed"
        if self.source == "metadata":
            return f"Its own score says that it {word}: {self.why}."
        said = "Marked as" if self.source == "mark" else "Recorded as"
        return f"{said} {word}: {self.why.rstrip('.')}." if self.why else f"{said} {word}."

    def as_json(self) -> dict[str, Any]:
        return {"outcome": "passed" if self.passed else "failed", "source": self.source, "why": self.why}


def outcome_of_run(run: RunMeta | None) -> KnownOutcome | None:
    """What a run's mark says, else its metadata; None where nobody knows."""
    if run is None:
        return None
    marked: Any = run.get("mark")
    if isinstance(marked, dict) and marked.get("outcome") in ("passed", "failed"):
        return KnownOutcome(marked["outcome"] == "passed", "mark", one_line(str(marked.get("why") or ""), 300))
    return outcome_in_metadata(run.get("metadata"))


def outcome_of_payload(payload: Mapping[str, Any]) -> KnownOutcome | None:
    """What an OUTCOME event says: `passed`, else its `score`."""
    passed, score, why = payload.get("passed"), payload.get("score"), payload.get("why")
    if not isinstance(passed, bool):
        passed = _by_score(score, payload)
    if passed is None:
        return None
    words = why if isinstance(why, str) and why else "" if score is None else f"score {score}"
    return KnownOutcome(passed, "recorded", one_line(words, 300))


def outcome_in_metadata(metadata: Any) -> KnownOutcome | None:
    """What scores say, at any depth; one that says it failed counts more than others."""
    found = list(_told(metadata, "", 0)) or list(_broken_off(metadata))
    return next((outcome for outcome in found if not outcome.passed), found[0] if found else None)


def _broken_off(metadata: Any) -> Iterator[KnownOutcome]:
    """What says that a run was stopped before its end, where no score says how it did."""
    if not isinstance(metadata, Mapping):
        return
    info = metadata.get("info")
    for value, path in ((metadata, ""), (info if isinstance(info, Mapping) else {}, "info.")):
        for key in _ENDED_BY:
            if isinstance(value.get(key), str) and _BROKEN_OFF.match(value[key]):
                yield KnownOutcome(False, "metadata", one_line(f"{path}{key} is {value[key]}", 200))


def _told(value: Any, path: str, depth: int) -> list[KnownOutcome]:
    value = parse_embedded(value)
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return [one for at, item in enumerate(value[:_MOST_KEYS]) for one in _told(item, f"{path}[{at}]", depth + 1)]
    if depth > _DEEPEST or not isinstance(value, Mapping):
        return []
    found: list[KnownOutcome] = _counted(value, path)
    is_in_scores = path.rpartition(".")[2].lower() == "scores"
    for key, item in list(value.items())[:_MOST_KEYS]:
        place = f"{path}.{key}" if path else str(key)
        name = str(key).lower().replace("-", "_")
        is_score = (
            name in _SCORES
            or (is_in_scores and _LESS_IS_BETTER.search(name) is None)
            or (name == "value" and "score" in path.lower())
        )
        has_own_mark = isinstance(item, (int, float)) and name not in _PASS_MARKS and _has_mark(value, key)
        is_judged = name in _ANSWERS or (name in _OF_EVALUATION and _EVALUATES.search(path) is not None)
        is_judged = is_judged or (name == "label" and str(item).strip().lower() in _SURE)
        passed = _by_answer(item) if is_judged else _by_score(item, value) if is_score or has_own_mark else None
        if passed is not None:
            found.append(KnownOutcome(passed, "metadata", one_line(f"{place} is {_shown(item)}", 200)))
        elif key != "imported_from":
            found += _told(item, place, depth + 1)
    return found


def _has_mark(value: Mapping[str, Any], key: Any) -> bool:
    """Whether a pass mark stands beside the only figure of a mapping."""
    figures = [name for name, item in value.items() if _is_figure(item) and name not in _PASS_MARKS]
    return figures == [key] and any(_is_figure(value.get(mark)) for mark in _PASS_MARKS)


def _is_figure(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _counted(value: Mapping[str, Any], path: str) -> list[KnownOutcome]:
    """`{"tests_passed": 3, "tests_total": 5}`."""
    passed, total = value.get("tests_passed"), value.get("tests_total", value.get("total_tests"))
    if not (isinstance(passed, int) and isinstance(total, int) and total):
        return []
    place = f"{path}.tests_passed" if path else "tests_passed"
    return [KnownOutcome(passed >= total, "metadata", f"{place} is {passed} of {total}")]


def _by_answer(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in _YES else False if word in _NO else None


def _by_score(value: Any, beside: Mapping[str, Any]) -> bool | None:
    """A whole or no score says it; one in between only against a pass mark that stands beside it."""
    if isinstance(value, (bool, str)):
        return _by_answer(value)
    if not isinstance(value, (int, float)):
        return None
    mark = next((beside[key] for key in _PASS_MARKS if isinstance(beside.get(key), (int, float))), None)
    if mark is not None:
        return bool(value >= mark)
    return False if value <= 0 else True if value == 1 else None


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
