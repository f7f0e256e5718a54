"""`agentdbg demo`: a few small agents to look at."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg import AgentDbgGuardrailExceeded
from agentdbg.analysis.run_columns import MemoryColumns
from agentdbg.analysis.stats import Tally
from agentdbg.analysis.verdict import judge
from agentdbg.commands.options import Option
from agentdbg.commands.row_lines import print_verdict
from agentdbg.commands.terminal import Styled, Terminal
from agentdbg.commands.view import open_viewer
from agentdbg.config import load_config
from agentdbg.demo import agents
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import UsageError
from agentdbg.storage.layout import check_data_dir
from agentdbg.storage.reader import load_events, load_run_meta, run_ids

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentdbg.events import RunMeta

EXAMPLES = """
agentdbg demo
agentdbg demo --no-view
agentdbg demo --no-view --json
"""

_STARTS_WITHIN_S = 10.0


def command(
    no_view: Annotated[bool, Option("--no-view", help="Only record, do not open the viewer.")] = False,
    live_seconds: Annotated[
        int, Option("--live-seconds", metavar="N", help="How long the running agent goes on; 0: none.", at_least=0)
    ] = 60,
    as_json: Annotated[bool, Option("--json", help="Print the recorded runs as JSON.")] = False,
) -> None:
    """
    Record a few small agents and open the viewer: one healthy, one that fails, one that loops, one with parallel work,
    one still running. No key and no network is needed.
    """
    config = load_config()
    check_data_dir(config.data_dir)
    if not config.enabled:
        raise UsageError(f"recording is off ({config.sources.get('enabled')}), so there would be nothing to look at")
    out = Terminal()
    if not as_json:
        count = "five" if live_seconds else "four"
        out.sentence(Styled(f"Recording {count} small agents into {config.data_dir} …", "muted"))
        out.flush()
    before = set(run_ids(config.data_dir))
    _record(config.data_dir, live_seconds)
    new = set(run_ids(config.data_dir)) - before
    recorded = sorted((load_run_meta(run_id, config.data_dir) for run_id in new), key=lambda run: run["started_at"])
    if as_json:
        out.json({"spec_version": SPEC_VERSION, "runs": recorded})
    else:
        for run in recorded:
            out.line()
            _print_verdict(out, run, config.data_dir)
    if no_view or as_json or not out.is_terminal:
        if not as_json:
            out.line()
            out.sentence("`agentdbg view` opens them in the browser.")
        return
    out.line()
    looping = next((run["run_id"] for run in recorded if run["counts"]["loop_warnings"]), None)
    open_viewer(config, looping)


def _record(data_dir: Path, live_seconds: int) -> None:
    done: list[Callable[[], Any]] = [agents.refund_order, agents.read_invoice, agents.book_flight, agents.research]
    for agent in done:
        # Two of them fail on purpose, and a guardrail from the settings may stop any of them.
        with contextlib.suppress(KeyError, AgentDbgGuardrailExceeded):
            agent()
    if live_seconds:
        _start_crawl(data_dir, live_seconds)


def _start_crawl(data_dir: Path, seconds: int) -> None:
    """Start the agent that is still running when the others are looked at; it ends by itself."""
    before = set(run_ids(data_dir))
    nothing = subprocess.DEVNULL
    crawl = [sys.executable, "-m", "agentdbg.demo.crawl", str(seconds)]
    process = subprocess.Popen(crawl, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)  # noqa: S603
    # It is meant to outlive this process, so nobody waits for it.
    process.returncode = 0
    given_up_at = time.monotonic() + _STARTS_WITHIN_S
    while not set(run_ids(data_dir)) - before and time.monotonic() < given_up_at:
        time.sleep(0.05)
    time.sleep(0.5)  # its first call


def _print_verdict(out: Terminal, run: RunMeta, data_dir: Path) -> None:
    tally = Tally(MemoryColumns(load_events(run["run_id"], data_dir))).catch_up()
    now_ms = time.time_ns() // 1_000_000
    print_verdict(out, judge(tally, run, now_ms), run["run_name"] or "unnamed", run["run_id"][:8])
