"""
What a model is asked, changed in its provider's own form: one set of names for OpenAI, Anthropic and Google.

`model`, `system`, `temperature` … mean the same for all of them; `messages` is what the provider has for them (`input`,
`contents`), and `prompt` is what `agentdbg show` has, with the system prompt as its first message. Any other path leads
into the JSON that is sent.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from agentdbg.control.value_paths import with_value
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Path = Sequence[str | int]

__all__ = ["edited_request"]

_GEMINI_MODEL = re.compile(r"(/models/)([^/:?]+)(:\w*[gG]enerateContent)")
_GENERATION = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
}
_KNOWN = {"model", "messages", "prompt", "system", "temperature", "top_p", "max_tokens", "stop", "seed", "tools"}
_KNOWN |= {"tool_choice", "response_format", "reasoning", "reasoning_effort", "instructions"}


def edited_request(given: Any, path: Path, value: Any, *, append: bool = False) -> Any:
    """An HTTP request to a model with one part changed. Raises UsageError where the path leads nowhere."""
    body = given.get("body") if isinstance(given, dict) else None
    if not isinstance(body, dict):
        raise UsageError("the body of this request is not JSON, so nothing in it can be set")
    root, url = path[0], str(given.get("url") or "")
    is_gemini = _GEMINI_MODEL.search(url) is not None
    if root == "model" and is_gemini:
        return {**given, "url": _GEMINI_MODEL.sub(lambda found: f"{found[1]}{value}{found[3]}", url)}
    if root == "prompt":
        path = _as_sent(body, path)
        root = path[0]
    if root == "system":
        return {**given, "body": _with_system(body, url, path[1:], value, append=append)}
    if root == "messages" and "messages" not in body:
        path = ("contents" if "contents" in body else "input", *path[1:])
    elif is_gemini and root in _GENERATION and root not in body:
        path = ("generationConfig", _GENERATION[root], *path[1:])
        body = {"generationConfig": {}, **body}
    elif root not in body and (meant := _meant(str(root), body)):
        raise UsageError(f"there is no {root!r} in this request; did you mean {meant}?")
    return {**given, "body": _with_text(body, path, value, append=append)}


def _meant(root: str, body: dict[str, Any]) -> str:
    """The name that was probably meant by one that is not known; nothing for one that may be new."""
    close = [] if root in _KNOWN else difflib.get_close_matches(root, {*_KNOWN, *map(str, body)}, 1, 0.75)
    return close[0] if close else ""


def _as_sent(body: dict[str, Any], path: Path) -> Path:
    """Where a part of the prompt as it is shown stands in what is sent."""
    has_system = any(body.get(name) for name in ("system", "instructions", "systemInstruction", "system_instruction"))
    if not has_system or len(path) == 1 or not isinstance(path[1], int) or path[1] < 0:
        return ("messages", *path[1:])
    if path[1] == 0:
        return ("system",)
    return ("messages", path[1] - 1, *path[2:])


def _with_system(body: dict[str, Any], url: str, rest: Path, value: Any, *, append: bool) -> dict[str, Any]:
    """The system prompt of providers that have it as the first message, or under another name."""
    if _GEMINI_MODEL.search(url):
        name = "system_instruction" if "system_instruction" in body else "systemInstruction"
        body = {name: {"parts": []}, **body}
        return _with_text(body, (name, "content"), value, append=append)
    if "input" in body or "instructions" in body:
        return with_value({"instructions": "", **body}, ("instructions", *rest), value, append=append)  # type: ignore[no-any-return]
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise UsageError("this request has no system prompt that could be set")
    first = messages[0] if messages else None
    if isinstance(first, dict) and first.get("role") in ("system", "developer"):
        return _with_text(body, ("messages", 0, "content", *rest), value, append=append)
    if "system" in body or url.partition("?")[0].endswith("/messages"):  # Anthropic
        return _with_text({"system": "", **body}, ("system", *rest), value, append=append)
    return {**body, "messages": [{"role": "system", "content": value}, *messages]}


def _with_text(body: dict[str, Any], path: Path, value: Any, *, append: bool) -> dict[str, Any]:
    """
    The body with this value there. Where a text is written in parts, a text that is set takes the place of all of them,
    and one that is added becomes a part.
    """
    place: Any = body
    for step in path[:-1]:
        place = _inside(place, step)
    last = path[-1]
    if last == "content" and isinstance(place, dict) and "content" not in place and "parts" in place:  # Google
        part = value if not isinstance(value, str) else {"text": value}
        parts = [*(place["parts"] or []), part] if append else value if isinstance(value, list) else [part]
        return with_value(body, (*path[:-1], "parts"), parts)  # type: ignore[no-any-return]
    now = _inside(place, last)
    if append and isinstance(value, str) and isinstance(now, list) and now and isinstance(now[-1], dict):
        kind = now[-1].get("type")
        value = {"type": kind if kind in ("text", "input_text", "output_text") else "text", "text": value}
    return with_value(body, path, value, append=append)  # type: ignore[no-any-return]


def _inside(place: Any, step: str | int) -> Any:
    try:
        return place[step]
    except (KeyError, IndexError, TypeError):
        return None
