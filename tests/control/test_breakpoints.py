"""Breakpoints: the program waits where it was told to, obeys one answer, and never waits where nobody can answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import agentdbg
from agentdbg.around import deciding
from agentdbg.control.arming import disarm
from agentdbg.control.breakpoints import Breakpoints
from agentdbg.owner import describe_owner
from agentdbg.recorder.deciders import AnnouncedCall
from agentdbg.storage.control_files import (
    answer_pause,
    control_dir,
    paused_in,
    post_pause,
    take_command,
    withdraw_pause,
    write_breaks,
)
from tests.conftest import RecordedRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Recorded

made: list[dict[str, Any]] = []


@pytest.fixture(autouse=True)
def _nothing_made() -> Iterator[None]:
    made.clear()
    yield
    disarm()


@agentdbg.tool
def refund(order: str, amount: float, key: Any = None) -> dict[str, Any]:
    made.append({"order": order, "amount": amount, "key": key})
    return {"ok": True, "amount": amount}


@agentdbg.tool
async def refund_later(order: str, amount: float) -> dict[str, Any]:
    made.append({"order": order, "amount": amount})
    return {"ok": True, "amount": amount}


@contextlib.contextmanager
def answering(run_path: Path, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Somebody at the page: answers every pause of a run."""
    seen: list[dict[str, Any]] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(0.005):
            for pause in paused_in(run_path):
                if pause["pause_id"] not in [one["pause_id"] for one in seen]:
                    seen.append(pause)
                    answer_pause(run_path, pause["pause_id"], answer(pause))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        is_over.set()
        looking.join()


@contextlib.contextmanager
def paused_run(
    places: list[str], answer: Callable[[dict[str, Any]], dict[str, Any]], wait_seconds: float = 20, **limits: Any
) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """A run with breakpoints, and somebody who answers."""
    breaks = Breakpoints(places, wait_seconds=wait_seconds)
    with deciding(breaks), agentdbg.traced_run("r", **limits) as run, answering(run.path, answer) as seen:
        yield run, seen


def going_on(_: dict[str, Any]) -> dict[str, Any]:
    return {"do": "continue"}


def test_a_pause_shows_the_call_and_goes_on(recorded: Recorded) -> None:
    """What waits can be read, without its secrets, by whoever may read the run."""
    secret = "sk-" + "a1B2c3D4" * 5
    with paused_run(["tool:refund"], going_on) as (run, seen):
        refund("A-17", 4000, key=secret)

    assert [(one["when"], one["call"]["name"], one["value"]["amount"]) for one in seen] == [("before", "refund", 4000)]
    assert secret not in str(seen)
    assert made == [{"order": "A-17", "amount": 4000, "key": secret}]
    assert recorded.only().one("BREAK")["payload"]["action"] == "continue"
    assert not Path(control_dir(run.path)).exists()


def test_a_pause_within_a_tool_or_a_thread_shows_what_the_model_around_it_said() -> None:
    """Who looks into a tool wants to know what the model wanted of it."""

    @agentdbg.llm(model="m")
    def think(prompt: str) -> str:
        return f"about {prompt}"

    @agentdbg.tool
    def part(n: int) -> int:
        return n

    @agentdbg.tool
    def whole(n: int) -> int:
        return part(n)

    with paused_run(["tool:part"], going_on) as (_, seen):
        think("cups")
        whole(1)
        with ThreadPoolExecutor() as pool:
            pool.submit(part, 2).result()

    assert [pause["shows"]["messages"][-1]["content"] for pause in seen] == ["about cups"] * 2


def test_edited_arguments_reach_the_call_and_the_rest_stays(recorded: Recorded) -> None:
    """A marker that comes back unchanged keeps the secret it stands for."""
    secret = "sk-" + "a1B2c3D4" * 5
    with paused_run(["tool:refund"], lambda pause: {"do": "continue", "value": {**pause["value"], "amount": 40}}):
        assert refund("A-17", 4000, key=secret)["amount"] == 40

    assert made == [{"order": "A-17", "amount": 40, "key": secret}]
    assert recorded.only().one("TOOL_CALL")["payload"]["args"]["amount"] == 40


def test_skip_answers_and_makes_no_call(recorded: Recorded) -> None:
    """The refund that must not happen does not."""
    with paused_run(["tool:refund"], lambda _: {"do": "skip", "value": {"ok": False}}):
        assert refund("A-17", 4000) == {"ok": False}

    assert not made
    assert recorded.only().one("TOOL_CALL")["payload"]["served"] == "edited"


def test_raise_raises_what_was_named() -> None:
    """How the agent copes with a failing tool is what one wants to see."""
    told = {"do": "raise", "error": {"type": "TimeoutError", "message": "slow"}}
    with paused_run(["tool:refund"], lambda _: told), pytest.raises(TimeoutError, match="slow"):
        refund("A-17", 4000)

    assert not made


def test_mock_answers_from_now_on() -> None:
    """One decision, not one at every call."""
    with paused_run(["call:1"], lambda _: {"do": "mock", "value": "mocked"}) as (_, seen):
        assert [str(refund("A-17", n)) for n in range(2)] == ["mocked", "mocked"]

    assert len(seen) == 1
    assert not made


def test_after_a_call_its_result_can_be_changed(recorded: Recorded) -> None:
    """What if the search had found nothing?"""
    with paused_run(["tool:refund:after"], lambda pause: {"do": "continue", "value": {**pause["value"], "ok": False}}):
        assert refund("A-17", 4000) == {"ok": False, "amount": 4000}

    assert recorded.only().one("TOOL_CALL")["payload"]["result"]["ok"] is False


def test_abort_ends_the_program_as_ctrl_c_does(recorded: Recorded) -> None:
    """The run is closed, and says so."""
    with pytest.raises(KeyboardInterrupt), paused_run(["tool:refund"], lambda _: {"do": "abort"}):
        refund("A-17", 4000)

    assert not made
    assert recorded.only().meta["status"] == "error"


def test_stepping_pauses_at_the_next_call_and_into_goes_inside() -> None:
    """`n` passes over what a call does inside, `s` does not."""

    @agentdbg.tool
    def outer() -> None:
        refund("inner", 1)

    def stops(do: str) -> list[str]:
        def answer(pause: dict[str, Any]) -> dict[str, Any]:
            return {"do": do if pause["call"]["number"] == 1 else "continue"}

        with paused_run(["call:1"], answer) as (_, seen):
            outer()
            refund("next", 2)
        return [one["value"].get("order", one["call"]["name"]) for one in seen]

    assert stops("step") == ["outer", "next"]
    assert stops("into") == ["outer", "inner"]
    assert stops("continue") == ["outer"]


def test_without_a_terminal_and_without_waiting_nothing_waits(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    """A breakpoint that was left in must not hang CI."""
    began = time.monotonic()
    with deciding(Breakpoints(["tool:refund"])), agentdbg.traced_run("r"):
        refund("A-17", 1)

    assert time.monotonic() - began < 5
    assert recorded.only().one("BREAK")["payload"]["by"] == "nobody"
    assert "nobody can answer" in capsys.readouterr().err


def test_waiting_ends() -> None:
    """`--wait` is a time, not for ever, and `--then abort` is what a careful person wants."""
    with deciding(Breakpoints(["tool:refund"], wait_seconds=0.1)), agentdbg.traced_run("r"):
        refund("A-17", 1)
    assert len(made) == 1

    careful = Breakpoints(["tool:refund"], wait_seconds=0.1, then="abort")
    with pytest.raises(KeyboardInterrupt), deciding(careful), agentdbg.traced_run("r"):
        refund("A-17", 1)
    assert len(made) == 1


def test_tasks_pause_alone_and_each_gets_its_own_answer() -> None:
    """Forty tasks at one breakpoint are forty pauses, and the loop goes on meanwhile."""
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0.005)

    async def main() -> list[Any]:
        beating = asyncio.create_task(beat())
        results = await asyncio.gather(*(refund_later(f"A-{n}", n) for n in range(40)))
        beating.cancel()
        return list(results)

    def answer(pause: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.003)
        return {"do": "continue", "value": {**pause["value"], "amount": 1000}}

    with paused_run(["tool:refund_later"], answer) as (_, seen):
        results = asyncio.run(main())

    assert len(seen) == 40
    assert [one["amount"] for one in results] == [1000] * 40
    assert sorted(one["order"] for one in made) == sorted(f"A-{n}" for n in range(40))
    assert beats >= 2


def test_paused_time_belongs_to_no_duration_and_no_limit(recorded: Recorded) -> None:
    """Somebody looks for a minute; the call still took a millisecond, and max_duration_s did not strike."""

    @agentdbg.tool
    def outer() -> None:
        refund("A-17", 1)

    def slowly(_: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.15)
        return {"do": "continue"}

    places = ["tool:refund", "tool:refund:after"]
    with paused_run(places, slowly, max_duration_s=0.3):
        with agentdbg.traced_run("span"):
            outer()
        refund("A-17", 2)

    events = recorded.only().events
    assert all(event["duration_ms"] < 140 for event in events if event["duration_ms"] is not None)
    assert recorded.only().one("RUN_END")["payload"]["paused_ms"] >= 600
    assert recorded.only().meta["status"] == "ok"


def test_breakpoints_are_added_from_outside() -> None:
    """The page offers `Break before refund` on a run that goes on."""
    with deciding(Breakpoints([], wait_seconds=20)), agentdbg.traced_run("r") as run:
        refund("A-17", 1)
        write_breaks(run.path, ["tool:refund"])
        with answering(run.path, going_on) as seen:
            refund("A-17", 2)

    assert [one["value"]["amount"] for one in seen] == [2]


@pytest.mark.parametrize(
    "nonsense", [{}, {"do": "exec"}, {"do": "skip"}, {"do": "raise", "error": "x"}, {"do": ["continue"]}]
)
def test_a_command_that_makes_no_sense_is_not_obeyed(nonsense: dict[str, Any]) -> None:
    """The program waits on, until its time is over."""
    with paused_run(["tool:refund"], lambda _: nonsense, 0.1):
        assert refund("A-17", 1)["ok"]


def test_a_breakpoint_in_code_shows_its_values(recorded: Recorded) -> None:
    """Where no call is, one line of code pauses too; without anybody there it costs nothing."""
    with agentdbg.traced_run("r"):
        agentdbg.breakpoint("before the loop", count=3)

    assert recorded.only().one("BREAK")["name"] == "before the loop"


@agentdbg.llm(model="gpt-4o")
def ask(prompt: str) -> str:
    return prompt.upper()


@agentdbg.tool
def fail(times: int) -> str:
    raise ValueError(times)


@agentdbg.tool
def nested(depth: int) -> Any:
    return refund("A-17", depth)["amount"] if depth % 2 else ask("deep") and depth


class _AskedAboutAll(Breakpoints):
    """Breakpoints that look closely at each call."""

    def passes_over(self, _: Any) -> bool:
        return False


_PLACES = [
    "tool:refund where args.amount>3",
    "tool:fail",
    "llm",
    "llm:gpt-4o:after",
    "tool:ref*",
    "tool:nothing",
    "error",
    "loop",
    "every",
    "mcp",
    "calls>5",
    "call:7",
    "call:12",
    "tokens>3",
    "cost>1",
    "tool:nested:after",
    "tool:*:after where args.amount>3",
    "mcp:*",
    'every where name=="refund" and args.amount>2',
    "tool:* where args.depth<4",
    'error where kind=="tool"',
    'calls>3 where name=="gpt-4o"',
]


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 25))])
def test_passing_calls_over_changes_no_pause(seed: int) -> None:
    """A call that is not looked at closely is counted all the same, and is none that would have paused."""
    chance = random.Random(seed)
    places = chance.sample(_PLACES, chance.randint(1, 3))
    steps: list[tuple[Any, int]] = [
        (chance.choice((refund, ask, fail, nested)), chance.randint(0, 6)) for _ in range(14)
    ]

    def pauses(kind: type[Breakpoints]) -> list[Any]:
        with deciding(kind(places)), agentdbg.traced_run("r") as run:
            for step, number in steps:
                with contextlib.suppress(ValueError):
                    step("A-17", number) if step is refund else step(f"{number}" if step is ask else number)
        kept = [
            event
            for event in RecordedRun(Path(run.path)).events
            if event["event_type"] in ("BREAK", "TOOL_CALL", "LLM_CALL")
        ]
        return [(one["event_type"], one["name"], one["payload"].get("reason")) for one in kept]

    assert pauses(Breakpoints) == pauses(_AskedAboutAll)


def test_a_call_that_no_breakpoint_is_about_is_not_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what makes breakpoints that are not reached cheap."""
    described: list[str] = []
    describe = AnnouncedCall.__init__

    def noted(self: Any, kind: str, name: Any, *rest: Any, **more: Any) -> None:
        described.append(name)
        describe(self, kind, name, *rest, **more)

    monkeypatch.setattr(AnnouncedCall, "__init__", noted)
    places = ["tool:refund:after", "error", "cost>1", "call:9", "mcp", 'every where name=="x"']
    with deciding(Breakpoints([*places, "tool:* where args.times>3"])), agentdbg.traced_run("r"):
        ask("hello")
        with contextlib.suppress(ValueError):
            fail(3)
        refund("A-17", 1)
        ask("hello")

    assert described == ["refund"]


def test_break_counts_nowhere(recorded: Recorded) -> None:
    """A pause is no step of the agent."""
    with deciding(Breakpoints(["every"])), agentdbg.traced_run("r", max_events=3):
        for amount in range(3):
            refund("A-17", amount)

    assert recorded.only().meta["status"] == "ok"
    assert recorded.only().meta["counts"]["tool_calls"] == 3


def test_a_name_that_is_no_text_is_not_asked_for_one(recorded: Recorded) -> None:
    """A tool may be named by any object of the program's, also by one whose text never ends."""

    class Endless:
        def __str__(self) -> str:
            raise AssertionError("asked for its text")

    name: Any = Endless()
    with deciding(Breakpoints(["tool:refund"])), agentdbg.traced_run("r"), agentdbg.tool_call(name) as call:
        call.result = 1

    assert len(recorded.only().of_type("TOOL_CALL")) == 1


def test_an_answer_is_too_late_once_the_program_goes_on(tmp_path: Path) -> None:
    """Whoever is about to answer while another's answer is taken is told that nobody heard it; nothing stays."""
    for pause_id in ("a" * 32, "b" * 32):
        post_pause(tmp_path, {"pause_id": pause_id})

    class Late(dict[str, Any]):
        def items(self) -> Any:  # asked when the answer is written out: after the look whether anybody waits
            withdraw_pause(tmp_path, "a" * 32)
            return super().items()

    assert not answer_pause(tmp_path, "a" * 32, Late(do="continue"))
    assert [path.name for path in (tmp_path / "control").iterdir()] == [f"paused-{'b' * 32}.json"]
    assert answer_pause(tmp_path, "b" * 32, {"do": "continue"})
    assert not answer_pause(tmp_path, "b" * 32, {"do": "abort"})
    assert take_command(tmp_path, "b" * 32) == {"do": "continue"}


def test_the_first_answer_wins_and_the_others_are_told() -> None:
    """Page, terminal and assistant may answer at the same moment; one of them is obeyed."""
    told: list[bool] = []

    def race(pause: dict[str, Any]) -> dict[str, Any]:
        def one(amount: int) -> None:
            value = {**pause["value"], "amount": amount}
            told.append(answer_pause(run_path[0], pause["pause_id"], {"do": "continue", "value": value}))

        racers = [threading.Thread(target=one, args=(amount,)) for amount in range(8)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        return {"do": "abort"}  # comes last, so it counts for nothing

    run_path: list[Path] = []
    with paused_run(["tool:refund"], race) as (run, _):
        run_path.append(run.path)
        refund("A-17", 4000)

    assert told.count(True) == 1
    assert made[0]["amount"] in range(8)


def test_threads_pause_alone_and_the_world_waits_when_asked() -> None:
    """Another thread goes on while one is looked at; with `--pause world` it waits at its next call."""

    def others_during_the_pause(*, whole_world: bool) -> list[str]:
        went_on: list[str] = []
        is_paused, is_tried = threading.Event(), threading.Event()

        def other() -> None:
            is_paused.wait(20)
            is_tried.set()
            refund("other", 1)
            went_on.append("other")

        def answer(pause: dict[str, Any]) -> dict[str, Any]:
            is_paused.set()
            is_tried.wait(20)
            ends_at = time.monotonic() + (0.2 if whole_world else 20)
            while not went_on and time.monotonic() < ends_at:
                time.sleep(0.005)
            went_on.append("answered")
            return going_on(pause)

        breaks = Breakpoints(['tool:refund where args.order=="first"'], wait_seconds=20, whole_world=whole_world)
        with deciding(breaks), agentdbg.traced_run("r") as run, answering(run.path, answer):
            thread = threading.Thread(target=other)
            thread.start()
            refund("first", 1)
            thread.join()
        return went_on

    assert others_during_the_pause(whole_world=False) == ["other", "answered"]
    assert others_during_the_pause(whole_world=True) == ["answered", "other"]


def test_sync_code_on_a_loops_thread_pauses_and_goes_on() -> None:
    """A plain tool called inside a coroutine holds the loop, as any plain code there does, and is answered."""

    async def main() -> Any:
        return refund("A-17", 4000)

    with paused_run(["tool:refund"], lambda pause: {"do": "continue", "value": {**pause["value"], "amount": 40}}):
        assert asyncio.run(main())["amount"] == 40


def test_after_an_answer_without_sense_somebody_else_may_answer() -> None:
    """Whoever answers with nonsense has not answered; the others are not locked out for it."""
    told: list[bool] = []

    def answer(pause: dict[str, Any]) -> dict[str, Any]:
        for senseless in ({"do": "fly"}, {"do": "skip"}, {"do": "raise", "error": "x"}):
            told.append(answer_pause(run_path[0], pause["pause_id"], senseless))
            place = Path(control_dir(run_path[0]), f"command-{pause['pause_id']}.json")
            ends_at = time.monotonic() + 10
            while place.exists() and time.monotonic() < ends_at:
                time.sleep(0.005)
        time.sleep(0.05)
        return {"do": "skip", "value": {"sense": True}}

    run_path: list[Path] = []
    with paused_run(["tool:refund"], answer) as (run, _):
        run_path.append(run.path)
        assert refund("A-17", 4000) == {"sense": True}

    assert told == [True, True, True]


def test_the_pause_of_a_process_that_is_gone_is_none(tmp_path: Path) -> None:
    """Killed while it waited, it leaves its file behind; an answer to it would be heard by nobody."""
    with subprocess.Popen([sys.executable, "-c", "pass"]) as gone:
        pass
    gone_id, here_id = "a" * 32, "b" * 32
    post_pause(tmp_path, {"pause_id": gone_id, "owner": {**describe_owner(), "pid": gone.pid}})
    post_pause(tmp_path, {"pause_id": here_id, "owner": describe_owner()})

    assert [pause["pause_id"] for pause in paused_in(tmp_path)] == [here_id]
    assert not answer_pause(tmp_path, gone_id, {"do": "continue"})
    assert answer_pause(tmp_path, here_id, {"do": "continue"})


def test_a_pause_that_is_over_takes_no_answer(recorded: Recorded) -> None:
    """A tab that was left open cannot answer a pause of yesterday."""
    with paused_run(["tool:refund"], going_on) as (run, seen):
        refund("A-17", 1)
        assert not answer_pause(run.path, seen[0]["pause_id"], {"do": "abort"})
        refund("A-17", 2)

    assert [one["payload"]["action"] for one in recorded.only().of_type("BREAK")] == ["continue", "continue"]


PROGRAM = """
import agentdbg

@agentdbg.tool
def refund(order):
    return {"ok": True}

def test_it():
    with agentdbg.traced_run("r"):
        agentdbg.breakpoint("here", n=1)
        print("made", refund("A-17"))

if __name__ == "__main__":
    test_it()
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", ["cron", "closed", "pipe", "pytest", "notebook"])
def test_nothing_waits_where_nobody_can_answer(place: str, tmp_path: Path, data_dir: Path) -> None:
    """Cron, closed streams, pipes, pytest -s and notebooks: the program goes on, and its log says so."""
    (tmp_path / "test_agent.py").write_text(PROGRAM)
    env = {**os.environ, "AGENTDBG_DATA_DIR": str(data_dir), "AGENTDBG_BREAK": "tool:refund", "CI": "1"}
    python = [sys.executable, "test_agent.py"]
    words = {
        "closed": ["sh", "-c", f"exec {sys.executable} test_agent.py <&-"],
        "pytest": [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "test_agent.py"],
        "notebook": [sys.executable, "-c", NOTEBOOK],
    }.get(place, python)
    stdin = {"cron": subprocess.DEVNULL, "pipe": subprocess.PIPE}.get(place)
    streams = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    # The pipe stays open and says nothing: whoever reads from it would wait for ever.
    with subprocess.Popen(words, cwd=tmp_path, env=env, text=True, **streams) as ran:  # type: ignore[call-overload]
        code, printed = ran.wait(120), ran.stdout.read()
    assert code == 0, printed
    assert "made {'ok': True}" in printed
    log = next((data_dir / "runs").iterdir()) / "events.jsonl"
    breaks = [event for event in map(json.loads, log.read_text().splitlines()) if event["event_type"] == "BREAK"]
    assert [(one["payload"]["by"], one["payload"]["action"]) for one in breaks] == [("nobody", "continue")] * 2


NOTEBOOK = """
import nbformat, nbclient
code = open("test_agent.py").read().replace('if __name__ == "__main__":', "if True:")
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
nbclient.NotebookClient(book, timeout=100).execute()
print("".join(one.get("text", "") for one in book.cells[0].outputs))
"""
