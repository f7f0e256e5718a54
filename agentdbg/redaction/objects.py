"""
What an object of any type says about itself, without being changed, consumed or trusted.

`describe` gives something plainer than the object: text, a number, a dict, a list. Whatever could run a user's code
goes through `UserCode`.
"""

# ruff: noqa: ARG001 -- the describers share one signature, so that one table can hold them

from __future__ import annotations

import array
import base64
import collections
import datetime as dt
import decimal
import enum
import fractions
import functools
import pathlib
import re
import types
import uuid
from collections.abc import ItemsView, KeysView, Mapping, Sequence, Set, ValuesView
from itertools import islice
from typing import Any

from agentdbg.events import TRUNCATED
from agentdbg.interruptions import is_interruption
from agentdbg.redaction.media import describe_bytes
from agentdbg.user_code import (
    UserCode,
    exception_arguments,
    mapping_items,
    static_attribute,
    tells_endlessly,
    type_name,
)

__all__ = ["describe"]

_MOST_ITEMS = 60_000
_ARRAY_ITEMS_SHOWN = 100
_LARGEST_SORTED_SET = 1000


def describe(value: Any, user: UserCode, max_bytes: int) -> Any:
    """Something plainer than `value`; never `value` itself."""
    kind = type(value)
    for base, describer in _KNOWN_BASES:
        if issubclass(kind, base):
            return describer(value, user, max_bytes)
    described = _structured(value, kind, user)
    if described is not None:
        return described
    return _repr_text(value, user, max_bytes)


# --- what a type tells by its base class; methods are called on the base, so an override is never run unasked


def _str(value: Any, user: UserCode, max_bytes: int) -> Any:
    return str.__str__(value)


def _enum(value: Any, user: UserCode, max_bytes: int) -> Any:
    plain = value.__dict__.get("_value_")
    if type(plain) in {str, int, float, bool}:
        return plain if isinstance(value, (str, int)) else f"{type_name(value)}.{value.__dict__.get('_name_')}"
    return f"{type_name(value)}.{value.__dict__.get('_name_')}"


def _int(value: Any, user: UserCode, max_bytes: int) -> Any:
    return int.__index__(value)


def _float(value: Any, user: UserCode, max_bytes: int) -> Any:
    return float.__float__(value)


def _bytes(value: Any, user: UserCode, max_bytes: int) -> Any:
    whole = len(memoryview(value)) if not isinstance(value, memoryview) else value.nbytes
    if not isinstance(value, memoryview) and (described := describe_bytes(value)):
        return described
    if isinstance(value, memoryview):
        head = bytes(value[:max_bytes]) if value.ndim == 1 and value.contiguous else b""
    else:
        head = bytes(memoryview(value)[:max_bytes])
    text = head.decode("utf-8", "backslashreplace")
    if len(head) < whole:  # the cut may have split a character
        text = head.decode("utf-8", "ignore") if len(head.decode("utf-8", "ignore")) + 4 > len(text) // 2 else text
    try:
        head[:-4].decode() if len(head) < whole else head.decode()
    except UnicodeDecodeError:
        strange = sum(byte < 9 or 13 < byte < 32 or byte > 126 for byte in head[:256])
        if strange * 4 > min(len(head), 256):
            shown = base64.b64encode(head[:48]).decode()
            return f"<{whole} bytes, base64: {shown}{'…' if whole > 48 else ''}>"
    return text


def _dict(value: Any, user: UserCode, max_bytes: int) -> Any:
    return dict(mapping_items(value, min(max_bytes, _MOST_ITEMS)))


def _list(value: Any, user: UserCode, max_bytes: int) -> Any:
    return list.__getitem__(value, slice(None))


def _tuple(value: Any, user: UserCode, max_bytes: int) -> Any:
    items = tuple.__getitem__(value, slice(None))
    names = static_attribute(type(value), "_fields")
    if type(names) is tuple and len(names) == len(items) and all(type(name) is str for name in names):
        return dict(zip(names, items, strict=True))
    return list(items)


def _set(value: Any, user: UserCode, max_bytes: int) -> Any:
    walker = frozenset.__iter__(value) if isinstance(value, frozenset) else set.__iter__(value)
    items = list(islice(walker, _MOST_ITEMS))
    # Sorted where that is cheap and certain, because equal sets should read alike.
    if len(items) <= _LARGEST_SORTED_SET and (
        all(type(item) is str for item in items) or all(type(item) is int for item in items)
    ):
        items.sort()
    return items


def _user_string(value: Any, user: UserCode, max_bytes: int) -> Any:
    text = value.__dict__.get("data")
    return str.__str__(text) if isinstance(text, str) else f"<{type_name(value)}>"


def _deque(value: Any, user: UserCode, max_bytes: int) -> Any:
    return list(collections.deque.__iter__(value))


def _view(value: Any, user: UserCode, max_bytes: int) -> Any:
    return list(islice(value, _MOST_ITEMS))


def _range(value: Any, user: UserCode, max_bytes: int) -> Any:
    return repr(value) if value.start.bit_length() + value.stop.bit_length() < 4000 else "range(…)"


def _array(value: Any, user: UserCode, max_bytes: int) -> Any:
    return array.array.tolist(array.array.__getitem__(value, slice(0, _MOST_ITEMS)))


def _datetime(value: Any, user: UserCode, max_bytes: int) -> Any:
    base = next(base for base in (dt.datetime, dt.date, dt.time) if isinstance(value, base))
    return user.call(value, base.isoformat, str)


def _timedelta(value: Any, user: UserCode, max_bytes: int) -> Any:
    return dt.timedelta.__str__(value)


def _decimal(value: Any, user: UserCode, max_bytes: int) -> Any:
    return decimal.Decimal.__str__(value)


def _fraction(value: Any, user: UserCode, max_bytes: int) -> Any:
    return user.call(value, fractions.Fraction.__str__, str)


def _uuid(value: Any, user: UserCode, max_bytes: int) -> Any:
    return user.call(value, uuid.UUID.__str__, str)


def _path(value: Any, user: UserCode, max_bytes: int) -> Any:
    return user.call(value, pathlib.PurePath.__str__, str)


def _exception(value: Any, user: UserCode, max_bytes: int) -> Any:
    if tells_endlessly(value):  # its text would have no end, its arguments are walked as far as they fit
        return {type_name(value): exception_arguments(value)}
    message = str.__str__(user.call(value, str, str))[:max_bytes]
    return f"{type_name(value)}: {message}" if message else type_name(value)


def _namespace(value: Any, user: UserCode, max_bytes: int) -> Any:
    return dict(mapping_items(types.SimpleNamespace.__getattribute__(value, "__dict__"), min(max_bytes, _MOST_ITEMS)))


def _partial(value: Any, user: UserCode, max_bytes: int) -> Any:
    look_up = functools.partial.__dict__
    function, args, keywords = (look_up[name].__get__(value) for name in ("func", "args", "keywords"))
    return {"partial": function, "args": args, "keywords": keywords}


def _type(value: Any, user: UserCode, max_bytes: int) -> Any:
    return f"<class '{_qualified(value)}'>"


def _function(value: Any, user: UserCode, max_bytes: int) -> Any:
    return f"<function {_qualified(value)}>"


def _method(value: Any, user: UserCode, max_bytes: int) -> Any:
    return f"<method {_qualified(value.__func__)}>"


def _module(value: Any, user: UserCode, max_bytes: int) -> Any:
    name = types.ModuleType.__getattribute__(value, "__dict__").get("__name__")
    return f"<module {name}>" if type(name) is str else "<module>"


def _qualified(value: Any) -> str:
    look_up = type.__getattribute__ if isinstance(value, type) else getattr
    module, name = look_up(value, "__module__"), look_up(value, "__qualname__")
    return f"{module}.{name}" if type(module) is str and module != "builtins" else str(name)


_KNOWN_BASES: tuple[tuple[Any, Any], ...] = (
    (enum.Enum, _enum),
    (str, _str),
    (int, _int),
    (float, _float),
    ((bytes, bytearray, memoryview), _bytes),
    (dict, _dict),
    (list, _list),
    (tuple, _tuple),
    ((set, frozenset), _set),
    (collections.deque, _deque),
    (collections.UserString, _user_string),
    ((type({}.keys()), type({}.values()), type({}.items())), _view),
    (range, _range),
    (array.array, _array),
    ((dt.datetime, dt.date, dt.time), _datetime),
    (dt.timedelta, _timedelta),
    (decimal.Decimal, _decimal),
    (fractions.Fraction, _fraction),
    (uuid.UUID, _uuid),
    (pathlib.PurePath, _path),
    (BaseException, _exception),
    (types.SimpleNamespace, _namespace),
    (functools.partial, _partial),
    (type, _type),
    ((types.FunctionType, types.BuiltinFunctionType), _function),
    (types.MethodType, _method),
    (types.ModuleType, _module),
)


# --- what an object's structure tells


def _structured(value: Any, kind: type, user: UserCode) -> Any:  # noqa: PLR0911 -- one line per kind of object
    """A dict or list for the objects that have fields or items; None for the others."""
    if str(type.__getattribute__(kind, "__module__")).partition(".")[0] == "numpy":
        return _numpy(value, kind, user)
    fields = static_attribute(kind, "__dataclass_fields__")
    if type(fields) is dict:
        hidden = {name for name, field in fields.items() if getattr(field, "repr", True) is False}
        return _attributes(value, [name for name in fields if name not in hidden], user)
    if (
        static_attribute(kind, "__pydantic_fields__") is not None
        or static_attribute(kind, "__pydantic_core_schema__") is not None
    ):
        return user.call(value, _quiet_dump if _is_pydantics_own(kind) else _model_dump, dict)
    if type(static_attribute(kind, "__fields__")) is dict and static_attribute(kind, "__config__") is not None:
        return user.call(value, _pydantic_v1_dict, dict)
    attributes = static_attribute(kind, "__attrs_attrs__")
    if isinstance(attributes, tuple):
        return _attributes(value, [a.name for a in attributes if getattr(a, "repr", True)], user)
    struct_fields = static_attribute(kind, "__struct_fields__")
    if type(struct_fields) is tuple:
        return _attributes(value, list(struct_fields), user)
    if static_attribute(kind, "__next__") is not None or static_attribute(kind, "__anext__") is not None:
        return None  # an iterator: looking would consume it
    return _abstract_container(value, kind, user)


def _model_dump(value: Any) -> Any:
    return value.model_dump()


def _is_pydantics_own(kind: type) -> bool:
    return getattr(static_attribute(kind, "model_dump"), "__module__", None) == "pydantic.main"


def _quiet_dump(value: Any) -> Any:
    """Without the warnings that a field of another type than declared would print into the user's program."""
    return value.model_dump(warnings=False)


def _pydantic_v1_dict(value: Any) -> Any:
    return value.dict()


_model_dump.__name__ = _quiet_dump.__name__ = "model_dump"
_pydantic_v1_dict.__name__ = "dict()"


def _attributes(value: Any, names: list[str], user: UserCode) -> Any:
    def read(owner: Any) -> dict[str, Any]:
        own = getattr(owner, "__dict__", None)
        found: dict[str, Any] = own if type(own) is dict else {}
        return {name: found[name] if name in found else getattr(owner, name, None) for name in names}

    read.__name__ = "attribute"
    return user.call(value, read, dict)


def _abstract_container(value: Any, kind: type, user: UserCode) -> Any:
    try:
        if issubclass(kind, Mapping):
            return user.call(value, _read_mapping, dict)
        if issubclass(kind, (Sequence, Set, KeysView, ValuesView, ItemsView)):
            return user.call(value, _read_items, list)
    except Exception as error:  # a metaclass may refuse to be asked
        if is_interruption(error):
            raise
        return None
    return None


def _read_mapping(value: Any) -> dict[Any, Any]:
    return dict(islice(value.items(), _MOST_ITEMS))


def _read_items(value: Any) -> list[Any]:
    return list(islice(value, _MOST_ITEMS))


_read_mapping.__name__ = "items()"
_read_items.__name__ = "__iter__"


def _numpy(value: Any, kind: type, user: UserCode) -> Any:
    if static_attribute(kind, "item") is None:
        return None
    return user.call(value, _read_array)


def _read_array(value: Any) -> Any:
    shape = tuple(int(side) for side in value.shape)
    if not shape:
        item = value.item()
        return item if type(item) in {bool, int, float, str} else str(item)
    if value.size <= _ARRAY_ITEMS_SHOWN:
        return value.tolist()
    first = value.flat[:_ARRAY_ITEMS_SHOWN].tolist()
    return {"shape": list(shape), "dtype": str(value.dtype), "first": [*first, TRUNCATED]}


_read_array.__name__ = "array"

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+| id='?[0-9]+'?")


def _repr_text(value: Any, user: UserCode, max_bytes: int) -> str:
    """The object's own words, without the memory address that would make equal things look different."""
    shown = user.call(value, repr, str)
    text = str.__getitem__(str.__str__(shown), slice(0, max_bytes))
    return _ADDRESS.sub("", text) if " at 0x" in text or " id=" in text else text
