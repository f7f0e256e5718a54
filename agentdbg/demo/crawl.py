"""
The agent that is still running when you look: it reads pages in a process of its own and ends by itself.

    python -m agentdbg.demo.crawl SECONDS
"""

from __future__ import annotations

import sys
import time

from agentdbg import record_state, tool, traced_run
from agentdbg.demo.model import Conversation, calling

__all__ = ["crawl"]


@tool
def fetch(url: str, seconds: float) -> str:
    """Slow on purpose, so that there is something to watch."""
    time.sleep(seconds)
    return f"The page at {url} lists {len(url) * 7 % 23 + 3} lamps."


def crawl(seconds: float) -> int:
    """Read one page after another for about so many seconds; gives the number of pages."""
    page, spent = 0, 0.0  # no clock decides when it ends: a replay is quicker, and has to do the same
    with traced_run("demo: crawl a catalogue"):
        talk = Conversation("You note how many lamps each page of a catalogue lists.", pace=8)
        talk.user("Go through the catalogue and tell me how many lamps there are.")
        while spent < seconds:
            page += 1
            url = f"https://lamps.example/catalogue?page={page}"
            talk.answer(calling("fetch", url=url))
            takes = round(min(2.5, 0.8 + page * 0.2), 1)
            talk.tool_result(fetch(url, takes))
            spent += takes + 0.4
            record_state({"pages": page, "latest": url})
        talk.answer(f"I went through {page} pages of the catalogue.")
    return page


if __name__ == "__main__":
    crawl(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
