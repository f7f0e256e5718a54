"""Objects that are made of fields, dataclasses, attrs classes, pydantic models and named tuples, with one changed."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import enum
import pathlib
import types
import uuid
from typing import TYPE_CHECKING, Any

from agentdbg.faults import pass_on
from agentdbg.tape.codec import HELD, KIND, fields_of
from agentdbg.tape.decoder import readable
from agentdbg.user_code import static_attribute

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Fields", "as_fields", "field_names", "held_under", "of_the_same_kind", "with_field"]

_OBJECTS = ("dataclass", "attrs", "model", "named")


class Fields(dict[str, Any]):
    """What an object holds, where its class is not at hand: it has these fields and no others."""


def as_fields(plain: Any) -> Any:
    """What a tape has of a value, with its objects as their fields; no class is needed for it."""
    if isinstance(plain, list):
        return [as_fields(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if KIND not in plain:
        return {key: as_fields(child) for key, child in plain.items()}
    held = plain.get(HELD)
    if plain[KIND] in _OBJECTS and isinstance(held, dict):
        return Fields({key: as_fields(child) for key, child in held.items()})
    return [as_fields(item) for item in held] if plain[KIND] == "tuple" and isinstance(held, list) else readable(plain)


def field_names(value: Any) -> list[str] | None:
    """The names of an object's fields; None where it is not made of fields."""
    kind = type(value)
    if issubclass(kind, tuple):
        names = static_attribute(kind, "_fields")
        return list(names) if type(names) is tuple else None
    fields = fields_of(kind)
    if fields is not None:
        return fields[1]
    is_model = static_attribute(kind, "__pydantic_fields_set__") is not None
    return list(object.__getattribute__(value, "__dict__")) if is_model else None


def held_under(value: Any, name: str | int, missing: Any) -> Any:
    """What any object holds under a name, without asking a property or a `__getattr__` of its class."""
    if type(name) is not str or type(value) in (dict, list):
        return missing
    if isinstance(value, tuple):
        names = field_names(value) or []
        return tuple.__getitem__(value, names.index(name)) if name in names else missing
    try:
        held = object.__getattribute__(value, "__dict__")
        if type(held) is dict and name in held:
            return held[name]
    except AttributeError as error:  # it has slots
        pass_on(error)
    slot = static_attribute(type(value), name)
    if type(slot) is not types.MemberDescriptorType:
        return missing
    try:
        return slot.__get__(value)
    except AttributeError as error:  # not filled yet
        pass_on(error)
        return missing


def with_field(value: Any, name: str, new: Any) -> Any:
    """A copy of the object that has something else in this field. Its constructor is not called."""
    if isinstance(value, tuple):
        names = field_names(value) or []
        return tuple.__new__(type(value), [new if one == name else old for one, old in zip(names, value, strict=True)])
    changed = copy.copy(value)
    object.__setattr__(changed, name, new)
    return changed


def of_the_same_kind(old: Any, new: Any) -> Any:
    """What was typed as JSON as the kind of value that stood there: a Decimal, a date, a member of an enum, a set."""
    kind = type(old)
    if type(new) is kind:
        return new
    try:
        if isinstance(old, enum.Enum):
            by_name = kind.__members__.get(str(new).rpartition(".")[2])
            return kind(new) if by_name is None else by_name
        make = _MADE_OF_TEXT.get(kind)
        if make is not None and isinstance(new, (str, int, float)) and not isinstance(new, bool):
            return make(str(new))
        if isinstance(old, pathlib.PurePath) and isinstance(new, str):
            return kind(new)
        return kind(new) if kind in (tuple, set, frozenset) and isinstance(new, list) else new
    except (ArithmeticError, TypeError, ValueError) as error:
        pass_on(error)
        return new


_MADE_OF_TEXT: dict[type, Callable[[str], Any]] = {
    decimal.Decimal: decimal.Decimal,
    uuid.UUID: uuid.UUID,
    dt.datetime: dt.datetime.fromisoformat,
    dt.date: dt.date.fromisoformat,
    dt.time: dt.time.fromisoformat,
    bytes: str.encode,
}
