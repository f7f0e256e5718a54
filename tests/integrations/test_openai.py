"""The openai client, asked for the story by a plain loop over Chat Completions and over Responses."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from agentdbg import llm_call, tool, traced_run
from examples.fake_openai_server import Answer, Request
from tests.integrations.story import GREETING, MODEL, QUESTION, Story, greet, read_weather

if TYPE_CHECKING:
    from collections.abc import Iterator

    from examples.fake_openai_server import FakeServer
    from tests.conftest import Recorded

openai = pytest.importorskip("openai")
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

get_weather = tool(read_weather, name="get_weather")
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    from agentdbg.integrations import openai as integration

    integration.enable()
    yield
    integration.disable()
    while _clients:
        _clients.pop().close()


_clients: list[Any] = []


def client(server: FakeServer, **options: Any) -> Any:
    _clients.append(openai.OpenAI(base_url=server.openai_url, api_key="none", **options))
    return _clients[-1]


def async_client(server: FakeServer, **options: Any) -> Any:
    return openai.AsyncOpenAI(base_url=server.openai_url, api_key="none", **options)


class ChatLoop:
    """The agent loop people write by hand, over Chat Completions."""

    tools: ClassVar[list[dict[str, Any]]] = [
        {"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}
    ]

    def __init__(self, question: str) -> None:
        self.messages: list[Any] = [{"role": "user", "content": question}]

    def request(self) -> dict[str, Any]:
        return {"model": MODEL, "messages": self.messages, "tools": self.tools, "temperature": 0.5}

    def calls(self, completion: Any) -> list[tuple[str, dict[str, Any]]]:
        message = completion.choices[0].message
        self.messages.append(message)
        return [(call.id, json.loads(call.function.arguments)) for call in message.tool_calls or []]

    def add_result(self, call_id: str, result: str) -> None:
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": result})

    def said(self, completion: Any) -> str:
        return str(completion.choices[0].message.content)


class ResponsesLoop:
    """The same over Responses."""

    tools: ClassVar[list[dict[str, Any]]] = [
        {"type": "function", "name": "get_weather", "parameters": PARAMETERS, "strict": False}
    ]

    def __init__(self, question: str) -> None:
        self.items: list[Any] = [{"role": "user", "content": question}]

    def request(self) -> dict[str, Any]:
        return {"model": MODEL, "input": self.items, "tools": self.tools, "temperature": 0.5}

    def calls(self, response: Any) -> list[tuple[str, dict[str, Any]]]:
        self.items += response.output
        return [(item.call_id, json.loads(item.arguments)) for item in response.output if item.type == "function_call"]

    def add_result(self, call_id: str, result: str) -> None:
        self.items.append({"type": "function_call_output", "call_id": call_id, "output": result})

    def said(self, response: Any) -> str:
        return str(response.output_text)


class RawClientStory(Story):
    framework = "openai"
    tools_have_framework = False
    outermost_call_is_an_agent = False
    loop: type[ChatLoop | ResponsesLoop]

    def create(self, from_client: Any) -> Any:
        raise NotImplementedError

    def ask(self, server: FakeServer, question: str) -> str:
        conversation, create = self.loop(question), self.create(client(server))
        while calls := conversation.calls(answered := create(**conversation.request())):
            with ThreadPoolExecutor() as pool:
                for (call_id, _), result in zip(calls, pool.map(lambda call: call_tool(call[1]), calls), strict=True):
                    conversation.add_result(call_id, result)
        return conversation.said(answered)

    async def aask(self, server: FakeServer, question: str) -> str:
        async with async_client(server) as asking:
            conversation, create = self.loop(question), self.create(asking)
            while calls := conversation.calls(answered := await create(**conversation.request())):
                results = await asyncio.gather(*(asyncio.to_thread(call_tool, args) for _, args in calls))
                for (call_id, _), result in zip(calls, results, strict=True):
                    conversation.add_result(call_id, result)
        return conversation.said(answered)

    def test_parameters_and_tools_of_the_request_are_kept(self, server: FakeServer, recorded: Recorded) -> None:
        """Why a model answered as it did often lies in what was sent beside the words."""
        with traced_run("story"):
            self.create(client(server))(**self.loop(QUESTION).request(), top_p=0.9)

        payload = recorded.only().one("LLM_CALL")["payload"]
        assert payload["temperature"] == 0.5
        assert payload["parameters"] == {"top_p": 0.9}
        assert payload["tools"] == self.loop.tools
        assert payload["source"].startswith("tests/integrations/test_openai.py:")


def call_tool(args: dict[str, Any]) -> str:
    try:
        return str(get_weather(**args))
    except ValueError as error:
        return f"failed: {error}"


class TestChatCompletions(RawClientStory):
    loop = ChatLoop

    def create(self, from_client: Any) -> Any:
        return from_client.chat.completions.create

    def ask_streaming(self, server: FakeServer, question: str, pieces: int | None = None) -> str:
        said = ""
        request = {**ChatLoop(question).request(), "stream_options": {"include_usage": True}}
        with client(server).chat.completions.create(**request, stream=True) as stream:
            for number, chunk in enumerate(stream, 1):
                said += chunk.choices[0].delta.content or "" if chunk.choices else ""
                if number == pieces:
                    break
        return said


class TestResponses(RawClientStory):
    loop = ResponsesLoop

    def create(self, from_client: Any) -> Any:
        return from_client.responses.create

    def ask_streaming(self, server: FakeServer, question: str, pieces: int | None = None) -> str:
        said: list[str] = []
        with client(server).responses.stream(model=MODEL, input=question) as stream:
            for event in stream:
                if event.type == "response.output_text.delta":
                    said.append(event.delta)
                if len(said) == pieces:
                    break
        return "".join(said)


def ask(server: FakeServer, **options: Any) -> Any:
    return client(server, **options).chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": QUESTION}]
    )


def test_attempts_that_were_repeated_stand_in_the_event(server: FakeServer, recorded: Recorded) -> None:
    """A slow answer is often three refused ones and a good one; the client hides that."""
    server.brain = lambda request: Answer(text="busy", status=429) if request.number < 3 else greet(request)
    with traced_run("story"):
        ask(server, max_retries=2)

    call = recorded.only().one("LLM_CALL")
    assert call["payload"]["retries"] == [{"status_code": 429}, {"status_code": 429}]
    assert call["payload"]["response"] == GREETING
    assert len(server.requests) == 3


def test_a_refused_request_is_recorded_as_it_was_raised(server: FakeServer, recorded: Recorded) -> None:
    """The commonest fault of all: the provider says no."""
    server.brain = lambda request: Answer(text="no such model", status=404)
    with pytest.raises(openai.NotFoundError), traced_run("story"):
        ask(server)

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert payload["status"] == "error"
    assert payload["error"]["error_type"] == "NotFoundError"
    assert "no such model" in payload["error"]["message"]
    assert payload["model"] == MODEL


def test_streamed_tool_calls_are_put_together(server: FakeServer, recorded: Recorded) -> None:
    """Arguments come in crumbs; a reader wants them whole."""
    with traced_run("story"):
        for _ in client(server).chat.completions.create(**ChatLoop(QUESTION).request(), stream=True):
            pass

    payload = recorded.only().one("LLM_CALL")["payload"]
    functions = [call["function"] for call in payload["response"]["tool_calls"]]
    assert [json.loads(function["arguments"]) for function in functions] == [{"city": "Oslo"}, {"city": "Lima"}]
    assert payload["usage"] is None, "the server was not asked to count"
    assert isinstance(payload["first_token_ms"], int)


def test_an_async_stream_is_recorded_whole(server: FakeServer, recorded: Recorded) -> None:
    """Streaming and async together are what a chat server does."""
    server.brain = greet

    async def main() -> str:
        said = ""
        async with async_client(server) as asking, traced_run("story"):
            async for chunk in await asking.chat.completions.create(**ChatLoop(QUESTION).request(), stream=True):
                said += chunk.choices[0].delta.content or ""
        return said

    assert asyncio.run(main()) == GREETING
    assert recorded.only().one("LLM_CALL")["payload"]["response"] == GREETING


def test_a_stream_nobody_closed_is_recorded_when_the_run_ends(server: FakeServer, recorded: Recorded) -> None:
    """A stream kept in a variable would otherwise look like a call that never returned."""
    server.brain = greet
    with traced_run("story"):
        stream = client(server).chat.completions.create(**ChatLoop(QUESTION).request(), stream=True)
        next(stream)
        next(stream)

    call = recorded.only().one("LLM_CALL")
    assert call["payload"]["response"] == "Good "
    assert call["meta"]["cancelled"] is True


def test_what_runs_between_the_pieces_of_a_stream_is_not_part_of_it(server: FakeServer, recorded: Recorded) -> None:
    """A consumer that asks a second question while it listens makes two calls, side by side."""
    server.brain = greet
    with traced_run("story"):
        for number, _ in enumerate(client(server).chat.completions.create(**ChatLoop("1").request(), stream=True)):
            if number == 1:
                ask(server)

    first, second = recorded.only().of_type("LLM_CALL")
    assert first["parent_id"] == second["parent_id"] == recorded.only().one("RUN_START")["event_id"]


def test_raw_responses_are_recorded_too(server: FakeServer, recorded: Recorded) -> None:
    """Other libraries call the client this way, to get at its headers."""
    server.brain = greet
    with traced_run("story"):
        completions = client(server).chat.completions.with_raw_response
        whole = completions.create(**ChatLoop(QUESTION).request()).parse()
        pieces = list(completions.create(**ChatLoop(QUESTION).request(), stream=True).parse())

    assert whole.choices[0].message.content == GREETING
    assert len(pieces) > 3
    responses = [call["payload"]["response"] for call in recorded.only().of_type("LLM_CALL")]
    assert responses == [GREETING, GREETING]


def test_embeddings_are_recorded_without_their_numbers(server: FakeServer, recorded: Recorded) -> None:
    """A thousand floats tell nobody anything, but how many there were does."""
    with traced_run("story"):
        client(server).embeddings.create(model="text-embedding-3-small", input=["a", "b"], encoding_format="float")

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert payload["model"] == "text-embedding-3-small"
    assert payload["prompt"] == ["a", "b"]
    assert payload["response"] == {"embeddings": 2, "dimensions": 3}
    assert payload["usage"]["prompt_tokens"] == 20


def test_plain_completions_are_recorded_too(server: FakeServer, recorded: Recorded) -> None:
    """Many local servers still speak only this."""
    server.brain = greet
    with traced_run("story"):
        client(server).completions.create(model="old", prompt="Say hello.")
        for _ in client(server).completions.create(model="old", prompt="Say hello.", stream=True):
            pass

    for call in recorded.only().of_type("LLM_CALL"):
        assert (call["payload"]["prompt"], call["payload"]["response"]) == ("Say hello.", GREETING)


def test_a_call_inside_a_recorded_model_call_is_not_counted_again(server: FakeServer, recorded: Recorded) -> None:
    """One call is one LLM_CALL: the one who stands around it says what it was, the client what only it knows."""
    server.brain = lambda request: Answer(text="busy", status=429) if request.number == 1 else greet(request)
    with traced_run("story"), llm_call("my-model", QUESTION) as call:
        call.response = "what the program made of it" if ask(server) else None

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert (payload["model"], payload["response"]) == ("my-model", "what the program made of it")
    assert (payload["provider"], payload["stop_reason"]) == ("openai", "stop")
    assert payload["usage"]["total_tokens"] == 27
    assert payload["retries"] == [{"status_code": 429}]


def test_disable_restores_the_client(server: FakeServer, recorded: Recorded) -> None:
    """What was changed has to be changed back, or nobody dares to try it."""
    from agentdbg.integrations import openai as integration

    integration.disable()
    with traced_run("story"):
        ask(server)

    assert not hasattr(openai.OpenAI.request, "__wrapped__")
    assert recorded.only().of_type("LLM_CALL") == []


def test_results_and_streams_pass_through_unchanged(server: FakeServer) -> None:
    """The program must not notice: same types, same iteration, same end."""
    server.brain = greet
    with traced_run("story"):
        whole = ask(server)
        stream = client(server).chat.completions.create(**ChatLoop(QUESTION).request(), stream=True)
        pieces = list(stream)

    assert type(whole) is openai.types.chat.ChatCompletion
    assert type(stream) is openai.Stream
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == GREETING
    assert list(stream) == []


def test_other_endpoints_are_left_alone(server: FakeServer, recorded: Recorded) -> None:
    """Counting tokens or listing models is no model call."""

    def refuse(request: Request) -> Answer:
        return Answer(text="not here", status=400)

    server.brain = refuse
    with traced_run("story"), pytest.raises(openai.BadRequestError):
        client(server).moderations.create(input="x")

    assert recorded.only().of_type("LLM_CALL") == []
