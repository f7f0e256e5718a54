"""`agentdbg push` as people and scripts use it."""

from __future__ import annotations

import builtins
import gzip
import json
import os
import socket
import stat
import sys
import threading
import time
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import record_llm_call, tool_call, traced_run
from agentdbg.cli import _run
from agentdbg.commands.push import _is_phoenix
from agentdbg.interop.otel.delivery import collector_at
from tests.analysis.story import Story
from tests.commands.stored import HOSTILE, store
from tests.interop.otel.collector import Answer, Collector, partial_success

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands.stored import Ran

SECRET = "Bearer sesame-0815-open"


def _story(calls: int = 3) -> Story:
    story = Story()
    for number in range(calls):
        story.llm(f"question {number}", f"answer {number}", tokens=(10, 2))
    story.end()
    return story


def test_a_push_says_what_it_sent_and_under_which_trace(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """The trace id is what one pastes into the search of the other tool."""
    ran = push(store(data_dir, _story()))

    assert ran.code == 0
    assert "4 spans sent: 3 chat, 1 invoke_agent" in ran.out
    assert f"trace {collector.spans[0].trace_id}" in ran.out
    assert f"Collector: {collector.url}/v1/traces" in ran.out
    assert collector.paths == ["/v1/traces"]


def test_pushing_twice_sends_nothing_twice(push: Callable[..., Ran], data_dir: Path, collector: Collector) -> None:
    """Nobody remembers what they pushed yesterday."""
    run_id = store(data_dir, _story())
    push(run_id)
    ran = push(run_id, "--json")

    assert len(collector.spans) == 4
    assert "nothing new, 4 spans already there" in push(run_id).out
    [told] = ran.json["runs"]
    assert (told["spans_sent"], told["spans_already_there"], told["complete"]) == (0, 4, True)


def test_what_is_sent_again_has_the_same_ids(push: Callable[..., Ran], data_dir: Path, collector: Collector) -> None:
    """A backend that was emptied gets everything once more; one that was not keeps one of each."""
    run_id = store(data_dir, _story())
    push(run_id)
    first, collector.spans = collector.spans, []
    assert push(run_id, "--again").code == 0

    assert [span.span_id for span in collector.spans] == [span.span_id for span in first]
    assert len({span.span_id for span in first}) == len(first)


def test_each_collector_and_each_vocabulary_is_remembered_apart(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """What one backend has, another has not."""
    run_id = store(data_dir, _story())
    other = Collector()
    push(run_id)
    push(run_id, "--openinference")
    push(run_id, to=other.url)
    other.close()

    assert (len(collector.spans), len(other.spans)) == (8, 4)


def test_the_memory_of_a_push_is_private_and_names_no_secret(push: Callable[..., Ran], data_dir: Path) -> None:
    """It lies beside the runs, for whoever may read those."""
    push(store(data_dir, _story()), "--header", f"authorization={SECRET}")
    [memory] = (data_dir / "index" / "push").iterdir()

    assert stat.S_IMODE(memory.stat().st_mode) == 0o600
    assert stat.S_IMODE(memory.parent.stat().st_mode) == 0o700
    assert "sesame" not in memory.read_text()


def test_a_memory_that_is_broken_or_gone_only_sends_more(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """Everything under `index` may be deleted by anyone at any time."""
    run_id = store(data_dir, _story())
    push(run_id)
    [memory] = (data_dir / "index" / "push").iterdir()
    for broken in ("", "[]", '{"spans": "many"}', '{"spans": -3}'):
        memory.write_text(broken)
        assert push(run_id).code == 0

    assert len(collector.spans) == 4 * 5


def test_dry_run_says_what_would_go_where_and_sends_nothing(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """One looks before one sends a company's prompts somewhere."""
    ran = push(store(data_dir, _story()), "--dry-run")

    assert "4 spans would be sent: 3 chat, 1 invoke_agent" in ran.out
    assert f"Would go to {collector.url}/v1/traces" in ran.out
    assert (collector.requests, (data_dir / "index" / "push").exists()) == ([], False)


def test_headers_reach_the_collector_and_nothing_else(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, pauses: list[float]
) -> None:
    """They are keys to somebody's backend; logs of builds are read by many."""
    collector.answers = [Answer(401, b"who are you?")]
    run_id = store(data_dir, _story())
    refused = push(run_id, "--header", f"authorization={SECRET}", "--header", "x-team: blue")
    sent = push(run_id, "--header", f"authorization={SECRET}", "--json")

    assert collector.requests[0]["authorization"] == SECRET
    assert collector.requests[0]["x-team"] == "blue"
    assert (refused.code, sent.code) == (10, 0)
    assert "401" in refused.err
    assert "who are you?" in refused.err
    assert "sesame" not in refused.out + refused.err + sent.out + sent.err


@pytest.mark.parametrize(
    "header", ["authorization", "=x", f"bad name={SECRET}", f"x-a={SECRET}\r\nx-b: 1", "content-length=3", "x=ä"]
)
def test_a_header_that_is_none_is_refused_without_saying_its_value(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, header: str
) -> None:
    """A mistake in a header must neither smuggle another one in nor print the secret."""
    ran = push(store(data_dir, _story()), "--header", header)

    assert ran.code == 2
    assert "sesame" not in ran.out + ran.err
    assert collector.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "localhost:4318",
        "grpc://localhost:4317",
        "file:///etc/passwd",
        "http://",
        "http://a b/",
        "http://[::1",
        "ftp://x",
    ],
)
def test_an_address_that_is_no_collector_is_wrong_use(push: Callable[..., Ran], data_dir: Path, url: str) -> None:
    """Said at once, before anything is read."""
    ran = push(store(data_dir, _story()), to=url)

    assert ran.code == 2
    assert "http" in ran.err


def test_a_password_in_the_address_is_refused_and_not_repeated(push: Callable[..., Ran], data_dir: Path) -> None:
    """It would stand in every message and in the memory of the push."""
    ran = push(store(data_dir, _story()), to="https://me:sesame@example.com")

    assert ran.code == 2
    assert "sesame" not in ran.err
    assert "--header" in ran.err


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("", "/v1/traces"),
        ("/", "/v1/traces"),
        ("/v1/traces", "/v1/traces"),
        ("/api/otel/", "/api/otel/v1/traces"),
        ("/v1/traces?key=sesame", "/v1/traces?key=sesame"),
    ],
)
def test_the_path_is_completed_as_opentelemetry_does(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, given: str, asked: str
) -> None:
    """The same address works here that works in OTEL_EXPORTER_OTLP_ENDPOINT."""
    ran = push(store(data_dir, _story()), to=collector.url + given)

    assert collector.paths == [asked]
    assert "sesame" not in ran.out + ran.err


def test_a_collector_that_is_not_there_is_said_at_once_and_harms_nothing(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, pauses: list[float]
) -> None:
    """The usual mistake: it was not started."""
    run_id = store(data_dir, _story())
    before = (data_dir / "runs" / run_id / "events.jsonl").read_bytes()
    gone = Collector()
    gone.close()
    ran = push(run_id, to=gone.url)

    assert ran.code == 10
    assert f"no collector at {gone.url}/v1/traces: nobody listens there" in ran.err
    assert ran.out == ""
    assert pauses == []
    assert (data_dir / "runs" / run_id / "events.jsonl").read_bytes() == before
    assert push(run_id).code == 0
    assert len(collector.spans) == 4


def test_what_listens_but_speaks_another_language_is_told_apart(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, pauses: list[float]
) -> None:
    """Plain HTTP behind an https address, and gRPC behind an http one, are the two mistakes people make."""
    run_id = store(data_dir, _story())
    encrypted = push(run_id, to=collector.url.replace("http:", "https:"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer_with, args=(server, b"\x00\x00\x12\x04\x00\r\n"), daemon=True).start()
        grpc = push(run_id, to=f"http://127.0.0.1:{server.getsockname()[1]}")

    assert (encrypted.code, grpc.code) == (10, 10)
    assert "encryption" in encrypted.err
    assert "4318" in grpc.err
    assert pauses == []


@pytest.mark.parametrize(
    ("status", "hint"),
    [(400, "400"), (403, "headers"), (404, "4318"), (302, "not followed"), (500, "500")],
)
def test_a_refusal_is_said_with_its_reason_and_not_tried_again(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, pauses: list[float], status: int, hint: str
) -> None:
    """Asking a second time would not help, and a redirect would carry the headers to somebody else."""
    collector.answers = [Answer(status, b"because of reasons", {"Location": "http://127.0.0.1:9/"})]
    ran = push(store(data_dir, _story()))

    assert ran.code == 10
    assert hint in ran.err
    assert "because of reasons" in ran.err
    assert len(collector.requests) == 1


def test_a_busy_collector_is_asked_again_when_it_says_so(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, pauses: list[float]
) -> None:
    """Backends limit rates; Retry-After is how they say when there is room."""
    soon = formatdate(time.time() + 30, usegmt=True)
    collector.answers = [
        Answer(503, headers={"Retry-After": "7"}),
        Answer(429, headers={"Retry-After": soon}),
        Answer(503, headers={"Retry-After": "when it suits"}),
        Answer(502, headers={"Retry-After": "99999"}),
        Answer(504),
    ]
    ran = push(store(data_dir, _story()))

    assert ran.code == 0
    assert len(collector.spans) == 4
    assert pauses[0] == 7
    assert 20 < pauses[1] <= 30
    assert pauses[3] == 60
    assert 0 < pauses[2] < pauses[4] < 10


def test_patience_ends(push: Callable[..., Ran], data_dir: Path, collector: Collector, pauses: list[float]) -> None:
    """A build must not hang on a backend that is down."""
    collector.answers = [Answer(503)] * 50
    ran = push(store(data_dir, _story()))

    assert ran.code == 10
    assert "503" in ran.err
    assert len(pauses) == 6
    assert sum(pauses) < 60


def test_spans_the_collector_did_not_take_are_said(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """OTLP has a yes that means no: 200 with some spans rejected."""
    collector.answers = [partial_success(2, f"too long {HOSTILE}")]
    ran = push(store(data_dir, _story()))

    assert ran.code == 10
    assert "2 spans sent, 2 refused" in ran.out
    assert "too long" in ran.err
    assert "\x1b" not in ran.out + ran.err


def test_requests_that_are_too_large_are_made_smaller(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """Every collector has its own limit and tells it only by refusing."""
    collector.most_spans = 3
    ran = push(store(data_dir, _story(20)))

    assert ran.code == 0
    assert len({span.span_id for span in collector.spans}) == len(collector.spans) == 21


def test_what_even_alone_is_too_large_is_counted_and_the_rest_goes_on(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """One giant prompt must not hold up a thousand other calls."""
    collector.most_spans = 0
    ran = push(store(data_dir, _story(2)))

    assert ran.code == 10
    assert "0 spans sent, 3 refused" in ran.out


@pytest.mark.slow
def test_the_first_batches_are_not_sent_again_after_a_failure(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, pauses: list[float]
) -> None:
    """A network that breaks half-way is the normal case for a long run."""
    run_id = store(data_dir, _story(1200))
    collector.answers = [Answer(200, keeps=True), Answer(400)]
    broken = push(run_id)
    whole = push(run_id)

    assert (broken.code, whole.code) == (10, 0)
    assert "512 spans sent" in broken.out
    assert "689 spans sent, 512 already there" in whole.out
    assert len({span.span_id for span in collector.spans}) == len(collector.spans) == 1201


def test_a_batch_that_is_full_by_its_size_is_remembered_without_the_span_after_it(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, pauses: list[float]
) -> None:
    """A span that was made but not sent when the network broke would be missing for ever."""
    story = Story()
    for number in range(12):
        story.llm("x" * 200_000, f"answer {number}")
    story.end()
    run_id = store(data_dir, story)
    collector.answers = [Answer(200, keeps=True), Answer(400)]
    push(run_id)
    push(run_id)

    assert len({span.span_id for span in collector.spans}) == len(collector.spans) == 13


def test_a_run_that_is_still_recorded_is_pushed_as_far_as_it_is(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """What has ended can be looked at; the rest comes with the next push, once."""
    with traced_run("live") as run:
        record_llm_call("gpt-4o", prompt="a", response="b")
        early = push(run.run_id)
        record_llm_call("gpt-4o", prompt="c", response="d")
    late = push(run.run_id)

    assert "still being recorded" in early.out
    assert "1 span sent: 1 chat" in early.out
    assert "2 spans sent, 1 already there: 1 chat, 1 invoke_agent" in late.out
    assert [span.name for span in collector.spans] == ["chat gpt-4o", "chat gpt-4o", "invoke_agent live"]


@pytest.mark.slow
def test_follow_sends_each_call_as_it_ends(push: Callable[..., Ran], collector: Collector) -> None:
    """Watching an agent in the team's own tool, while it works."""
    seen_while_running: list[list[str]] = []
    with traced_run("live") as run:
        record_llm_call("gpt-4o", prompt="a", response="b")
        ran: list[Ran] = []
        pushing = threading.Thread(target=lambda: ran.append(push(run.run_id, "--follow")))
        pushing.start()
        _wait_for(lambda: len(collector.spans) == 1)
        with tool_call("search", args={"q": 1}) as call:
            seen_while_running.append([span.name for span in collector.spans])
            call.result = "found"
        _wait_for(lambda: len(collector.spans) == 2)
        seen_while_running.append([span.name for span in collector.spans])
    pushing.join(20)

    assert seen_while_running == [["chat gpt-4o"], ["chat gpt-4o", "execute_tool search"]]
    assert [span.name for span in collector.spans][2:] == ["invoke_agent live"]
    assert ran[0].code == 0


@pytest.mark.slow
def test_a_run_that_is_compressed_meanwhile_is_pushed_once(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old runs are gzipped when the viewer starts, whoever is reading them."""
    run_id = store(data_dir, _story(1200))
    path = data_dir / "runs" / run_id / "events.jsonl"

    def take(*arguments: Any) -> Any:
        if path.exists():
            (path.parent / "events.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        return real(*arguments)

    real = collector.take
    monkeypatch.setattr(collector, "take", take)
    assert push(run_id).code == 0

    assert len({span.span_id for span in collector.spans}) == len(collector.spans) == 1201


def test_opentelemetrys_own_variables_send_nothing_anywhere(
    data_dir: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """They are set on many machines for other programs; a prompt must not follow them."""
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.setenv(name, collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-from=environment")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    with traced_run("private") as run:
        record_llm_call("gpt-4o", prompt="a", response="b")
    without_address = _run(["push", run.run_id])
    _run(["list"])
    assert collector.requests == []
    assert without_address == 2
    assert "--otlp" in capfd.readouterr().err
    other = Collector()
    assert _run(["push", run.run_id, "--otlp", other.url]) == 0
    other.close()

    assert collector.requests == []
    assert "x-from" not in other.requests[0]


def test_without_its_extra_the_command_says_what_to_install(
    push: Callable[..., Ran], data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package stays small for those who never push."""
    for name in [name for name in sys.modules if name.startswith(("opentelemetry.proto", "agentdbg.interop.otel.pu"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "agentdbg.interop.otel.otlp", raising=False)
    real = builtins.__import__

    def without_proto(name: str, *arguments: Any, **named: Any) -> Any:
        if name.startswith("opentelemetry.proto"):
            raise ImportError(name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without_proto)
    ran = push(store(data_dir, _story()))

    assert ran.code == 2
    assert 'pip install "opentelemetry-proto>=1.25"' in ran.err


def test_several_runs_go_in_one_command_and_a_wrong_one_stops_all(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """A typing mistake in the third id must not leave the first two half-told."""
    first, second = store(data_dir, _story()), store(data_dir, _story())

    assert push(first, "ffffffff").code == 2
    assert collector.requests == []
    assert push(first, second, first).code == 0
    assert len({span.trace_id for span in collector.spans}) == 2
    assert len(collector.spans) == 8


def test_the_service_is_the_program_or_what_one_says(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """Backends sort everything by service.name first."""
    story = _story()
    story.events[0]["payload"]["argv"] = [os.path.join("agents", "booking.py")]
    push(store(data_dir, story))
    push(store(data_dir, _story()), "--service", "shop")

    assert [span.resource["service.name"] for span in collector.spans[3:5]] == ["booking", "shop"]


def test_hostile_names_reach_neither_terminal_nor_wire_in_pieces(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """Names are whatever a program recorded."""
    story = Story()
    story.tool(HOSTILE, {"a": 1}, 2**70)
    story.end()
    ran = push(store(data_dir, story, name=HOSTILE))

    assert ran.code == 0
    assert "\x1b" not in ran.out
    [span] = [span for span in collector.spans if span.operation == "execute_tool"]
    assert span.attributes["gen_ai.tool.name"] == HOSTILE
    assert json.loads(span.attributes["agentdbg.event.payload"])["result"] == 2**70


def _answer_with(server: socket.socket, answer: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(65_536)
        connection.sendall(answer)


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in 20 s"
        time.sleep(0.01)


@pytest.mark.parametrize("names", [(), ("--openinference",)])
def test_the_root_carries_what_was_asked_and_answered(
    push: Callable[..., Ran], data_dir: Path, collector: Collector, names: tuple[str, ...]
) -> None:
    """Lists of traces show the input and the output of the root; without them every row is a pair of dashes."""
    story = Story()
    story.llm([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Where is A-17?"}], "I look.")
    story.tool("find", {"id": "A-17"}, "Oslo")
    story.llm([{"role": "user", "content": "Where is A-17?"}], "It is in Oslo.")
    story.end()
    push(store(data_dir, story), *names)
    root = next(span for span in collector.spans if not span.parent_id)

    assert root.attributes["input.value"] == "Where is A-17?"
    assert root.attributes["output.value"] == "It is in Oslo."


def test_a_lean_push_leaves_the_copies_out(push: Callable[..., Ran], data_dir: Path, collector: Collector) -> None:
    """Each event travels twice, in the words of the conventions and as it is stored; not everybody wants both."""
    run_id = store(data_dir, _story(20))
    push(run_id)
    whole, whole_bytes = len(collector.spans), _attribute_bytes(collector)
    collector.spans.clear()
    push(run_id, "--lean")

    assert len(collector.spans) == whole
    assert not any("agentdbg.payload" in span.attributes for span in collector.spans)
    assert _attribute_bytes(collector) < 0.7 * whole_bytes


def _attribute_bytes(collector: Collector) -> int:
    return sum(len(str(value)) for span in collector.spans for value in span.attributes.values())


def test_all_runs_or_those_of_the_last_hours_go_at_once(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """Who sets up a collector wants yesterday's runs in it too."""
    store(data_dir, _story())
    with traced_run("fresh"):
        record_llm_call("m", "q", "a")
    fresh = push("--since", "2h")
    everything = push("--all", "--json")
    neither = push()

    assert "fresh" in fresh.out
    assert "2 spans sent" in fresh.out
    assert len(json.loads(everything.out)["runs"]) == 2
    assert (neither.code, "--since 2h and --all" in neither.err) == (2, True)
    assert push("--all", "latest").code == 2


def test_openinference_is_chosen_for_phoenix() -> None:
    """Phoenix shows tokens and messages only under the names it knows."""
    assert _is_phoenix(collector_at("http://localhost:6006"))
    assert _is_phoenix(collector_at("https://app.phoenix.arize.com/s/me"))
    assert not _is_phoenix(collector_at("http://localhost:4318"))
