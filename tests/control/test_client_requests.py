"""A client's model call is its prompt and all else that it sends: a replay compares what goes over HTTP."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from agentdbg import replay, traced_run
from agentdbg.exceptions import AgentDbgReplayDiverged
from agentdbg.integrations import http
from agentdbg.integrations._client_requests import ClientRequests
from agentdbg.integrations.openai import CHAT
from examples.fake_openai_server import Answer, FakeServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

MESSAGES = [{"role": "user", "content": "hello"}]


class Client:
    """What the clients of models have in common: one method that sends everything."""

    def __init__(self, url: str) -> None:
        self.url = url

    def request(self, _cast_to: Any, options: Any) -> Any:
        """Send it."""
        return httpx2.post(f"{self.url}/{options.url}", json=options.json_data).json()

    def ask(self, **body: Any) -> str:
        """What programs call."""
        options = SimpleNamespace(method="post", url="chat/completions", json_data=body)
        return str(self.request(dict, options)["choices"][0]["message"]["content"])


@pytest.fixture(autouse=True)
def _watched() -> Iterator[None]:
    http.enable()
    requests = ClientRequests("client", {"/chat/completions": CHAT, "chat/completions": CHAT}, lambda _: "made-up")
    requests.enable(Client)
    yield
    requests.disable()


@pytest.fixture
def asked() -> tuple[Client, str, str]:
    """A client, what it was told, and the run; the server is gone."""
    with FakeServer(lambda request: Answer(text=f"answer {request.number}")) as server:
        client = Client(server.openai_url)
        with traced_run("program") as run:
            told = client.ask(model="m", messages=MESSAGES, tools=[{"name": "look"}], max_tokens=9)
    return client, told, run.run_id


def test_the_same_request_is_answered(asked: tuple[Client, str, str]) -> None:
    """Nothing goes out, and the program reads what it read."""
    client, told, run_id = asked

    with replay(run_id) as replayed, traced_run("program"):
        again = client.ask(model="m", messages=MESSAGES, tools=[{"name": "look"}], max_tokens=9)

    assert again == told
    assert (replayed.equal, replayed.served, replayed.live) == (True, 1, 0)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"tools": [{"name": "book"}]}, "tools[0].name"),
        ({"max_tokens": 10}, "max_tokens"),
        ({"temperature": 0.5}, "temperature"),
        ({"messages": [{"role": "user", "content": "hullo"}]}, "messages[0].content"),
    ],
)
def test_whatever_a_request_has_in_it_is_compared(
    change: dict[str, Any], path: str, asked: tuple[Client, str, str]
) -> None:
    """Another tool, another temperature: the answer may be another one, so the recorded one is none."""
    client, _, run_id = asked
    body = {"model": "m", "messages": MESSAGES, "tools": [{"name": "look"}], "max_tokens": 9, **change}

    with pytest.raises(AgentDbgReplayDiverged) as told, replay(run_id), traced_run("program"):
        client.ask(**body)

    divergence = told.value.divergence
    assert (divergence.kind_of, divergence.number) == ("changed", 1)
    assert [difference.path for difference in divergence.differences] == [path]


def test_what_is_passed_over_in_a_call_is_passed_over_in_its_request(asked: tuple[Client, str, str]) -> None:
    """The advice that a replay gives about a call is enough."""
    client, told, run_id = asked
    body = {"model": "m", "tools": [{"name": "look"}], "max_tokens": 9}
    rule = "llm:m messages[0].content"

    with replay(run_id, ignore=[rule]) as replayed, traced_run("program"):
        assert client.ask(messages=[{"role": "user", "content": "hullo"}], **body) == told
    assert replayed.equal

    with pytest.raises(AgentDbgReplayDiverged), replay(run_id, ignore=[rule]), traced_run("program"):
        client.ask(messages=[{"role": "user", "content": "hullo"}], **{**body, "max_tokens": 10})
