"""
Chats of several agents: who speaks stands in `name`, or in the role itself (`WebSurfer`, `Orchestrator (thought)`).

The roles in such a file are those one of the agents saw: to it, all others were users. What an agent says is a model's
answer all the same; what a person says, or a terminal prints, is not.
"""

from __future__ import annotations

import re
from typing import Any

from agentdbg.analysis.suspects.parts_played import is_machine
from agentdbg.interop.shapes import as_word

__all__ = ["KNOWN_ROLES", "is_spoken", "roles_of_a_group"]

KNOWN_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function", "human", "ai"})
_LONGEST_ROLE = 100
_PEOPLE = re.compile(r"(?:human|user|user[ _-]?proxy|customer|client|admin|operator|you|me)", re.IGNORECASE)
_AGENTS = re.compile(
    r"[a-z0-9][_-]?[A-Z]|_|(?i:agent|assistant|expert|bot\b|orchestrat|manager|planner|coder|critic|engineer|writer"
    r"|research|review|analyst|solver|checker|verif|surfer|executor|supervisor|developer|programmer|specialist|llm|gpt)"
)


def is_spoken(message: Any) -> bool:
    """Whether this may be a message whose role is a speaker's name."""
    role = message.get("role") if isinstance(message, dict) else None
    named = isinstance(role, str) and 0 < len(role.strip()) <= _LONGEST_ROLE
    return named and isinstance(message.get("content"), (str, list))


def roles_of_a_group(messages: list[Any]) -> list[Any] | None:
    """The messages with a model's or a person's role and the speaker as `name`; None where two talk, as in most."""
    told = [message for message in messages if isinstance(message, dict)]
    users, models = _names(told, ("user", "human")), _names(told, ("assistant", "ai"))
    has_speakers = any(as_word(message.get("role")) not in KNOWN_ROLES for message in told)
    if not has_speakers and len(users) < 2 and not any(name in models or _is_agent(name) for name in users):
        return None
    answers = bool(models) or not any(message.get("role") in ("assistant", "ai") for message in told)
    return [
        _with_role(message, has_speakers or answers) if isinstance(message, dict) else message for message in messages
    ]


def _with_role(message: dict[str, Any], plain_names_answer: bool) -> dict[str, Any]:
    role, name = as_word(message.get("role")), as_word(message.get("name"))
    if role in ("system", "developer", "tool", "function") or (role in KNOWN_ROLES - {"human"} and not name):
        return message
    speaker = name or role
    if is_machine(speaker) or _PEOPLE.fullmatch(speaker.strip()):
        answers = False
    else:
        answers = role not in ("user", "human") or plain_names_answer or _is_agent(speaker)
    return {**message, "role": "assistant" if answers else "user", "name": speaker}


def _names(messages: list[dict[str, Any]], roles: tuple[str, ...]) -> set[str]:
    return {as_word(message.get("name")) for message in messages if message.get("role") in roles} - {""}


def _is_agent(name: str) -> bool:
    return is_machine(name) or (_AGENTS.search(name) is not None and not _PEOPLE.fullmatch(name))
