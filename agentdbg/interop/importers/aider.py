"""
aider's chat history (`.aider.chat.history.md`): what was typed, what the model answered, and what aider did.

Each start of aider is a run. `#### ` begins what the user typed, `> ` what aider said itself; everything else is the
model's answer. Tokens and costs are told rounded (`2.3k`), and are kept as that.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import RunDraft
from agentdbg.interop.sessions import Session, short_name
from agentdbg.recorder.prices import normalise_usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import Step
    from agentdbg.interop.sources import Source

TITLE = "aider chat history"

_START = re.compile(r"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$", re.MULTILINE)
_MODEL = re.compile(r"^(?:Main )?[Mm]odel: (\S+)")
_TOKENS = re.compile(
    r"^Tokens: ([\d.,]+[kM]?) sent(?:, ([\d.,]+[kM]?) cache write)?(?:, ([\d.,]+[kM]?) cache hit)?, "
    r"([\d.,]+[kM]?) received\.?(?:\s*Cost: \$([\d.,]+) message)?"
)
_EDITED = re.compile(r"^Applied edit to (.+)$")
_COMMIT = re.compile(r"^Commit ([0-9a-f]{6,40}) (.*)$")
_RAN = re.compile(r"^Running (.+)$")
_FAILED = re.compile(r"^(?:litellm\.\S*(?:Error|Exception)|The LLM did not conform|Error:|\S+Error:)")
_SCALES = {"k": 1_000, "M": 1_000_000}


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    head = source.content[:100_000]
    return b"# aider chat started at" in head and _START.search(head.decode("utf-8", "replace")) is not None


def read(source: Source) -> Iterator[RunDraft]:
    text = source.content.decode("utf-8", "replace").replace("\r\n", "\n")
    starts = list(_START.finditer(text))
    source.expected = len(starts)
    same: Counter[str] = Counter()
    for number, start in enumerate(starts, 1):
        end = starts[number].start() if number < len(starts) else len(text)
        told = _Told()
        for line in text[start.end() : end].split("\n"):
            told.take(line)
        told.finish()
        began = _moment(start[1])
        same[start[1]] += 1
        session = told.session
        yield RunDraft(
            identity=["aider", start[1], same[start[1]], session.first_request],
            name=short_name(session.first_request, f"{source.path.resolve().parent.name}, aider, {start[1]}"),
            format="aider",
            steps=session.close(),
            entry=f"chat {number}" if len(starts) > 1 else "",
            started_ms=began,
            ended_ms=began,
            result=session.last_answer or None,
            meta={"framework": "aider", "project": source.path.resolve().parent.name},
            version=f"{end - start.end():012d}",
        )


class _Told:
    """The lines of a chat so far."""

    def __init__(self) -> None:
        self.session = Session()
        self._kind = ""
        self._lines: list[str] = []
        self._model = "unknown"
        self._answers = 0
        self._edits = 0
        self._is_code = False

    def take(self, line: str) -> None:
        if line.startswith("```"):
            self._is_code = not self._is_code
        if self._is_code and self._kind == "answer":
            self._add("answer", line)
        elif line.startswith("####"):
            self._add("typed", line[4:].removeprefix(" "))
        elif line.startswith("> ") or line.rstrip() == ">":
            self._add("said", line[1:].removeprefix(" ").rstrip())
        elif line.strip() or self._kind == "answer":
            self._add("answer", line)

    def finish(self) -> None:
        self._add("", "")

    def _add(self, kind: str, line: str) -> None:
        if kind != self._kind:
            self._close()
            self._kind, self._lines = kind, []
        self._lines.append(line)

    def _close(self) -> None:
        text = "\n".join(line.rstrip() for line in self._lines).strip()
        if self._kind == "typed" and text:
            self.session.request(text, at_ms=None)
        elif self._kind == "answer" and text:
            self._answered(text)
        elif self._kind == "said":
            for line in self._lines:
                self._said(line)

    def _answered(self, text: str) -> Step:
        self._answers += 1
        message = {"role": "assistant", "content": text}
        step = self.session.answer(f"answer {self._answers}", message, at_ms=None, model=self._model)
        step.meta.clear()
        return step

    def _said(self, line: str) -> None:
        """What aider says itself: which model, what was used, what it changed, what failed."""
        if found := _MODEL.match(line):
            self._model = found[1]
        elif found := _TOKENS.match(line):
            self._used(found)
        elif found := _EDITED.match(line):
            self._did("edit", {"path": found[1]}, "applied")
        elif found := _COMMIT.match(line):
            self._did("commit", {"message": found[2]}, found[1])
        elif found := _RAN.match(line):
            self._did("run", {"command": found[1]}, None)
        elif _FAILED.match(line):
            kind = line.partition(":")[0].rpartition(".")[2]
            name = kind if kind.endswith(("Error", "Exception")) else "AiderError"
            self.session.failure({"error_type": name, "message": line}, at_ms=None)
        elif line.strip():
            self.session.note("aider", line.strip(), at_ms=None)

    def _did(self, name: str, args: dict[str, Any], result: Any) -> None:
        self._edits += 1
        self.session.result(f"{name} {self._edits}", result, at_ms=None, name=name, args=args).meta.clear()

    def _used(self, found: re.Match[str]) -> None:
        step = self.session.latest
        sent, written, cached, received, cost = found.groups()
        if step is None or step.fields["usage"] is not None:
            step = self._answered("")  # the model was asked, and nothing of its answer was kept
        usage: dict[str, Any] = {"prompt_tokens": _count(sent), "completion_tokens": _count(received)}
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
        if cached:
            usage["prompt_tokens_details"] = {"cached_tokens": _count(cached)}
        if written:
            usage["cache_creation_input_tokens"] = _count(written)
        step.fields["usage"] = normalise_usage(usage)
        step.fields["cost_usd"] = float(cost.replace(",", "")) if cost else None


def _count(text: str) -> int:
    """`2.3k` as a number."""
    scale = _SCALES.get(text[-1], 1)
    return round(float(text.rstrip("kM").replace(",", "")) * scale)


def _moment(text: str) -> float:
    """A time as aider writes it, which is that of the machine."""
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").astimezone().timestamp() * 1000
