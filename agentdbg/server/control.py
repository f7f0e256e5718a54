"""
The routes that answer a paused run: what waits, what it is told, and where it should pause from now on.

They write files in the run's folder; the paused process takes values from them, never code. With `--control` one more
starts a replay or a fork of the recorded program. The guard lets in only our own page or whoever has the token.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from agentdbg.analysis.diff import compare
from agentdbg.analysis.diff.first_change import first_change
from agentdbg.analysis.families import family_of, parent_of, relation, served_and_live
from agentdbg.control.again_words import again_words
from agentdbg.control.own_command import start_own_command
from agentdbg.control.pauses import mistake_in
from agentdbg.control.recorded_runs import recorded_words
from agentdbg.control.where import parse_breakpoint
from agentdbg.encoding import decode_json
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import UsageError
from agentdbg.policy_file import effect_rules_of, find_policy
from agentdbg.server.http_answers import error_response, json_response
from agentdbg.server.request_values import Request, Router
from agentdbg.storage.control_files import answer_pause, control_dir, paused_in, read_breaks, write_breaks
from agentdbg.storage.layout import run_dir
from agentdbg.storage.reader import load_events
from agentdbg.storage.runfile import read_object
from agentdbg.tape.tape_reader import TapeReader, find_tape

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.responses import Response

    from agentdbg.analysis.effects import EffectRules
    from agentdbg.events import RunMeta
    from agentdbg.server.viewer import ViewerState

__all__ = ["router"]

router = Router()

_MOST_BREAKS = 100
_LONGEST_START_S = 10.0
_LOOK_S = 0.05
_MOST_RELATIVES = 50
_MOST_COMPARED = 5_000


@router.get("/api/runs/{run_id}/control")
def get_control(request: Request, run_id: str) -> Response:
    """What waits for an answer, the longest first; where the run pauses, and whether that can be changed from here."""
    folder = _folder(request, run_id)
    armed = os.path.isfile(os.path.join(control_dir(folder), "breaks.json"))
    return json_response({"paused": paused_in(folder), "breaks": read_breaks(folder), "armed": armed})


@router.get("/api/runs/{run_id}/family")
def get_family(request: Request, run_id: str) -> Response:
    """The runs that a run came from and those that came from it, with what each did otherwise than its parent first."""
    state: ViewerState = request.app.state.viewer
    run = state.run(run_id)
    index = state.runs
    tree = family_of(run_id, index.page(None, None).runs)[:_MOST_RELATIVES]
    ids = [one["run_id"] for one, _ in tree]
    headlines, parent = index.headlines(ids), parent_of(run)
    states, rules = index.states(ids), effect_rules_of(find_policy())
    relatives = [
        {
            **_relative(one, headlines.get(one["run_id"]), states.get(one["run_id"])),
            "depth": depth,
            "first": _first(one, state.data_dir, rules) if parent_of(one) in ids else None,
        }
        for one, depth in tree
    ]
    told = {"spec_version": SPEC_VERSION, "parent_run_id": parent, "has_parent": parent in ids}
    return json_response({**told, "relation": relation(run), "runs": relatives})


def _relative(run: RunMeta, headline: str | None, state: str | None) -> dict[str, Any]:
    served, live = served_and_live(run) or (None, None)
    counts = {"served": served, "live": live}
    kept = {key: run.get(key) for key in ("run_id", "status", "duration_ms", "cost_usd")}
    return {**kept, "state": state or run["status"], "relation": relation(run), "headline": headline, **counts}


def _first(run: RunMeta, data_dir: Path, rules: EffectRules) -> str | None:
    """What a fork did otherwise than its parent first; None for runs that are too long to be compared in passing."""
    parent, origin = parent_of(run), run.get("replay") or {}
    if parent is None or sum((run.get("event_counts") or {}).values()) > _MOST_COMPARED:
        return None
    diff = compare(load_events(parent, data_dir), load_events(run["run_id"], data_dir), rules)
    number, said = first_change(diff, (origin.get("at") or {}).get("n"))
    return said if number is None else f"#{number} {said}"


@router.post("/api/runs/{run_id}/control")
async def answer(request: Request, run_id: str) -> Response:
    """Answer a pause: `{"pause_id", "do", "value"?, "error"?}`. 409 when somebody was first, or it no longer waits."""
    command = _object(await request.body())
    folder = await run_in_threadpool(_folder, request, run_id)
    pause_id, do = command.pop("pause_id", None), command.get("do")
    if not isinstance(pause_id, str) or not isinstance(do, str):
        raise UsageError('the body has to be {"pause_id": "…", "do": "continue", …}')
    waiting = next((one for one in await run_in_threadpool(paused_in, folder) if one["pause_id"] == pause_id), None)
    if waiting is not None and (mistake := mistake_in(command, waiting.get("can") or ())):
        raise UsageError(mistake)
    if await run_in_threadpool(answer_pause, folder, pause_id, {**command, "by": "page"}):
        return json_response({"pause_id": pause_id, "do": do})
    return error_response(409, "answered_elsewhere", "this pause was answered elsewhere, or no longer waits")


@router.post("/api/runs/{run_id}/breaks")
async def set_breaks(request: Request, run_id: str) -> Response:
    """Set where the run pauses: `{"breaks": ["tool:refund"]}`. A run without breakpoints at its start ignores it."""
    breaks = _object(await request.body()).get("breaks")
    if not isinstance(breaks, list) or not all(isinstance(one, str) for one in breaks) or len(breaks) > _MOST_BREAKS:
        raise UsageError('the body has to be {"breaks": ["tool:refund", …]}')
    for one in breaks:
        parse_breakpoint(one)
    folder = await run_in_threadpool(_folder, request, run_id)
    await run_in_threadpool(write_breaks, folder, breaks)
    return json_response({"breaks": breaks})


@router.get("/api/runs/{run_id}/again")
def get_again(request: Request, run_id: str) -> Response:
    """What a replay of the run would run: `{command, program, folder, can_run, why}`; `why` not, where it cannot."""
    state: ViewerState = request.app.state.viewer
    folder = _folder(request, run_id)
    told: dict[str, Any] = {"command": f"agentdbg replay {run_id[:8]}", "program": None, "folder": None, "why": None}
    try:
        head = _own_head(folder, state.data_dir)
        argv = [str(word) for word in head.get("argv") or ()]
        module = head.get("module")
        words = ["python", "-m", str(module), *argv[1:]] if module else ["python", *argv]
        told |= {"program": shlex.join(words), "folder": head.get("cwd")}
        recorded_words(head, run_id[:8])
    except UsageError as reason:
        told["why"] = str(reason)
    if told["why"] is None and not state.may_control:
        told["why"] = "start the viewer with `agentdbg view --control` to run programs here"
    return json_response({**told, "can_run": told["why"] is None})


@router.post("/api/runs/{run_id}/again")
async def run_again(request: Request, run_id: str) -> Response:
    """
    Start a replay or a fork of a run, as `agentdbg view --control` allows.

    `{"what": "replay"}`, or `{"what": "fork", "at", "set": ["result=…"], "set_all", "mocks", "faults", "writes",
    "trials", "jobs"}`. The program is the recorded one, and only of a run that was recorded in this data folder; what
    is sent are values, never words of a command line. The answer names the new run, as soon as there is one.
    """
    state: ViewerState = request.app.state.viewer
    wanted = _object(await request.body())
    folder = await run_in_threadpool(_folder, request, run_id)
    if not state.may_control:
        return error_response(403, "no_control", "start the viewer with `agentdbg view --control` to run programs here")
    words = again_words(run_id, wanted)
    await run_in_threadpool(_own_head, folder, state.data_dir)
    new = await run_in_threadpool(_start, words, run_id, state.data_dir)
    return json_response({"command": shlex.join(["agentdbg", *words]), "run_id": new}, 202)


def _start(words: list[str], run_id: str, data_dir: Path) -> str | None:
    """
    Start our own command, as the user's own page asks; it goes on by itself. Gives the run that it records.

    Raises UsageError with what the command said when it has ended without one.
    """
    before = set(os.listdir(data_dir / "runs"))
    with tempfile.TemporaryFile() as said:
        started = start_own_command(
            words,
            env={**os.environ, "AGENTDBG_DATA_DIR": str(data_dir)},
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        until = time.monotonic() + _LONGEST_START_S
        while time.monotonic() < until:
            is_over = started.poll() is not None
            new = _run_made_of(run_id, set(os.listdir(data_dir / "runs")) - before, data_dir)
            if new is not None:
                return new
            if is_over:
                said.seek(0)
                lines = said.read()[-4_000:].decode("utf-8", "replace").strip().splitlines()
                raise UsageError(lines[-1].removeprefix("agentdbg: ") if lines else "it ended and recorded nothing")
            time.sleep(_LOOK_S)
    return None


def _run_made_of(run_id: str, new: set[str], data_dir: Path) -> str | None:
    """Which of some new runs was made by running this one again."""
    for name in sorted(new):
        origin = (read_object(str(data_dir / "runs" / name / "run.json")) or {}).get("replay")
        if isinstance(origin, dict) and origin.get("parent_run_id") == run_id:
            return name
    return None


def _own_head(folder: Path, data_dir: Path) -> dict[str, Any]:
    """What the tape of a run says of its program. Raises UsageError when it is not to be run."""
    path = find_tape(folder)
    if path is None:
        raise UsageError("this run has no tape, so it cannot be run again")
    tape = TapeReader(path)
    try:
        if not tape.is_from(data_dir):
            raise UsageError("this run was not recorded in this data folder, so what it names is not run")
        return dict(tape.head)
    finally:
        tape.close()


def _folder(request: Request, run_id: str) -> Path:
    state: ViewerState = request.app.state.viewer
    state.run(run_id)
    return run_dir(state.data_dir, run_id)


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = decode_json(body)
    except ValueError:
        raise UsageError("the body is not JSON") from None
    if not isinstance(value, dict):
        raise UsageError("the body has to be a JSON object")
    return value
