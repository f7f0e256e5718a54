"""`agentdbg push`: runs to an OpenTelemetry collector."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.analysis.wording import count_noun
from agentdbg.commands.find_runs import find
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.terminal import Progress, Styled, Terminal, problem
from agentdbg.commands.times import since
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import AgentDbgError, UsageError
from agentdbg.interop.otel.delivery import Delivery, collector_at, read_headers
from agentdbg.interop.otel.spans_out import trace_id_of
from agentdbg.storage.reader import default_data_dir, list_runs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentdbg.interop.otel.delivery import Collector
    from agentdbg.interop.otel.pushing import RunPush

EXAMPLES = """
agentdbg push latest --otlp http://localhost:4318
agentdbg push a41f 77c0 --otlp http://localhost:6006              # Phoenix
agentdbg push a41f --otlp http://localhost:5000 --header x-mlflow-experiment-id=0
agentdbg push latest --otlp http://localhost:4318 --follow        # while it runs
agentdbg push --since 2h --otlp http://localhost:4318 --lean      # all of the last two hours, and fewer bytes
agentdbg push latest --otlp https://otlp.example.com --dry-run    # what would go where
"""

_POLL_SECONDS = 0.25
_PHOENIX_PORT = 6006


def command(
    otlp: Annotated[str, Option("--otlp", metavar="URL", help="The collector, over HTTP; /v1/traces is added.")],
    runs: Annotated[list[str] | None, Argument("[RUN...]", "Runs: ids, unique prefixes, or `latest`.", "runs")] = None,
    all_runs: Annotated[bool, Option("--all", help="Every stored run.")] = False,
    begun_since: Annotated[
        str | None, Option("--since", metavar="WHEN", help="Every run that began since then: 2h, 7d, 2026-11-01.")
    ] = None,
    header: Annotated[
        list[str] | None, Option("--header", metavar="K=V", help="A header for the collector; may be repeated.")
    ] = None,
    service: Annotated[
        str | None, Option("--service", metavar="NAME", help="service.name; the recorded program when left out.")
    ] = None,
    openinference: Annotated[
        bool, Option("--openinference", help="Use OpenInference names; chosen by itself for Phoenix.")
    ] = False,
    lean: Annotated[
        bool,
        Option("--lean", help="Without the events as they are stored: fewer bytes."),
    ] = False,
    follow: Annotated[bool, Option("--follow", help="Go on while a run is recorded, call by call.")] = False,
    again: Annotated[bool, Option("--again", help="Send also what this collector has already.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only say what would go where.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print what was sent as JSON.")] = False,
) -> None:
    """
    Send runs to an OpenTelemetry collector as spans with the GenAI semantic conventions, over OTLP/HTTP. What was sent
    is remembered, so a push that was interrupted goes on where it stopped, and pushing twice doubles nothing. This is
    the only command that sends anything anywhere, and it goes only to the address you give.
    """
    collector = collector_at(otlp)
    delivery = Delivery(collector, read_headers(header or []))
    data_dir = default_data_dir()
    # All are looked up before the first goes, so that a typing mistake sends nothing.
    ids = _chosen(runs or [], data_dir, all_runs=all_runs, begun_since=begun_since)
    openinference = openinference or _is_phoenix(collector)
    from agentdbg.interop.otel.pushing import RunPush  # noqa: PLC0415 -- needs the extra, which a wrong use does not

    pushes = [
        RunPush(run_id, data_dir, collector, openinference=openinference, service=service, again=again, lean=lean)
        for run_id in ids
    ]
    failure = _send(pushes, None if dry_run else delivery, follow=follow)
    out = Terminal()
    if as_json:
        out.json(_as_json(pushes, collector, dry_run=dry_run))
    else:
        _print(out, [push for push in pushes if push.pushed.sent or failure is None], collector, dry_run=dry_run)
    _say_problems(pushes)
    if failure is not None:
        raise failure
    if any(push.pushed.refused for push in pushes):
        raise SystemExit(10)


def _chosen(runs: list[str], data_dir: Path, *, all_runs: bool, begun_since: str | None) -> list[str]:
    """The ids of the runs to send, the oldest first; UsageError when none was named."""
    if sum((bool(runs), all_runs, begun_since is not None)) != 1:
        raise UsageError("name the runs to send (`latest`, ids), or give one of --since 2h and --all")
    if runs:
        return list(dict.fromkeys(find(run, data_dir) for run in runs))
    oldest = "" if begun_since is None else since(begun_since)
    found = [run for run in list_runs(None, data_dir) if run["started_at"] >= oldest]
    if not found:
        raise UsageError("there is no run to send; `agentdbg list` shows what is there")
    return [run["run_id"] for run in reversed(found)]


def _is_phoenix(collector: Collector) -> bool:
    """Whether a collector is Arize Phoenix, by its name or its usual port; it shows OpenInference names best."""
    return collector.port == _PHOENIX_PORT or any(name in collector.host for name in ("phoenix", "arize"))


def _send(pushes: Sequence[RunPush], delivery: Delivery | None, *, follow: bool) -> AgentDbgError | None:
    """Send what there is; a failure is given back, so that what did arrive can be said first."""
    try:
        for push in pushes:
            with Progress(f"{'Counting' if delivery is None else 'Sending'} {push.run_id[:8]}") as progress:
                push.advance(delivery, progress.at)
        if follow and delivery is not None:
            _follow(pushes, delivery)
    except AgentDbgError as error:
        return error
    finally:
        if delivery is not None:
            delivery.close()
        for push in pushes:
            push.close()
    return None


def _follow(pushes: Sequence[RunPush], delivery: Delivery) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        while live := [push for push in pushes if not push.is_over]:
            time.sleep(_POLL_SECONDS)
            for push in live:
                push.advance(delivery)


def _print(out: Terminal, pushes: Sequence[RunPush], collector: Collector, *, dry_run: bool) -> None:
    for push in pushes:
        done = push.pushed
        out.sentence(Styled(push.meta["run_name"] or "unnamed", "strong"), Styled(f"  {push.run_id[:8]}", "muted"))
        said = [f"{count_noun(done.sent, 'span')} {'would be sent' if dry_run else 'sent'}"]
        if done.before and not done.sent:
            said = [f"nothing new, {count_noun(done.before, 'span')} already there"]
        elif done.before:
            said.append(f"{done.before:,} already there")
        if done.refused:
            said.append(f"{done.refused:,} refused")
        kinds = ", ".join(f"{number:,} {name}" for name, number in sorted(done.operations.items()))
        out.sentence(f"{', '.join(said)}{f': {kinds}' if done.sent and kinds else ''}", indent=2)
        out.sentence(f"trace {trace_id_of(push.run_id).hex()}", indent=2)
        if push.damaged_lines:
            out.sentence(f"{count_noun(push.damaged_lines, 'line')} of its log could not be read.", indent=2)
        if not push.is_over:
            out.sentence("It is still being recorded; push it again later, or with --follow, for the rest.", indent=2)
    if pushes:
        out.sentence(f"{'Would go to' if dry_run else 'Collector:'} {collector.shown}")


def _say_problems(pushes: Sequence[RunPush]) -> None:
    for push in pushes:
        if push.pushed.refused:
            why = push.pushed.problem or "it gave no reason"
            problem(f"{push.run_id[:8]}: the collector refused {count_noun(push.pushed.refused, 'span')}: {why}")
        if push.pushed.forgotten:
            problem(
                f"{push.run_id[:8]}: what was sent could not be remembered ({push.pushed.forgotten}); "
                "the next push sends it once more, under the same ids"
            )


def _as_json(pushes: Sequence[RunPush], collector: Collector, *, dry_run: bool) -> dict[str, Any]:
    return {
        "spec_version": SPEC_VERSION,
        "collector": collector.shown,
        "dry_run": dry_run,
        "runs": [
            {
                "run_id": push.run_id,
                "run_name": push.meta["run_name"],
                "trace_id": trace_id_of(push.run_id).hex(),
                "spans_sent": push.pushed.sent,
                "spans_already_there": push.pushed.before,
                "spans_refused": push.pushed.refused,
                "damaged_lines": push.damaged_lines,
                "operations": dict(sorted(push.pushed.operations.items())),
                "complete": push.is_over,
            }
            for push in pushes
        ],
    }
