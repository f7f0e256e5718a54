"""Secrets in places where a walk over dicts and strings would not look."""

from __future__ import annotations

import collections
import dataclasses
import json
import types
from typing import TYPE_CHECKING, Any, NamedTuple

import pydantic
import pytest

if TYPE_CHECKING:
    from agentdbg.redaction import Redactor

SECRET = "hunter2-Xq9"
OPENAI = "sk" + "-" + "aB3dE6gH9jK2mN5pQ8rS1tU4"


class Login(NamedTuple):
    user: str
    password: str


@dataclasses.dataclass
class Settings:
    api_key: str
    region: str = "eu"


class Slotted:
    __slots__ = ("token",)

    def __init__(self) -> None:
        self.token = SECRET

    def __repr__(self) -> str:
        return f"Slotted(token={self.token!r})"


class Model(pydantic.BaseModel):
    password: str
    inner: dict[str, str] = {}


class Text(str):
    """A string of its own kind."""


class Headers(collections.UserDict[str, str]):
    pass


def _failing() -> Exception:
    return ValueError(f"could not log in with password={SECRET}")


PLACES: dict[str, Any] = {
    "pair": ["password", SECRET],
    "pair with a longer name": {"name": "Stripe API Key", "value": SECRET},
    "pair with a form's name": {"name": "user[password]", "value": SECRET},
    "pair with an accent": {"key": "p\u00e4ssword", "value": SECRET},
    "pair with an odd space": {"header": "api\u00a0key", "value": SECRET},
    "pair with an odd joint": {"name": "api/key", "value": SECRET},
    "namespace": types.SimpleNamespace(password=SECRET),
    "tuple pair": ("Authorization", f"Bearer {SECRET}"),
    "pairs": [("Accept", "x"), ("X-API-Key", SECRET)],
    "bytes pair": (b"authorization", SECRET.encode()),
    "name and value": {"name": "password", "value": SECRET},
    "value and name": {"value": SECRET, "name": "api_key"},
    "key and value": {"key": "token", "value": {"stringValue": SECRET}},
    "header and value": {"header": "Cookie", "value": SECRET},
    "bytes key": {b"password": SECRET},
    "tuple key": {("db", "password"): SECRET},
    "nested tuple key": {(("a", b"secret"), 1): SECRET},
    "str subclass key": {Text("password"): SECRET},
    "str subclass value": Text(f"password={SECRET}"),
    "a secret as a key": {OPENAI: 1},
    "a secret as a bytes key": {OPENAI.encode(): 1},
    "named tuple": Login("bob", SECRET),
    "dataclass": Settings(SECRET),
    "list of dataclasses": [Settings(SECRET)],
    "pydantic model": Model(password=SECRET, inner={"api_key": SECRET}),
    "user dict": Headers(Authorization=SECRET),
    "mapping proxy": types.MappingProxyType({"token": SECRET}),
    "default dict": collections.defaultdict(str, cookie=SECRET),
    "chain map": collections.ChainMap({"secret": SECRET}),
    "set": {f"password={SECRET}"},
    "frozen set": frozenset({f"token: {SECRET}"}),
    "deque": collections.deque([f"api_key={SECRET}"]),
    "dict values": {"a": f"pwd={SECRET}"}.values(),
    "dict items": {"password": SECRET}.items(),
    "bytes": f"password={SECRET}".encode(),
    "bytes that are not UTF-8": b"\xff\xfe password=" + SECRET.encode() + b" and some more words after it",
    "bytearray": bytearray(f"password={SECRET}".encode()),
    "memoryview": memoryview(f"password={SECRET}".encode()),
    "exception": _failing(),
    "exception group": [_failing(), {"error": _failing()}],
    "repr": Slotted(),
    "simple namespace": types.SimpleNamespace(password=SECRET),
    "argument list": ["curl", "--token", SECRET, "https://example.com"],
    "arguments with equals": ["cli", f"--password={SECRET}"],
    "header list": ["-H", f"Authorization: Bearer {SECRET}"],
    "json text in a list": [[[json.dumps({"password": SECRET})]]],
    "partial": __import__("functools").partial(print, f"password={SECRET}"),
    "at depth nine": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"password": SECRET}}}}}}}},
    "surrogate beside it": f"\ud800 password={SECRET}",
    "across the cut": "x" * 19_980 + f" password={SECRET} " + "y" * 100,
    "token across the cut": "x" * 19_975 + " " + OPENAI + "z" * 100,
    "behind the cut": "x" * 50_000 + f" password={SECRET}",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_in_an_odd_place_never_survives(redactor: Redactor, place: str) -> None:
    """Frameworks hand over headers as pairs, models as objects and errors as text."""
    sealed = redactor.seal({"args": PLACES[place]})

    assert SECRET.encode() not in sealed.encoded
    assert OPENAI[:12].encode() not in sealed.encoded


ARGUMENTS = [
    ["agent.py", "--password", SECRET],
    ["agent.py", f"--password={SECRET}"],
    ["agent.py", "-p", SECRET],
    ["agent.py", f"-p{SECRET}"],
    ["agent.py", f"API_KEY={SECRET}"],
    ["agent.py", "--api-key", SECRET, "--verbose"],
    ["agent.py", f"--db=postgres://bob:{SECRET}@db/app"],
    ["agent.py", json.dumps({"token": SECRET})],
    ["agent.py", "--header", f"Authorization: Bearer {SECRET}"],
    ["agent.py", "-u", f"bob:{SECRET}"],
    ["agent.py", "--config", f"auth.secret={SECRET}"],
    ["agent.py", f"password:{SECRET}"],
    ["agent.py", "-token", SECRET],
    ["agent.py", f"/password:{SECRET}"],
    ["agent.py", "--openai-key", OPENAI],
    ["agent.py", "--auth", f"{SECRET} with spaces"],
    ["agent.py", f"https://example.com/?access_token={SECRET}"],
    ["agent.py", "-e", f"SECRET_VALUE={SECRET}"],
    ["agent.py", f"-ubob:{SECRET}"],
    ["agent.py", "-pw", SECRET],
    ["agent.py", "config", "set", "password", SECRET],
]


@pytest.mark.parametrize("argv", ARGUMENTS, ids=lambda argv: " ".join(argv[1:])[:40])
def test_no_form_of_argument_carries_a_secret_into_the_trace(redactor: Redactor, argv: list[str]) -> None:
    """argv is recorded at the start of every run."""
    cleaned = redactor.clean_argv(argv)

    assert SECRET not in " ".join(cleaned)
    assert OPENAI not in " ".join(cleaned)
    assert cleaned[0] == "agent.py"


def test_ordinary_arguments_are_kept(redactor: Redactor) -> None:
    """How a run was started is half of what one needs to start it again."""
    argv = ["agent.py", "--model", "gpt-4", "-p", "8080", "--max-tokens=512", "-v", "input.txt", "-p", "no:randomly"]
    argv += [
        "--max-tokens",
        "512",
        "reset",
        "password",
        "reset",
        "-u1000:1000",
        "token",
        "a/b1.txt",
    ]

    assert redactor.clean_argv(argv) == argv


def test_arguments_that_are_no_text_are_shown_all_the_same(redactor: Redactor) -> None:
    """sys.argv is a list anyone may put anything into."""
    assert redactor.clean_argv([b"agent.py", 3, None]) == ["agent.py", "3", "None"]


@pytest.mark.parametrize("name", [f"run with password={SECRET}", f"{OPENAI}"])
def test_names_are_cleaned(redactor: Redactor, name: str) -> None:
    """The name of a run is shown in every list."""
    assert SECRET not in redactor.clean_text(name)
    assert OPENAI not in redactor.clean_text(name)


def test_a_long_name_is_cut(redactor: Redactor) -> None:
    """A prompt given as a name must not fill the screen."""
    cleaned = redactor.clean_text("n" * 1000, limit=20)

    assert cleaned == "n" * 19 + "…"
    assert redactor.clean_text("\ud800x") == "\ufffdx"
    assert redactor.clean_text(None) == "None"
