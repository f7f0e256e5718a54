"""
Do to the arguments of a served call what it had done to them, in place: whoever else holds them sees it too.

Lists, dicts, sets and the objects whose fields a tape has (dataclasses, attrs, pydantic models) are changed as they
are, part by part. A part that was not recorded stays what it is.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from agentdbg.exceptions import AgentDbgError
from agentdbg.faults import pass_on
from agentdbg.tape.codec import KIND, OF_MODELS, fields_of, loaded_class
from agentdbg.tape.decoder import CannotRebuild, decode_value

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["change_in_place"]

_MISSING: Any = object()


def change_in_place(given: dict[str, Any], after: Any) -> None:
    """Make each argument what it was after the call; `after` is plain JSON, with the live secrets in it."""
    if type(after) is not dict or KIND in after:
        return
    for name, value in given.items():
        if name in after:
            _change(value, after[name])


def _change(value: Any, plain: Any) -> bool:
    """Change a value in place; False when that is not possible, so that another one has to take its place."""
    tag = plain.get(KIND) if type(plain) is dict else None
    try:
        if type(value) is list and type(plain) is list:
            known = [*value, *[_MISSING] * len(plain)]
            value[:] = [_part(old, new) for old, new in zip(known, plain, strict=False)]
            return True
        if type(value) is dict and type(plain) is dict and tag is None:
            _change_entries(value, plain)
            return True
        change = _BY_TAG.get(tag) if type(tag) is str else None
        return change is not None and change(value, plain)
    except (AgentDbgError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as damage:
        pass_on(damage)
        return False


def _part(old: Any, plain: Any) -> Any:
    """What stands in a place from now on: what stood there, where it can be changed or nothing else is known."""
    if old is not _MISSING and _change(old, plain):
        return old
    try:
        return decode_value(plain)
    except CannotRebuild:
        if old is _MISSING:
            raise LookupError from None
        return old


def _change_entries(held: dict[Any, Any], plain: dict[str, Any]) -> None:
    entries = {key: _part(held.get(key, _MISSING), child) for key, child in plain.items()}
    if list(held) == list(entries):
        held.update(entries)
    else:
        held.clear()
        held.update(entries)


def _change_pairs(value: Any, plain: dict[str, Any]) -> bool:
    pairs = [(decode_value(key), child) for key, child in plain["v"]]
    entries = [(key, _part(dict.get(value, key, _MISSING), child)) for key, child in pairs]
    dict.clear(value)
    for key, child in entries:
        dict.__setitem__(value, key, child)
    return True


def _change_collection(value: Any, plain: dict[str, Any]) -> bool:
    new = decode_value(plain)
    if type(value) is not type(new):
        return False
    if value != new:
        value.clear()
        add = value.update if isinstance(value, set) else value.extend
        add(new)
    return True


def _change_fields(value: Any, plain: dict[str, Any]) -> bool:
    kind = type(value)
    fields = fields_of(kind)
    if fields is None or loaded_class(plain["c"]) is not kind:
        return False
    for name, child in plain["v"].items():
        if name in fields[1]:
            old = getattr(value, name, _MISSING)
            new = _part(old, child)
            if new is not old:
                object.__setattr__(value, name, new)
    return True


def _change_model(value: Any, plain: dict[str, Any]) -> bool:
    if loaded_class(plain["c"]) is not type(value):
        return False
    for short, name in OF_MODELS.items():
        held, part = getattr(value, name, None), plain.get(short)
        if type(held) is dict and type(part) is dict:
            _change_entries(held, part)
        elif type(held) is set and type(part) is list:
            held.update(part)
    return True


def _change_namespace(value: Any, plain: dict[str, Any]) -> bool:
    if type(value) is not types.SimpleNamespace:
        return False
    _change_entries(vars(value), plain["v"])
    return True


def _change_array(value: Any, plain: dict[str, Any]) -> bool:
    new = decode_value(plain)
    if type(value) is not type(new) or value.shape != new.shape or value.dtype != new.dtype:
        return False
    value[...] = new
    return True


_BY_TAG: dict[str, Callable[[Any, dict[str, Any]], bool]] = {
    **dict.fromkeys(("dict", "ordered", "counter", "defaultdict"), _change_pairs),
    **dict.fromkeys(("set", "bytearray", "deque"), _change_collection),
    **dict.fromkeys(("dataclass", "attrs"), _change_fields),
    "model": _change_model,
    "namespace": _change_namespace,
    "ndarray": _change_array,
}
