"""Answers that a program never reads to their end: they are on the tape as far as they came, and are served again."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from agentdbg import llm, replay, traced_run
from agentdbg.integrations import http
from examples.fake_openai_server import FakeServer

pytestmark = pytest.mark.slow

kept: list[Any] = []
"""What the program holds on to: nothing of it is collected before its run is over."""


@llm(model="m")
def settle(text: str) -> str:
    return text


def test_an_answer_that_is_still_open_when_the_run_ends_is_served() -> None:
    """Some clients stop reading at the word that ends the answer, and keep the connection."""
    http.enable()
    address: list[str] = []

    def program() -> list[str]:
        client = httpx2.Client()
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
        block = client.stream("POST", f"{address[0]}/chat/completions", json=body)
        lines = block.__enter__().iter_lines()
        kept.extend((client, block, lines))
        return [next(lines) for _ in range(3)] + [settle("done")]

    with FakeServer() as server:
        address.append(server.openai_url)
        with traced_run("program") as run:
            live = program()
        asked = len(server.requests)

    with replay(run.run_id) as replayed, traced_run("program"):
        again = program()
    for client, block, _ in zip(*[iter(kept)] * 3, strict=True):
        block.__exit__(None, None, None)
        client.close()

    assert asked == 1
    assert again == live
    assert (replayed.live, replayed.equal) == (0, True)
