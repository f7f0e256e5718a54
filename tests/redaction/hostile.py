"""Values that lie, raise, never end or blow up: what a program may hand over without meaning harm."""

from __future__ import annotations

import array
import asyncio
import collections
import ctypes
import datetime as dt
import decimal
import enum
import fractions
import functools
import io
import itertools
import json
import operator
import pathlib
import queue
import re
import threading
import types
import uuid
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from unittest import mock

import numpy as np
import pydantic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class RaisingRepr:
    def __repr__(self) -> str:
        raise ValueError("no")


class RaisingStr:
    def __str__(self) -> str:
        raise ValueError("no")

    __repr__ = __str__


class InterruptingRepr:
    def __repr__(self) -> str:
        raise KeyboardInterrupt


class ExitingRepr:
    def __repr__(self) -> str:
        raise SystemExit(3)


class RecursiveRepr:
    def __repr__(self) -> str:
        return repr(self)


class ReprThatIsNoText:
    def __repr__(self) -> str:
        return 3  # type: ignore[return-value]  # that is the point


class HugeRepr:
    def __repr__(self) -> str:
        return "r" * 5_000_000


class RaisingGetattr:
    def __getattribute__(self, name: str) -> NoReturn:
        raise RuntimeError(name)


class RaisingClass:
    @property  # type: ignore[misc]  # that is the point
    def __class__(self) -> NoReturn:  # type: ignore[override,unused-ignore]
        raise RuntimeError("no class")


class RaisingHash:
    def __hash__(self) -> int:
        raise ValueError("no hash")


class RaisingEq:
    def __eq__(self, other: object) -> bool:
        raise ValueError("no comparison")

    __hash__ = object.__hash__


class RaisingBool:
    def __bool__(self) -> bool:
        raise ValueError("neither")


class RaisingLen(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        raise ValueError("no length")

    def __iter__(self) -> Iterator[Any]:
        raise ValueError("no items")


class LyingDict(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        raise ValueError("no items")

    def __iter__(self) -> Iterator[Any]:
        raise ValueError("no keys")

    def __getitem__(self, key: Any) -> Any:
        raise KeyError(key)


class LyingStr(str):
    def __str__(self) -> str:
        raise ValueError("no")

    def __len__(self) -> int:
        return 3

    def encode(self, *args: Any, **kwargs: Any) -> bytes:
        raise ValueError("no")

    def __hash__(self) -> int:
        raise ValueError("no")


class LyingInt(int):
    def __index__(self) -> int:
        raise ValueError("no")

    def __repr__(self) -> str:
        raise ValueError("no")


class LyingFloat(float):
    def __sub__(self, other: float) -> float:
        raise ValueError("no")


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Flag(enum.Flag):
    A = 1
    B = 2


class Meta(type):
    def __getattr__(cls, name: str) -> NoReturn:
        raise RuntimeError(name)

    def __instancecheck__(cls, instance: Any) -> bool:
        raise RuntimeError("no")

    def __subclasscheck__(cls, subclass: Any) -> bool:
        raise RuntimeError("no")


class WithMeta(metaclass=Meta):
    pass


class EndlessMapping(collections.abc.Mapping):  # type: ignore[type-arg]
    def __getitem__(self, key: Any) -> int:
        return 1

    def __iter__(self) -> Iterator[int]:
        return itertools.count()

    def __len__(self) -> int:
        return 1


class RaisingMapping(collections.abc.Mapping):  # type: ignore[type-arg]
    def __getitem__(self, key: Any) -> int:
        raise OSError("gone")

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class EndlessSequence(collections.abc.Sequence):  # type: ignore[type-arg]
    def __getitem__(self, index: Any) -> Any:
        return 1

    def __len__(self) -> int:
        return 10**9


@dataclass
class Node:
    name: str
    next: Node | None = None
    hidden: str = field(default="not shown", repr=False)


@dataclass
class RaisingProperty:
    value: int = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "value":
            raise ValueError("no")
        return object.__getattribute__(self, name)


class Model(pydantic.BaseModel):
    name: str = "m"
    tags: list[str] = ["a"]
    secret_text: pydantic.SecretStr = pydantic.SecretStr("hidden")


class RaisingModel(pydantic.BaseModel):
    a: int = 1

    def model_dump(self, **kwargs: Any) -> dict[str, Any]:
        raise ValueError("no dump")


class RaisingMessage(Exception):
    def __str__(self) -> str:
        raise ValueError("no message")


def _cycle() -> Any:
    one: dict[str, Any] = {}
    one["self"] = one
    one["list"] = [one, one]
    return one


def _blow_up() -> Any:
    value: Any = "x"
    for _ in range(40):
        value = [value] * 10
    return value


def _shared_dicts() -> Any:
    value: Any = {"k": 1}
    for _ in range(30):
        value = {str(number): value for number in range(8)}
    return value


def _deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


def _deep_dict(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"d": value}
    return value


def _linked() -> Any:
    node = Node("a")
    node.next = Node("b", node)
    return node


def work() -> Iterator[int]:
    yield 1


async def _later() -> None:
    await asyncio.sleep(0)


def _coroutine() -> Any:
    coroutine = _later()
    coroutine.close()
    return coroutine


def _caught() -> Exception:
    try:
        raise ValueError("inside")
    except ValueError as error:
        return error


VALUES: dict[str, Callable[[], Any]] = {
    "raising repr": RaisingRepr,
    "raising str": RaisingStr,
    "interrupting repr": InterruptingRepr,
    "exiting repr": ExitingRepr,
    "recursive repr": RecursiveRepr,
    "repr that is no text": ReprThatIsNoText,
    "huge repr": HugeRepr,
    "raising getattr": RaisingGetattr,
    "raising class": RaisingClass,
    "raising hash": RaisingHash,
    "raising eq": lambda: [RaisingEq(), RaisingEq()],
    "raising bool": RaisingBool,
    "raising len": lambda: RaisingLen([1, 2]),
    "lying dict": lambda: LyingDict(a=1),
    "lying str": lambda: LyingStr("text"),
    "lying int": lambda: LyingInt(5),
    "lying float": lambda: LyingFloat(1.5),
    "metaclass": WithMeta,
    "endless mapping": EndlessMapping,
    "raising mapping": RaisingMapping,
    "endless sequence": EndlessSequence,
    "raising property": RaisingProperty,
    "raising message": RaisingMessage,
    "raising model": RaisingModel,
    "pydantic model": Model,
    "pydantic class": lambda: Model,
    "cycle": _cycle,
    "linked dataclasses": _linked,
    "blow-up": _blow_up,
    "shared dicts": _shared_dicts,
    "deep list": lambda: _deep(100_000),
    "deep dict": lambda: _deep_dict(100_000),
    "100 MB of text": lambda: "x" * 100_000_000,
    "100 MB of bytes": lambda: b"x" * 100_000_000,
    "wide text": lambda: "ü" * 5_000_000,
    "emoji": lambda: "😀" * 100_000,
    "control characters": lambda: "\x00\x01\x1b" * 10_000,
    "NaN": lambda: float("nan"),
    "infinity": lambda: [float("inf"), -float("inf")],
    "lone surrogate": lambda: "a\ud800b",
    "surrogate pair": lambda: "\ud83d\ude00",
    "surrogate key": lambda: {"\udcff": 1},
    "bytes": lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "empty bytes": lambda: b"",
    "memoryview": lambda: memoryview(b"abc"),
    "wide memoryview": lambda: memoryview(array.array("d", [1.0, 2.0])),
    "100,000 keys": lambda: {f"key{number}": number for number in range(100_000)},
    "1,000,000 keys": lambda: dict.fromkeys(range(1_000_000)),
    "1,000,000 items": lambda: [0] * 1_000_000,
    "1,000,000 texts": lambda: ["password=hunter2"] * 1_000_000,
    "big set": lambda: set(range(200_000)),
    "big int": lambda: 10**3000,
    "huge int": lambda: 10**100_000,
    "huge negative int": lambda: -(10**5000),
    "huge int key": lambda: {10**6000: 1},
    "long key": lambda: {"k-" * 500_000: 1},
    "long key of words": lambda: {"Aa" * 49_000: 1},
    "many long keys": lambda: {f"{number}" + "k-" * 490: number for number in range(1000)},
    "many keys of a hundred letters": lambda: {f"{number}" + "é" * 100: number for number in range(4900)},
    "many pairs": lambda: [["a-" * 90 + str(number), number] for number in range(2400)],
    "user string": lambda: collections.UserString("text"),
    "bool keys": lambda: {True: 1, False: 0, None: 2, 1.5: 3},
    "equal keys": lambda: {1: "a", "1": "b", "None": "c", None: "d"},
    "many equal keys": lambda: {LyingName(): number for number in range(5000)},
    "mixed keys": lambda: {(1, 2): "a", frozenset({1}): "b", Colour.RED: "c"},
    "generator": work,
    "coroutine": _coroutine,
    "map": lambda: map(str, [1, 2]),
    "zip": lambda: zip([1], [2], strict=True),
    "iterator": lambda: iter([1, 2, 3]),
    "endless iterator": itertools.count,
    "string stream": lambda: io.StringIO("text"),
    "byte stream": lambda: io.BytesIO(b"text"),
    "file": lambda: open(__file__),  # noqa: SIM115 -- closed by the test
    "lock": threading.Lock,
    "rlock": threading.RLock,
    "thread": threading.current_thread,
    "queue": queue.Queue,
    "event": threading.Event,
    "context variable": lambda: __import__("contextvars").ContextVar("v"),
    "magic mock": mock.MagicMock,
    "async mock": mock.AsyncMock,
    "mock with a spec": lambda: mock.create_autospec(dict),
    "numpy integer": lambda: np.int64(3),
    "numpy float": lambda: np.float32("nan"),
    "numpy bool": lambda: np.bool_(True),
    "numpy text": lambda: np.str_("t"),
    "numpy array": lambda: np.arange(6).reshape(2, 3),
    "large numpy array": lambda: np.zeros((3000, 3000)),
    "numpy objects": lambda: np.array([{"a": 1}, RaisingRepr()], dtype=object),
    "numpy structured": lambda: np.zeros(3, dtype=[("a", "i4"), ("b", "f4")]),
    "numpy datetime": lambda: np.datetime64("2026-11-15"),
    "numpy complex": lambda: np.array([1 + 2j]),
    "datetime": lambda: dt.datetime(2026, 11, 15, tzinfo=dt.timezone.utc),
    "date and time": lambda: [dt.date(2026, 1, 2), dt.time(3, 4), dt.timedelta(seconds=5)],
    "decimal": lambda: [decimal.Decimal("1.10"), decimal.Decimal("NaN"), decimal.Decimal("1E+1000000")],
    "fraction": lambda: fractions.Fraction(1, 3),
    "complex": lambda: 1 + 2j,
    "uuid": lambda: uuid.UUID(int=1),
    "path": lambda: pathlib.PurePosixPath("/a/b"),
    "enum": lambda: [Colour.RED, Level.HIGH, Flag.A | Flag.B],
    "range": lambda: range(10**9),
    "ellipsis": lambda: [..., NotImplemented],
    "slice": lambda: slice(1, 2),
    "type": lambda: [int, RaisingRepr, WithMeta],
    "functions": lambda: [len, work, str.upper, "".join, lambda: 0],
    "partial": lambda: functools.partial(print, RaisingRepr()),
    "module": lambda: json,
    "weak reference": lambda: weakref.ref(work),
    "pattern": lambda: [re.compile("a"), re.match("a", "a")],
    "exception": lambda: [ValueError("v"), KeyError("k"), ValueError(), OSError(2, "gone")],
    "exception with a traceback": _caught,
    "simple namespace": lambda: types.SimpleNamespace(a=1),
    "deque": lambda: collections.deque([1, 2], maxlen=5),
    "counter": lambda: collections.Counter("aab"),
    "ordered dict": lambda: collections.OrderedDict(b=1, a=2),
    "chain map": lambda: collections.ChainMap({"a": 1}, {"b": 2}),
    "views": lambda: [{"a": 1}.keys(), {"a": 1}.values(), {"a": 1}.items()],
    "array": lambda: array.array("i", [1, 2]),
    "ctypes": lambda: (ctypes.c_int * 3)(1, 2, 3),
    "item getter": lambda: operator.itemgetter(1),
    "object": object,
    "environment": lambda: __import__("os").environ,
    "frame": lambda: __import__("sys")._getframe(),
    "one long line of quotes": lambda: '"' * 300_000,
    "backslashes": lambda: "password=" + "\\" * 300_000,
    "backslashes behind a letter as a number": lambda: "password=1 \\u0442 " + "\\" * 300_000,
    "many anchors": lambda: "sk-" * 100_000 + "eyJ" * 100_000,
    "many urls": lambda: "://a:b" * 100_000,
    "many names": lambda: "password " * 50_000,
    "many assignments": lambda: "token: [" * 50_000,
    "many brackets": lambda: "secret={" + "{" * 300_000,
    "many quotes after names": lambda: "password='" * 50_000,
    "many begin lines": lambda: ("-----BEGIN PRIVATE " + "KEY-----") * 20_000,
    "many odd letters": lambda: "p\u0430" * 100_000,
    "many long tokens": lambda: ("A" * 40 + " ") * 20_000,
    "many basics": lambda: "basic " + "basic-" * 50_000,
}


class Point(NamedTuple):
    x: int
    y: int


class LyingName:
    def __repr__(self) -> str:
        return "same"
