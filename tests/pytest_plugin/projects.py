"""Temporary projects with a small agent, and pytest run on them as a user would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

AGENT = """
from agentdbg import record_llm_call, tool, trace


@tool
def find_order(order_id):
    return {"order_id": order_id, "paid": 40}


@tool(effect="write")
def refund(order_id, amount):
    return {"refunded": amount}


@trace
def run_agent(amount=40, tokens=100):
    usage = {"prompt_tokens": tokens, "completion_tokens": 10}
    record_llm_call("gpt-4o", prompt="money back", response="I look it up.", usage=usage)
    find_order("A-17")
    refund("A-17", amount)
    record_llm_call("gpt-4o", prompt="money back", response="You get 40 back.", usage=usage)
"""
SETTINGS = """
[pytest]
filterwarnings = error
addopts = --strict-markers --strict-config -p no:cacheprovider -p pytest_agentdbg
"""
XDIST = ("-p", "xdist", "-n", "2")
ASYNC = (
    *("-p", "pytest_asyncio.plugin", "-p", "anyio.pytest_plugin"),
    *("-o", "asyncio_mode=strict", "-o", "asyncio_default_fixture_loop_scope=function"),
)


@dataclass
class Session:
    """What pytest printed and how it ended."""

    code: int
    out: str

    @property
    def outcomes(self) -> dict[str, int]:
        """`{"passed": 2, "failed": 1}`."""
        last = self.out.strip().splitlines()[-1]
        return {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error|skipped|xfailed)", last)}


class Project:
    """A folder with an agent; `test` writes its tests, `run` runs them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "agent.py").write_text(AGENT)
        (folder / "pytest.ini").write_text(SETTINGS)

    def test(self, source: str) -> None:
        (self.folder / "test_agent.py").write_text(f"import pytest\nfrom agent import *\n{source}")

    def run(self, *arguments: str, **environment: str) -> Session:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *arguments],
            cwd=self.folder,
            # Loading every plugin of the environment would take most of the time; one test looks at that.
            env={
                **os.environ,
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return Session(done.returncode, done.stdout)
