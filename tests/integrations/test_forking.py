"""Real clients of each provider: what a fork changes in an answer or a request reaches them as the provider's own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from examples.fake_openai_server import Answer
from tests.integrations.model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

# Each asks twice, the second time about what was said; it prints the text, the tools asked for, and the usage.
CLIENTS = {
    "openai": """
    from openai import OpenAI
    client = OpenAI(base_url=base + "/v1", api_key="none", max_retries=0)
    def ask(said):
        messages = [{"role": "system", "content": "be kind"}, {"role": "user", "content": said}]
        answer = client.chat.completions.create(model="m-1", messages=messages)
        message = answer.choices[0].message
        names = [call.function.name for call in message.tool_calls or ()]
        return message.content or "", names, answer.usage.total_tokens
    """,
    "openai stream": """
    from openai import OpenAI
    client = OpenAI(base_url=base + "/v1", api_key="none", max_retries=0)
    def ask(said):
        messages = [{"role": "system", "content": "be kind"}, {"role": "user", "content": said}]
        text, names, usage = "", [], None
        for chunk in client.chat.completions.create(
            model="m-1", messages=messages, stream=True, stream_options={"include_usage": True}
        ):
            usage = chunk.usage.total_tokens if chunk.usage else usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                names += [call.function.name for call in choice.delta.tool_calls or () if call.function.name]
        return text, names, usage
    """,
    "openai responses": """
    from openai import OpenAI
    client = OpenAI(base_url=base + "/v1", api_key="none", max_retries=0)
    def ask(said):
        answer = client.responses.create(model="m-1", input=[{"role": "user", "content": said}], instructions="be kind")
        names = [item.name for item in answer.output if item.type == "function_call"]
        return answer.output_text, names, answer.usage.total_tokens
    """,
    "openai responses stream": """
    from openai import OpenAI
    client = OpenAI(base_url=base + "/v1", api_key="none", max_retries=0)
    def ask(said):
        given = [{"role": "user", "content": said}]
        with client.responses.stream(model="m-1", input=given, instructions="be kind") as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            answer = stream.get_final_response()
        assert answer.output_text == text
        names = [item.name for item in answer.output if item.type == "function_call"]
        return text, names, answer.usage.total_tokens
    """,
    "anthropic": """
    from anthropic import Anthropic
    client = Anthropic(base_url=base, api_key="none", max_retries=0)
    def ask(said):
        messages = [{"role": "user", "content": said}]
        answer = client.messages.create(model="m-1", max_tokens=99, system="be kind", messages=messages)
        text = "".join(block.text for block in answer.content if block.type == "text")
        return text, [block.name for block in answer.content if block.type == "tool_use"], answer.usage.output_tokens
    """,
    "anthropic stream": """
    from anthropic import Anthropic
    client = Anthropic(base_url=base, api_key="none", max_retries=0)
    def ask(said):
        messages = [{"role": "user", "content": said}]
        with client.messages.stream(model="m-1", max_tokens=99, system="be kind", messages=messages) as stream:
            text, answer = "".join(stream.text_stream), stream.get_final_message()
        return text, [block.name for block in answer.content if block.type == "tool_use"], answer.usage.output_tokens
    """,
    "google": """
    from google import genai
    client = genai.Client(api_key="none", http_options={"base_url": base})
    def ask(said):
        answer = client.models.generate_content(model="m-1", contents=said, config={"system_instruction": "be kind"})
        names = [call.name for call in answer.function_calls or ()]
        return answer.text or "", names, answer.usage_metadata.total_token_count
    """,
    "google stream": """
    from google import genai
    client = genai.Client(api_key="none", http_options={"base_url": base})
    def ask(said):
        given = {"model": "m-1", "contents": said, "config": {"system_instruction": "be kind"}}
        pieces = list(client.models.generate_content_stream(**given))
        names = [call.name for piece in pieces for call in piece.function_calls or ()]
        return "".join(piece.text or "" for piece in pieces), names, pieces[-1].usage_metadata.total_token_count
    """,
}
OWN_PATH = {
    "openai": "choices[0].message.content",
    "openai responses": "output[0].content[0].text",
    "anthropic": "content[0].text",
    "google": "candidates[0].content.parts[0].text",
}
TOOL_CALL = 'response={"content": "", "tool_calls": [{"name": "refund", "arguments": {"amount": 40}}]}'
REQUEST = ("model=m-2", "prompt[0].content=BRIEF", "messages[0].content=OTHER", "temperature=0.125")


class Forked:
    """A program that asks a model twice, recorded, and ways to fork it."""

    def __init__(self, name: str, folder: Path, server: ModelServer) -> None:
        self.name, self._folder, self._server = name, folder, server
        program = f"import json, sys\nbase = sys.argv[1]\n{textwrap.dedent(CLIENTS[name])}"
        asking = "first = ask('hi')\nprint(json.dumps(first))\nprint(json.dumps(ask('you said ' + first[0])))\n"
        (folder / "agent.py").write_text(program + asking)
        self._environment = {**os.environ, "AGENTDBG_DATA_DIR": str(folder / "data"), "PYTHONHASHSEED": "0"}
        done = self._agentdbg("run", "agent.py", server.address)
        self.run = done.stderr.rpartition("recorded run ")[2].split()[0]
        self.first = json.loads(done.stdout.splitlines()[0])

    def fork(self, *edits: str) -> tuple[Any, list[Any]]:
        """What the program printed first, and the requests that were made."""
        before = len(self._server.requests)
        done = self._agentdbg("fork", self.run, "--at", "2", *(f"--set={edit}" for edit in edits))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[0]), self._server.requests[before:]

    def _agentdbg(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "agentdbg", *words]
        where = {"cwd": self._folder, "env": self._environment}
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **where)  # type: ignore[call-overload]
        assert isinstance(done, subprocess.CompletedProcess)
        return done


@pytest.fixture(params=list(CLIENTS))
def forked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Forked]:
    package = request.param.partition(" ")[0]
    module = "google.genai" if package == "google" else package
    if importlib.util.find_spec(package) is None or importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    with ModelServer(lambda _: Answer(text="OLD")) as server:
        yield Forked(request.param, tmp_path, server)


def test_what_is_changed_is_in_the_providers_own_form(forked: Forked) -> None:
    """Its client reads an edited answer, whole or streamed, and sends an edited request, as if it were nothing new."""
    own = OWN_PATH[forked.name.removesuffix(" stream")]
    for edit, text, names in ((f"response.{own}=NEW", "NEW", []), (TOOL_CALL, "", ["refund"])):
        first, requests = forked.fork(edit)

        assert first == [text, names, forked.first[2]], edit
        assert len(requests) == 1, edit
        assert f"you said {text}" in json.dumps(requests[0].body), edit

    # Among a chat's own messages the system prompt is the first; elsewhere it stands beside them.
    is_chat = forked.name in ("openai", "openai stream")
    edits = [edit.replace("messages[0]", "messages[1]") if is_chat else edit for edit in REQUEST]
    _, requests = forked.fork(*edits)

    sent = json.dumps([requests[0].path, requests[0].body])
    assert len(requests) == 2
    assert [edit for edit in edits if edit.partition("=")[2] not in sent] == []
    assert "be kind" not in sent
