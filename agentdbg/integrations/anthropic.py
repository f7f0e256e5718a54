"""
The anthropic client: every Messages request is one LLM_CALL.

    from agentdbg.integrations import anthropic
    anthropic.enable()

Sync and async, streaming or not, `create`, `stream` and raw responses, tool use, thinking, the beta endpoints, and
the clients for Bedrock and Vertex; attempts that failed and were repeated stand in the event's `retries`. `disable()`
lets the client be as it was. Supported: anthropic >= 1.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentdbg.around import pass_on
from agentdbg.integrations._client_recording import Api, asked_for
from agentdbg.integrations._client_requests import ClientRequests

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["disable", "enable"]

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def enable() -> None:
    """Record the requests of every Anthropic client of this process, also those made before."""
    try:
        from anthropic import Anthropic, AsyncAnthropic  # noqa: PLC0415 -- only when it is wanted
    except ImportError as error:
        raise ImportError("agentdbg records the anthropic package, which is missing: pip install anthropic") from error
    _requests.enable(Anthropic, AsyncAnthropic)


def disable() -> None:
    """Record no more of them."""
    _requests.disable()


def _provider(client: Any) -> str:
    name = type(client).__name__
    return "aws_bedrock" if "Bedrock" in name else "google_vertex" if "Vertex" in name else "anthropic"


def _prompt(body: Mapping[str, Any]) -> Any:
    messages, system = body.get("messages") or [], body.get("system")
    return [{"role": "system", "content": system}, *messages] if system else messages


def _read(message: dict[str, Any]) -> dict[str, Any]:
    blocks = [block for block in message.get("content") or [] if isinstance(block, dict)]
    only_words = all(block.get("type") == "text" for block in blocks)
    words = "".join(str(block.get("text", "")) for block in blocks) if blocks else None
    return {
        "result": words if only_words else blocks,
        "name": message.get("model"),
        "usage": message.get("usage"),
        "stop_reason": message.get("stop_reason"),
        "asks_for": block_requests(blocks),
        "meta": {"generation_id": message["id"]} if message.get("id") else {},
    }


def block_requests(blocks: list[Any]) -> list[str]:
    """What the content blocks of a message ask for."""
    uses = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]
    return asked_for((use.get("id"), use.get("name"), use.get("input")) for use in uses)


class _Fold:
    """A message from the events of its stream."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self._is_counted = False

    def add(self, event: dict[str, Any]) -> None:
        place = event.get("index", 0)
        match event.get("type"):
            case "message_start":
                self._message = dict(event.get("message") or {})
            case "message_delta":
                known = {key: value for key, value in (event.get("usage") or {}).items() if value is not None}
                self._message["usage"] = {**(self._message.get("usage") or {}), **known}
                self._is_counted = True
                self._message["stop_reason"] = (event.get("delta") or {}).get("stop_reason")
            case "content_block_start":
                self._blocks[place] = dict(event.get("content_block") or {})
            case "content_block_delta":
                self._join(place, event.get("delta") or {})

    def _join(self, place: int, delta: dict[str, Any]) -> None:
        kind = delta.get("type")
        if kind == "input_json_delta":
            self._inputs[place] = self._inputs.get(place, "") + str(delta.get("partial_json", ""))
        elif kind in _TEXTS:
            block, key = self._blocks.setdefault(place, {}), _TEXTS[kind]
            block[key] = str(block.get(key) or "") + str(delta.get(key, ""))

    def response(self) -> dict[str, Any]:
        blocks = []
        for place, block in sorted(self._blocks.items()):
            given = self._inputs.get(place)
            blocks.append(block if given is None else {**block, "input": _parsed(given)})
        message = {**self._message, "content": blocks}
        if not self._is_counted and isinstance(message.get("usage"), dict):  # what it begins with only holds the place
            message["usage"] = {key: value for key, value in message["usage"].items() if key != "output_tokens"}
        return message


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:  # cut off in the middle
        pass_on(error)
        return text


MESSAGES = Api("messages", _prompt, _read, _Fold, Api.not_parameters | {"system"})
_requests = ClientRequests("anthropic", {"/v1/messages": MESSAGES}, _provider)
