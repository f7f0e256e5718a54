"""
Long prompts, kept at the end that matters.

A field that is too large keeps its beginning when it is stored. Of a conversation that would be the old part, while
what happened next follows from the newest messages. So a prompt that would not fit keeps its instructions and as many
of the newest messages as there is room for, with the mark of a cut between them.
"""

from __future__ import annotations

from typing import Any

from agentdbg.encoding import encode_json
from agentdbg.events import TRUNCATED

__all__ = ["PromptFitter"]

_MOST_INSTRUCTIONS = 2


class PromptFitter:
    """Fits prompts into a field; measures no more of them than fits."""

    def __init__(self, max_bytes: int) -> None:
        # The brackets, the mark, and a little for values that get longer when they are redacted.
        self._room = max(max_bytes * 19 // 20 - 50, 0)

    def fit(self, prompt: Any) -> Any:
        """The prompt as it is when it fits, else its instructions, a mark and its newest messages."""
        if not isinstance(prompt, list) or not prompt:
            return prompt
        first = _first_that_fits(prompt, 0, self._room)
        if first == 0:
            return prompt
        head = 0
        while head < min(_MOST_INSTRUCTIONS, len(prompt) - 1) and _is_instruction(prompt[head]):
            head += 1
        kept = [_cut_text(message, self._room // 4) for message in prompt[:head]]
        room = self._room - sum(_size(message) for message in kept)
        first = _first_that_fits(prompt, head, room)
        if first == len(prompt):
            return [*kept, TRUNCATED, _cut_text(prompt[-1], max(room - 100, 0))]
        return [*kept, TRUNCATED, *prompt[first:]]


def _first_that_fits(prompt: list[Any], head: int, room: int) -> int:
    """Where the newest messages begin that together fit into the room."""
    first = len(prompt)
    while first > head:
        room -= _size(prompt[first - 1]) + 1
        if room < 0:
            break
        first -= 1
    return first


def _is_instruction(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") in ("system", "developer")


def _cut_text(message: Any, most: int) -> Any:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str) or len(content.encode(errors="replace")) <= most:
        return message
    return {**message, "content": content.encode(errors="replace")[:most].decode(errors="ignore") + TRUNCATED}


def _size(message: Any) -> int:
    try:
        return len(encode_json(message))
    except (ValueError, TypeError):
        return len(repr(message))
