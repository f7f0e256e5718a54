"""Ids that a program draws, the clock and temporary folders are no difference where they come up in what it asks."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import random
import secrets
import subprocess
import sys
import tempfile
import time
import uuid
from collections import deque
from email.utils import formatdate
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import replay, tool, traced_run
from agentdbg.control.chance import Chance, Moment
from agentdbg.control.surroundings import begin_random
from agentdbg.exceptions import AgentDbgReplayDiverged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

ran: list[Any] = []
chance = random.SystemRandom()


@tool
def book(given: Any) -> dict[str, Any]:
    ran.append(given)
    time.sleep(chance.random() / 100)
    return {"given": given, "told": f"booked as {given}", "n": chance.randrange(10**9)}


def _record(program: Callable[[], Any]) -> tuple[Any, str]:
    with traced_run("program") as run:
        result = program()
    ran.clear()
    return result, run.run_id


def _again(program: Callable[[], Any], run_id: str) -> Any:
    with replay(run_id), traced_run("program"):
        result = program()
    assert not ran
    return result


DRAWN: dict[str, Callable[[], str]] = {
    "an id": lambda: str(uuid.uuid4()),
    "its digits": lambda: uuid.uuid4().hex,
    "the beginning of it": lambda: f"request-{uuid.uuid4().hex[:8]}",
    "the end of it": lambda: f"id_{str(uuid.uuid4())[-12:]}",
    "in capitals": lambda: f"{uuid.uuid4().hex.upper()}",
    "an id of the clock": lambda: str(uuid.uuid1()),
    "a token": lambda: secrets.token_hex(8),
    "a token for an address": lambda: secrets.token_urlsafe(12),
    "bytes": lambda: os.urandom(6).hex(),
    "a tool's id": lambda: f"call_{uuid.uuid4().hex}",
}


@pytest.mark.parametrize("name", DRAWN)
def test_an_id_that_the_program_draws_may_be_another_one(name: str) -> None:
    """It is sent, it comes back, it is sent again: what the program sees is its own."""

    def program() -> tuple[bool, bool, list[int]]:
        own = DRAWN[name]()
        found = [book(f"for {own}, please"), book({"id": own, "room": 7}), book([own])]
        found.append(book(f"again {found[0]['told']}"))
        return found[0]["given"] == f"for {own}, please", found[2]["given"] == [own], [one["n"] for one in found]

    live, run_id = _record(program)

    assert live[:2] == (True, True)
    assert [_again(program, run_id) for _ in range(3)] == [live] * 3


def test_an_id_that_was_written_down_is_no_chance() -> None:
    """Only what this process has drawn stands for another one."""
    given = [str(uuid.uuid4())]
    _, run_id = _record(lambda: book(given[0]))
    given[0] = str(uuid.uuid4())

    with pytest.raises(AgentDbgReplayDiverged) as caught:
        _again(lambda: book(given[0]), run_id)

    assert caught.value.divergence.to_json()["differences"][0]["now"] == given[0]


@pytest.fixture
def watching() -> Iterator[Chance]:
    noted = Chance()
    stop = noted.watch()
    yield noted
    stop()


def test_two_ids_that_were_told_apart_are_not_one(watching: Chance) -> None:
    """A program that gives two things one id does something else."""
    one, other = str(uuid.uuid4()), str(uuid.uuid4())
    recorded = [f"id {uuid.uuid5(uuid.NAMESPACE_URL, name)}" for name in ("a", "b")]

    assert not watching.is_same(recorded, [f"id {one}", f"id {one}"], None)
    assert watching.is_same(recorded, [f"id {one}", f"id {other}"], None)


def test_a_number_is_not_found_by_chance_among_many_ids(watching: Chance) -> None:
    """Six digits stand somewhere in what a long program has drawn."""
    last = ""
    for _ in range(500):
        last = uuid.uuid4().hex

    assert not watching.is_same("refund order 482913", f"refund order {last[5:11]}", None)
    assert watching.is_same("refund order 482913", f"refund order {last[:6]}", None)


class _DrawnFromMeanwhile(deque[str]):
    """Another thread draws while this is gone through."""

    def __iter__(self) -> Iterator[str]:
        known = list(super().__iter__())
        self.told.append(uuid.uuid4().hex)
        return iter(known)

    told: list[str]


def test_what_another_thread_draws_meanwhile_is_known(watching: Chance) -> None:
    """In a pool each worker draws its own ids, at any moment."""
    drawn = _DrawnFromMeanwhile(maxlen=100)
    drawn.told = []
    watching._drawn = drawn
    recorded = uuid.uuid5(uuid.NAMESPACE_URL, "a").hex

    assert not watching.is_same(recorded, "f" * 32, None)
    assert watching.is_same(recorded, drawn.told[0], None)


def test_the_address_of_a_crash_is_no_address_of_an_object() -> None:
    """Only what Python writes of an object is of this process."""
    assert Chance().is_same("<f object at 0x7f3b2c1d0a90>", "<f object at 0x7f3b2c1d0b10>", None)
    assert not Chance().is_same("it crashed at 0x401000, twice", "it crashed at 0x402000, twice", None)


@pytest.mark.parametrize("changed", ["the text around it", "one id for two", "two ids for one"])
def test_what_stands_around_an_id_is_as_strict_as_ever(changed: str) -> None:
    def program(is_changed: bool = False) -> None:
        first, second = str(uuid.uuid4()), str(uuid.uuid4())
        is_one = (changed == "two ids for one") != (is_changed and changed != "the text around it")
        word = "Book" if is_changed and changed == "the text around it" else "book"
        book(f"{word} {first}")
        book(f"then {first} and {first if is_one else second}")

    _, run_id = _record(program)

    _again(program, run_id)
    with pytest.raises(AgentDbgReplayDiverged):
        _again(lambda: program(True), run_id)


CLOCKS: dict[str, Callable[[], Any]] = {
    "to the microsecond": lambda: str(dt.datetime.now()),  # noqa: DTZ005 -- as most programs have it
    "in Greenwich": lambda: dt.datetime.now(tz=dt.timezone.utc).isoformat(),
    "as it is": lambda: dt.datetime.now(tz=dt.timezone.utc),
    "seconds": time.time,
    "milliseconds": lambda: int(time.time() * 1000),
    "in a text": lambda: f"it is {time.time()} now",
    "as people say it": lambda: f"{time.ctime()}",
    "time of day": lambda: f"at {time.strftime('%H:%M:%S')}, go",
    "half a day": lambda: time.strftime("%I:%M:%S %p"),
    "of a mail": lambda: formatdate(localtime=True),
    "for a log": lambda: time.strftime("%Y-%m-%d %H:%M:%S,123"),
}


@pytest.mark.parametrize("name", CLOCKS)
def test_a_reading_of_the_clock_may_be_a_little_off(name: str) -> None:
    """A replay starts at the recording's time, and is faster or slower by a moment."""
    pytest.importorskip("time_machine")

    def program(pause: float = 0.0) -> int:
        time.sleep(pause)
        first = book(CLOCKS[name]())["n"]
        return int(first + book(CLOCKS[name]())["n"])

    live, run_id = _record(lambda: program(0.04))
    time.sleep(1.1)

    assert [_again(program, run_id) for _ in range(3)] == [live] * 3


def test_another_time_is_a_difference() -> None:
    pytest.importorskip("time_machine")
    given = ["meet at 10:00:05 on 2024-03-05 10:00:05"]
    _, run_id = _record(lambda: book(given[0]))
    given[0] = "meet at 10:00:06 on 2024-03-05 10:00:05"

    with pytest.raises(AgentDbgReplayDiverged):
        _again(lambda: book(given[0]), run_id)


@pytest.mark.parametrize(
    ("recorded", "now", "is_same"),
    [
        ("2027-01-15T08:00:09.5+00:00", "2027-01-15T08:00:09.7+00:00", True),
        ("2027-01-15T08:00:09Z", "2027-01-15T08:00:29Z", False),  # further apart than the program had worked
        ("2027-01-14T08:00:09Z", "2027-01-14T08:00:09.5Z", False),  # a day before the run
        (1800000009.25, 1800000009.5, True),
        (1800000009250, 1800000009500, True),
        (1700000009.25, 1700000009.5, False),
        ("08:00:09", "8:00:10 AM", True),
        ("08:00", "08:01", True),
        ("02:00", "02:07", False),
        ("1800000009", "2027-01-15T08:00:09Z", True),
        ("12:34", "no", False),
        ("99:99", "99:98", False),
        (3, 4, False),
        (True, False, False),
        ("<f at 0x7f3b2c1d0a90>", "<f at 0x7f10ffeeddcc>", True),
        ("0x7f3b2c1d0a90", "0x7f10ffeeddcc", False),
        ({"a": "08:00:09"}, {"b": "08:00:09"}, False),
        (["08:00:09"], ["08:00:09", "08:00:09"], False),
    ],
)
def test_what_a_reading_of_the_clock_is(recorded: Any, now: Any, is_same: bool) -> None:
    known = Chance()
    known.has_recorded_clock = True

    assert known.is_same(recorded, now, Moment(1800000000.0, 1800000010.0, 0.5)) is is_same
    if is_same and "0x" not in str(recorded):
        assert not Chance().is_same(recorded, now, Moment(1800000000.0, 1800000010.0, 0.5))


def test_a_temporary_folder_may_be_another_one() -> None:
    """It is the replay's own; what comes back of the recorded one leads there."""

    def program() -> tuple[str, int]:
        with tempfile.TemporaryDirectory(prefix="agent-") as folder:
            path = os.path.join(folder, "notes", "a.txt")
            told = book({"folder": folder, "file": path})
            os.mkdir(os.path.dirname(told["given"]["file"]))
            with open(told["given"]["file"], "w") as file:
                file.write("x")
            with open(path) as file:
                held = file.read()
            return held, told["n"] + book(f"look into {path}: now")["n"]

    live, run_id = _record(program)

    assert [_again(program, run_id) for _ in range(2)] == [live] * 2


@pytest.mark.parametrize("form", ["{}", "worker-{} of 3", '{{"pid": {}}}', "/run/agent.{}.sock"])
def test_the_number_of_the_process_may_be_another_one(form: str, watching: Chance) -> None:
    """Each run has its own; any other number is what it is, also one that an id drawn meanwhile begins with."""
    moment, now = Moment(0.0, 0.0, 0.0, 31337), os.getpid()
    os.urandom(16)
    begins = watching._drawn[0][:2]

    assert watching.is_same(form.format(31337), form.format(now), moment)
    assert not watching.is_same(form.format(31337), form.format(now + 1), moment)
    assert not watching.is_same(form.format(31338), form.format(now), moment)
    assert not watching.is_same(form.format(31337), form.format(int(begins, 16)), moment)
    assert not watching.is_same(form.format(31337), form.format(begins), moment)
    assert watching.filled("31337 euros") == "31337 euros"
    assert watching.is_same({"pid": 31337}, {"pid": now}, moment)


def test_an_id_of_the_clock_takes_no_random_number_that_it_did_not_take() -> None:
    """The system makes it where it can; under the recorded clock Python does, with a number of `random`."""

    def program() -> Any:
        uuid.uuid1()
        return book(random.random())["n"]

    begin_random(7)
    live, run_id = _record(program)

    begin_random(7)
    assert _again(program, run_id) == live


def test_another_file_in_a_temporary_folder_is_a_difference() -> None:
    names = ["a.txt"]

    def program() -> None:
        with tempfile.TemporaryDirectory() as folder:
            book(os.path.join(folder, names[0]))

    _, run_id = _record(program)
    names[0] = "bees.txt"

    with pytest.raises(AgentDbgReplayDiverged):
        _again(program, run_id)


@pytest.fixture
def seeded() -> Iterator[Callable[[], None]]:
    state = random.getstate()
    yield lambda: begin_random(12345)
    random.setstate(state)
    from agentdbg.control.surroundings import _seeds

    _seeds.begin(None)


def test_generators_without_a_seed_follow_from_the_noted_one(seeded: Callable[[], None]) -> None:
    def draw() -> list[float]:
        seeded()
        made = [random.Random().random(), random.Random().random(), random.Random(7).random()]
        numpy = pytest.importorskip("numpy")
        return [*made, float(numpy.random.default_rng().random()), float(numpy.random.default_rng(3).random())]

    first, second = draw(), draw()

    assert first == second
    assert len(set(first)) == 5
    assert first[2] == random.Random(7).random()
    assert chance.random() != chance.random()


def test_a_child_of_the_process_draws_its_own(seeded: Callable[[], None]) -> None:
    """Two children with the same numbers would do the same work twice."""
    program = (
        "import os, random\n"
        "from agentdbg.control.surroundings import begin_random\n"
        "begin_random(7)\n"
        "for _ in range(2):\n"
        "    if os.fork() == 0:\n"
        "        print(random.Random().random(), flush=True)\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
    )
    if not hasattr(os, "fork"):
        pytest.skip("there are no such children here")
    drawn = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()

    assert len(set(drawn)) == 2


def test_a_timeout_that_struck_while_a_call_went_on_strikes_again() -> None:
    """A shielded call goes on behind the timeout, and ends after it."""

    @tool
    async def pay(pause: float) -> int:
        ran.append(pause)
        await asyncio.sleep(pause)
        return chance.randrange(10**9)

    async def main() -> list[Any]:
        payment = asyncio.ensure_future(pay(0.2))
        try:
            seen: list[Any] = [await asyncio.wait_for(asyncio.shield(payment), 0.05)]
        except asyncio.TimeoutError:
            seen = ["still paying"]
        seen.append(await asyncio.wait_for(pay(0.01), 20))
        return [*seen, await payment]

    live, run_id = _record(lambda: asyncio.run(main()))

    assert live[0] == "still paying"
    began = time.monotonic()
    assert [_again(lambda: asyncio.run(main()), run_id) for _ in range(3)] == [live] * 3
    assert time.monotonic() - began < 10


def test_values_of_pythons_own_classes_are_served() -> None:
    @tool
    def run(what: str) -> Any:
        ran.append(what)
        made = {
            "process": subprocess.CompletedProcess(["x"], 3, stdout=os.urandom(3).hex(), stderr=None),
            "slice": slice(1, chance.randrange(99), None),
            "fraction": Fraction(chance.randrange(99), 7),
        }
        return made[what]

    def program() -> str:
        return repr([run("process"), run("slice"), run("fraction")])

    live, run_id = _record(program)

    assert _again(program, run_id) == live
