"""Mocks and faults: what is answered in a call's place is what was asked for, and nothing is called."""

from __future__ import annotations

import asyncio
import errno
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

import agentdbg
from agentdbg.around import AnnouncedCall, deciding
from agentdbg.control.mocks import Mock, Mocks, parse_fault, parse_mock
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Recorded

called: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_called() -> None:
    called.clear()


@agentdbg.tool
def search(query: str) -> Any:
    called.append(query)
    return [query]


@agentdbg.llm(model="gpt-4o")
async def ask(prompt: str) -> Any:
    called.append(prompt)
    return f"about {prompt}"


def outcomes(*mocks: Mock, times: int = 3) -> list[Any]:
    """What the tool gives, call by call, exceptions as their texts."""
    found: list[Any] = []
    with deciding(Mocks(mocks)), agentdbg.traced_run("r"):
        for number in range(times):
            try:
                found.append(search(f"q{number}"))
            except Exception as error:
                found.append(f"{type(error).__name__}: {error}")
    return found


def test_a_value_is_given_and_nothing_is_called(recorded: Recorded) -> None:
    """The usual mock."""
    assert outcomes(parse_mock('search={"hits": []}'), times=1) == [{"hits": []}]
    assert not called
    assert recorded.only().one("TOOL_CALL")["payload"]["served"] == "mock"


def test_every_form_of_a_mock(tmp_path: Path) -> None:
    """A file, an exception, a sequence, a function of one's own."""
    (tmp_path / "a.json").write_text("[1]")
    (tmp_path / "m.py").write_text("def search(query):\n    return query.upper()\n")

    assert outcomes(parse_mock(f"search=@{tmp_path / 'a.json'}"), times=1) == [[1]]
    assert outcomes(parse_mock('search=raise:KeyError("x")'), times=1) == ["KeyError: 'x'"]
    assert outcomes(parse_mock("search=raise:mylib.Odd('x')"), times=1) == ["RuntimeError: mylib.Odd: x"]
    assert outcomes(parse_mock('search=seq:["a", "b"]')) == ["a", "b", "b"]
    assert outcomes(parse_mock(f"search=py:{tmp_path / 'm.py'}:search"), times=2) == ["Q0", "Q1"]
    assert not called


def test_a_list_is_what_a_generator_yields() -> None:
    """As its event has it, and as a fork sets it; any other value is the one piece of it."""

    @agentdbg.tool
    def pages(count: int) -> Any:
        yield from range(count)

    @agentdbg.tool
    async def apages(count: int) -> Any:
        for number in range(count):
            yield number

    async def read() -> list[Any]:
        return [page async for page in apages(3)]

    def given(*mocks: Mock) -> list[Any]:
        with deciding(Mocks(mocks)), agentdbg.traced_run("r"):
            return [list(pages(3)), asyncio.run(read())]

    assert given(parse_mock("*pages=[7, 8]")) == [[7, 8]] * 2
    assert given(parse_mock("*pages=seq:[[7], 8]")) == [[7], [8]]
    assert given(parse_mock("*pages={}")) == [[{}]] * 2
    assert outcomes(parse_mock("search=[7, 8]"), times=1) == [[7, 8]]


def test_a_mock_is_the_same_each_time() -> None:
    """A program may change what it was given."""
    for text in ('search={"hits": []}', 'search=seq:[{"hits": []}]'):
        with deciding(Mocks([parse_mock(text)])), agentdbg.traced_run("program"):
            for _ in range(2):
                found = search("q")
                found["hits"].append("mine")
                assert found == {"hits": ["mine"]}


def test_only_the_nth_call(recorded: Recorded) -> None:
    """`search#2` leaves the others alone."""
    assert outcomes(parse_mock("search#2=null")) == [["q0"], None, ["q2"]]
    assert outcomes(parse_mock("sea*#1=1"), parse_mock("tool=2")) == [1, 2, 2]


def test_faults_are_what_an_outage_gives() -> None:
    """At a function: the exception, or an answer that is not what the program hoped for."""
    assert outcomes(parse_fault("search=timeout"), times=1) == ["TimeoutError: timed out"]
    assert outcomes(parse_fault("search=500"), times=1) == ["HTTPError: HTTP Error 500: Internal Server Error"]
    reset = f"[Errno {errno.ECONNRESET}] Connection reset by peer"
    assert outcomes(parse_fault("search=cut"), times=1) == [f"ConnectionResetError: {reset}"]
    assert outcomes(parse_fault("search=empty"), times=1) == [None]
    assert outcomes(parse_fault("search=garbage"), times=1) == ['{"resu']
    assert not called


def test_a_recorded_value_shapes_the_fault() -> None:
    """A list that is empty is another thing than None."""
    call = AnnouncedCall("tool", "search", {}, {}, can=("answer",))

    def given(what: str, recorded: Any) -> Any:
        mocks = Mocks([parse_fault(f"search={what}")])
        mocks.is_planned = True
        mocks.decide(call)
        answer = mocks.answer(call, recorded)
        assert answer is not None
        return answer.value

    assert given("empty", ["a"]) == []
    assert given("empty", "text") == ""
    assert given("garbage", "0123456789") == "01234"


def test_slow_is_slow_and_then_real() -> None:
    """The call is made, late, also in a task."""
    began = time.monotonic()
    assert outcomes(parse_fault("search=slow:0.1"), times=1) == [["q0"]]
    with deciding(Mocks([parse_fault("gpt-4o=slow:0.1")])), agentdbg.traced_run("r"):
        assert asyncio.run(ask("x")) == "about x"

    assert time.monotonic() - began >= 0.2


def test_mocks_from_python() -> None:
    """Values, exceptions and functions, as a test gives them."""
    mocks = Mocks.of_values({"search#1": 1, "search#2": KeyError("x"), "search": lambda query: query * 2})

    with deciding(mocks), agentdbg.traced_run("r"):
        assert search("a") == 1
        with pytest.raises(KeyError):
            search("b")
        assert search("c") == "cc"
    assert not called


@pytest.mark.parametrize(
    "text",
    ["", "search", "=1", "search={", "search=seq:[]", "search=py:nowhere.py:f", "search=@nowhere", "search=raise:"],
)
def test_a_mock_that_cannot_be_read_is_refused(text: str) -> None:
    """Before the program runs, with how it is written."""
    with pytest.raises(UsageError, match="--mock"):
        parse_mock(text)


@pytest.mark.parametrize("text", ["search=sometimes", "search=slow:long", "search"])
def test_a_fault_that_cannot_be_read_is_refused(text: str) -> None:
    """The message lists the faults there are."""
    with pytest.raises(UsageError, match="--fault"):
        parse_fault(text)


def test_the_fault_of_a_model_over_http_is_the_servers() -> None:
    """A client that is not answered itself gets its fault where it talks to the server."""
    mocks = Mocks([parse_fault("gpt-4o=500")])
    model = AnnouncedCall("llm", "gpt-4o", [], {}, can=())
    model.call_id = "model-call"
    request = AnnouncedCall("http", "POST /v1/chat/completions", {}, {}, can=("answer",))
    request.outer_id = "model-call"

    assert mocks.decide(model) is None
    answer = mocks.decide(request)

    assert answer is not None
    outcome: Any = answer.value  # type: ignore[union-attr]
    assert outcome["status"] == 500
    assert json.loads(outcome["chunks"][0])["error"]["message"] == "Internal Server Error"


@pytest.mark.parametrize("can", [(), ("answer", "edit")])
def test_a_model_that_is_only_reported_is_slow_where_it_is_asked(
    can: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is held once: around the call where we stand there, else before its request."""
    held: list[float] = []
    monkeypatch.setattr("agentdbg.control.mocks._sleep", held.append)
    mocks = Mocks([parse_fault("gpt-4o=slow:5")])
    model = AnnouncedCall("llm", "gpt-4o", [], {}, can=can)
    model.call_id = "model-call"
    request = AnnouncedCall("http", "POST /v1/chat/completions", {}, {}, can=("answer",))
    request.outer_id = "model-call"

    mocks.decide(model)
    if can:
        mocks.wait(model)
    for _ in range(2):
        mocks.decide(request)
        mocks.wait(request)

    assert held == [5.0]
