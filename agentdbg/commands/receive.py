"""`agentdbg receive`: spans of any instrumented program, as runs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

from agentdbg.commands.options import Option
from agentdbg.commands.terminal import Styled, Terminal, problem
from agentdbg.config import load_config
from agentdbg.encoding import encode_json
from agentdbg.events import SPEC_VERSION
from agentdbg.storage.layout import check_data_dir

if TYPE_CHECKING:
    from agentdbg.receiver.serving import Receiver
    from agentdbg.receiver.traces import RunNews

EXAMPLES = """
agentdbg receive                      # then, where the agent runs:
OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf python agent.py
agentdbg receive --port 0 --json      # on any free port, told as JSON
agentdbg receive --host 0.0.0.0       # for other machines too; needs the token it prints
"""


def command(
    host: Annotated[str, Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option("--port", "-p", metavar="PORT", help="0 for any free one.", at_least=0)] = 4318,
    idle: Annotated[
        int, Option("--idle", metavar="SECONDS", help="How long a trace without a root is waited for.", at_least=1)
    ] = 600,
    max_disk: Annotated[
        int | None,
        Option("--max-disk", metavar="MB", help="Remove the oldest received runs beyond this.", at_least=1),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print what happens as lines of JSON.")] = False,
    allow_host: Annotated[
        list[str] | None, Option("--allow-host", metavar="HOST", help="Another name programs may send to.")
    ] = None,
) -> None:
    """
    Receive spans over OTLP/HTTP (protobuf or JSON) from any program that OpenTelemetry, OpenInference or OpenLLMetry
    instruments, in any language, and write each trace as a run, live in the viewer. Secrets are removed like anywhere
    else. Ctrl-C ends it; traces that are not complete by then go on when it is started again.
    """
    from agentdbg.receiver.serving import serve  # noqa: PLC0415 -- help and mistakes need no server

    config = load_config()
    check_data_dir(config.data_dir)
    for notice in (*config.problems, *config.notices):
        problem(notice)
    out = Terminal()

    def ready(receiver: Receiver) -> None:
        if as_json:
            out.json(
                {"spec_version": SPEC_VERSION, "url": receiver.url, "token": receiver.token, "status": "receiving"}
            )
        else:
            _say_where(out, receiver)
        out.flush()

    def tell(news: list[RunNews]) -> None:
        with contextlib.suppress(OSError, ValueError):  # whoever read this has gone; receiving goes on
            if as_json:
                out.bytes(b"".join(encode_json(_as_document(item)) + b"\n" for item in news))
            else:
                for item in news:
                    out.line(Styled(f"{item.run_id[:8]}  {_status(item):7}  ", "muted"), item.run_name)
            out.flush()

    names = tuple(allow_host or ())
    quota = None if max_disk is None else max_disk * 1_000_000
    serve(
        config,
        host=host,
        port=port,
        allowed_hosts=names,
        idle_s=float(idle),
        max_disk=quota,
        on_ready=ready,
        on_news=tell,
        on_notice=problem,
    )


def _as_document(news: RunNews) -> dict[str, str]:
    return {"run_id": news.run_id, "run_name": news.run_name, "trace_id": news.trace_id, "status": _status(news)}


def _status(news: RunNews) -> str:
    return "removed" if news.was_removed else "ended" if news.has_ended else "running"


def _say_where(out: Terminal, receiver: Receiver) -> None:
    out.sentence("Receiving spans at ", Styled(f"{receiver.url}/v1/traces", "accent"))
    out.sentence(Styled("Start the agent with", "muted"))
    # Each of these is copied whole, so none is ever broken.
    out.line(f"  OTEL_EXPORTER_OTLP_ENDPOINT={receiver.url}", cut=False)
    out.line("  OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", cut=False)
    out.line(f"  OTEL_EXPORTER_OTLP_HEADERS=x-agentdbg-token={receiver.token}", cut=False)
    out.sentence(Styled("and look at the runs with `agentdbg view`. Ctrl-C ends this.", "muted"))
