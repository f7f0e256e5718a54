"""
Two runs side by side: compared once, then answered in parts.

`/api/compare` says the outcome and how the rows stand, in columns: a letter and two event numbers for each row. The
words of a row are those of `/api/runs/{id}/rows`; what changed in it is asked for when it is in sight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.analysis.diff import Change, Diff, compare
from agentdbg.analysis.diff import Row as AlignedRow
from agentdbg.analysis.diff.result import outcome_of_row
from agentdbg.analysis.diff.summary import Log, tell
from agentdbg.analysis.wording import as_json, cut
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import UsageError
from agentdbg.policy_file import effect_rules_of, find_policy
from agentdbg.server.http_answers import json_response
from agentdbg.server.request_values import Query, Request, Router
from agentdbg.storage.layout import run_dir
from agentdbg.storage.reader import load_events

if TYPE_CHECKING:
    from starlette.responses import Response

    from agentdbg.analysis.diff.effect_changes import CallChanges
    from agentdbg.analysis.effects import SideEffect
    from agentdbg.events import RunMeta
    from agentdbg.server.viewer import ViewerState

__all__ = ["router"]

router = Router()

_MOST_EVENTS = 250_000
_MOST_AT = 500
_MOST_EFFECTS = 50
_MOST_CONTEXT = 20
_KEPT = 4
_SHORT = 120
_SIGNS = {"same": "=", "changed": "!", "deleted": "-", "inserted": "+", "moved": ">"}

RunId = Annotated[str, Query(max_length=100)]


@router.get("/api/compare")
def compare_runs(request: Request, a: RunId, b: RunId) -> Response:
    """The verdict, what was left behind, the figures of both, and how the rows stand."""
    run_a, run_b, diff = _comparison(request, a, b)
    effects, told = diff.effects, tell(diff, _log(run_a), _log(run_b))
    return json_response(
        {
            "spec_version": SPEC_VERSION,
            "a": run_a,
            "b": run_b,
            "verdict": diff.verdict,
            "is_good": told.is_good,
            "sentences": told.sentences,
            "notes": told.notes,
            "first_difference": diff.first_difference,
            "first_divergence": diff.first_divergence,
            "counts": diff.counts,
            "totals": {"a": diff.side_a.totals.to_json(), "b": diff.side_b.totals.to_json()},
            "context": [{"row": row, **change.to_short_json()} for row, change in diff.context[:_MOST_CONTEXT]],
            "effects": {
                **_calls(effects.known),
                "same_order": effects.same_order,
                "unknown": _calls(effects.unknown),
            },
            "signs": "".join(map(_sign, diff.rows)),
            "numbers_a": [row.a or 0 for row in diff.rows],
            "numbers_b": [row.b or 0 for row in diff.rows],
            "effect_rows": _effect_rows(diff),
            "unknown_rows": [place for place, row in enumerate(diff.rows) if row.effect is None],
            "diverging_rows": [place for place, row in enumerate(diff.rows) if row.diverges],
        }
    )


@router.get("/api/compare/rows")
def compared_rows(request: Request, a: RunId, b: RunId, at: Annotated[str, Query(max_length=8_000)]) -> Response:
    """What changed in some rows, in short."""
    _, _, diff = _comparison(request, a, b)
    rows = [{"row": place, **diff.rows[place].to_short_json()} for place in _places(at) if place < len(diff.rows)]
    return json_response({"spec_version": SPEC_VERSION, "rows": rows})


@router.get("/api/compare/row")
def compared_row(request: Request, a: RunId, b: RunId, row: Annotated[int, Query(ge=0)]) -> Response:
    """All that changed in one row."""
    _, _, diff = _comparison(request, a, b)
    if row >= len(diff.rows):
        raise UsageError(f"there are {len(diff.rows)} rows, counted from 0")
    return json_response({"spec_version": SPEC_VERSION, "row": row, **diff.rows[row].to_json()})


def _comparison(request: Request, a: str, b: str) -> tuple[RunMeta, RunMeta, Diff]:
    """Both runs as they are now, compared; a run that goes on is compared as far as it has come."""
    state: ViewerState = request.app.state.viewer
    key = (a, _size(state, a), b, _size(state, b))
    with state.comparing:
        diff = state.compared.pop(key, None) or _compare(state, a, b)
        state.compared[key] = diff
        while len(state.compared) > _KEPT:
            state.compared.popitem(last=False)
    # Looked up last: by now it is known which lines are damaged.
    return state.run(a), state.run(b), diff


def _compare(state: ViewerState, a: str, b: str) -> Diff:
    for run_id in (a, b):
        with state.looking_at(run_id) as (_, view):
            view.reach(_MOST_EVENTS + 1, 60_000)
            if view.index.total > _MOST_EVENTS:
                raise UsageError(f"{run_id} has more than {_MOST_EVENTS:,} events, too many to compare in the page")
    rules = effect_rules_of(find_policy())
    return compare(load_events(a, state.data_dir), load_events(b, state.data_dir), rules)


def _log(run: RunMeta) -> Log:
    running = run["status"] == "running"
    return Log(run["run_id"], running, run.get("damaged_lines") or 0, run.get("dropped_events") or 0)


def _sign(row: AlignedRow) -> str:
    return "~" if row.wording else _SIGNS[row.op]


def _effect_rows(diff: Diff) -> list[int]:
    """The rows of calls that changed something, or of which nobody knows."""
    return [
        place
        for place, row in enumerate(diff.rows)
        if row.effect is None or (row.effect and outcome_of_row(diff, row) != "refused")
    ]


def _calls(calls: CallChanges) -> dict[str, Any]:
    return {
        "same": calls.same,
        "reworded": calls.reworded,
        "differ": calls.count,
        "changed": [
            {"name": pair.a.name, "a": pair.a.number, "b": pair.b.number, "changes": _short(pair.changes)}
            for pair in calls.changed[:_MOST_EFFECTS]
        ],
        "only_a": [_effect(effect) for effect in calls.only_a[:_MOST_EFFECTS]],
        "only_b": [_effect(effect) for effect in calls.only_b[:_MOST_EFFECTS]],
    }


def _effect(effect: SideEffect) -> dict[str, Any]:
    return {"n": effect.number, "name": effect.name, "args": cut(as_json(effect.args)[: 4 * _SHORT], _SHORT)}


def _short(changes: tuple[Change, ...]) -> list[dict[str, Any]]:
    return [change.to_short_json() for change in changes[:3]]


def _places(text: str) -> list[int]:
    parts = text.split(",")
    if len(parts) > _MOST_AT or not all(part.isascii() and part.isdigit() and len(part) < 12 for part in parts):
        raise UsageError(f"`at` is up to {_MOST_AT} row numbers with commas between them")
    return [int(part) for part in parts]


def _size(state: ViewerState, run_id: str) -> int:
    try:
        return (run_dir(state.data_dir, run_id) / "events.jsonl").lstat().st_size
    except OSError:
        return 0
