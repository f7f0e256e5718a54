"""Replaying in one process: the right result to the right caller, and what differs named exactly."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import os
import queue
import random
import threading
import time
import uuid
from concurrent import futures
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, as_completed, wait
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from agentdbg import llm, replay, tool, tool_call, traced_run
from agentdbg.control.plan import ReplayPlan
from agentdbg.control.surroundings import missing_keys, stand_in_for_keys
from agentdbg.exceptions import AgentDbgReplayDiverged
from agentdbg.storage import list_runs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterator

    from tests.conftest import Recorded

pytestmark = pytest.mark.slow

ran: list[Any] = []
"""Every body that was really executed."""
nap = random.SystemRandom()


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool
def look(what: Any) -> str:
    ran.append(what)
    time.sleep(nap.random() / 200)
    return os.urandom(4).hex()


DELAYS = [0.01, 0.07, 0.13]  # so far apart that a busy machine does not make one moment of them
delays: list[float] = []


@tool
async def slowly(what: Any) -> str:
    ran.append(what)
    await asyncio.sleep(delays.pop())
    return os.urandom(4).hex()


@tool
async def alook(what: Any) -> str:
    ran.append(what)
    await asyncio.sleep(nap.random() / 200)
    return os.urandom(4).hex()


def record(program: Callable[[], Any], name: str = "program") -> tuple[Any, str]:
    with traced_run(name) as run:
        result = program()
    ran.clear()
    return result, run.run_id


def again(program: Callable[[], Any], run_id: str, **options: Any) -> Any:
    with replay(run_id, **options) as replayed, traced_run("program"):
        result = program()
    assert replayed.live == 0
    assert not ran
    return result


def steps(recorded: Recorded, run_id: str) -> list[tuple[Any, ...]]:
    """The events of a run, line by line, without ids, times and what says that they were served."""
    run = next(run for run in recorded.all() if run.path.name == run_id)
    return [
        (event["event_type"], event["name"], event["payload"].get("args"), event["payload"].get("result"))
        for event in run.events
        if event["event_type"] != "CALL_START"
    ]


def test_a_replay_gives_the_recorded_results_and_runs_nothing(recorded: Recorded) -> None:
    """The promise in one test."""

    def program() -> list[str]:
        return [look(n) for n in range(3)]

    live, run_id = record(program)

    assert again(program, run_id) == live
    first, second = (run.path.name for run in recorded.all())
    assert steps(recorded, first) == steps(recorded, second)


def _gathered() -> list[str]:
    async def main() -> list[str]:
        return list(await asyncio.gather(*(alook("same") for _ in range(20))))

    return asyncio.run(main())


def _as_completed() -> list[str]:
    async def main() -> list[str]:
        return [await first for first in asyncio.as_completed([alook(n % 3) for n in range(12)])]

    return asyncio.run(main())


def _first_of_three() -> list[str]:
    async def main() -> list[str]:
        winners = []
        for _ in range(3):
            delays[:] = nap.sample(DELAYS, 3)
            tasks = {asyncio.ensure_future(slowly(n)) for n in range(3)}
            done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            winners += sorted(task.result() for task in done)
            winners += sorted(await asyncio.gather(*pending))
        return winners

    return asyncio.run(main())


def _queue() -> list[str]:
    found: queue.Queue[str] = queue.Queue()

    def worker(number: int) -> None:
        for _ in range(3):
            found.put(look(f"w{number % 2}"))

    threads = [threading.Thread(target=worker, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    answers = []
    for _ in range(12):
        answer = found.get()
        answers.append(look(answer))
    for thread in threads:
        thread.join()
    return answers


def _pools() -> list[str]:
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(look, "same") for _ in range(12)]
        answers = [look(job.result()) for job in as_completed(jobs)]
        racing = [pool.submit(look, n) for n in range(3)]
        first = wait(racing, return_when=FIRST_COMPLETED).done
        answers.append(look(sorted(job.result() for job in first)))
    return answers


def _agents_without_calls_of_their_own() -> list[str]:
    async def agent(name: str) -> list[str]:
        return list(await asyncio.gather(alook(name), alook(name)))

    async def main() -> list[str]:
        tasks = {asyncio.ensure_future(agent(name)) for name in "abcdef"}
        done, _ = await asyncio.wait(tasks)
        return sorted(answer for task in done for answer in task.result())

    return asyncio.run(main())


def _as_completed_a_few_at_a_time() -> list[Any]:
    async def agent(number: int, few: asyncio.Semaphore) -> tuple[int, str]:
        async with few:
            return number, await alook("same")

    async def main() -> list[Any]:
        few = asyncio.Semaphore(3)
        return [await first for first in asyncio.as_completed([agent(number, few) for number in range(12)])]

    return asyncio.run(main())


def _done_as_the_set_has_them() -> list[Any]:
    async def main() -> list[Any]:
        done, _ = await asyncio.wait([asyncio.ensure_future(alook(n)) for n in range(12)])
        found = [task.result() for task in done]
        pending = {asyncio.ensure_future(alook(n)) for n in range(6)}
        for number in range(20):
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            found.append(await alook([task.result() for task in done]))
            pending |= {asyncio.ensure_future(alook(number)) for _ in done}
        return [*found, *await asyncio.gather(*pending)]

    with ThreadPoolExecutor(4) as pool:
        jobs = wait([pool.submit(look, n) for n in range(12)])
    return [look([job.result() for job in jobs.done]), *asyncio.run(main())]


@pytest.mark.parametrize(
    "program",
    [
        _gathered,
        _as_completed,
        _as_completed_a_few_at_a_time,
        _done_as_the_set_has_them,
        _first_of_three,
        _queue,
        _pools,
        _agents_without_calls_of_their_own,
    ],
)
def test_who_was_first_is_first_again(program: Callable[[], Any], recorded: Recorded) -> None:
    """A program that acts on the first answer must get the same first answer, so the order is replayed too."""
    live, run_id = record(program)
    for _ in range(3):
        assert again(program, run_id) == live

    first, *others = (run.path.name for run in recorded.all())
    for other in others:
        assert steps(recorded, first) == steps(recorded, other)


@dataclasses.dataclass
class Order:
    number: int
    total: Decimal
    tags: tuple[str, ...] = ()


class OutOfStock(Exception):
    def __init__(self, item: str, left: int) -> None:
        super().__init__(f"{item}: {left} left")
        self.item = item
        self.left = left


@tool
def order(number: int) -> Order:
    ran.append(number)
    return Order(number, Decimal("9.90"), ("a", "b"))


@tool
def fail(item: str) -> None:
    ran.append(item)
    raise OutOfStock(item, 2)


@tool
def count(to: int) -> Iterator[int]:
    ran.append(to)
    yield from range(to)
    return


@llm(model="m")
async def words(prompt: str) -> AsyncIterator[str]:
    ran.append(prompt)
    for word in prompt.split():
        yield word
    raise ValueError("cut off")


async def _read() -> list[str]:
    heard: list[str] = []
    try:
        async for word in words("one two three"):
            heard += [word]
    except ValueError as error:
        heard.append(str(error))
    return heard


@tool
def tally(first: int) -> Generator[Any, Any, None]:
    """What it gives depends on what it is sent, and it deals with one error of two."""
    ran.append(first)
    total = first
    try:
        while True:
            try:
                total += (yield total) or 1
            except LookupError as error:
                yield f"no {error}"
    except ValueError as error:
        raise OutOfStock("tally", total) from error


def _sent_and_thrown() -> list[Any]:
    counter: Any = tally(1)
    heard = [next(counter), counter.send(5), counter.throw(KeyError("shoe")), next(counter)]
    for error in (ValueError("bad"), TypeError("worse")):
        other: Any = tally(next(counter))
        next(other)
        try:
            other.throw(error)
        except (OutOfStock, TypeError) as raised:
            heard.append((str(raised), raised is error))
    return heard


@tool
def gives_up(kind: type[BaseException]) -> str:
    ran.append(kind)
    raise kind


@tool
async def gives_up_itself() -> str:
    ran.append("itself")
    inner = asyncio.ensure_future(asyncio.sleep(60))
    inner.cancel()
    await inner
    return "never"


def _cancelled_from_within() -> list[str]:
    async def awaited() -> str:
        try:
            return await gives_up_itself()
        except asyncio.CancelledError:
            return "cancelled"

    heard = [asyncio.run(awaited())]
    for kind in (asyncio.CancelledError, futures.CancelledError):
        try:
            gives_up(kind)
        except BaseException as error:
            heard.append(type(error).__module__)
    return heard


def _some() -> list[Any]:
    seen = []
    for number in count(10):
        seen.append((number, look(number)))
        if number == 2:
            break
    return seen


def _failure() -> Any:
    try:
        fail("shoe")
    except OutOfStock as error:
        return error.item, error.left, str(error)


def _at_three_strokes() -> list[int]:
    """Eight calls end in one round of the loop, eight two rounds later, and so on; half are heard of later."""
    order: list[int] = []

    async def main() -> None:
        strokes = [asyncio.Event() for _ in range(3)]

        @tool
        async def hear(n: int) -> int:
            ran.append(n)
            await strokes[n % 3].wait()
            return n

        async def listen(n: int) -> None:
            heard = await hear(n)
            for _ in range(3 * (n % 2)):
                await asyncio.sleep(0)
            order.append(heard)

        async def strike() -> None:
            for stroke in strokes:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                stroke.set()

        await asyncio.gather(*map(listen, range(24)), strike())

    asyncio.run(main())
    return order


def test_calls_that_ended_in_one_round_of_the_loop_do_so_again() -> None:
    """Who runs next depends on how far apart two ends are, and not on their order alone."""
    live, run_id = record(_at_three_strokes)

    for _ in range(3):
        assert again(_at_three_strokes, run_id) == live


def test_every_kind_of_function_is_served_as_what_it_is() -> None:
    """Generators, closed generators, exceptions with fields of their own, objects."""

    def program() -> Any:
        return order(7), _failure(), _some(), list(count(3)), asyncio.run(_read())

    live, run_id = record(program)

    assert again(program, run_id) == live


@pytest.mark.parametrize("program", [_sent_and_thrown, _cancelled_from_within])
def test_what_is_said_to_a_call_while_it_goes_on_has_its_effect_again(program: Callable[[], Any]) -> None:
    """Values and errors go into generators, and a call may be cancelled by nobody but itself."""
    live, run_id = record(program)

    assert again(program, run_id) == live


def test_a_list_that_a_tool_changed_is_changed_again() -> None:
    """A tool that appends to the list it was given would otherwise leave it as it was."""

    @tool
    def add(basket: list[str], item: str) -> int:
        basket.append(item + os.urandom(2).hex())
        return len(basket)

    def program() -> list[str]:
        basket: list[str] = []
        add(basket, "a")
        add(basket, "b")
        return basket

    live, run_id = record(program)

    assert again(program, run_id) == live


@tool
def pieces(many: int) -> Iterator[dict[str, Any]]:
    ran.append("pieces")
    for number in range(many):
        yield {"number": number, "drawn": nap.random()}


@tool
def enrich(piece: dict[str, Any]) -> int:
    ran.append("enrich")
    piece["more"] = nap.randrange(1_000)
    return len(piece)


def test_what_a_generator_gave_is_what_it_was_when_it_gave_it() -> None:
    """A pipeline adds to each piece as it passes; the next step was then given what it had made itself."""

    def program() -> Any:
        return [(enrich(piece), piece) for piece in pieces(3)]

    live, run_id = record(program)

    assert again(program, run_id) == live


@dataclasses.dataclass
class Line:
    sku: str
    price: Decimal = Decimal(0)


@dataclasses.dataclass
class Basket:
    lines: list[Line] = dataclasses.field(default_factory=list)
    seen: set[str] = dataclasses.field(default_factory=set)
    lock: Any = dataclasses.field(default_factory=threading.Lock)
    """Something that no tape can have; it stays what it is."""


class Customer(BaseModel):
    name: str
    tags: set[str] = set()


@tool
def fill(basket: Basket, customer: Customer, by_key: dict[int, Line], left: collections.deque[str]) -> str:
    ran.append("fill")
    added = Line(left.popleft(), Decimal(nap.randrange(1000)) / 100)
    basket.lines.append(added)
    basket.lines[0].price += 1
    basket.seen.add(added.sku)
    customer.tags |= {f"bought {added.sku}"}
    customer.name = customer.name.upper()
    by_key[7].sku += "!"
    return added.sku


def test_an_object_that_a_tool_changed_is_changed_again() -> None:
    """Agents pass their state around; what holds a part of it sees the change too."""

    def program() -> Any:
        first, lock = Line("first"), threading.Lock()
        basket, customer, line = Basket([first], lock=lock), Customer(name="zoe"), Line("seven")
        left = collections.deque(["a", "b", "c"])
        told = [fill(basket, customer, {7: line}, left) for _ in range(2)]
        assert basket.lock is lock
        assert basket.lines[0] is first
        return told, basket.lines, first, basket.seen, customer, line, left

    live, run_id = record(program)

    assert again(program, run_id) == live


def test_what_cannot_be_stored_is_run_again_and_its_inside_is_served() -> None:
    """A tool that returns a connection has to run; what it asks of others has not."""

    class Handle:
        def __init__(self, answer: str) -> None:
            self.answer = answer

    opened: list[str] = []

    @tool
    def open_handle(name: str) -> Handle:
        opened.append(name)
        return Handle(look(name))

    def program() -> str:
        return open_handle("db").answer

    live, run_id = record(program)

    assert again(program, run_id) == live
    assert opened == ["db", "db"]


def test_a_result_that_cannot_be_served_stops_the_replay() -> None:
    """A guess would be worse than a stop."""

    @tool
    def open_handle(name: str) -> object:
        ran.append(name)
        return object()

    _, run_id = record(lambda: open_handle("db"))

    with pytest.raises(AgentDbgReplayDiverged) as stopped:
        again(lambda: open_handle("db"), run_id)
    assert stopped.value.divergence.kind_of == "unservable"
    assert not ran


def test_a_tool_that_is_declared_to_run_runs() -> None:
    """A scratchpad lives in the program's own memory, so it has to be written again."""
    pad: list[str] = []

    @tool(replay="run")
    def note(text: str) -> int:
        pad.append(text)
        return len(pad)

    def program() -> list[str]:
        pad.clear()
        note("x")
        look("y")
        return list(pad)

    live, run_id = record(program)

    assert again(program, run_id) == live == ["x"]


# What is different.

WORDS = ["zero", "one", "two", "three", "four", "five"]


def _say(words: list[str]) -> Callable[[], None]:
    def program() -> None:
        for word in words:
            look(word)

    return program


@pytest.mark.parametrize("k", range(len(WORDS)))
@pytest.mark.parametrize("change", ["character", "dropped", "added", "swapped"])
def test_the_first_difference_is_named_exactly(change: str, k: int) -> None:
    """Class, number, path, how many were equal; and nothing runs."""
    _, run_id = record(_say(WORDS))
    words = list(WORDS)
    if change == "character":
        words[k] += "!"
    elif change == "dropped":
        del words[k]
    elif change == "added":
        words.insert(k, "new")
    elif k + 1 < len(words):
        words[k], words[k + 1] = words[k + 1], words[k]
    else:
        words[0], words[k] = words[k], words[0]

    with pytest.raises(AgentDbgReplayDiverged) as caught:
        again(_say(words), run_id)

    found = caught.value.divergence
    expected = {"character": "changed", "dropped": "missing", "added": "changed", "swapped": "moved"}
    assert found.kind_of == expected[change]
    assert found.number == (1 if change == "swapped" and k == 5 else k + 1)
    if change == "character":
        assert found.to_json()["differences"] == [{"path": "args.what", "recorded": WORDS[k], "now": WORDS[k] + "!"}]
    if change != "swapped":
        assert found.equal_before == k
    assert not ran


def test_a_call_that_the_recording_does_not_have_is_extra() -> None:
    """At the end of the recording nothing is left that it could be a change of."""
    _, run_id = record(_say(WORDS))

    with pytest.raises(AgentDbgReplayDiverged) as caught:
        again(_say([*WORDS, "six"]), run_id)

    assert caught.value.divergence.kind_of == "extra"
    assert not ran


def test_a_program_that_swallows_the_stop_gets_no_further() -> None:
    """Frameworks catch everything; nothing may be executed after the difference all the same."""
    _, run_id = record(_say(WORDS))

    def program() -> None:
        for word in ["zero", "changed", "two"]:
            with contextlib.suppress(Exception):
                look(word)

    with pytest.raises(AgentDbgReplayDiverged) as caught:
        again(program, run_id)

    assert caught.value.divergence.number == 2
    assert not ran


def test_a_missing_thread_is_missing_and_nobody_waits_long() -> None:
    """A call that never comes must not hold all others for ever."""

    def program(threads: int) -> None:
        started = [threading.Thread(target=look, args=(n,)) for n in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
        look("end")

    _, run_id = record(lambda: program(3))
    began = time.monotonic()

    with pytest.raises(AgentDbgReplayDiverged) as caught:
        again(lambda: program(2), run_id)

    assert caught.value.divergence.kind_of == "missing"
    assert time.monotonic() - began < 5


def test_ignored_parts_of_inputs_may_differ() -> None:
    """A request id in a prompt is no difference."""

    def program(tag: str) -> Callable[[], str]:
        return lambda: look({"q": "oslo", "id": tag, "at": f"at {tag} o'clock"})

    live, run_id = record(program("2026-01-01"))

    with pytest.raises(AgentDbgReplayDiverged):
        again(program("2027-12-24"), run_id)
    both = ["tool:look args.what.id", "tool:look args.what.at date"]
    assert again(program("2027-12-24"), run_id, ignore=both) == live


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (lambda price: Line("x", Decimal(price)), "args.what.price"),
        (lambda price: {"lines": [Customer(name=price)]}, "args.what.lines[0].name"),
        (lambda price: ("x", price), "args.what[1]"),
    ],
)
def test_a_path_leads_into_objects_as_one_types_it(given: Callable[[str], Any], path: str) -> None:
    """Nobody writes down how a tape stores a dataclass."""
    live, run_id = record(lambda: look(given("1")))

    with pytest.raises(AgentDbgReplayDiverged) as told:
        again(lambda: look(given("2")), run_id)

    assert [difference.path for difference in told.value.divergence.differences] == [path]
    assert again(lambda: look(given("2")), run_id, ignore=[f"tool:look {path}"]) == live


def test_a_secret_may_be_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are rotated, and a colleague has his own; the recording has neither."""

    @tool
    def sign_in(api_key: str) -> dict[str, str]:
        return {"echo": f"signed with {api_key}"}

    old, new = "sk-proj-" + "a1B2" * 10, "sk-proj-" + "c3D4" * 10
    _, run_id = record(lambda: sign_in(old))

    assert again(lambda: sign_in(new), run_id) == {"echo": f"signed with {new}"}


def test_sleeps_take_no_time() -> None:
    """A replay is free; waiting for nothing would not be."""

    def program() -> None:
        time.sleep(0.06)
        asyncio.run(asyncio.sleep(0.06))
        look(1)

    _, run_id = record(program)
    slept: list[float] = []

    def slow() -> None:
        time.sleep(30)
        asyncio.run(asyncio.sleep(30))
        look(1)

    began = time.monotonic()
    again(slow, run_id)
    slept.append(time.monotonic() - began)

    assert slept[0] < 10


def test_the_clock_shows_the_time_of_the_recording() -> None:
    """A date in a prompt is the most usual reason for a different prompt."""
    pytest.importorskip("time_machine")
    import datetime as dt

    def program() -> str:
        look(dt.datetime.now(tz=dt.timezone.utc).strftime("%Y-%m-%d %H:%M"))
        return dt.datetime.now(tz=dt.timezone.utc).strftime("%Y-%m-%d %H")

    live, run_id = record(program)
    time.sleep(1.1)

    assert again(program, run_id) == live


def test_mocks_answer_before_the_recording() -> None:
    """What if the tool had said something else?"""
    _, run_id = record(lambda: look(1))

    with replay(run_id, mocks={"look": "mocked"}) as replayed, traced_run("program"):
        assert look("anything") == "mocked"
    assert replayed.report()["calls"]["mock"] == 1


def test_a_block_can_ask_whether_it_is_served() -> None:
    """Python cannot skip a block, so the block has to."""

    def program() -> Any:
        with tool_call("fetch", {"n": 1}) as call:
            if not call.served:
                ran.append(1)
                call.result = os.urandom(3).hex()
        return call.result

    live, run_id = record(program)

    assert again(program, run_id) == live


def test_a_key_that_is_missing_is_stood_in_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients want a key when they are made; a colleague and a CI job have none."""
    monkeypatch.setenv("SOME_PROVIDER_API_KEY", "not a real key")
    os.environ[f"ANY_{uuid.uuid4().hex}"] = ""  # what is known of the environment is looked up anew
    _, run_id = record(lambda: look(os.environ["SOME_PROVIDER_API_KEY"] != ""))
    monkeypatch.delenv("SOME_PROVIDER_API_KEY")

    with replay(run_id) as replayed, traced_run("program"):
        look(os.environ["SOME_PROVIDER_API_KEY"] != "")

    assert "SOME_PROVIDER_API_KEY" in replayed.report()["missing_keys"]
    assert "SOME_PROVIDER_API_KEY" not in os.environ


def test_a_tape_may_name_keys_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tape from elsewhere may hold any names; what is set to nothing is that again."""
    monkeypatch.setenv("EMPTY_API_KEY", "")
    named = ["", "A=B_KEY", "NUL\0_KEY", "KEY\n", "PATH_OF_MINE", 7, "9_KEY", "X" * 1000 + "_KEY", "EMPTY_API_KEY"]
    missing = missing_keys([*named, *(f"K{n}_KEY" for n in range(1000))], [])

    assert "EMPTY_API_KEY" in missing
    assert "K0_KEY" in missing
    assert len(missing) == 1 + 50 - len(named)
    restore = stand_in_for_keys(missing)
    assert os.environ["EMPTY_API_KEY"]
    restore()
    assert os.environ["EMPTY_API_KEY"] == ""
    assert "K0_KEY" not in os.environ


def test_nothing_stands_for_a_key_where_calls_go_live(monkeypatch: pytest.MonkeyPatch) -> None:
    """What loads a program's keys leaves alone what is set already, so the live call would go out with no key."""
    monkeypatch.setenv("OTHER_PROVIDER_API_KEY", "not a real key")
    os.environ[f"ANY_{uuid.uuid4().hex}"] = ""
    _, run_id = record(lambda: look(1))
    monkeypatch.delenv("OTHER_PROVIDER_API_KEY")

    with replay(run_id, on_divergence="live") as replayed, traced_run("program"):
        assert "OTHER_PROVIDER_API_KEY" not in os.environ
        look(1)

    assert "OTHER_PROVIDER_API_KEY" in replayed.report()["missing_keys"]


@pytest.mark.usefixtures("swallow_faults")
def test_a_call_that_cannot_be_judged_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours must not let a refund through that nobody asked for."""

    def program() -> None:
        with traced_run("r"):
            look("x")

    program()
    ran.clear()
    run_id = next(iter(list_runs()))["run_id"]
    monkeypatch.setattr(ReplayPlan, "step", lambda *_: 1 / 0)

    with pytest.raises(RuntimeError, match="look was not made: it could not be judged"), replay(run_id):
        program()
    assert ran == []
