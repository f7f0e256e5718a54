"""
`make soak`: agents in chaos for a long time, one of them left alone; prints memory, descriptors and lost events.

    python -m tests.chaos.soak SECONDS [SEED]

Says what was wrong as soon as it is known, and keeps runs that are wrong in a folder that it names. Exits with 1 when
anything was wrong, or when memory or descriptors of the agent or the viewer kept growing.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.chaos.judging import Chaos, Reader, small_disk

_WAYS = ("kill", "left alone", "terminate", "interrupt")
_MOST_GROWTH = 1.5
_WARM = 0.3


def main(seconds: float, seed: int) -> int:
    keep = Path(tempfile.mkdtemp(prefix="agentdbg-soak-"))
    print(f"seed {seed}, {seconds:.0f} s; runs that are wrong are kept in {keep}")
    with tempfile.TemporaryDirectory() as folder, small_disk(Path(folder) / "disk") as disk:
        alone = Chaos(Path(folder) / "alone", seed, keep=keep)
        torn = Chaos((disk or Path(folder)) / "torn", seed + 1, disk=disk, keep=keep)
        reader = Reader(alone.data_dir)
        end, viewer = time.monotonic() + seconds, [reader.size()]
        # One lives all the time beside those that come and go.
        living = threading.Thread(target=alone.run_agent, args=(seconds, "left alone"))
        living.start()
        turn = told = 0
        while time.monotonic() < end:
            torn.run_agent(torn.dice.uniform(2, 10), _WAYS[turn % len(_WAYS)])
            turn += 1
            viewer.append(reader.size())
            print(
                f"{end - time.monotonic():6.0f} s left; agents {turn}, runs {torn.runs}, recorded {torn.recorded}, "
                f"no room for {torn.dropped}; viewer {viewer[-1][0] / 1e6:.0f} MB, {viewer[-1][1]} descriptors, "
                f"{reader.asked} requests; wrong: {len(torn.wrong + reader.wrong)}",
                flush=True,
            )
            print("".join(f"  {wrong}\n" for wrong in torn.wrong[told:]), end="", flush=True)
            told = len(torn.wrong)
        living.join()
        reader.end()
    wrong = alone.wrong + torn.wrong + reader.wrong
    wrong += _growth("agent", [size[1:] for size in alone.sizes]) + _growth("viewer", viewer)
    print(f"the agent left alone: {alone.runs} runs, {alone.recorded} events, {len(alone.sizes)} episodes")
    print(f"together {alone.recorded + torn.recorded} events told as recorded; wrong: {len(wrong)}")
    print("\n".join(wrong))
    return 1 if wrong else 0


def _growth(who: str, sizes: list[tuple[int, int]]) -> list[str]:
    """Whether memory or descriptors kept growing after the beginning."""
    warm = sizes[int(len(sizes) * _WARM) :]
    if len(warm) < 2:
        return []
    (memory, descriptors), (memory_now, descriptors_now) = warm[0], warm[-1]
    print(
        f"{who}: {memory / 1e6:.0f} MB and {descriptors} descriptors when warm, "
        f"{memory_now / 1e6:.0f} MB and {descriptors_now} at the end"
    )
    found = [f"{who}: memory grew"] if memory_now > memory * _MOST_GROWTH else []
    return [*found, f"{who}: descriptors grew"] if descriptors_now > descriptors + 5 else found


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6)))
