"""
mini-swe-agent trajectories (`.traj.json`): a conversation whose commands are tool calls.

A command that ended with another return code than 0 failed. What a call cost, and what it used, is kept with each
message. In trajectories of the first version the command stands in the answer's code block, and its output in the
message that follows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.sessions import Session, exit_code_error, in_order, short_name
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms
from agentdbg.interop.transcripts import calls_in, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "mini-swe-agent trajectory"

_COMMAND = re.compile(r"```(?:bash|sh|mswea_bash_command)?[ \t]*\n(.*?)\n?```", re.DOTALL)
_RETURN_CODE = re.compile(r"<returncode>\s*(-?\d{1,6})\s*</returncode>")
_OUTPUT = re.compile(r"<output>\n?(.*?)\n?</output>", re.DOTALL)
_LONGEST_OUTPUT = 100_000
_DONE = frozenset({"submitted", "", "submit"})


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip or len(source.documents) > 1:
        return False
    document = as_dict(source.documents[0][1])
    if as_word(document.get("trajectory_format")).startswith("mini-swe-agent"):
        return isinstance(document.get("messages"), list)
    return "mini_version" in as_dict(document.get("info")) and isinstance(document.get("messages"), list)


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    document = source.documents[0][1]
    info = as_dict(document.get("info"))
    told = _Told(as_word(as_dict(as_dict(info.get("config")).get("model")).get("model_name")))
    for number, message in enumerate(document["messages"], 1):
        if isinstance(message, dict):
            told.take(message, number)
        else:
            yield EntryProblem(f"message {number}", "not an object, left out")
    session = told.session
    task = as_word(document.get("instance_id")) or source.stem.removesuffix(".traj")
    statistics = as_dict(info.get("model_stats"))
    facts = {
        "framework": "mini-swe-agent",
        "instance_id": document.get("instance_id"),
        "exit_status": info.get("exit_status"),
        "version": info.get("mini_version"),
        "total_cost_usd": statistics.get("instance_cost"),
        "api_calls": statistics.get("api_calls"),
    }
    yield RunDraft(
        identity=["mini-swe-agent", document],
        name=short_name(task, session.first_request),
        format="mini_swe_agent",
        steps=in_order(session.close()),
        error=_ending(info, told.exit),
        result=as_word(info.get("submission")) or as_word(told.exit.get("submission")) or None,
        meta={key: value for key, value in facts.items() if value not in (None, "")},
    )


class _Told:
    """The messages so far."""

    def __init__(self, model: str) -> None:
        self.session = Session()
        self.exit: dict[str, Any] = {}
        self._model = model
        self._waiting: dict[str, None] = {}
        """Calls that the next observations answer, in their order."""
        self._answers = 0

    def take(self, message: dict[str, Any], number: int) -> None:
        role = as_word(message.get("role")) or as_word(message.get("type"))
        extra = as_dict(message.get("extra"))
        at_ms = moment_ms(extra.get("timestamp"))
        if role == "assistant" or message.get("object") == "response":
            self._answer(message, extra, at_ms, number)
        elif role == "exit":
            self.exit = {**extra, "content": message.get("content")}
            if as_word(extra.get("exit_status")).lower() == "submitted":
                for call in self._waiting:  # the command that submits ends the run, and gives what is submitted
                    self.session.result(call, message.get("content"), at_ms=at_ms, name="bash")
        elif role in ("tool", "function_call_output") or "returncode" in extra or self._is_observation(message):
            self._observe(message, extra, at_ms)
        elif role == "system":
            self.session.context(message.get("content"), role="system", at_ms=at_ms)
        else:
            self._waiting = {}
            self.session.request(message.get("content"), at_ms=at_ms)

    def _is_observation(self, message: dict[str, Any]) -> bool:
        text = words_of(message.get("content"))
        return bool(self._waiting) and (_RETURN_CODE.search(text) is not None or "<output>" in text)

    def _answer(self, message: dict[str, Any], extra: dict[str, Any], at_ms: float | None, number: int) -> None:
        of = f"message {number}"
        response = as_dict(extra.get("response"))
        reason = next(
            (as_word(as_dict(choice).get("finish_reason")) for choice in as_list(response.get("choices"))), ""
        )
        shown = {key: value for key, value in message.items() if key != "extra"}
        step = self.session.answer(
            of,
            {"role": "assistant", **shown},
            at_ms=at_ms,
            model=as_word(response.get("model")) or self._model,
            usage=response.get("usage") or as_dict(message.get("usage")) or None,
            stop_reason=reason or None,
            cost_usd=extra.get("cost"),
        )
        step.meta.pop("source_id", None)
        if as_word(response.get("id")):
            step.meta["source_id"] = response["id"]
        self._waiting = {}
        for place, (call_id, command) in enumerate(_commands(message, extra), 1):
            call = call_id or f"{of}, command {place}"
            self.session.call(call, "bash", {"command": command}, answer=of, at_ms=at_ms)
            self._waiting[call] = None

    def _observe(self, message: dict[str, Any], extra: dict[str, Any], at_ms: float | None) -> None:
        content = words_of(message.get("content")) or as_word(message.get("output"))
        found = _RETURN_CODE.search(content[:2_000])
        code = extra.get("returncode")
        if code is None and found is not None:
            code = int(found[1])
        inner = _OUTPUT.search(content[:_LONGEST_OUTPUT])
        output = extra.get("raw_output")
        if not isinstance(output, str):
            output = inner[1] if inner is not None else content
        error = exit_code_error(code, output) if isinstance(code, int) and code != 0 else None
        if error is not None and as_word(extra.get("exception_info")):
            error["message"] = f"{error['message']} ({extra['exception_info']})"
        of = as_word(message.get("tool_call_id")) or as_word(message.get("call_id"))
        if not of or of not in self._waiting:
            of = next(iter(self._waiting), of or f"observation {len(self.session.steps)}")
        self._waiting.pop(of, None)
        step = self.session.result(of, output, at_ms=at_ms, error=error, message=message.get("content"), name="bash")
        if not as_word(message.get("tool_call_id")):
            step.meta.clear()


def _commands(message: dict[str, Any], extra: dict[str, Any]) -> list[tuple[str, str]]:
    """The commands an answer asks for, with their ids where they have any."""
    if isinstance(extra.get("actions"), list):
        told = [action if isinstance(action, dict) else {"command": action} for action in extra["actions"]]
        return [(as_word(one.get("tool_call_id")), as_word(one.get("command"))) for one in told]
    asked = calls_in(message)
    if asked:
        return [(call_id, as_word(as_dict(args).get("command")) or str(args)) for call_id, _, args in asked]
    found = _COMMAND.findall(words_of(message.get("content")))
    return [("", found[0].strip())] if len(found) == 1 else []


def _ending(info: dict[str, Any], exit_: dict[str, Any]) -> dict[str, Any] | None:
    """How the run failed; what was submitted counts as done."""
    status = as_word(info.get("exit_status")) or as_word(exit_.get("exit_status"))
    if status.lower() in _DONE:
        return None
    said = as_word(exit_.get("exception_str")) or as_word(exit_.get("content"))
    message = said if said and said != status else f"the agent ended with exit_status {status}"
    return {"error_type": status, "message": message, "stack": exit_.get("traceback")}
