"""Sleeps take no time in a replay, and end in the order in which they would have ended."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.control.sleeping import skip_sleep

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _skipped() -> Iterator[None]:
    restore = skip_sleep()
    yield
    restore()


told: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_told() -> None:
    told.clear()


async def _say(delay: float, what: Any) -> None:
    await asyncio.sleep(delay)
    told.append(what)


def test_who_sleeps_shorter_wakes_first() -> None:
    """They began in another order; a program that prints as it goes would print another thing."""

    async def main() -> None:
        await asyncio.gather(_say(4_000, "late"), _say(1_000, "early"), _say(2_500, "middle"))

    began = time.monotonic()
    asyncio.run(main())

    assert told == ["early", "middle", "late"]
    assert time.monotonic() - began < 900


def test_who_sleeps_again_is_in_time() -> None:
    """Retries that wait longer each time, beside each other."""

    async def retry(name: str, first: float) -> None:
        for number in range(3):
            await _say(first * 2**number, f"{name}{number}")

    async def main() -> None:
        await asyncio.gather(retry("a", 7), retry("b", 10), retry("c", 4))

    asyncio.run(main())

    # a: 7, 21, 49; b: 10, 30, 70; c: 4, 12, 28
    assert told == ["c0", "a0", "b0", "c1", "a1", "c2", "b1", "a2", "b2"]


def test_what_beats_beside_a_long_sleep_beats_as_often() -> None:
    """A task that shows that the agent is alive."""

    async def beat() -> None:
        while True:
            await _say(3, "beat")

    async def main() -> None:
        beating = asyncio.create_task(beat())
        await asyncio.sleep(10)
        beating.cancel()

    asyncio.run(main())

    assert told == ["beat"] * 3


def test_a_timeout_strikes_before_a_longer_sleep() -> None:
    """The one thing for which time has to pass."""

    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(_say(60, "slept"), 0.1)
        await asyncio.wait_for(_say(10, "in time"), 60)

    asyncio.run(main())

    assert told == ["in time"]


def test_a_timeout_strikes_in_the_middle_of_several_sleeps() -> None:
    """Each of them is shorter than the timeout, and all of them are not."""

    async def sleeps() -> None:
        for number in range(50):
            await _say(0.06, number)

    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(sleeps(), 0.5)

    asyncio.run(main())

    assert told == list(range(len(told)))
    assert len(told) <= 8


def test_one_who_is_cancelled_holds_nobody_up() -> None:
    """What would have woken first never wakes."""

    async def main() -> None:
        first = asyncio.create_task(_say(1, "cancelled"))
        second = asyncio.create_task(_say(20, "slept"))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first, second])
        assert await asyncio.sleep(9, "given") == "given"

    asyncio.run(main())

    assert told == ["slept"]
