"""Model calls of libraries that nobody integrated: seen by their HTTP, each exactly once and complete."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import AgentDbgGuardrailExceeded, llm_call, traced_run
from agentdbg.analysis.conversation import Call, answer
from agentdbg.integrations import http
from examples.fake_openai_server import INPUT_TOKENS, OUTPUT_TOKENS, Answer
from tests.integrations.model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from examples.fake_openai_server import Request
    from tests.conftest import Recorded

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

SAID = "Hello dear traveller."
QUESTION = [{"role": "user", "content": "Hello?"}]
CHAT = {"model": "some-model", "messages": QUESTION}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.fixture(autouse=True)
def _enabled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    http.enable()
    yield
    http.disable()


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(_brain) as server:
        yield server


def _brain(request: Request) -> Answer:
    wants_tools = any(request.body.get(key) for key in ("tools", "toolConfig"))
    if wants_tools and not request.tool_results:
        return Answer(calls=[("get_weather", {"city": "Oslo"})])
    return Answer(text=SAID)


# Each asks once, and gives what it was told.


def _google(server: ModelServer, *, streams: bool, tools: bool) -> Any:
    genai = pytest.importorskip("google.genai")
    types = genai.types
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.address))
    declared = types.Tool(function_declarations=[{"name": "get_weather", "parameters": SCHEMA}])
    config = types.GenerateContentConfig(tools=[declared] if tools else None, system_instruction="Be kind.")
    if streams:
        parts = client.models.generate_content_stream(model="gemini-x", contents="Hello?", config=config)
        return "".join(part.text or "" for part in parts)
    return client.models.generate_content(model="gemini-x", contents="Hello?", config=config).text


def _google_async(server: ModelServer, *, streams: bool, tools: bool) -> Any:
    genai = pytest.importorskip("google.genai")
    types = genai.types
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.address))
    declared = types.Tool(function_declarations=[{"name": "get_weather", "parameters": SCHEMA}])
    config = types.GenerateContentConfig(tools=[declared] if tools else None)

    async def ask() -> Any:
        if not streams:
            response = await client.aio.models.generate_content(model="gemini-x", contents="Hello?", config=config)
            return response.text
        stream = await client.aio.models.generate_content_stream(model="gemini-x", contents="Hello?", config=config)
        return "".join([part.text or "" async for part in stream])

    return asyncio.run(ask())


def _bedrock(server: ModelServer, *, streams: bool, tools: bool) -> Any:
    boto3 = pytest.importorskip("boto3")
    client = boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=server.address)
    given: dict[str, Any] = {
        "modelId": "amazon.nova-pro-v1:0",
        "messages": [{"role": "user", "content": [{"text": "Hello?"}]}],
        "system": [{"text": "Be kind."}],
        "inferenceConfig": {"temperature": 0.5},
    }
    if tools:
        given["toolConfig"] = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": SCHEMA}}}]}
    if streams:
        events = list(client.converse_stream(**given)["stream"])
        return "".join(e["contentBlockDelta"]["delta"].get("text", "") for e in events if "contentBlockDelta" in e)
    return client.converse(**given)["output"]["message"]["content"][0].get("text")


def _chat_tools(*, tools: bool) -> dict[str, Any]:
    function = {"name": "get_weather", "description": "tell", "parameters": SCHEMA}
    return {"tools": [{"type": "function", "function": function}]} if tools else {}


def _ollama(server: ModelServer, *, streams: bool, tools: bool) -> Any:
    client = pytest.importorskip("ollama").Client(host=server.address)
    response = client.chat(model="some-model", messages=QUESTION, stream=streams, **_chat_tools(tools=tools))
    return "".join(part.message.content or "" for part in (response if streams else [response]))


def _cohere(server: ModelServer, *, streams: bool, tools: bool) -> Any:
    client = pytest.importorskip("cohere").ClientV2(api_key="none", base_url=server.address)
    if streams:
        events = client.chat_stream(model="some-model", messages=QUESTION, **_chat_tools(tools=tools))
        return "".join(event.delta.message.content.text for event in events if event.type == "content-delta")
    response = client.chat(model="some-model", messages=QUESTION, **_chat_tools(tools=tools))
    return "" if tools else response.message.content[0].text


def _mistral(server: ModelServer, *, streams: bool, tools: bool) -> Any:
    client = pytest.importorskip("mistralai.client").Mistral(api_key="none", server_url=server.address)
    given = {"model": "some-model", "messages": QUESTION, **_chat_tools(tools=tools)}
    if streams:
        with client.chat.stream(**given) as events:
            return "".join(str(event.data.choices[0].delta.content or "") for event in events)
    return client.chat.complete(**given).choices[0].message.content


def _groq(server: ModelServer, *, streams: bool, tools: bool) -> Any:
    client = pytest.importorskip("groq").Groq(api_key="none", base_url=server.address)
    response = client.chat.completions.create(
        model="some-model", messages=QUESTION, stream=streams, **_chat_tools(tools=tools)
    )
    if streams:
        return "".join(chunk.choices[0].delta.content or "" for chunk in response)
    return response.choices[0].message.content


def _huggingface(server: ModelServer, *, streams: bool, tools: bool) -> Any:
    hub = pytest.importorskip("huggingface_hub")
    client = hub.InferenceClient(base_url=f"{server.address}/v1", api_key="none")
    given = {"model": "some-model", "messages": QUESTION, **_chat_tools(tools=tools)}
    response = client.chat_completion(stream=streams, **given)
    if streams:
        return "".join(chunk.choices[0].delta.content or "" for chunk in response)
    return response.choices[0].message.content


def _requests(server: ModelServer, *, streams: bool, tools: bool) -> Any:
    requests = pytest.importorskip("requests")
    given = {**CHAT, "stream": streams, **_chat_tools(tools=tools)}
    response = requests.post(f"{server.address}/v1/chat/completions", json=given, stream=streams)
    if streams:
        return _spoken(line.decode() for line in response.iter_lines())
    return response.json()["choices"][0]["message"]["content"]


def _aiohttp(server: ModelServer, *, streams: bool, tools: bool) -> Any:
    aiohttp = pytest.importorskip("aiohttp")
    given = {**CHAT, "stream": streams, **_chat_tools(tools=tools)}

    async def ask() -> Any:
        url = f"{server.address}/v1/chat/completions"
        async with aiohttp.ClientSession() as session, session.post(url, json=given) as response:
            if streams:
                return _spoken([line.decode() async for line in response.content])
            return (await response.json())["choices"][0]["message"]["content"]

    return asyncio.run(ask())


def _spoken(lines: Any) -> str:
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    return "".join(event["choices"][0]["delta"].get("content") or "" for event in events)


LIBRARIES: dict[str, Callable[..., Any]] = {
    "google-genai": _google,
    "google-genai, async": _google_async,
    "boto3": _bedrock,
    "ollama": _ollama,
    "cohere": _cohere,
    "mistralai": _mistral,
    "groq": _groq,
    "huggingface_hub": _huggingface,
    "requests": _requests,
    "aiohttp": _aiohttp,
}
SAYS_NO_USAGE_IN_STREAMS = {"mistralai", "groq", "huggingface_hub", "requests", "aiohttp"}
"""They have to be asked for it; here nobody asks."""


@pytest.mark.parametrize("tools", [False, True], ids=["words", "tools"])
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("library", list(LIBRARIES))
def test_a_request_is_one_complete_model_call(
    library: str, streams: bool, tools: bool, model: ModelServer, recorded: Recorded
) -> None:
    """Whatever asks the model, the trace has who was asked, what, and what it answered."""
    if tools and streams and library in ("cohere", "mistralai"):
        pytest.skip("the server streams tool calls in pieces, as OpenAI does and these do not")
    with traced_run("asked"):
        said = LIBRARIES[library](model, streams=streams, tools=tools)

    run = recorded.only()
    assert run.types() == ["RUN_START", "LLM_CALL", "RUN_END"]
    assert len(model.requests) == 1
    call = run.one("LLM_CALL")["payload"]
    assert call["status"] == "ok"
    assert call["model"] in ("some-model", "gemini-x", "amazon.nova-pro-v1:0")
    assert "Hello?" in json.dumps(call["prompt"])
    heard = answer(call["response"])
    if tools:
        assert [(one.name, _args(one)) for one in heard.calls] == [("get_weather", {"city": "Oslo"})]
        assert "get_weather" in json.dumps(call["tools"])
    else:
        assert said == heard.text == SAID
    assert call["stop_reason"]
    if not (streams and library in SAYS_NO_USAGE_IN_STREAMS):
        assert (call["usage"]["prompt_tokens"], call["usage"]["completion_tokens"]) == (INPUT_TOKENS, OUTPUT_TOKENS)
    assert ("first_token_ms" in call) is streams


def _args(call: Call) -> Any:
    return json.loads(call.args) if isinstance(call.args, str) else call.args


@pytest.mark.parametrize("library", ["google-genai", "ollama", "requests", "aiohttp", "groq"])
def test_a_compressed_answer_is_read_all_the_same(library: str, model: ModelServer, recorded: Recorded) -> None:
    """Most real servers compress."""
    model.compresses = True
    with traced_run("asked"):
        LIBRARIES[library](model, streams=False, tools=False)

    assert answer(recorded.only().one("LLM_CALL")["payload"]["response"]).text == SAID


@pytest.mark.parametrize("library", ["google-genai", "boto3", "ollama", "requests", "aiohttp", "huggingface_hub"])
def test_a_refused_request_is_a_failed_call(library: str, model: ModelServer, recorded: Recorded) -> None:
    """The library raises something of its own; the trace has what the server said."""
    model.brain = lambda _: Answer(text="no such model", status=404)
    try:
        with traced_run("asked"):
            LIBRARIES[library](model, streams=False, tools=False)
    except Exception:
        pass

    call = recorded.only().one("LLM_CALL")["payload"]
    assert call["status"] == "error"
    assert (call["error"]["error_type"], call["error"]["message"]) == ("HTTP 404", "no such model")


@pytest.mark.parametrize("library", ["google-genai", "boto3", "requests", "aiohttp", "mistralai"])
def test_a_limit_stops_the_request_before_it_is_sent(library: str, model: ModelServer, recorded: Recorded) -> None:
    """A guardrail holds for libraries that nobody integrated too."""
    with pytest.raises(Exception) as caught, traced_run("asked", max_llm_calls=1):
        LIBRARIES[library](model, streams=False, tools=False)
        LIBRARIES[library](model, streams=False, tools=False)

    assert isinstance(caught.value, AgentDbgGuardrailExceeded)
    assert len(model.requests) == len(recorded.only().of_type("LLM_CALL")) == 1


def test_embeddings_and_ranks_are_model_calls_without_their_numbers(model: ModelServer, recorded: Recorded) -> None:
    """They cost money too, but nobody reads a thousand floats."""
    genai, ollama, cohere = map(pytest.importorskip, ("google.genai", "ollama", "cohere"))
    google = genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=model.address))
    ranks = cohere.ClientV2(api_key="none", base_url=model.address)
    with traced_run("asked"):
        google.models.embed_content(model="some-model", contents="Hello?")
        ollama.Client(host=model.address).embed(model="some-model", input="Hello?")
        ranks.embed(model="some-model", texts=["Hello?"], input_type="search_query", embedding_types=["float"])
        ranks.rerank(model="some-model", query="Hello?", documents=["a", "b"])

    *vectors, order = [call["payload"] for call in recorded.only().of_type("LLM_CALL")]
    assert [call["response"] for call in vectors] == [{"embeddings": 1, "dimensions": 3}] * 3
    assert [call["provider"] for call in vectors] == ["google", "ollama", "cohere"]
    assert [rank["index"] for rank in order["response"]] == [0, 1]


def test_a_stream_left_early_is_recorded_as_far_as_it_came(model: ModelServer, recorded: Recorded) -> None:
    """Whoever stops listening still wants to see what was said until then."""
    requests = pytest.importorskip("requests")
    url = f"{model.address}/v1/chat/completions"
    with traced_run("asked"), requests.post(url, json={**CHAT, "stream": True}, stream=True) as response:
        for line in response.iter_lines():
            if b"Hello" in line:
                break

    call = recorded.only().one("LLM_CALL")
    assert call["meta"]["cancelled"] is True
    assert SAID.startswith(call["payload"]["response"])
    assert recorded.only().meta["status"] == "ok"


def test_a_request_inside_a_recorded_model_call_is_not_recorded_again(model: ModelServer, recorded: Recorded) -> None:
    """One call is one event: who stands further out knows better what it is."""
    with traced_run("asked"), llm_call("mine", prompt="Hello?") as call:
        call.response = LIBRARIES["requests"](model, streams=False, tools=False)

    assert recorded.only().types() == ["RUN_START", "LLM_CALL", "RUN_END"]
    assert recorded.only().one("LLM_CALL")["name"] == "mine"


def test_a_request_that_failed_and_was_made_again_is_a_model_call_of_its_own(
    model: ModelServer, recorded: Recorded
) -> None:
    """A client's retries cost time, and each is a request that the server counted."""
    openai = pytest.importorskip("openai")
    from agentdbg.integrations import openai as ours

    model.brain = lambda request: Answer(status=429, text="slow down") if request.number < 3 else Answer(text=SAID)
    ours.enable()
    with traced_run("asked"):
        client = openai.OpenAI(base_url=f"{model.address}/v1", api_key="none", max_retries=2)
        client.chat.completions.create(**CHAT)
    ours.disable()

    run = recorded.only()
    calls = run.of_type("LLM_CALL")
    assert [call["payload"]["status"] for call in calls] == ["error", "error", "ok"]
    assert {call["parent_id"] for call in calls} == {run.one("RUN_START")["event_id"]}
    assert [call["payload"]["prompt"] for call in calls] == [QUESTION] * 3
    assert calls[0]["payload"]["error"]["message"] == "slow down"
    assert calls[0]["meta"]["retried_in"] == calls[2]["event_id"]


def test_an_answer_that_only_its_bytes_tell_is_filled_in(model: ModelServer, recorded: Recorded) -> None:
    """Whoever reads the raw response by himself leaves nothing for the client's own hook to read."""
    openai = pytest.importorskip("openai")
    from agentdbg.integrations import openai as ours

    ours.enable()
    with traced_run("asked"):
        client = openai.OpenAI(base_url=f"{model.address}/v1", api_key="none")
        with client.chat.completions.with_streaming_response.create(**CHAT) as response:
            list(response.iter_lines())
    ours.disable()

    call = recorded.only().one("LLM_CALL")
    assert (call["payload"]["response"], call["payload"]["usage"]["prompt_tokens"]) == (SAID, INPUT_TOKENS)


def test_other_requests_leave_no_trace(model: ModelServer, recorded: Recorded) -> None:
    """A mail service has `/messages` too; what is no model's body is no model call."""
    requests = pytest.importorskip("requests")
    with traced_run("asked"):
        for path, body in (
            ("/v1/chat/completions", {"text": "no messages"}),
            ("/v1/messages", {"messages": [{"to": "ada"}]}),
            ("/v1/responses", {"survey": 7}),
            ("/api/v2/tickets", CHAT),
        ):
            requests.post(f"{model.address}{path}", json=body)
        requests.get(f"{model.address}/v1/chat/completions")

    assert recorded.only().types() == ["RUN_START", "RUN_END"]


def _never() -> Any:
    pytest.fail("asked for more")


def test_a_request_that_asks_no_model_costs_next_to_nothing() -> None:
    """The hooks stand in every request of the program; most have nothing to do with models."""
    httpx = pytest.importorskip("httpx")
    from agentdbg.integrations._http_exchange import begin_exchange

    request = httpx.Request("POST", "https://example.com/api/v2/tickets/17/comments?page=2", json={"text": "hello"})
    rounds, times = 2_000, []
    with traced_run("busy"):
        for _ in range(10):
            started = time.perf_counter()
            for _ in range(rounds):
                begin_exchange(
                    request.method, request.url.host, request.url.path, lambda: pytest.fail("asked for more")
                )
            times.append((time.perf_counter() - started) / rounds)

    assert min(times) < 5e-6
