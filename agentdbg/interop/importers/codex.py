"""
Codex CLI rollouts (`~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`), in the form of today and in both earlier ones, and
what `codex exec --json` prints (`codex_exec`).

What the model puts out (reasoning, words, calls) until a result, a request or a count of tokens follows is one model
call. Tokens are what the running totals grew by, so a total that is written twice counts once. A command that ended
with another exit code than 0 failed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import whole_number
from agentdbg.interop.drafts import EntryProblem, RunDraft, read_arguments
from agentdbg.interop.importers import codex_exec
from agentdbg.interop.importers.codex_parts import content_of, diff_of, outcome_of, text_part
from agentdbg.interop.sessions import Session, in_order, short_name
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms
from agentdbg.interop.transcripts import text_of
from agentdbg.recorder.prices import normalise_usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "Codex session"

_ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
_BY_PROVIDER = frozenset({"web_search_call", "image_generation_call"})
"""Calls that the provider answers by itself; there is no result to come."""
_CALLS = _BY_PROVIDER | {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output", "mcp_tool_call_output"})
_INSTRUCTIONS = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|permissions|turn_aborted|skill>)|# AGENTS\.md)"
)
_BY_PROGRAM = {"<user_shell_command>": "command", "<subagent_notification>": "notification"}
_NOTED = {"warning": "warning", "item_completed": "plan", "thread_rolled_back": "rewind"}
_REVIEWS = ("entered_review_mode", "exited_review_mode")
_USAGE = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens")


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    documents = [item for _, item in source.documents[:20] if isinstance(item, dict)]
    if documents and codex_exec.is_line(documents[0]):
        return True
    if len(source.documents) == 1:
        return bool(documents) and isinstance(documents[0].get("items"), list) and "session" in documents[0]
    if any(item.get("type") == "session_meta" and isinstance(item.get("payload"), dict) for item in documents):
        return True
    wrapped = ("response_item", "event_msg", "turn_context")
    if any(item.get("type") in wrapped and isinstance(item.get("payload"), dict) for item in documents):
        return True
    first = documents[0] if documents else {}
    is_head = "id" in first and "timestamp" in first and "type" not in first
    return is_head and any(as_word(item.get("type")) in _ITEMS or "record_type" in item for item in documents[1:])


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    if any(codex_exec.is_line(item) for _, item in source.documents[:1]):
        yield from codex_exec.read_lines(source)
        return
    lines = _lines(source)
    told = _Told(_said_in(lines))
    for place, item in lines:
        if isinstance(item, dict):
            told.take(item)
        else:
            yield EntryProblem(place, "no entry of a Codex session: it is not an object")
    yield told.draft(source)


def _lines(source: Source) -> list[tuple[str, Any]]:
    documents = source.documents
    whole = documents[0][1]
    if len(documents) == 1 and isinstance(whole, dict) and isinstance(whole.get("items"), list):
        items = [(f"item {number}", item) for number, item in enumerate(whole["items"], 1)]
        return [("", as_dict(whole.get("session"))), *items]
    return documents


def _said_in(lines: list[tuple[str, Any]]) -> dict[str, str]:
    """All that the items of a rollout say, by role: its events say most of it again."""
    said: dict[str, list[str]] = {"user": [], "assistant": []}
    for _, line in lines:
        item = as_dict(as_dict(line).get("payload")) or as_dict(line)
        if item.get("type") == "message" and "content" in item:
            parts = as_list(item["content"]) or [item["content"]]
            said.setdefault(as_word(item.get("role")), []).extend(text_of([text_part(part)]) for part in parts)
    return {role: _squeezed("\n".join(texts)) for role, texts in said.items()}


def _squeezed(text: str) -> str:
    return " ".join(text.split())


class _Told:
    """What the lines of a rollout say; `said` is what its items do."""

    def __init__(self, said: dict[str, str]) -> None:
        self._session = Session()
        self._said_by = said
        self._facts: dict[str, Any] = {}
        self._identity: list[Any] = []
        self._model: str | None = None
        self._count = 0
        self._answers = 0
        self._answer = ""
        self._is_open = False
        self._has_usage = True
        self._totals: dict[str, int] = {}
        self._failed: dict[str, Any] | None = None
        self._failed_ms: float | None = None
        self._title = ""
        self._began_ms: float | None = None

    def take(self, line: dict[str, Any]) -> None:
        self._count += 1
        kind = line.get("type")
        at_ms = moment_ms(line.get("timestamp"))
        if self._failed is not None and kind == "response_item":  # the session went on after it
            self._session.failure(self._failed, at_ms=self._failed_ms)
            self._failed = None
        if kind == "session_meta":
            self._head(as_dict(line.get("payload")))
        elif kind == "turn_context":
            self._turn(as_dict(line.get("payload")))
        elif kind == "response_item":
            self._item(as_dict(line.get("payload")), at_ms)
        elif kind == "event_msg":
            self._event(as_dict(line.get("payload")), at_ms)
        elif kind == "compacted":
            said = as_dict(line.get("payload")).get("message")
            self._session.note("compaction", said, at_ms=at_ms)
        elif kind == "inter_agent_communication":
            self._between_agents(as_dict(line.get("payload")), at_ms)
        elif isinstance(kind, str) and "payload" not in line:
            self._item(line, at_ms)
        elif kind is None and "id" in line:
            self._head(line)

    def draft(self, source: Source) -> RunDraft:
        session = self._session
        facts = {"framework": "codex", **self._facts}
        return RunDraft(
            identity=["codex", *self._identity] if self._identity else ["codex", source.stem, session.first_request],
            name=short_name(self._title, session.first_request, source.stem),
            format="codex",
            steps=in_order(session.close()),
            started_ms=self._began_ms,
            ended_ms=self._failed_ms if self._failed is not None else None,
            error=self._failed,
            result=session.last_answer or None,
            meta={key: value for key, value in facts.items() if value},
            version=f"{self._count:09d}",
            cwd=self._facts.get("project"),
        )

    def _head(self, head: dict[str, Any]) -> None:
        if self._identity:
            return  # a fork repeats the head of the session it came from
        self._identity = [head.get("id"), head.get("timestamp")]
        self._began_ms = moment_ms(head.get("timestamp"))
        git, source = as_dict(head.get("git")), as_dict(as_dict(head.get("source")).get("subagent"))
        spawned = as_dict(source.get("thread_spawn"))
        said = {
            "session_id": head.get("id"),
            "project": head.get("cwd"),
            "git_branch": git.get("branch"),
            "git_commit": git.get("commit_hash"),
            "version": head.get("cli_version"),
            "provider": head.get("model_provider"),
            "parent_session_id": head.get("forked_from_id") or spawned.get("parent_thread_id"),
            "agent": spawned.get("agent_nickname") or spawned.get("agent_role"),
        }
        self._facts.update({key: value for key, value in said.items() if isinstance(value, str) and value})
        instructions = head.get("base_instructions", head.get("instructions"))
        text = as_word(as_dict(instructions).get("text")) or as_word(instructions)
        if text:
            self._session.context(text, role="system")

    def _turn(self, turn: dict[str, Any]) -> None:
        self._model = as_word(turn.get("model")) or self._model
        if as_word(turn.get("cwd")):
            self._facts.setdefault("project", turn["cwd"])

    def _item(self, item: dict[str, Any], at_ms: float | None) -> None:
        kind = as_word(item.get("type"))
        if kind == "message" and item.get("role") != "assistant":
            self._said(item, at_ms)
        elif kind in _RESULTS:
            self._is_open = False
            self._result(item, at_ms)
        elif kind in ("message", "reasoning") or kind in _CALLS:
            self._put_out(item, at_ms)
        elif kind == "agent_message":
            self._between_agents(item, at_ms)

    def _between_agents(self, item: dict[str, Any], at_ms: float | None) -> None:
        """What one agent tells another."""
        self._is_open = False
        content = content_of(item.get("content"))
        names = {name: item[key] for name, key in (("name", "author"), ("to", "recipient")) if as_word(item.get(key))}
        self._session.note("agent", content, at_ms=at_ms, source_id=as_word(item.get("id")), **names)
        self._session.context(content, at_ms=at_ms)

    def _said(self, item: dict[str, Any], at_ms: float | None) -> None:
        self._is_open = False
        content, role = content_of(item.get("content")), as_word(item.get("role")) or "user"
        words = text_of(content).lstrip()
        if role != "user" or _INSTRUCTIONS.match(words):
            self._session.context(content, role=role, at_ms=at_ms)
        elif words.startswith(tuple(_BY_PROGRAM)):
            noted = _BY_PROGRAM[words[: words.index(">") + 1]]
            self._session.note(noted, content, at_ms=at_ms, source_id=as_word(item.get("id")))
            self._session.context(content, at_ms=at_ms)
        else:
            self._session.request(content, at_ms=at_ms, source_id=as_word(item.get("id")))

    def _put_out(self, item: dict[str, Any], at_ms: float | None) -> None:
        kind = item["type"]
        if not self._is_open:
            self._answers += 1
            self._answer = f"answer {self._answers}"
            self._is_open, self._has_usage = True, False
        message: dict[str, Any] = {"role": "assistant", "content": []}
        if kind == "message":
            message["content"] = [text_part(part) for part in as_list(item.get("content"))]
        elif kind == "reasoning":
            words = [
                as_word(as_dict(part).get("text"))
                for name in ("summary", "content")
                for part in as_list(item.get(name))
            ]
            message["content"] = (
                [{"type": "thinking", "thinking": "\n".join(filter(None, words))}] if any(words) else []
            )
        else:
            message["tool_calls"] = [self._call(item, at_ms)]
        step = self._session.answer(self._answer, message, at_ms=at_ms, model=self._model, provider="openai")
        step.meta.pop("source_id", None)
        if as_word(item.get("id")):
            step.meta["source_id"] = item["id"]
        if kind in _BY_PROVIDER:
            name = kind.removesuffix("_call")
            error = {"error_type": name, "message": f"{name} failed"} if item.get("status") == "failed" else None
            made = item.get("result")
            image = [{"type": "image_url", "image_url": f"data:image/png;base64,{made}"}] if as_word(made) else None
            self._session.result(message["tool_calls"][0]["id"], image, at_ms=at_ms, error=error)

    def _call(self, item: dict[str, Any], at_ms: float | None) -> dict[str, Any]:
        kind = item["type"]
        of = as_word(item.get("call_id")) or as_word(item.get("id")) or f"call {self._count}"
        name, args = item.get("name"), item.get("arguments", item.get("input"))
        if kind in ("local_shell_call", "web_search_call"):
            args = item.get("action")
        elif kind == "image_generation_call":
            args = {"prompt": item.get("revised_prompt")}
        name = name or kind.removesuffix("_call")
        if as_word(item.get("namespace")):
            name = f"{item['namespace']}{name}"
        args = read_arguments(args)
        self._session.call(of, name, args, answer=self._answer, at_ms=at_ms)
        return {"id": of, "type": "function", "function": {"name": name, "arguments": args}}

    def _result(self, item: dict[str, Any], at_ms: float | None) -> None:
        output = next((item[key] for key in ("output", "result", "tools") if key in item), None)
        said, error, length = outcome_of(output)
        of = as_word(item.get("call_id")) or as_word(item.get("id"))
        self._session.result(of, said, at_ms=at_ms, error=error, duration_ms=length)

    def _event(self, event: dict[str, Any], at_ms: float | None) -> None:
        kind = event.get("type")
        if kind == "token_count":
            self._tokens(as_dict(event.get("info")), at_ms)
        elif kind in ("error", "stream_error"):
            failure = {"error_type": "CodexError", "message": as_word(event.get("message"))}
            if kind == "error" and self._failed is None:
                self._failed, self._failed_ms = failure, at_ms
            else:
                self._session.failure(failure, at_ms=at_ms)
        elif kind == "turn_aborted":
            self._is_open = False
            self._session.note("aborted", as_word(event.get("reason")) or "the turn was aborted", at_ms=at_ms)
        elif kind == "thread_name_updated":
            self._title = as_word(event.get("thread_name")) or self._title
        elif kind == "patch_apply_end":
            self._patched(event)
        elif kind in ("user_message", "agent_message"):
            self._only_told(kind, as_word(event.get("message")), at_ms)
        elif kind in _REVIEWS:
            said = event.get("review_output") or event.get("user_facing_hint")
            if said:
                self._session.note("review", said, at_ms=at_ms)
        elif kind in _NOTED:
            said = as_word(event.get("message")) or as_word(as_dict(event.get("item")).get("text"))
            if said or kind == "thread_rolled_back":
                self._session.note(_NOTED[kind], said or f"back by {event.get('num_turns')} turns", at_ms=at_ms)

    def _only_told(self, kind: str, said: str, at_ms: float | None) -> None:
        """Take what an event says and no item does."""
        role = "user" if kind == "user_message" else "assistant"
        if said and _squeezed(said) not in self._said_by[role]:
            part = "input_text" if role == "user" else "output_text"
            self._item({"type": "message", "role": role, "content": [{"type": part, "text": said}]}, at_ms)

    def _patched(self, event: dict[str, Any]) -> None:
        """The diffs of a patch go to the call that applied it, which is the latest of that id."""
        changes = as_dict(event.get("changes"))
        diffs = [diff_of(path, as_dict(said)) for path, said in changes.items()]
        if any(diffs):
            self._session.add_diff(as_word(event.get("call_id")), "".join(diffs))

    def _tokens(self, info: dict[str, Any], at_ms: float | None) -> None:
        """Take what the running totals grew by as the use of the newest answer."""
        totals = _counts(as_dict(info.get("total_token_usage")))
        latest = _counts(as_dict(info.get("last_token_usage")))
        if not totals or totals == self._totals:
            self._totals = totals or self._totals
            return
        grown = {name: count - self._totals.get(name, 0) for name, count in totals.items()}
        used = latest or grown
        self._totals = totals
        self._is_open = False
        if self._has_usage or self._session.latest is None:
            self._answers += 1
            self._answer = f"answer {self._answers}"
            message = {"role": "assistant", "content": []}
            self._session.answer(self._answer, message, at_ms=at_ms, model=self._model, provider="openai").meta.clear()
        self._has_usage = True
        step = self._session.latest
        if step is not None:
            step.fields["usage"] = normalise_usage(_as_usage(used))


def _counts(usage: dict[str, Any]) -> dict[str, int]:
    found = {name: whole_number(usage.get(name)) for name in _USAGE}
    return {name: count for name, count in found.items() if count is not None}


def _as_usage(used: dict[str, int]) -> dict[str, Any]:
    prompt, completion = used.get("input_tokens"), used.get("output_tokens")
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": used.get("total_tokens"),
    }
    if prompt is not None and completion is not None and not usage["total_tokens"]:
        usage["total_tokens"] = prompt + completion
    if "cached_input_tokens" in used:
        usage["prompt_tokens_details"] = {"cached_tokens": used["cached_input_tokens"]}
    if "reasoning_output_tokens" in used:
        usage["completion_tokens_details"] = {"reasoning_tokens": used["reasoning_output_tokens"]}
    return usage
