"""A request to a web server is a run: its own, with its status, and none when it records nothing."""

from __future__ import annotations

import asyncio
import threading
import urllib.request
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from agentdbg import has_active_run, record_llm_call, record_tool_call, tool_call, traced_run
from agentdbg.integrations import web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Recorded


async def application(scope: Any, _receive: Any, send: Any) -> None:
    """What its path says."""
    words = scope["path"].strip("/").split("/")
    has_active_run()
    if words[0] == "chat":
        record_llm_call("m", words[1], "hello")
        await asyncio.sleep(0.01)
        await asyncio.gather(*(asyncio.to_thread(record_tool_call, words[1], {"number": n}) for n in range(2)))
    if words[0] == "fail":
        record_llm_call("m", "x", "y")
        raise ValueError("no such user")
    status = 503 if words[0] == "busy" else 200
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b"x", "more_body": True})
    if words[0] in ("busy", "stream"):
        record_tool_call("late", {})
    await send({"type": "http.response.body", "body": b"y"})


async def ask(app: Any, path: str, **more: Any) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": [], **more}
    await asyncio.create_task(app(scope, receive, send))
    return sent


def test_requests_at_the_same_time_are_runs_apart(recorded: Recorded) -> None:
    """Four users' conversations in one flat run are of no use to anybody."""

    async def main() -> None:
        app = web.AsgiRequests(application)
        await asyncio.gather(*(ask(app, f"/chat/user{number}") for number in range(4)))

    asyncio.run(main())

    runs = recorded.all()
    assert sorted(run.meta["run_name"] for run in runs) == [f"POST /chat/user{number}" for number in range(4)]
    for run in runs:
        user = run.meta["run_name"].rpartition("/")[2]
        call = run.one("LLM_CALL")
        assert call["payload"]["prompt"] == user
        assert [tool["name"] for tool in run.of_type("TOOL_CALL")] == [user, user]
        assert {tool["parent_id"] for tool in run.of_type("TOOL_CALL")} == {call["event_id"]}
        assert run.one("RUN_END")["payload"]["http_status"] == 200
        assert run.meta["metadata"] == {"framework": "web", "http_method": "POST", "http_path": f"/chat/{user}"}


def test_a_request_that_records_nothing_leaves_no_run(recorded: Recorded) -> None:
    """A server is asked for its health every few seconds."""
    sent = asyncio.run(ask(web.AsgiRequests(application), "/health"))

    assert [message["type"] for message in sent] == ["http.response.start"] + 2 * ["http.response.body"]
    assert recorded.all() == []


def test_what_a_streamed_answer_does_belongs_to_its_request(recorded: Recorded) -> None:
    """The model is usually asked while the answer is sent."""
    asyncio.run(ask(web.AsgiRequests(application), "/stream"))

    assert recorded.only().one("TOOL_CALL")["name"] == "late"
    assert recorded.only().meta["status"] == "ok"


def test_an_exception_ends_the_run_and_goes_on(recorded: Recorded) -> None:
    """The framework above has to see it as it is."""
    with pytest.raises(ValueError, match="no such user"):
        asyncio.run(ask(web.AsgiRequests(application), "/fail"))

    assert recorded.only().one("ERROR")["payload"]["message"] == "no such user"
    assert recorded.only().meta["status"] == "error"


def test_an_answer_with_a_servers_error_is_a_failed_run(recorded: Recorded) -> None:
    """Frameworks turn exceptions into such answers, and only the status is left."""
    asyncio.run(ask(web.AsgiRequests(application), "/busy"))

    assert recorded.only().meta["status"] == "error"
    assert recorded.only().one("RUN_END")["payload"]["http_status"] == 503


def test_two_layers_that_stand_around_a_request_make_one_run(recorded: Recorded) -> None:
    """The server and the framework are both known."""
    asyncio.run(ask(web.AsgiRequests(web.AsgiRequests(application)), "/chat/anna"))

    assert recorded.only().types() == ["RUN_START", "LLM_CALL", "TOOL_CALL", "TOOL_CALL", "RUN_END"]


def test_a_request_inside_a_run_is_a_span_of_it(recorded: Recorded) -> None:
    """A test's client asks the application in the test's own run."""

    async def main() -> None:
        async with traced_run("around"):
            await ask(web.AsgiRequests(application), "/chat/anna")

    asyncio.run(main())
    run = recorded.only()
    span = run.one("STATE_UPDATE")

    assert (span["name"], span["meta"]["http_status"]) == ("POST /chat/anna", 200)
    assert run.one("LLM_CALL")["parent_id"] == span["event_id"]


def test_what_the_program_knows_of_a_request_and_its_trace_are_in_the_metadata(recorded: Recorded) -> None:
    """Runs are found by user and session, and runs of several services by their trace."""
    headers = [(b"traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")]
    app = web.AsgiRequests(application, meta=lambda scope: {"session_id": scope["path"][-4:]})
    asyncio.run(ask(app, "/chat/anna", headers=headers))

    metadata = recorded.only().meta["metadata"]
    assert metadata["session_id"] == "anna"
    assert metadata["trace_id"] == "0af7651916cd43dd8448eb211c80319c"
    assert metadata["parent_span_id"] == "b7ad6b7169203331"


def test_a_limit_stops_one_request_and_not_the_next(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one user spends is not taken from another."""
    monkeypatch.setenv("AGENTDBG_MAX_TOOL_CALLS", "1")

    async def main() -> list[Any]:
        app = web.AsgiRequests(application)
        return [await asyncio.gather(ask(app, f"/chat/{name}"), return_exceptions=True) for name in ("anna", "ben")]

    stops = [type(stop).__name__ for (stop,) in asyncio.run(main())]

    assert stops == ["AgentDbgGuardrailExceeded"] * 2
    assert [run.meta["status"] for run in recorded.all()] == ["error", "error"]


class Quiet(WSGIRequestHandler):
    def log_message(self, *_args: Any) -> None:
        pass


def wsgi_application(environ: Any, start_response: Callable[..., Any]) -> Iterator[bytes] | list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    if environ["PATH_INFO"] == "/health":
        return [b"ok"]

    def pieces() -> Iterator[bytes]:
        for number in range(2):
            record_tool_call("piece", {"number": number})
            yield str(number).encode()

    return pieces()


def test_a_wsgi_server_has_a_run_for_each_request(recorded: Recorded) -> None:
    """A real server: it iterates the answer after the application has returned, and closes it."""
    with make_server("127.0.0.1", 0, web.WsgiRequests(wsgi_application), handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}"
            said = [urllib.request.urlopen(f"{address}/{path}").read() for path in ("health", "a", "b")]
        finally:
            server.shutdown()
            thread.join()

    assert said == [b"ok", b"01", b"01"]
    assert sorted(run.meta["run_name"] for run in recorded.all()) == ["GET /a", "GET /b"]
    for run in recorded.all():
        assert [tool["payload"]["args"]["number"] for tool in run.of_type("TOOL_CALL")] == [0, 1]
        assert run.one("RUN_END")["payload"]["http_status"] == 200


def test_a_service_is_linked_with_the_step_that_asked_it(recorded: Recorded) -> None:
    """One command shows what several services did for one question."""
    from agentdbg.analysis.families import linked_with
    from agentdbg.integrations._http_exchange import trace_header
    from agentdbg.storage import list_runs, load_events

    async def serve(mark: str | None) -> None:
        assert mark is not None
        await ask(web.AsgiRequests(middle), "/middle", headers=[(b"traceparent", mark.encode())])

    async def middle(_scope: Any, _receive: Any, _send: Any) -> None:
        with tool_call("search"):
            marks.append(trace_header("10.1.2.3"))

    marks: list[str | None] = []
    with traced_run("asking"), tool_call("weather"):
        marks.append(trace_header("127.0.0.1"))
        assert trace_header("api.example.com") is None
    asyncio.run(serve(marks[0]))
    with traced_run("other"):
        pass
    asyncio.run(ask(web.AsgiRequests(application), "/chat/a", headers=[(b"traceparent", str(marks[1]).encode())]))

    runs = list_runs()
    last = next(run for run in runs if run["run_name"] == "POST /chat/a")
    found = linked_with(last["run_id"], runs, lambda run: [event["event_id"] for event in load_events(run)])
    assert [(str(run["run_name"]).partition(" - ")[0], depth) for run, depth in found] == [
        ("asking", 0),
        ("POST /middle", 1),
        ("POST /chat/a", 2),
    ]


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("[::1]", True),
        ("10.0.0.7", True),
        ("192.168.1.1", True),
        ("worker", True),
        ("db.internal", True),
        ("8.8.8.8", False),
        ("api.openai.com", False),
        ("", False),
        ("worker.example", False),
    ],
)
def test_only_the_own_network_is_told_who_asks(host: str, is_ours: bool) -> None:
    """Nothing leaves the machine, or its network, that nobody asked for."""
    from agentdbg.integrations._http_exchange import is_near

    assert is_near(host) is is_ours
