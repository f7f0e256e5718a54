"""
Python values as plain JSON and back, so that a recorded result can be given again as it was.

Plain JSON stands as it is; every other value is `{"$t": kind, …}`. Nothing is imported, unpickled or called by a name
from a file: a class is looked up among those that the program itself has loaded, has to be of the stated kind, and is
filled without its constructor. So a recording from a stranger can choose values, never code. What has no form here is
`{"$t": "opaque", "c": "module:Class"}`, and whoever encodes it is told the type's name.

The way back is in `decoder`. `register_codec` is for a program's own types.
"""

from __future__ import annotations

import base64
import collections
import datetime as dt
import decimal
import enum
import math
import pathlib
import re
import sys
import types
import uuid
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import encode_json
from agentdbg.faults import pass_on
from agentdbg.user_code import exception_arguments, static_attribute

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BASES",
    "DEEPEST",
    "DTYPES",
    "FACTORIES",
    "HELD",
    "KIND",
    "MOST_CHARACTERS",
    "MOST_NODES",
    "OF_MODELS",
    "PATHS",
    "TooLarge",
    "ValueEncoder",
    "encode_value",
    "fields_of",
    "loaded_class",
    "own_codecs",
    "register_codec",
]

DEEPEST = 100
MOST_NODES = 300_000
MOST_CHARACTERS = 32_000_000
_CHARACTERS_OF_A_SCALAR = 8
KIND = "$t"
HELD = "v"
"""Where the form of a value has what it holds: a dataclass its fields, a tuple its items."""
_NUMBERS = frozenset({int, float})
_SCALARS = frozenset({bool, type(None), int, float})
_BITS = {"bool": ("",), "int": (8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (16, 32, 64)}
DTYPES = frozenset(f"{kind}{bits}" for kind, many in _BITS.items() for bits in many)
PATHS: dict[str, type[pathlib.PurePath]] = {
    kind.__name__: kind for kind in (pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.Path, type(pathlib.Path()))
}
FACTORIES: dict[str, Any] = {kind.__name__: kind for kind in (dict, float, int, list, set, str, tuple)}
BASES: tuple[type, ...] = (str, int, float, bytes, list, dict)


class _Codec:
    __slots__ = ("dump", "load")

    def __init__(self, dump: Callable[[Any], Any], load: Callable[[Any], Any]) -> None:
        self.dump = dump
        self.load = load


own_codecs: dict[str, _Codec] = {}


def register_codec(cls: type, dump: Callable[[Any], Any], load: Callable[[Any], Any]) -> None:
    """Let values of a class be recorded: `dump` gives something that can be recorded, `load` makes it one again."""
    own_codecs[_path_of(cls)] = _Codec(dump, load)


def encode_value(value: Any) -> tuple[Any, str | None]:
    """A value as plain JSON, and the name of a type in it that has no form, or None."""
    encoder = ValueEncoder()
    return encoder.encode(value), encoder.unknown


class TooLarge(Exception):
    """A value has too many parts, perhaps because one of them is in it over and over."""


class ValueEncoder:
    """
    Encodes values, and notes what it met. Raises TooLarge beyond a bound.

    `unknown` names a type that has no form here.
    """

    __slots__ = ("_characters_left", "_nodes_left", "_on_path", "holds_bytes", "unknown")

    def __init__(self) -> None:
        self.unknown: str | None = None
        self.holds_bytes = False
        self._on_path: set[int] = set()
        self._nodes_left = MOST_NODES
        self._characters_left = MOST_CHARACTERS

    def encode(self, value: Any, depth: int = 0) -> Any:
        """`value` as plain JSON. What is plain already is given back as it is, or as a copy."""
        kind = type(value)
        if kind is str:
            self._characters_left -= len(value)
            if self._characters_left < 0:
                raise TooLarge
            return value if value.isascii() or _is_strict(value) else self._tagged("text", v=_escaped(value))
        if value is None or kind is bool:
            return value
        return self._number(value, kind) if kind is int or kind is float else self._container(value, kind, depth)

    def _number(self, value: Any, kind: type) -> Any:
        if kind is int:
            return value if -(2**63) <= value < 2**63 else self._tagged("int", v=hex(value))
        return value if math.isfinite(value) else self._tagged("float", v=repr(value))

    def _container(self, value: Any, kind: type, depth: int) -> Any:
        if depth >= DEEPEST:
            return self._opaque("nested too deeply")
        if id(value) in self._on_path:
            return self._opaque("a value that contains itself")
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise TooLarge
        self._on_path.add(id(value))
        try:
            if kind is dict:
                return self._dict(value, depth)
            return self._items(value, depth) if kind is list else self._object(value, kind, depth)
        finally:
            self._on_path.discard(id(value))

    def _dict(self, value: dict[Any, Any], depth: int) -> Any:
        items = list(dict.items(value))
        self._nodes_left -= len(items)
        if all(type(key) is str and (key.isascii() or _is_strict(key)) for key, _ in items) and KIND not in value:
            return {key: self.encode(child, depth + 1) for key, child in items}
        return self._tagged("dict", v=self._pairs(items, depth))

    def _pairs(self, items: Any, depth: int) -> list[list[Any]]:
        return [[self.encode(key, depth + 1), self.encode(child, depth + 1)] for key, child in items]

    def _items(self, items: Any, depth: int) -> list[Any]:
        kinds = set(map(type, items))
        if _SCALARS.issuperset(kinds):
            self._characters_left -= _CHARACTERS_OF_A_SCALAR * len(items)
            if self._characters_left < 0:
                raise TooLarge
            if _are_plain(items, kinds):
                return list(items)
        self._nodes_left -= len(items)
        return [self.encode(item, depth + 1) for item in list(items)]

    def _tagged(self, kind: str, **parts: Any) -> dict[str, Any]:
        return {KIND: kind, **parts}

    def _opaque(self, why: str) -> dict[str, Any]:
        self.unknown = self.unknown or why
        return self._tagged("opaque", c=why)

    def _object(self, value: Any, kind: type, depth: int) -> Any:
        if kind is bytes or kind is bytearray:
            self.holds_bytes = True
            self._take_bytes(len(value))
        simple = _SIMPLE.get(kind)
        if simple is not None:
            return self._tagged(simple[0], **simple[1](value))
        if kind in _COLLECTIONS:
            return self._collection(value, kind, depth)
        if issubclass(kind, pathlib.PurePath) and kind.__name__ in PATHS:
            return self._tagged("path", c=kind.__name__, v=pathlib.PurePath.__str__(value))
        path = _path_of(kind)
        if path in own_codecs:
            return self._tagged("own", c=path, v=self.encode(own_codecs[path].dump(value), depth + 1))
        # What was made inside a function, or is not what its name says, could not be found again.
        return self._instance(value, kind, path, depth) if loaded_class(path) is kind else self._opaque(path)

    def _take_bytes(self, count: int) -> None:
        self._characters_left -= 2 * count  # as text they are hardly less
        if self._characters_left < 0:
            raise TooLarge

    def _collection(self, value: Any, kind: type, depth: int) -> Any:
        if kind is tuple:
            return self._tagged("tuple", v=self._items(value, depth))
        if kind is collections.deque:
            return self._tagged("deque", v=self._items(value, depth), most=value.maxlen)
        if kind in _OF_PAIRS:
            return self._tagged(_OF_PAIRS[kind], v=self._pairs(list(value.items()), depth))
        if kind is types.SimpleNamespace:
            return self._tagged("namespace", v=self._dict(vars(value), depth))
        if kind is collections.defaultdict:
            return self._defaultdict(value, depth)
        items = self._items(value, depth)
        return self._tagged(kind.__name__, v=sorted(items, key=encode_json))  # equal sets are written alike

    def _defaultdict(self, value: collections.defaultdict[Any, Any], depth: int) -> Any:
        factory: Any = value.default_factory
        if factory is not None and FACTORIES.get(getattr(factory, "__name__", "")) is not factory:
            return self._opaque("collections:defaultdict")
        made_by = None if factory is None else factory.__name__
        return self._tagged("defaultdict", f=made_by, v=self._pairs(list(value.items()), depth))

    def _numpy(self, value: Any) -> Any:
        dtype = str(value.dtype)
        if dtype not in DTYPES:
            return self._opaque(f"numpy:{dtype}")
        if value.shape == () and static_attribute(type(value), "tolist") is not None and not hasattr(value, "__len__"):
            return self._tagged("numpy", d=dtype, v=self.encode(value.item()))
        self._take_bytes(value.nbytes)
        data = base64.b64encode(value.tobytes()).decode()
        return self._tagged("ndarray", d=dtype, s=[int(side) for side in value.shape], v=data)

    def _instance(self, value: Any, kind: type, path: str, depth: int) -> Any:
        if path.startswith("numpy:") and static_attribute(kind, "dtype") is not None:
            return self._numpy(value)
        if issubclass(kind, enum.Enum):
            return self._member(value, kind, path)
        if issubclass(kind, BaseException):
            return self._exception(value, path, depth)
        fields = fields_of(kind)
        if fields is not None:
            return self._tagged(fields[0], c=path, v=self._attributes(value, kind, fields[1], depth))
        if static_attribute(kind, "__pydantic_fields_set__") is not None:
            return self._model(value, path, depth)
        return self._subclass(value, kind, path, depth)

    def _member(self, value: Any, kind: Any, path: str) -> Any:
        name = value.__dict__.get("_name_")
        if kind.__members__.get(name) is value:
            return self._tagged("enum", c=path, n=name)
        if issubclass(kind, enum.Flag):
            return self._tagged("flag", c=path, v=int(value.__dict__["_value_"]))
        return self._opaque(path)

    def _subclass(self, value: Any, kind: type, path: str, depth: int) -> Any:
        """A named tuple, or a `str`, a `dict` or the like under another name."""
        if issubclass(kind, tuple) and type(names := static_attribute(kind, "_fields")) is tuple:
            by_name = dict(zip(names, tuple.__iter__(value), strict=False))
            return self._tagged("named", c=path, v=self._dict(by_name, depth))
        base = next((base for base in BASES if issubclass(kind, base)), None)
        if base is None or not _is_made_alike(kind, base):
            return self._opaque(path)
        own = getattr(value, "__dict__", None)
        held = {"d": self._dict(own, depth)} if type(own) is dict and own else {}
        return self._tagged("sub", c=path, b=base.__name__, v=self.encode(_as_base(value, base), depth + 1), **held)

    def _attributes(self, value: Any, kind: type, names: list[str], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        hidden = _hidden_fields(kind)
        for name in names:
            if name in hidden:
                found[name] = self._opaque(f"the field {name}, hidden by repr=False,")
                continue
            try:
                found[name] = self.encode(object.__getattribute__(value, name), depth + 1)
            except AttributeError as error:  # not filled yet
                pass_on(error)
        return found

    def _model(self, value: Any, path: str, depth: int) -> Any:
        """A pydantic model, by what it holds: no method of it is called."""
        held: dict[str, Any] = {}
        for short, name in OF_MODELS.items():
            try:
                part = object.__getattribute__(value, name)
            except AttributeError as error:
                pass_on(error)
                part = None
            held[short] = sorted(part) if short == "set" else None if part is None else self._dict(part, depth)
        return self._tagged("model", c=path, **{short: part for short, part in held.items() if part is not None})

    def _exception(self, value: BaseException, path: str, depth: int) -> Any:
        given = exception_arguments(value)
        if isinstance(value, OSError) and value.filename is not None:  # which its arguments no longer hold
            given = (value.errno, value.strerror, value.filename)
        args = [self.encode(argument, depth + 1) for argument in given]
        attributes: dict[str, Any] = {}
        for name, child in list(value.__dict__.items()):
            inner = ValueEncoder()
            inner._on_path = self._on_path
            encoded = inner.encode(child, depth + 1)
            self._nodes_left = inner._nodes_left
            if inner.unknown is None and name != "__notes__":
                attributes[name] = encoded
        notes = [note for note in value.__dict__.get("__notes__") or () if type(note) is str]
        cause = value.__cause__
        parts = {
            "d": attributes or None,
            "n": self._items(notes, depth) or None,
            "cause": None if cause is None else self.encode(cause, depth + 1),
        }
        return self._tagged("exc", c=path, a=args, **{name: part for name, part in parts.items() if part is not None})


# --- what a type is


def _are_plain(items: Any, kinds: set[type]) -> bool:
    """Whether scalars can be written as they are: integers of 64 bits, or floats that are numbers."""
    if kinds == {int}:
        return bool(min(items) >= -(2**63) and max(items) < 2**63)
    if kinds == {float}:
        return math.isfinite(sum(items))
    return _NUMBERS.isdisjoint(kinds)


def _path_of(kind: type) -> str:
    look_up = type.__getattribute__
    return f"{look_up(kind, '__module__')}:{look_up(kind, '__qualname__')}"


def loaded_class(path: str) -> Any:
    """The class of that name among what the program has loaded, without asking anything to load more; else None."""
    module_name, _, qualified = path.partition(":")
    module = sys.modules.get(module_name)
    if not isinstance(module, types.ModuleType):
        return None
    found: Any = types.ModuleType.__getattribute__(module, "__dict__")
    for part in qualified.split("."):
        held = found if type(found) is dict else type.__getattribute__(found, "__dict__")
        found = held.get(part)
        if not isinstance(found, type):
            return None
    return found


_HELD = {
    "fractions:Fraction": ("_numerator", "_denominator"),
    "subprocess:CompletedProcess": ("args", "returncode", "stdout", "stderr"),
}
"""Classes of Python's own that only hold values, and in what."""
OF_MODELS = {
    "v": "__dict__",
    "set": "__pydantic_fields_set__",
    "extra": "__pydantic_extra__",
    "private": "__pydantic_private__",
}


def fields_of(kind: type) -> tuple[str, list[str]] | None:
    """The names of a dataclass's or an attrs class's fields."""
    fields = static_attribute(kind, "__dataclass_fields__")
    if type(fields) is dict:
        own = [
            name
            for name, field in fields.items()
            if getattr(getattr(field, "_field_type", None), "name", "") == "_FIELD"
        ]
        return "dataclass", own
    attributes = static_attribute(kind, "__attrs_attrs__")
    if isinstance(attributes, tuple):
        return "attrs", [attribute.name for attribute in attributes]
    known = _HELD.get(_path_of(kind))
    return None if known is None else ("held", list(known))


def _hidden_fields(kind: type) -> set[str]:
    """The fields that are not to be shown, `field(repr=False)`: they are not stored either."""
    fields = static_attribute(kind, "__dataclass_fields__")
    listed = list(fields.values()) if type(fields) is dict else static_attribute(kind, "__attrs_attrs__") or ()
    return {field.name for field in listed if getattr(field, "repr", True) is False}


def _is_made_alike(kind: type, base: type) -> bool:
    """Whether a `str`, a `dict` or the like with another name is made as that is, and holds no more but attributes."""
    return kind.__module__ != "collections" and base.__new__ is getattr(kind, "__new__", None)


def _as_base(value: Any, base: type) -> Any:
    if base is list:
        return list.__getitem__(value, slice(None))
    if base is dict:
        return dict(dict.items(value))
    if base is bytes:
        return bytes(memoryview(value))
    plain: dict[type, Any] = {str: str.__str__, int: int.__index__, float: float.__float__}
    return plain[base](value)


def _is_strict(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escaped(text: str) -> str:
    """A text with lone surrogates, with those written out; the rest stays readable, also for the redactor."""
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text.replace("\\", "\\\\"))


def _bytes_parts(value: Any) -> dict[str, Any]:
    """Bytes as text where they are, so that a secret in them is seen."""
    data = bytes(value)
    try:
        return {"u": data.decode()}
    except UnicodeDecodeError as error:
        pass_on(error)
        return {"v": base64.b64encode(data).decode()}


def _datetime_parts(value: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {"v": value.isoformat()}
    zone = getattr(value, "tzinfo", None)
    key = getattr(zone, "key", None) if type(zone).__module__ == "zoneinfo" else None
    if type(key) is str:
        parts["z"] = key
    if getattr(value, "fold", 0):
        parts["f"] = 1
    return parts


_SIMPLE: dict[type, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    bytes: ("bytes", _bytes_parts),
    bytearray: ("bytearray", _bytes_parts),
    complex: ("complex", lambda value: {"v": repr(value)}),
    range: ("range", lambda value: {"v": [hex(value.start), hex(value.stop), hex(value.step)]}),
    dt.datetime: ("datetime", _datetime_parts),
    dt.date: ("date", _datetime_parts),
    dt.time: ("time", _datetime_parts),
    dt.timedelta: ("timedelta", lambda value: {"v": [value.days, value.seconds, value.microseconds]}),
    decimal.Decimal: ("decimal", lambda value: {"v": str(value)}),
    uuid.UUID: ("uuid", lambda value: {"v": str(value)}),
    type(...): ("ellipsis", lambda _: {}),
    slice: ("slice", lambda value: {"v": ValueEncoder().encode([value.start, value.stop, value.step])}),
}
_OF_PAIRS: dict[type, str] = {collections.OrderedDict: "ordered", collections.Counter: "counter"}
_COLLECTIONS = frozenset(
    {tuple, set, frozenset, collections.deque, collections.defaultdict, types.SimpleNamespace, *_OF_PAIRS}
)
