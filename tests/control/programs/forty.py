"""Forty threads of forty tasks with equal arguments, three rounds each, random latencies, and a pool of forty."""

import asyncio
import os
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from agentdbg import tool, trace

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
TASKS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
LATENCY = float(os.environ.get("LATENCY", "0.02"))
latencies = random.SystemRandom()


@tool
async def look(question: str) -> str:
    await asyncio.sleep(latencies.random() * LATENCY)
    return os.urandom(6).hex()


@tool
def dig(question: str) -> str:
    time.sleep(latencies.random() * LATENCY)
    return os.urandom(6).hex()


def thread(results: dict[int, list[str]], number: int) -> None:
    async def agent() -> str:
        found = "start"
        for _ in range(3):
            found += await look("the same")
        return found

    async def main() -> None:
        results[number] = list(await asyncio.gather(*(agent() for _ in range(TASKS))))

    asyncio.run(main())


@trace
def main() -> None:
    results: dict[int, list[str]] = {}
    threads = [threading.Thread(target=thread, args=(results, number)) for number in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    with ThreadPoolExecutor(16) as pool:
        results[-1] = list(pool.map(dig, ["the same"] * 40))
    print(sorted(results.items()))


main()
