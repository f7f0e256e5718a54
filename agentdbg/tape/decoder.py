"""
Recorded values back to Python's, and as a person wants to see them.

`decode_value` looks classes up among those the program has loaded and fills them without their constructors; it
imports and calls nothing that a file names. `readable` needs no class at all.
"""

from __future__ import annotations

import base64
import collections
import datetime as dt
import decimal
import enum
import re
import sys
import types
import uuid
from typing import TYPE_CHECKING, Any

from agentdbg.faults import pass_on
from agentdbg.tape.codec import (
    BASES,
    DEEPEST,
    DTYPES,
    FACTORIES,
    KIND,
    OF_MODELS,
    PATHS,
    fields_of,
    loaded_class,
    own_codecs,
)
from agentdbg.user_code import static_attribute

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CannotRebuild", "decode_value", "readable"]

_ISO: dict[str, Any] = {kind.__name__: kind for kind in (dt.datetime, dt.date, dt.time)}
_ESCAPED = re.compile(r"\\(\\|u(d[89a-f][0-9a-f]{2}))")


class CannotRebuild(Exception):
    """A recorded value cannot be made again here; the text says what is missing."""


def decode_value(plain: Any, depth: int = 0) -> Any:
    """The Python value of plain JSON; raises CannotRebuild when it cannot be made here."""
    kind = type(plain)
    if kind is not dict and kind is not list:
        return plain
    if depth > 2 * DEEPEST:
        raise CannotRebuild("it is nested too deeply")
    if kind is list:
        return [decode_value(item, depth + 1) for item in plain]
    if KIND in plain:
        return _rebuilt(plain, depth + 1)
    return {key: decode_value(child, depth + 1) for key, child in plain.items()}


def _rebuilt(plain: dict[str, Any], depth: int) -> Any:
    kind = plain[KIND] if type(plain[KIND]) is str else ""
    try:
        if kind in _SIMPLE:
            return _SIMPLE[kind](plain)
        if kind in _NESTED:
            return _NESTED[kind](plain, depth)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, StopIteration) as error:
        pass_on(error)
        raise CannotRebuild(f"its {kind} is damaged") from None
    raise CannotRebuild(f"its form {plain[KIND]!r:.40} is not known")


def _class(plain: dict[str, Any], base: type = object) -> Any:
    found = loaded_class(plain["c"])
    if found is None:
        raise CannotRebuild(f"the class {plain['c']:.100} is not loaded")
    if not issubclass(found, base):
        raise CannotRebuild(f"{plain['c']:.100} is no {base.__name__}")
    return found


def _opaque_back(plain: dict[str, Any]) -> Any:
    raise CannotRebuild(f"a {plain['c']!s:.100} was not recorded")


def _bytes_back(plain: dict[str, Any]) -> Any:
    data = plain["u"].encode() if "u" in plain else base64.b64decode(plain["v"], validate=True)
    return bytearray(data) if plain[KIND] == "bytearray" else data


def _datetime_back(plain: dict[str, Any]) -> Any:
    value = _ISO[plain[KIND]].fromisoformat(plain["v"])
    zones = sys.modules.get("zoneinfo")
    if "z" in plain and zones is not None:
        value = value.replace(tzinfo=zones.ZoneInfo(plain["z"]))
    return value.replace(fold=1) if plain.get("f") else value


def _collection_back(plain: dict[str, Any], depth: int) -> Any:
    items = [decode_value(item, depth) for item in plain["v"]]
    if plain[KIND] == "deque":
        return collections.deque(items, maxlen=plain["most"])
    return {"tuple": tuple, "set": set, "frozenset": frozenset}[plain[KIND]](items)


def _dict_back(plain: dict[str, Any], depth: int) -> Any:
    pairs = [(decode_value(key, depth), decode_value(child, depth)) for key, child in plain["v"]]
    if plain[KIND] == "dict":
        return dict(pairs)
    if plain[KIND] == "ordered":
        return collections.OrderedDict(pairs)
    if plain[KIND] == "counter":
        return collections.Counter(dict(pairs))
    return collections.defaultdict(None if plain["f"] is None else FACTORIES[plain["f"]], pairs)


def _numpy_back(plain: dict[str, Any], depth: int) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        raise CannotRebuild("numpy is not loaded")
    if plain["d"] not in DTYPES:
        raise CannotRebuild("its dtype is not known")
    dtype = numpy.dtype(plain["d"])
    if plain[KIND] == "numpy":
        return dtype.type(decode_value(plain["v"], depth))
    return numpy.frombuffer(base64.b64decode(plain["v"]), dtype).reshape([int(side) for side in plain["s"]]).copy()


def _enum_back(plain: dict[str, Any]) -> Any:
    if plain[KIND] == "enum":
        return _class(plain, enum.Enum).__members__[plain["n"]]
    return _class(plain, enum.Flag)(int(plain["v"]))


def _fields_back(plain: dict[str, Any], depth: int) -> Any:
    kind = _class(plain)
    fields = fields_of(kind)
    if fields is None or fields[0] != plain[KIND]:
        raise CannotRebuild(f"{plain['c']:.100} is no {plain[KIND]} class")
    made = object.__new__(kind)
    for name, child in plain["v"].items():
        if name in fields[1]:
            object.__setattr__(made, name, decode_value(child, depth))
    return made


def _model_back(plain: dict[str, Any], depth: int) -> Any:
    kind = _class(plain)
    if static_attribute(kind, "__pydantic_fields_set__") is None:
        raise CannotRebuild(f"{plain['c']:.100} is no pydantic model")
    _build(kind)
    made = object.__new__(kind)
    for short, name in OF_MODELS.items():
        part = plain.get(short)
        if short == "set":
            part = set(part or ())
        elif part is not None:
            part = decode_value(part, depth)
        object.__setattr__(made, name, part)
    return made


def _build(kind: Any) -> None:
    """Build a model's class whose building was deferred: its constructor would, and some releases dump no others."""
    if static_attribute(kind, "__pydantic_complete__") is False:
        try:
            sys.modules["pydantic"].BaseModel.model_rebuild.__func__(kind, raise_errors=False)
        except Exception as error:  # noqa: BLE001 -- what the program's classes say of themselves is evaluated
            pass_on(error, of_user_code=True)


def _named_back(plain: dict[str, Any], depth: int) -> Any:
    kind = _class(plain, tuple)
    by_name = decode_value(plain["v"], depth)
    return tuple.__new__(kind, [by_name[name] for name in static_attribute(kind, "_fields")])


def _sub_back(plain: dict[str, Any], depth: int) -> Any:
    base = next(base for base in BASES if base.__name__ == plain["b"])
    kind, held = _class(plain, base), decode_value(plain["v"], depth)
    made: Any = base.__new__(kind) if base is list or base is dict else base.__new__(kind, held)
    if base is list:
        list.extend(made, held)
    elif base is dict:
        dict.update(made, held)
    if "d" in plain:
        object.__getattribute__(made, "__dict__").update(decode_value(plain["d"], depth))
    return made


def _exception_back(plain: dict[str, Any], depth: int) -> Any:
    kind = _class(plain, BaseException)
    args = tuple(decode_value(argument, depth) for argument in plain["a"])
    base = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    made = base.__new__(kind, *args)
    base.__init__(made, *args)  # Python's own, not the program's: it fills errno and the like
    if not issubclass(kind, OSError):
        object.__setattr__(made, "args", args)  # a frozen one refuses to be assigned to
    for name, child in (plain.get("d") or {}).items():
        made.__dict__[name] = decode_value(child, depth)
    if "n" in plain:
        made.__dict__["__notes__"] = [decode_value(note, depth) for note in plain["n"]]
    if "cause" in plain:
        object.__setattr__(made, "__cause__", decode_value(plain["cause"], depth))
    return made


def _own_back(plain: dict[str, Any], depth: int) -> Any:
    codec = own_codecs.get(plain["c"])
    if codec is None:
        raise CannotRebuild(f"no codec is registered for {plain['c']:.100}")
    return codec.load(decode_value(plain["v"], depth))


def _text_back(plain: dict[str, Any]) -> Any:
    return _ESCAPED.sub(lambda found: chr(int(found[2], 16)) if found[2] else "\\", plain["v"])


_SIMPLE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "opaque": _opaque_back,
    "bytes": _bytes_back,
    "bytearray": _bytes_back,
    "text": _text_back,
    "int": lambda plain: int(plain["v"], 16),
    "float": lambda plain: float(plain["v"]),
    "complex": lambda plain: complex(plain["v"]),
    "range": lambda plain: range(*(int(number, 16) for number in plain["v"])),
    "datetime": _datetime_back,
    "date": _datetime_back,
    "time": _datetime_back,
    "timedelta": lambda plain: dt.timedelta(*plain["v"]),
    "decimal": lambda plain: decimal.Decimal(plain["v"]),
    "uuid": lambda plain: uuid.UUID(plain["v"]),
    "ellipsis": lambda _: ...,
    "path": lambda plain: PATHS[plain["c"]](plain["v"]),
    "enum": _enum_back,
    "flag": _enum_back,
}
_NESTED: dict[str, Callable[[dict[str, Any], int], Any]] = {
    "tuple": _collection_back,
    "set": _collection_back,
    "frozenset": _collection_back,
    "deque": _collection_back,
    "dict": _dict_back,
    "ordered": _dict_back,
    "counter": _dict_back,
    "namespace": lambda plain, depth: types.SimpleNamespace(**decode_value(plain["v"], depth)),
    "defaultdict": _dict_back,
    "numpy": _numpy_back,
    "ndarray": _numpy_back,
    "dataclass": _fields_back,
    "held": _fields_back,
    "slice": lambda plain, depth: slice(*decode_value(plain["v"], depth)),
    "attrs": _fields_back,
    "model": _model_back,
    "named": _named_back,
    "sub": _sub_back,
    "exc": _exception_back,
    "own": _own_back,
}


# --- for people


def readable(plain: Any, depth: int = 0) -> Any:
    """The same plain JSON as a person wants to see it: the forms of other types replaced by what they hold."""
    kind = type(plain)
    if kind is not dict and kind is not list:
        return plain
    if depth > 2 * DEEPEST:
        return "…"
    if kind is list:
        return [readable(item, depth + 1) for item in plain]
    if KIND not in plain:
        return {key: readable(child, depth + 1) for key, child in plain.items()}
    show = _SHOWN.get(str(plain[KIND]))
    return readable(plain.get("v"), depth + 1) if show is None else show(plain, depth + 1)


def _name_of(plain: dict[str, Any]) -> str:
    return str(plain.get("c", "")).rpartition(":")[2]


def _exception_shown(plain: dict[str, Any], depth: int) -> str:
    given = plain.get("a")
    message = ", ".join(str(readable(argument, depth)) for argument in given) if isinstance(given, list) else ""
    return f"{_name_of(plain)}: {message}" if message else _name_of(plain)


def _dict_shown(plain: dict[str, Any], depth: int) -> dict[str, Any]:
    pairs = plain.get("v") if isinstance(plain.get("v"), list) else []
    whole = [pair for pair in pairs or () if isinstance(pair, list) and len(pair) == 2]
    return {str(readable(key, depth)): readable(child, depth) for key, child in whole}


def _bytes_shown(plain: dict[str, Any], depth: int) -> Any:
    del depth
    return plain["u"] if "u" in plain else f"<base64: {plain.get('v')}>"


def _member_shown(plain: dict[str, Any], depth: int) -> str:
    del depth
    return f"{_name_of(plain)}.{plain.get('n', plain.get('v'))}"


def _opaque_shown(plain: dict[str, Any], depth: int) -> str:
    del depth
    return f"<{plain.get('c')}>"


_SHOWN: dict[str, Callable[[dict[str, Any], int], Any]] = {
    "exc": _exception_shown,
    "enum": _member_shown,
    "flag": _member_shown,
    "opaque": _opaque_shown,
    "dict": _dict_shown,
    "ordered": _dict_shown,
    "counter": _dict_shown,
    "defaultdict": _dict_shown,
    "bytes": _bytes_shown,
    "bytearray": _bytes_shown,
}
