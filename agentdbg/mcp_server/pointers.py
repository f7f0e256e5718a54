"""
One part of an event: named by a JSON Pointer (RFC 6901), and read on where it is long.
"""

from __future__ import annotations

from typing import Any

from agentdbg.exceptions import UsageError
from agentdbg.mcp_server.answers import fit, fit_text, size

__all__ = ["read_part"]


def read_part(value: Any, path: str, offset: int, max_bytes: int) -> dict[str, Any]:
    """
    The part of `value` that `path` names, from `offset` on, as far as it fits.

    `next` has the path and the offset of what comes after; `cut` lists what was shortened inside.
    """
    part = _at(value, path)
    answer: dict[str, Any] = {"path": path} if path else {}
    if isinstance(part, str):
        return answer | _text(part, path, offset, max_bytes)
    if isinstance(part, (list, dict)) and offset:
        return answer | _members(part, path, offset, max_bytes)
    room = max_bytes - 2_400 if max_bytes > 8_000 else max_bytes // 2  # for the list of cuts
    shown, cuts = (part, None) if size(part) <= max_bytes - 200 else fit(part, room, path)
    answer |= {"value" if path else "event": shown}
    if cuts is not None:
        answer |= {"cut": fit(cuts.listed, max_bytes - room - 300)[0], "cuts": cuts.count}
        first = cuts.listed[0] if cuts.listed else {"path": path, "shown": 0}
        answer |= {"next": {"path": first["path"], "offset": first["shown"]}}
    return answer | ({} if "next" in answer else {"next": None})


def _text(text: str, path: str, offset: int, max_bytes: int) -> dict[str, Any]:
    shown, more_at = fit_text(text, offset, _room(path, max_bytes))
    return {
        "value": shown,
        "offset": offset,
        "length": len(text),
        "next": None if more_at is None else {"path": path, "offset": more_at},
    }


def _members(part: list[Any] | dict[str, Any], path: str, offset: int, max_bytes: int) -> dict[str, Any]:
    """Members of a list or an object from `offset` on, as many as fit; each is shortened where it alone is too long."""
    room = _room(path, max_bytes)
    pairs: list[tuple[Any, Any]] = list(part.items() if isinstance(part, dict) else enumerate(part))
    kept: list[tuple[Any, Any]] = []
    for key, item in pairs[offset:]:
        needed = size(item) + size(key) + 2
        if needed > room:
            if not kept:
                kept.append((key, fit(item, room)[0]))
            break
        kept.append((key, item))
        room -= needed
    end = offset + len(kept)
    return {
        "value": dict(kept) if isinstance(part, dict) else [item for _, item in kept],
        "offset": offset,
        "length": len(part),
        "next": {"path": path, "offset": end} if end < len(pairs) else None,
    }


def _room(path: str, max_bytes: int) -> int:
    """What is left beside the figures and the path, which is said twice."""
    return max(max_bytes - 300 - 2 * size(path), 200)


def _at(value: Any, path: str) -> Any:
    """The part a pointer names; UsageError says how far it led."""
    if path and not path.startswith("/"):
        raise UsageError(f"{path!r} is no JSON Pointer; it begins with a slash, like /payload/prompt")
    so_far = ""
    for token in path.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isascii() and key.isdigit() and len(key) < 12 and int(key) < len(value):
            value = value[int(key)]
        else:
            raise UsageError(f"there is nothing at {path!r}: {so_far or 'the event'} has {_members_of(value)}")
        so_far = f"{so_far}/{token}"
    return value


def _members_of(value: Any) -> str:
    if isinstance(value, dict):
        names = [key[:40] for key in list(value)[:20]]
        return f"the members {', '.join(names)}" if names else "no members"
    if isinstance(value, list):
        return f"{len(value)} items"
    return "no parts"
