"""What the names of columns say of the rows below them, and the words of a command of each other."""

from __future__ import annotations

import json
import string
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg import encoding
from agentdbg.events import REDACTED
from agentdbg.redaction import RedactionRules, Redactor
from agentdbg.redaction.whole import SecretNumbers
from agentdbg.tape.codec import encode_value

if TYPE_CHECKING:
    from collections.abc import Sequence

SECRET = "Mango!harbour7"
_BOTH = [Redactor(RedactionRules()), Redactor(RedactionRules(), use_re2=False)]
_HARMLESS = st.sampled_from(["id", "name", "email", "created_at", "is_active", "city"])
_CELLS = st.integers() | st.booleans() | st.none() | st.sampled_from(["Ada", "a b", "", "x@example.com"])


@st.composite
def _tables(draw: st.DrawFn) -> tuple[list[str], list[list[Any]]]:
    names = draw(st.lists(_HARMLESS, min_size=1, max_size=5, unique=True))
    place = draw(st.integers(0 if len(names) > 1 else 1, len(names)))
    names.insert(place, draw(st.sampled_from(["password", "api_key", "accessToken", "user_passwd"])))
    rows = draw(st.lists(st.lists(_CELLS, min_size=len(names), max_size=len(names)), min_size=1, max_size=20))
    for row in rows:
        row[place] = SECRET
    return names, rows


@settings(deadline=None)
@given(_tables(), st.sampled_from(["columns", "header", "fields"]), st.sampled_from(["rows", "data", "values"]))
def test_no_cell_below_the_name_of_a_secret_survives(
    table: tuple[list[str], list[list[Any]]], above: str, below: str
) -> None:
    """Tools that query a database answer so, and no key stands beside the cell."""
    names, rows = table
    shapes: Sequence[Any] = [
        {above: names, below: rows},
        {below: rows, above: names},
        {above: names, below: tuple(map(tuple, rows))},
        {above: names, "count": len(rows), "index": list(range(len(rows))), below: rows},
        {above: [{"name": name, "type": "text"} for name in names], below: [tuple(row) for row in rows]},
        {"result": {above: tuple(names), below: rows}},
        [names, *rows],
    ]
    for redactor in _BOTH:
        for value in shapes:
            sealed = redactor.seal({"result": value})
            plain = encoding.decode_json(encoding.encode(value))
            whole = encode_value(value)[0]

            assert SECRET.encode() not in sealed.encoded, value
            assert SECRET not in str(redactor.whole(plain, encoding.encode(plain), SecretNumbers()))
            assert SECRET not in str(redactor.whole(whole, encoding.encode(whole), SecretNumbers()))


def test_the_other_cells_stay(redactor: Redactor) -> None:
    """Which rows came back is what a person looks for; a missing password has to look missing."""
    rows = [[1, "ada", SECRET], [2, "bob", None], [3, "eve"]]
    sealed = redactor.seal({"result": {"columns": ["id", "name", "password"], "rows": rows}})

    assert sealed.value["result"]["rows"] == [[1, "ada", REDACTED], [2, "bob", None], [3, "eve"]]


@pytest.mark.parametrize(
    "value",
    [
        {"required": ["user", "password"], "examples": [["user", "password"]]},
        {"columns": ["id", "prompt_tokens"], "rows": [[1, 12], [2, 13]]},
        {"columns": ["id", "name"], "rows": [["a", "b"]]},
        [["a", "b"], ["c", "d"]],
        [["token", "NOUN", 1]],
        {"matrix": [[1.5, 2.5], [3.5, 4.5]]},
    ],
)
def test_lists_of_lists_without_secrets_stay(redactor: Redactor, value: Any) -> None:
    """A matrix, a schema, pairs: rows without a secret above them."""
    assert redactor.seal({"result": value}).value == {"result": value}


_COMMANDS = [
    ["mysql", "-uroot", f"-p{SECRET}", "shop"],
    ["curl", "-s", "-u", f"bob:{SECRET}", "https://example.com"],
    ["curl", "--user", f"bob:{SECRET}", "https://example.com"],
    ["sshpass", "-p", SECRET, "ssh", "host"],
    ["docker", "login", "-u", "bot", "-p", SECRET, "registry.example"],
    ["redis-cli", "-h", "cache", "-a", SECRET, "ping"],
    ["ldapsearch", "-x", "-D", "cn=admin", "-w", SECRET],
]


@pytest.mark.parametrize("command", _COMMANDS, ids=lambda command: str(command[0]))
def test_a_command_given_as_a_list_hides_what_it_would_as_a_line(redactor: Redactor, command: list[str]) -> None:
    """Agents call programs with lists of words; each by itself says nothing."""
    for value in (command, {"args": command}, [{"cmd": command}]):
        sealed = redactor.seal({"args": value})

        assert SECRET.encode() not in sealed.encoded
        assert SECRET not in json.dumps(redactor.whole(value, json.dumps(value).encode(), SecretNumbers()))
        assert command[0].encode() in sealed.encoded


@pytest.mark.parametrize(
    "command",
    [
        ["docker", "run", "-p", "8080:80", "-u", "1000:1000", "-e", "DEBUG=1", "app"],
        ["pytest", "-p", "no:cacheprovider", "-k", "test_a and not test_b"],
        ["cp", "-p", "one.txt", "two.txt"],
        ["git", "commit", "-m", "Reset the password", "--author", "Ada <ada@example.com>"],
        ["- first point", "- second point: the token"],
    ],
)
def test_a_command_without_a_secret_stays(redactor: Redactor, command: list[str]) -> None:
    """What a tool was called with is the first thing a person reads."""
    assert redactor.seal({"args": command}).value == {"args": command}


@settings(deadline=None)
@given(st.lists(st.text(alphabet=string.ascii_letters + " -:=/", max_size=12), max_size=12))
def test_reading_a_list_as_a_line_loses_no_word(items: list[str]) -> None:
    """Whatever is taken away, the list keeps its length."""
    for redactor in _BOTH:
        assert len(redactor.walk().fields({"x": items})["x"]) == len(items)
