"""`agentdbg receive` as it is run: over a socket, with whatever may come through one."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from agentdbg.storage import load_run_meta
from tests.receiver.running import JSON, PROTOBUF, RunningReceiver, eventually, receiver, stored_runs
from tests.receiver.sdk import encode
from tests.receiver.test_traces import kinds, small_agent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningReceiver]:
    """One receiver for all that is refused."""
    with receiver(tmp_path_factory.mktemp("data")) as running:
        yield running


def test_an_agent_is_received_over_http(data_dir: Path) -> None:
    """From the SDK to the files, packed as exporters pack it."""
    with receiver(data_dir) as receiving:
        answer = receiving.post(gzip.compress(small_agent().encoded()), {**PROTOBUF, "Content-Encoding": "gzip"})

        assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"", "application/x-protobuf")
        assert kinds(receiving.events()) == [
            "RUN_START",
            "LLM_CALL",
            "TOOL_CALL",
            "LLM_CALL",
            "STATE_UPDATE",
            "RUN_END",
        ]


def test_what_was_acknowledged_survives_a_kill_and_is_continued(data_dir: Path) -> None:
    """The exporter has forgotten it; nobody else has it."""
    exporter = small_agent()
    with receiver(data_dir) as receiving:
        assert receiving.post(encode(exporter.spans[:3])).status == 200
        receiving.process.send_signal(signal.SIGKILL)
        receiving.process.wait()
    assert kinds(stored_runs(data_dir)[0]) == ["RUN_START", "LLM_CALL", "TOOL_CALL", "LLM_CALL"]
    assert eventually(lambda: load_run_meta("latest", data_dir)["status"] == "error")

    with receiver(data_dir) as receiving:
        assert receiving.post(exporter.encoded()).status == 200
        events = receiving.events()
    assert kinds(events)[-3:] == ["LLM_CALL", "STATE_UPDATE", "RUN_END"]
    assert events[-1]["payload"]["summary"]["llm_calls"] == 2
    assert load_run_meta("latest", data_dir)["status"] == "ok"


def test_ctrl_c_ends_it_and_closes_complete_runs(data_dir: Path) -> None:
    """The one way people stop it; what is whole must not be left as if it were running."""
    with receiver(data_dir) as receiving:
        receiving.post(small_agent().encoded())
        receiving.process.send_signal(signal.SIGINT)

        assert receiving.process.wait(10) == 0
    assert kinds(stored_runs(data_dir)[0])[-1] == "RUN_END"


def test_a_taken_port_is_said_and_not_claimed(data_dir: Path) -> None:
    """Another collector often has it already."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "agentdbg", "receive", "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 10
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "Receiving" not in done.stdout


def _bomb() -> bytes:
    return gzip.compress(bytes(100 << 20), 9)


def _deep() -> bytes:
    return b"[" * 500_000


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"\xff" * 100, PROTOBUF, 400),
        (b"{", JSON, 400),
        (b"no gzip", {**PROTOBUF, "Content-Encoding": "gzip"}, 400),
        (_deep(), JSON, 400),
        (_bomb(), {**PROTOBUF, "Content-Encoding": "gzip"}, 413),
        (b"", {**PROTOBUF, "Content-Length": str(65 << 20)}, 413),
        (b"", {"Content-Type": "text/plain"}, 415),
        (b"", {"Content-Type": "application/grpc"}, 415),
        (b"", {**PROTOBUF, "Content-Encoding": "br"}, 415),
        (b"", {}, 415),
        (b"", {**PROTOBUF, "Host": "evil.example"}, 403),
        (b"", {**PROTOBUF, "Origin": "http://evil.example"}, 403),
        (b"", {**PROTOBUF, "Origin": "null"}, 403),
        (b"", {**PROTOBUF, "Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_every_refusal_has_its_status(
    shared: RunningReceiver, body: bytes, headers: dict[str, str], status: int
) -> None:
    """Malformed, huge and hostile bodies, and pages of the web that talk to a port of this machine."""
    assert shared.post(body, headers).status == status
    assert shared.post(b"").status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/traces", 405),
        ("PUT", "/v1/traces", 405),
        ("OPTIONS", "/v1/traces", 405),
        ("POST", "/", 405),
        ("POST", "/v1/profiles", 404),
        ("POST", "/v1/traces/../../etc/passwd", 404),
        ("GET", "/", 200),
    ],
)
def test_other_ways_are_closed(shared: RunningReceiver, method: str, path: str, status: int) -> None:
    """One door: no page may ask whether somebody is there, and nothing else is served."""
    answer = shared.ask(method, path, PROTOBUF)

    assert answer.status == status
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers


def test_refusals_are_said_as_otlp_says_them(shared: RunningReceiver) -> None:
    """A Status in the encoding that was sent: a number and a sentence."""
    told = json.loads(shared.post(b"{", JSON).body)
    assert told["code"] == 3
    assert "not JSON" in told["message"]
    packed = shared.post(b"\xff" * 9).body
    assert packed[:2] == b"\x08\x03"
    assert b"no ExportTraceServiceRequest" in packed


def test_hostile_spans_cost_nobody_else(data_dir: Path) -> None:
    """Names, numbers and times that no honest program sends, beside an honest one."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    hostile: list[dict[str, Any]] = [
        {f"llm.input_messages.{'9' * 5000}.message.role": "user", "openinference.span.kind": "LLM"},
        {f"llm.input_messages.0.{'a.' * 20_000}x": "deep", "openinference.span.kind": "LLM"},
        {"gen_ai.input.messages": "[" * 100_000, "gen_ai.operation.name": "chat"},
        {"gen_ai.input.messages": '[1, null, {"parts": 3}, {"parts": [4]}]', "gen_ai.operation.name": "chat"},
        {"gen_ai.usage.input_tokens": -5, "gen_ai.operation.name": "chat", "gen_ai.request.model": "\x1b[31m\x00"},
        {"agentdbg.event.type": "LLM_CALL", "agentdbg.run.id": "../../x", "agentdbg.event.id": "x"},
        {"agentdbg.event.type": "RUN_START", "agentdbg.run.id": "x", "agentdbg.event.payload": "[]"},
        {"agentdbg.event.type": "ERROR", "agentdbg.run.id": "x", "agentdbg.event.id": "e", "agentdbg.event.meta": "3"},
    ]
    for number, attributes in enumerate(hostile, 1):
        span = spans.add(
            trace_id=number.to_bytes(16, "big"),
            span_id=number.to_bytes(8, "big"),
            parent_span_id=number.to_bytes(8, "big"),
            name="\ud7ff\x00" * 100_000,
            start_time_unix_nano=2**64 - 1,
            end_time_unix_nano=number % 2,
        )
        for key, value in attributes.items():
            pair = span.attributes.add(key=key).value
            if isinstance(value, int):
                pair.int_value = value
            else:
                pair.string_value = value
    with receiver(data_dir) as receiving:
        answer = receiving.post(request.SerializeToString())
        assert answer.status == 200
        assert receiving.post(small_agent().encoded()).status == 200

        def honest() -> Any:
            return [run for run in stored_runs(data_dir) if kinds(run)[-1] == "RUN_END" and len(run) == 6]

        assert eventually(honest)
    assert len(stored_runs(data_dir)) == len(hostile) + 1
    assert not (data_dir.parent / "x").exists()


def test_a_grpc_client_is_told_which_variable_to_set(shared: RunningReceiver) -> None:
    """Many SDKs send over gRPC unless told otherwise; "invalid HTTP request" helps nobody."""
    headers = b"\x00\x00\x01\x01\x05\x00\x00\x00\x01\x86"
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
    with socket.create_connection(("127.0.0.1", shared.port), timeout=30) as client:
        client.sendall(preface)
        client.sendall(headers)
        answer = b""
        while more := client.recv(65536):
            answer += more

    assert answer.startswith(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
    assert b"grpc-status\x0212" in answer
    assert b"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf" in answer
    assert shared.post(small_agent().encoded()).status == 200


def test_metrics_and_logs_are_turned_down_in_words(shared: RunningReceiver) -> None:
    """Exporters send all three signals to one endpoint; they are told once, and not to try again."""
    metrics = ExportMetricsServiceRequest()
    metric = metrics.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    metric.sum.data_points.add(as_int=1)
    metric.sum.data_points.add(as_int=2)
    answer = shared.post(metrics.SerializeToString(), path="/v1/metrics")
    told = ExportMetricsServiceResponse()
    told.ParseFromString(answer.body)
    assert (answer.status, told.partial_success.rejected_data_points) == (200, 2)
    assert "OTEL_METRICS_EXPORTER=none" in told.partial_success.error_message

    logs = ExportLogsServiceRequest()
    logs.resource_logs.add().scope_logs.add().log_records.add(severity_text="INFO")
    answer = shared.post(logs.SerializeToString(), path="/v1/logs")
    said = ExportLogsServiceResponse()
    said.ParseFromString(answer.body)
    assert (answer.status, said.partial_success.rejected_log_records) == (200, 1)

    body = b'{"resourceLogs": [{"scopeLogs": [{"logRecords": [{}, {}]}]}]}'
    assert json.loads(shared.post(body, JSON, "/v1/logs").body)["partialSuccess"]["rejectedLogRecords"] == "2"
    assert shared.post(b"\xff", path="/v1/logs").status == 400


def test_beyond_loopback_every_request_needs_the_token(data_dir: Path) -> None:
    """Other machines may send then, and whoever has no token may not."""
    with receiver(data_dir, "--host", "0.0.0.0") as receiving:
        assert receiving.token is not None
        body = small_agent().encoded()

        assert receiving.post(body).status == 401
        assert receiving.post(body, {**PROTOBUF, "X-AgentDbg-Token": "wrong"}).status == 401
        assert receiving.post(body, {**PROTOBUF, "X-AgentDbg-Token": receiving.token}).status == 200
        assert len(stored_runs(data_dir)) == 1


def test_senders_that_hang_or_leave_do_not_stop_others(shared: RunningReceiver) -> None:
    """A body that never ends, a connection that is cut in the middle."""
    head = b"POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-protobuf\r\n"
    hanging = [socket.create_connection(("127.0.0.1", shared.port)) for _ in range(20)]
    for connection in hanging:
        connection.sendall(head + b"Content-Length: 1000\r\n\r\nabc")
    try:
        assert shared.post(b"").status == 200
    finally:
        for connection in hanging:
            connection.close()
    assert shared.post(b"").status == 200


def test_many_senders_at_once_lose_nothing(data_dir: Path) -> None:
    """Services export on their own; each trace is whole in the end."""
    exporters = [small_agent(f"service-{number}") for number in range(24)]
    with receiver(data_dir) as receiving:

        def send(exporter: Any) -> None:
            for span in exporter.spans:
                assert receiving.post(encode([span])).status == 200

        threads = [threading.Thread(target=send, args=(exporter,)) for exporter in exporters]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert eventually(lambda: [kinds(run)[-1] for run in stored_runs(data_dir)] == ["RUN_END"] * 24, 30)
    assert {len(run) for run in stored_runs(data_dir)} == {6}


def test_the_terminal_says_where_to_send_and_what_came(data_dir: Path) -> None:
    """The three variables an SDK reads, ready to copy; then a line for each run, with control characters taken out."""
    process = subprocess.Popen(
        [sys.executable, "-m", "agentdbg", "receive", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "AGENTDBG_DATA_DIR": str(data_dir), "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    try:
        said = [process.stdout.readline() for _ in range(6)]
        url = said[2].strip().partition("=")[2]
        port = int(url.rpartition(":")[2])
        RunningReceiver(process, port, url, None, data_dir).post(small_agent().encoded())
        begun = process.stdout.readline()
        ended = process.stdout.readline()
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()

    assert said[0] == f"Receiving spans at {url}/v1/traces\n"
    assert said[3] == "  OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\n"
    token = (data_dir / "receiver.token").read_text()
    assert said[4] == f"  OTEL_EXPORTER_OTLP_HEADERS=x-agentdbg-token={token}\n"
    run_id = stored_runs(data_dir)[0][0]["run_id"][:8]
    assert [line.split() for line in (begun, ended)] == [[run_id, "running", "shop"], [run_id, "ended", "shop"]]


def test_without_its_extra_it_says_how_to_get_it(data_dir: Path) -> None:
    """Most people install the package without it."""
    program = "import sys; sys.modules['opentelemetry'] = None; sys.argv = ['agentdbg', 'receive', '--port', '0']\n"
    program += "from agentdbg.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 2
    assert 'pip install "opentelemetry-proto>=1.25"' in done.stderr
