"""Every kind of value comes back as it was, and nothing that a file says is loaded or called."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import sys
import threading
import tracemalloc
import types
import uuid
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest

from agentdbg.encoding import decode_json, encode_json
from agentdbg.tape.codec import TooLarge, ValueEncoder, encode_value, register_codec
from agentdbg.tape.decoder import CannotRebuild, decode_value, readable


@dataclasses.dataclass(frozen=True)
class Order:
    number: int
    lines: tuple[str, ...] = ()


@dataclasses.dataclass(slots=True)
class Slotted:
    name: str
    inner: Order | None = None


class Login(NamedTuple):
    user: str
    password: str


class Colour(enum.Enum):
    RED = 1


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Name(str):
    __slots__ = ()


class Rows(list[int]):
    pass


class Spoken(str):
    """A text that remembers who said it, as frameworks give them."""

    by: Any


class Refused(ValueError):
    def __init__(self, code: int) -> None:
        super().__init__(f"refused with {code}")
        self.code = code


class Vector:
    def __init__(self, x: int) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and other.x == self.x

    __hash__ = None  # type: ignore[assignment]  # as a class with __eq__ has it


VALUES: list[Any] = [
    None, True, 0, -1, 2**63 - 1, 2**63, -(2**200), 1.5, 0.1, float("inf"), float("-inf"), "", "text", "é ✓ 𝄞",
    "lone \ud800 and \\udc00", "@name", "@@", [], [1, "two", [3.0]], {}, {"a": {"b": [None]}}, {"$t": "tuple", "v": []},
    {1: "one", (2, 3): "two", None: 0}, {"\udc80": 1}, (), (1, (2, "x")), {1, 2}, frozenset({"a", "b"}), set(),
    b"", b"plain", b"\x00\xff\xfe", bytearray(b"\x80"), 1 + 2j, range(1, 10, 2),
    dt.datetime(2024, 2, 29, 12, 30, 1, 5, tzinfo=dt.timezone.utc),
    dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Oslo"), fold=1),
    dt.datetime(2024, 6, 1, tzinfo=ZoneInfo("Europe/Oslo")),
    dt.date(2024, 1, 1), dt.time(23, 59), dt.timedelta(-1, 5, 7),
    decimal.Decimal("1.10"), decimal.Decimal("-0"),
    uuid.UUID(int=5), pathlib.Path("/tmp/x"), pathlib.PurePosixPath("a/b"), pathlib.PureWindowsPath("C:\\x"),
    Colour.RED, Right.READ | Right.WRITE, Order(1, ("a", "b")), Slotted("n", Order(2)), Login("me", "you"),
    Name("n"), Rows([1, 2]), collections.OrderedDict([("z", 1), ("a", 2)]), collections.Counter("abca"),
    types.SimpleNamespace(a=(1,), b={"c": 2}), collections.deque([1, 2], maxlen=3),
    collections.defaultdict(list, {"a": [1]}), ...,
]  # fmt: skip


@pytest.mark.parametrize(
    "value", VALUES, ids=[f"{number}-{type(value).__name__}" for number, value in enumerate(VALUES)]
)
def test_a_value_comes_back_with_its_type(value: Any) -> None:
    """A tool's result is given to the program again, which may ask for its type."""
    plain, unknown = encode_value(value)

    back = decode_value(decode_json(encode_json(plain)))

    assert unknown is None
    assert type(back) is type(value)
    assert back == value
    assert repr(back) == repr(value) or isinstance(value, (set, frozenset))
    encode_json(readable(plain))


def test_not_a_number_comes_back() -> None:
    """It equals nothing, so the list of values cannot hold it."""
    assert repr(decode_value(encode_value(float("nan"))[0])) == "nan"


def test_a_model_comes_back_without_being_validated_again() -> None:
    """Clients give pydantic models, some with fields that no constructor would take."""
    pydantic = pytest.importorskip("pydantic")
    made = _models(pydantic)(number=1, inner={"number": 2, "more": "x"})

    back = decode_value(decode_json(encode_json(encode_value(made)[0])))

    assert back == made
    assert back.inner.more == "x"
    assert back.model_fields_set == made.model_fields_set
    assert back.secret_of_mine == 7


def test_a_model_comes_back_whose_class_was_never_called() -> None:
    """Pydantic builds a deferred class when its constructor is called first, and the way back calls none."""
    pydantic = pytest.importorskip("pydantic")
    outer, inner = _deferred_models(pydantic)
    plain = encode_value(outer(inner=inner(number=2)))[0]
    outer, _ = _deferred_models(pydantic)  # those of a new process

    back = decode_value(decode_json(encode_json(plain)))

    assert type(back) is outer
    assert all(kind.__pydantic_complete__ for kind in (outer, type(back.inner)))  # some releases dump no others
    assert back.model_dump(serialize_as_any=True) == {"inner": {"number": 2}}
    assert back.model_copy().inner.model_dump_json() == '{"number":2}'


def _deferred_models(pydantic: Any) -> tuple[Any, Any]:
    class DeferredInner(pydantic.BaseModel, defer_build=True):  # type: ignore[misc, call-arg]  # pydantic may be missing
        number: int

    class DeferredOuter(pydantic.BaseModel, defer_build=True):  # type: ignore[misc, call-arg]  # as above
        inner: Any

    for model in (DeferredInner, DeferredOuter):  # as if written at the top of this file
        model.__qualname__ = model.__name__
        setattr(sys.modules[__name__], model.__name__, model)
    return DeferredOuter, DeferredInner


def _models(pydantic: Any) -> Any:
    class Inner(pydantic.BaseModel):  # type: ignore[misc]  # pydantic may be missing
        model_config = pydantic.ConfigDict(extra="allow")
        number: int

    class Outer(pydantic.BaseModel):  # type: ignore[misc]  # as above
        number: int
        inner: Inner
        _secret: int = pydantic.PrivateAttr(7)

        @property
        def secret_of_mine(self) -> int:
            return int(self._secret)

    for model in (Inner, Outer):  # as if written at the top of this file
        model.__qualname__ = model.__name__
        setattr(sys.modules[__name__], model.__name__, model)
    return Outer


def test_numpy_comes_back() -> None:
    """Scores and embeddings are numpy's."""
    numpy = pytest.importorskip("numpy")

    score = decode_value(encode_value(numpy.float32(0.5))[0])
    array = decode_value(encode_value(numpy.arange(6, dtype="int16").reshape(2, 3))[0])

    assert (type(score), score) == (numpy.float32, numpy.float32(0.5))
    assert array.dtype == "int16"
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_exception_comes_back_with_what_it_carries() -> None:
    """Agents catch by class and read attributes; a constructor with other arguments must not be in the way."""
    error = Refused(42)
    error.add_note("try later") if hasattr(error, "add_note") else None
    error.__cause__ = FileNotFoundError(2, "no such file", "a.txt")

    back = decode_value(decode_json(encode_json(encode_value(error)[0])))

    assert type(back) is Refused
    assert (back.args, back.code, str(back)) == (("refused with 42",), 42, "refused with 42")
    cause = back.__cause__
    assert isinstance(cause, FileNotFoundError)
    assert (cause.errno, cause.filename) == (2, "a.txt")


@dataclasses.dataclass(frozen=True)
class Denied(Exception):
    why: str


def test_an_exception_that_cannot_be_assigned_to_comes_back() -> None:
    """Whoever writes all classes as frozen ones does so with exceptions too."""
    try:
        raise Denied("no seat") from KeyError("seat")
    except Denied as error:
        back = decode_value(encode_value(error)[0])

    assert (type(back), back.why, repr(back.__cause__)) == (Denied, "no seat", "KeyError('seat')")


def test_an_attribute_without_a_form_costs_only_itself() -> None:
    """A client's exception holds its response, with a socket in it; its status is what the program reads."""
    error = Refused(5)
    error.response = object()  # type: ignore[attr-defined]  # any exception takes attributes

    back = decode_value(encode_value(error)[0])

    assert back.code == 5
    assert not hasattr(back, "response")


def test_what_has_no_form_is_named() -> None:
    """The report has to say which type kept a call from being given again."""
    plain, unknown = encode_value({"client": Vector(1), "n": 1})

    assert unknown == f"{__name__}:Vector"
    assert plain == {"client": {"$t": "opaque", "c": f"{__name__}:Vector"}, "n": 1}
    with pytest.raises(CannotRebuild, match="was not recorded"):
        decode_value(plain)


@dataclasses.dataclass
class Account:
    name: str
    pin: str = dataclasses.field(repr=False)


def test_a_field_that_is_not_to_be_shown_is_not_stored() -> None:
    """Whoever hides a field from its repr hides it from the log, and so from the tape."""
    plain, unknown = encode_value(Account("me", "4711"))

    assert "4711" not in str(plain)
    assert unknown == "the field pin, hidden by repr=False,"


def test_a_program_can_teach_its_own_types() -> None:
    """`register_codec` is the way for everything else."""
    register_codec(Vector, lambda vector: [vector.x], lambda held: Vector(held[0]))
    try:
        assert decode_value(encode_value([Vector(3)])[0]) == [Vector(3)]
    finally:
        from agentdbg.tape import codec

        codec.own_codecs.clear()


def test_a_very_long_list_of_numbers_is_too_large() -> None:
    """Five million of them held a tool up for seconds, while text of that size was refused at once."""
    assert encode_value([*range(1000)])[0] == [*range(1000)]
    with pytest.raises(TooLarge):
        ValueEncoder().encode([1] * 5_000_000)


@pytest.mark.parametrize(
    "items", [[1, 2**70], [1.5, float("nan")], [1.5, float("inf")], [1, 2.5, None, True], [1e308] * 9]
)
def test_numbers_come_back_from_a_list_as_they_were(items: list[Any]) -> None:
    """Most lists of numbers are written as they stand, and those that JSON cannot hold must not slip through."""
    assert repr(decode_value(decode_json(encode_json(ValueEncoder().encode(items))))) == repr(items)


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_bytes_have_the_same_budget_as_text(kind: type[bytes | bytearray]) -> None:
    """A tool that returns a video would cost as many seconds as it has, and seven times its memory."""
    value = kind(60_000_000)
    tracemalloc.start()
    with pytest.raises(TooLarge):
        ValueEncoder().encode({"frames": [value]})
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert taken < 1_000_000


def test_a_value_that_contains_itself_or_one_thing_over_and_over_ends() -> None:
    """A hundred lists that each hold the one before twice are 2**100 lists when they are written out."""
    ring: list[Any] = []
    ring.append(ring)
    tower: Any = "x"
    for _ in range(60):
        tower = [tower, tower]

    assert encode_value(ring)[1] == "a value that contains itself"
    with pytest.raises(TooLarge):
        ValueEncoder().encode(tower)


class _Loading:
    """Counts what is loaded or run while a tape is read."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.is_armed = False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.is_armed and event in {"import", "exec", "compile", "os.system", "subprocess.Popen", "open"}:
            self.seen.append(f"{event} {args[:1]}")


_loading = _Loading()
sys.addaudithook(_loading)

FOREIGN: list[Any] = [
    {"$t": "dataclass", "c": "antigravity:fly", "v": {}},
    {"$t": "dataclass", "c": "os:system", "v": {"command": "id"}},
    {"$t": "exc", "c": "os:system", "a": ["id"]},
    {"$t": "exc", "c": "subprocess:Popen", "a": [["id"]]},
    {"$t": "enum", "c": "builtins:eval", "n": "1"},
    {"$t": "model", "c": "builtins:dict", "v": {}},
    {"$t": "named", "c": "builtins:list", "v": {}},
    {"$t": "sub", "c": "builtins:object", "b": "str", "v": "x"},
    {"$t": "sub", "c": "builtins:str", "b": "__class__", "v": "x"},
    {"$t": "own", "c": "os:system", "v": "id"},
    {"$t": "path", "c": "../../x", "v": "x"},
    {"$t": "ndarray", "d": "object", "s": [1], "v": "AAAA"},
    {"$t": "attrs", "c": f"{__name__}:Order", "v": {}},
    {"$t": "py/object", "v": 1},
    {"$t": ["tuple"], "v": 1},
    {"$t": "tuple"},
    {"$t": "int", "v": "x"},
    {"$t": "bytes", "v": "%"},
    {"$t": "exc", "c": "builtins:UnicodeDecodeError", "a": [1]},
    {"$t": "flag", "c": f"{__name__}:Right", "v": "many"},
    {"$t": "dataclass", "c": 5, "v": {}},
    {"__reduce__": ["os.system", ["id"]], "$t": "reduce"},
]


@pytest.mark.parametrize("plain", FOREIGN, ids=[str(number) for number in range(len(FOREIGN))])
def test_a_strangers_value_loads_and_calls_nothing(plain: Any) -> None:
    """A recording that somebody sends may choose values, never code."""
    before = set(sys.modules)
    _loading.seen.clear()
    _loading.is_armed = True
    try:
        with pytest.raises(CannotRebuild):
            decode_value(plain)
        readable(plain)
    finally:
        _loading.is_armed = False

    assert _loading.seen == []
    assert set(sys.modules) == before


def test_a_strangers_value_can_be_nested_without_end() -> None:
    """A million brackets are one message, not a dead command."""
    deep: Any = 1
    for _ in range(5_000):
        deep = {"$t": "tuple", "v": [deep]}

    with pytest.raises(CannotRebuild, match="nested too deeply"):
        decode_value(deep)
    with pytest.raises(ValueError, match="nested too deeply"):
        decode_json(b"[" * 10**6 + b"]" * 10**6)
    readable(deep)


@pytest.mark.parametrize("said", ["Ann", {"name": "Ann", "at": dt.date(2026, 1, 2)}, None])
def test_a_text_with_attributes_keeps_them(said: Any) -> None:
    """Frameworks give their users texts and lists of classes of their own, which hold more than they look like."""
    spoken, rows = Spoken("hello"), Rows([1, 2])
    spoken.by = said
    rows.__dict__["of"] = spoken

    plain, unknown = encode_value(rows)
    back = decode_value(decode_json(encode_json(plain)))

    assert unknown is None
    assert (back, type(back), type(back.of), str(back.of), back.of.by) == ([1, 2], Rows, Spoken, "hello", said)


def test_a_text_that_holds_what_has_no_form_is_not_recorded() -> None:
    spoken = Spoken("hello")
    spoken.by = threading.Lock()

    assert encode_value(spoken)[1] is not None
