"""
The Claude Agent SDK: what its messages tell of the work that another program does.

    from agentdbg.integrations import claude_agent
    claude_agent.enable()

`query` and each turn of a `ClaudeSDKClient` is a span; each answer of a model is an LLM_CALL with its usage, each tool
a TOOL_CALL with its result, those of a sub-agent under the tool that started it. What the SDK says that all of it
cost, and how many tokens all of it wrote, is shared out: the last answer has what the others leave, because an answer
is told before it is known how long it is. Supported: claude-agent-sdk >= 0.2.
"""

from __future__ import annotations

import functools
import sys
import time
from contextlib import nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agentdbg.around import Pairing, at_place, contained, current_place, text_of, when_imported
from agentdbg.integrations._client_recording import Working
from agentdbg.integrations._private_names import CLAUDE_QUERIES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["disable", "enable"]

_CLIENTS = "claude_agent_sdk.client"
_KINDS = {
    "TextBlock": "text",
    "ThinkingBlock": "thinking",
    "ToolUseBlock": "tool_use",
    "ToolResultBlock": "tool_result",
}
_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")
_pairing = Pairing("claude_agent_sdk")
_turns: WeakKeyDictionary[Any, _Turn] = WeakKeyDictionary()


class _Switch:
    records = False
    is_installed = False


def enable() -> None:
    """Record what every query and client of the SDK does, from now on."""
    if find_spec("claude_agent_sdk") is None:
        raise ImportError("agentdbg records the Claude Agent SDK, which is missing: pip install claude-agent-sdk")
    _Switch.records = True
    if not _Switch.is_installed:
        _Switch.is_installed = True
        when_imported([CLAUDE_QUERIES, _CLIENTS], _stand_around, each_time=True)


def disable() -> None:
    """Record no more of it."""
    _Switch.records = False


def _stand_around(module: str) -> None:
    loaded: Any = sys.modules[module]
    if module == _CLIENTS:
        client = loaded.ClaudeSDKClient
        client.query = _asking(client.query)
        client.receive_messages = _receiving(client.receive_messages)
    else:
        loaded.InternalClient.process_query = _querying(loaded.InternalClient.process_query)


def _querying(original: Any) -> Any:
    @functools.wraps(original)
    async def process_query(self: Any, prompt: Any, options: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        turn = _begun(prompt, options)
        messages = original(self, prompt, options, *args, **kwargs)
        try:
            while True:
                with turn.at_work if turn is not None else nullcontext():
                    message = await anext(messages, None)
                if message is None:
                    break
                if turn is not None:
                    turn.heard(message)
                yield message
        except BaseException as error:
            if turn is not None:
                turn.end(error=error)
            raise
        finally:
            await messages.aclose()
        if turn is not None:
            turn.end()

    return process_query


def _asking(original: Any) -> Any:
    @functools.wraps(original)
    async def query(self: Any, prompt: Any, *args: Any, **kwargs: Any) -> Any:
        turn = _turns.get(self)
        if turn is None or turn.is_over:
            new = _begun(prompt, getattr(self, "options", None), turn)
            if new is not None:
                _turns[self] = new
        else:
            turn.told(prompt)
        return await original(self, prompt, *args, **kwargs)

    return query


def _receiving(original: Any) -> Any:
    @functools.wraps(original)
    async def receive_messages(self: Any) -> AsyncIterator[Any]:
        messages = original(self)
        try:
            async for message in messages:
                turn = _turns.get(self)
                if turn is not None:
                    turn.heard(message)
                yield message
        finally:
            await messages.aclose()

    return receive_messages


@contained
def _begun(prompt: Any, options: Any, before: _Turn | None = None) -> _Turn | None:
    turn = _Turn(prompt, options, before) if _Switch.records else None
    return turn if turn is not None and turn.has_begun else None


class _Turn:
    """One request to the agent, until its result comes. Also the key of its span."""

    def __init__(self, prompt: Any, options: Any, before: _Turn | None) -> None:
        system = getattr(options, "system_prompt", None)
        told = [{"role": "system", "content": system}] if isinstance(system, str) else []
        self.talks: dict[str | None, list[Any]] = {None: told if before is None else before.talks[None]}
        self._answers: dict[str | None, _Answer] = {}
        """The newest answer of the agent itself (None) and of each sub-agent, by the tool that started it."""
        self._tools: dict[str, float] = {}
        self._told_usage: list[tuple[str | None, Any]] = []
        """The usage of each answer of this turn that is recorded, with its speaker."""
        self._usage_before: list[tuple[str | None, Any]] = [] if before is None else before.all_usage
        self.session_cost: float = 0.0 if before is None else before.session_cost
        self._cost = 0.0
        self._since = time.monotonic()
        self.is_over = False
        self.told(prompt)
        asked = prompt if isinstance(prompt, str) else None
        self.at_work = Working()
        self.has_begun = _pairing.start(self, "span", "claude", asked, meta={"agent_name": "claude"})
        self.at_work.leave()

    @contained
    def told(self, prompt: Any) -> None:
        """The user says something; a stream of messages is read by the SDK alone."""
        if isinstance(prompt, str):
            self.talks[None].append({"role": "user", "content": prompt})

    @contained
    def heard(self, message: Any) -> None:
        """A message of the agent's is on its way to the program."""
        kind = type(message).__name__
        with at_place(current_place()):
            if kind == "AssistantMessage":
                self._hear_answer(message)
            elif kind == "UserMessage":
                self._hear_results(message)
        if kind == "StreamEvent":
            self._hear_event(message)
        if kind == "ResultMessage":
            self._hear_end(message)

    def _hear_answer(self, message: Any) -> None:
        # The blocks of one answer come as messages of their own; those of sub-agents at work come in between.
        tool = message.parent_tool_use_id
        for speaker, other in list(self._answers.items()):
            if any(use["id"] == tool for use in other.uses):
                self._flush(speaker)
        answer = self._answers.get(tool)
        if answer is None or not answer.takes(message):
            self._flush(tool)
            answer = self._answers[tool] = _Answer(message, self._since)
        answer.add(message)
        if answer.is_recorded:  # a tool that it asked for before has ended already
            self._begin_tools(answer)
        self._since = time.monotonic()

    def _hear_results(self, message: Any) -> None:
        blocks = message.content if isinstance(message.content, list) else []
        results = [block for block in blocks if type(block).__name__ == "ToolResultBlock"]
        for speaker in (message.parent_tool_use_id, *(block.tool_use_id for block in results)):
            self._flush(speaker)
        for block in results:
            words = text_of(block.content) if isinstance(block.content, list) else block.content
            content = words or block.content
            error = {"error_type": "ToolError", "message": str(content)} if block.is_error else None
            started = self._tools.pop(block.tool_use_id, self._since)
            took = int((time.monotonic() - started) * 1000)
            _pairing.end((self, block.tool_use_id), content, error=error, duration_ms=took)
        if results:
            told = {"role": "user", "content": [_plain(block) for block in results]}
            self._talk(message.parent_tool_use_id).append(told)
        self._since = time.monotonic()

    def _hear_event(self, message: Any) -> None:
        """A piece of an answer; the last one tells how long the answer became."""
        answer = self._answers.get(message.parent_tool_use_id)
        if message.event.get("type") == "message_delta" and answer is not None:
            answer.usage = {**(answer.usage or {}), **(message.event.get("usage") or {})}

    def _hear_end(self, message: Any) -> None:
        total = message.total_cost_usd
        self._flush_all(total, getattr(message, "usage", None))
        meta = {"session_id": message.session_id, "num_turns": message.num_turns}
        if total is not None:
            self.session_cost = max(self.session_cost, total)
            meta["total_cost_usd"] = total
        told = message.result or "; ".join(map(str, getattr(message, "errors", None) or ())) or message.subtype
        kind = "AgentError" if message.subtype == "success" else message.subtype
        error = {"error_type": kind, "message": str(told)} if message.is_error else None
        self.end(message.result, error=error, meta=meta)

    def _talk(self, tool: str | None) -> list[Any]:
        """The conversation with the agent itself, or with the sub-agent that a tool started."""
        return self.talks.setdefault(tool, [])

    @property
    def all_usage(self) -> list[tuple[str | None, Any]]:
        """The usage of every answer of the session so far."""
        return [*self._usage_before, *self._told_usage]

    def _flush_all(self, total: float | None = None, usage: Any = None) -> None:
        for speaker in [one for one in self._answers if one is not None]:
            self._flush(speaker)
        self._flush(None, total, usage)

    def _whole_usage(self, own: Any, total: Any) -> Any:
        """
        The usage of the last answer, with the output that the others leave of the total.

        What the total is of, this turn or the session, with sub-agents or without, is told by its input, which every
        answer knows for certain.
        """
        if not isinstance(own, dict) or not isinstance(total, dict):
            return own
        for told in (self._told_usage, self.all_usage):
            for others in (told, [one for one in told if one[0] is None]):
                counted = [usage for _, usage in others if isinstance(usage, dict)]
                if _input(total) == sum(map(_input, (*counted, own))):
                    left = _output(total) - sum(map(_output, counted))
                    return {**own, "output_tokens": max(left, _output(own))}
        return own

    def _flush(self, speaker: str | None, total: float | None = None, usage: Any = None) -> None:
        """Record the newest answer of an agent, and begin the tools that it asks for."""
        answer = self._answers.get(speaker)
        if answer is None or answer.is_recorded:
            return
        answer.is_recorded = True
        answer.usage = self._whole_usage(answer.usage, usage)
        self._told_usage.append((speaker, answer.usage))
        talk, parent = self._talk(speaker), self._step_of(answer)
        if not _pairing.start(answer, "llm", answer.model, list(talk), parent_key=parent, provider="anthropic"):
            return
        cost = _pairing.price_of(answer, answer.model, answer.usage)
        outcome = answer.outcome()
        if total is not None:
            # What it says is of this turn alone, or of the whole session: no turn costs less than nothing.
            left = [known for known in (total - self.session_cost - self._cost, total - self._cost) if known > 0]
            outcome["cost_usd"] = cost = left[0] if left else cost
        _pairing.end(answer, **outcome)
        self._cost += cost or 0.0
        talk.append({"role": "assistant", "content": answer.blocks})
        self._begin_tools(answer)

    def _begin_tools(self, answer: _Answer) -> None:
        for use in answer.uses:
            name = use["id"]
            if name in answer.begun:
                continue
            self._tools[name] = time.monotonic()
            if isinstance(use["input"], dict) and isinstance(use["input"].get("prompt"), str):
                self._talk(name).append({"role": "user", "content": use["input"]["prompt"]})
            key, meta, asked = (self, name), {"tool_call_id": name}, (name, *answer.begun[:1])
            parent = self._step_of(answer)
            _pairing.start(key, "tool", use["name"], use["input"], parent_key=parent, asked_by=asked, meta=meta)
            answer.begun.append(name)

    def _step_of(self, answer: _Answer) -> Any:
        """What an answer and its tools hang under: this turn, or the tool that the sub-agent is."""
        return self if answer.tool is None else (self, answer.tool)

    @contained
    def end(self, result: Any = None, *, error: Any = None, meta: dict[str, Any] | None = None) -> None:
        """It is over, or was left."""
        if not self.is_over:
            self.is_over = True
            with at_place(current_place()):
                self._flush_all()
            for tool in self._tools:
                _pairing.drop((self, tool))
            _pairing.end(self, result, error=error, meta=meta)


class _Answer:
    """What a model says at once, of which each block comes as a message. Also the key of its call."""

    def __init__(self, first: Any, since: float) -> None:
        self.model, self.tool = first.model, first.parent_tool_use_id
        self.blocks: list[Any] = []
        self.begun: list[str] = []
        """The tools that it asks for and that have begun."""
        self.is_recorded = False
        self.usage: Any = None
        self._id = getattr(first, "message_id", None)
        self._error: Any = None
        self._reason: Any = None
        self._since = since

    @property
    def uses(self) -> list[Any]:
        return [block for block in self.blocks if isinstance(block, dict) and block.get("type") == "tool_use"]

    def takes(self, message: Any) -> bool:
        """Whether a message goes on with this answer."""
        return self._id is not None and getattr(message, "message_id", None) == self._id

    def add(self, message: Any) -> None:
        self.blocks += [_plain(block) for block in message.content]
        self.usage = getattr(message, "usage", None) or self.usage
        self._reason = getattr(message, "stop_reason", None) or self._reason
        self._error = getattr(message, "error", None) or self._error
        self._until = time.monotonic()

    def outcome(self) -> dict[str, Any]:
        """The arguments of `Pairing.end`."""
        words = [block["text"] for block in self.blocks if isinstance(block, dict) and block.get("type") == "text"]
        outcome: dict[str, Any] = {
            "result": "".join(words) if len(words) == len(self.blocks) else self.blocks,
            "usage": self.usage,
            "stop_reason": self._reason,
            "asks_for": [use["id"] for use in self.uses],
            "duration_ms": int((self._until - self._since) * 1000),
            "meta": {"generation_id": self._id} if self._id else {},
        }
        if self._error:
            outcome["error"] = {"error_type": str(self._error), "message": "".join(words) or str(self._error)}
        return outcome


def _input(usage: dict[str, Any]) -> int:
    return sum(usage.get(key) or 0 for key in ("input_tokens", *_CACHED))


def _output(usage: dict[str, Any]) -> int:
    return usage.get("output_tokens") or 0


def _plain(block: Any) -> Any:
    """A content block in the words of Anthropic's own API."""
    kind = _KINDS.get(type(block).__name__)
    return block if kind is None else {"type": kind, **vars(block)}
