"""What a tool's result says of itself, in the shapes that tools for models use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentdbg.analysis.empty_results import is_empty
from agentdbg.analysis.result_signs import error_in_result

SHAPES: dict[str, list[Any]] = json.loads(Path(__file__).with_name("failure_shapes.json").read_text(encoding="utf-8"))
"""What tools answer. The results are the harder half: logs, manuals, code and figures full of the words of failure."""
FAILED: list[tuple[Any, str]] = [
    ({"isError": True, "content": [{"type": "text", "text": "no such file"}]}, "no such file"),
    ({"is_error": True, "content": "denied"}, "denied"),
    ({"ok": False, "reason": "no seat left"}, "no seat left"),
    ({"success": False}, "success is false"),
    ({"success": False, "message": "no seat left", "data": None}, "no seat left"),
    ({"exit_code": 1, "stdout": "", "stderr": "boom"}, "boom"),
    ({"returncode": -9, "output": ""}, "returncode -9"),
    ({"status_code": 404, "body": "<html>"}, "<html>"),
    ({"statusCode": 503}, "statusCode 503"),
    ({"status": 500, "message": "down"}, "down"),
    ({"status": "error", "message": "quota"}, "quota"),
    ({"errors": [{"message": "field x"}]}, "field x"),
    ({"error": "no such order", "ok": False}, "no such order"),
    ({"error": {"code": 7, "message": "gone"}}, "gone"),
    ('{"error": "no such order"}', "no such order"),
    ("HTTP 404: Not Found", "HTTP 404"),
    ("HTTP/1.1 500 Internal Server Error", "HTTP/1.1 500"),
    ("404 Not Found", "404 Not Found"),
    ("Request failed with status code 429", "429"),
    ("Error: no such table", "no such table"),
    ("error: unknown option", "unknown option"),
    ("ValueError: x", "ValueError: x"),
    ("Traceback (most recent call last):\n  File", "Traceback"),
    ("bash: foo: command not found", "command not found"),
    ([{"type": "text", "text": "Error: denied"}], "Error: denied"),
]
FINE: list[Any] = [
    None,
    "",
    "All good, no errors.",
    "Error handling in Python is done with try.",
    "404 pages were read",
    "500 dollars were paid.",
    {"ok": True},
    {"exit_code": 0, "stderr": "a warning"},
    {"status_code": 200},
    {"status": "ok", "error": None},
    {"success": True, "error": ""},
    {"is_error": False},
    {"errors": [], "data": 1},
    {"status": 404_000},
    {"code": 7},
    [{"ok": False}, {"ok": True}],
    42,
    True,
]
EMPTY: list[Any] = [
    {"rows": 0},
    {"count": 0, "query": "x"},
    {"hits": {"total": 0, "hits": []}},
    {"found": False},
    {"organic": [], "took": 3},
    [[]],
    "no results",
    "Found 0 matches",
    "The search returned no results for x",
    None,
    "",
    "  ",
    [],
    {},
    "[]",
    "null",
    {"hits": []},
    {"query": "x", "results": [], "total": 0},
    '{"items": []}',
    "No results found for 'x'.",
    "0 matches found",
    [{"type": "text", "text": "[]"}],
    {"content": [{"type": "text", "text": "[]"}]},
    {"organic_results": [], "search_metadata": {"status": "Success"}},
    {"response": {"docs": [], "numFound": 0, "start": 0}},
    {"output": ""},
    {"message": "No results found"},
    {"pages": [], "has_more": False},
    "Your search did not match any documents.",
    "Empty DataFrame\nColumns: []",
    " id | name\n----+------\n(0 rows)",
    "Empty set (0.00 sec)",
    "<results/>",
    "<results></results>",
    "There are no upcoming events.",
]
FULL: list[Any] = [
    {"total": 0, "currency": "USD", "id": 4},
    {"id": "A1", "tags": []},
    "No problem, it is done.",
    0,
    False,
    "none of your business",
    {"results": [1]},
    {"hits": [], "data": {"a": 1}},
    ["x"],
    {"a": []},
    {"items": [], "total": 10},
    {"results": [], "next": "/page/2"},
    "No. 5 is a perfume",
    "No errors found.",
    {"errors": []},
    {"order": {"id": 3}, "items": []},
    "Empty set theory",
]


@pytest.mark.parametrize(
    "result",
    [
        {"hasError": True},
        {"failed": True},
        {"response": {"status": 500}},
        {"result": {"ok": False}},
        {"content": [{"type": "text", "text": "Error: x"}]},
        {"http_code": 404},
        {"exception": "KeyError: 1"},
        {"status": "timeout"},
        {"type": "error", "message": "x"},
        {"success": "false"},
        "[ERROR] no disk",
        "Error executing tool search: no route",
        "Tool execution failed: y",
        "Could not find the page",
        "<html><title>404 Not Found</title>",
        {"jsonrpc": "2.0", "id": 1, "result": {"isError": True, "content": []}},
        {"type": "tool", "status": "error", "content": "bad"},
        {"Error": "no such user"},
        {"errorMessage": "boom", "errorType": "KeyError"},
        {"ok": 0, "codeName": "Unauthorized"},
        '{"output": "Traceback (most recent call last):"}',
        "exitcode: 1 (execution failed)\nCode output: x",
        "[exit code: 2]",
        "Process exited with code 1",
        "cat: a.txt: No such file or directory",
        "/bin/sh: 1: foo: not found",
        "Output:\nTraceback (most recent call last):",
        "Error code: 429 - rate limit",
        "Timed out after 30s",
        "Access denied.",
        "Unknown tool: foo",
        "Invalid arguments: id is missing",
        "<tool_use_error>File does not exist.</tool_use_error>",
        '<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>',
        "<soap:Envelope><soap:Body><soap:Fault><faultstring>x</faultstring>",
        'psycopg2.errors.UndefinedTable: relation "x" does not exist',
        "(sqlite3.OperationalError) no such table: users",
        "java.lang.NullPointerException\n\tat com.x.Y",
        "connect ECONNREFUSED 127.0.0.1:5432",
        "Uncaught TypeError: x is not a function",
        "MCP error -32602: Invalid arguments for tool x",
        "curl: (6) Could not resolve host: x",
        "\u274c Error: cannot save",
        "Navigation failed: timeout",
        "Compilation failed",
        "Service Unavailable",
        "Rate limit exceeded. Try again in 20s.",
        "Element not found: #submit",
        "page.goto: net::ERR_NAME_NOT_RESOLVED at https://x",
        "thread 'main' panicked at src/main.rs:3:5",
        {"detail": "Not authenticated"},
        {"detail": [{"loc": ["body", "x"], "msg": "field required"}]},
        {"message": "API rate limit exceeded", "documentation_url": "x"},
        {"fault": {"faultstring": "quota"}},
        {"__type": "ResourceNotFoundException", "message": "x"},
        {"code": "ENOENT", "message": "no such file"},
        {"stdout": "", "stderr": "KeyError: 'a'"},
        {"status": "denied", "message": "no permission"},
        {"error_msg": "bad", "error_code": 12},
    ],
    ids=json.dumps,
)
def test_their_kin_are_known_too(result: Any) -> None:
    """Nobody agrees on the name: any spelling of the key, wrapped or not, in words or in a member."""
    assert error_in_result(result)


@pytest.mark.parametrize(
    "result",
    [
        "Error handling is described here",
        "Failed tests: 0",
        {"failed": 0, "passed": 3},
        {"error": False},
        {"code": 200},
        {"error_rate": 0},
        {"success": "yes"},
        {"status": "failed", "job_id": "j1", "created_at": "2026-01-01"},
        {"log": "ERROR x failed"},
        "class MyError(Exception):\n    pass",
        "2026-01-01 INFO handled ValueError: bad and went on",
        "HTTP 404 is the status code of a missing page",
        "Process exited with code 0",
        "Access denied boarding compensation is 600",
        "Denied boarding: the rules",
        "Timeout is the name of a play",
        "404 Media is a news site",
        "Build failed last Tuesday, but was fixed on Wednesday.",
        "Connection error: 0, timeout: 0",
        "Function main not found! Instead, here is the one that calls it:\n\nvoid f()",
        "Rate limit reached in 2019 by 3 users",
        "pandas.DataFrame: two-dimensional table",
        "Ticket 17: Error: cannot log in (open)",
        "Service Unavailable\n\n- what it means\n- what to do",
        "error.py\nmain.py",
        "The transaction has completed.",
        "ERROR timeout occurred twice, then it was ok.",
        {"error": "none", "value": 1},
        {"errorCode": "0", "data": 1},
        {"valid": False, "errors": ["the zip code is wrong"]},
        {"status": "rejected", "application_id": "x", "reason": "income"},
        {"id": 1, "status": "error", "name": "nightly job", "createdAt": "x"},
        {"message": "Error codes are listed in the appendix."},
        {"detail": "Large, blue"},
    ],
    ids=json.dumps,
)
def test_what_only_speaks_of_errors_is_no_error(result: Any) -> None:
    """A page about error handling is a result."""
    assert error_in_result(result) is None


@pytest.mark.parametrize(("result", "words"), FAILED, ids=json.dumps)
def test_a_result_that_is_an_error_is_known_in_every_shape(result: Any, words: str) -> None:
    """The call counts as done, so nobody else says it."""
    said = error_in_result(result)

    assert said is not None
    assert words in said


@pytest.mark.parametrize("result", FINE, ids=json.dumps)
def test_a_result_that_is_no_error_is_left_alone(result: Any) -> None:
    """A false alarm makes people ignore the true ones."""
    assert error_in_result(result) is None


def test_a_result_that_holds_nothing_is_known_in_every_shape() -> None:
    """A search engine's nothing is rarely an empty list."""
    assert [result for result in EMPTY if not is_empty(result)] == []
    assert [result for result in FULL if is_empty(result)] == []


def test_a_failure_is_recognised_whoever_words_it() -> None:
    """Nobody tells the tools of the world how to say it; what they share is their grammar."""
    assert [result for result in SHAPES["failures"] if not error_in_result(result) and not is_empty(result)] == []


def test_a_result_full_of_errors_is_a_result() -> None:
    """Agents read logs, manuals and code all day; a false alarm at each would hide the true ones."""
    assert [result for result in SHAPES["results"] if error_in_result(result) is not None] == []


@pytest.mark.parametrize("result", [{"Failed": []}, {"UnprocessedItems": {}, "FailedRecordCount": 0}], ids=repr)
def test_nothing_that_failed_is_not_nothing(result: Any) -> None:
    """An empty list of failures is the best a batch can give."""
    assert not is_empty(result)


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        ("Rebooking not possible: fare class Y is sold out", True),
        ("Payment was declined: no funds left", True),
        ("Email bounced: mailbox is full", True),
        ("Invitations declined: ada, ben", False),
        ("Offers rejected: 3", False),
        ("Status: rejected", False),
    ],
)
def test_an_action_that_was_not_taken_says_why(said: str, failed: bool) -> None:
    """A list of what others declined is a result like any other."""
    assert (error_in_result(said) is not None) is failed


@pytest.mark.parametrize("status", ["processed", "delivered", "In transit"])
def test_how_a_thing_stands_is_a_result(status: str) -> None:
    """An order without a tracking number yet is an order all the same; "ok" is about the call."""
    assert not is_empty({"status": status, "tracking": None})
    assert is_empty({"status": "ok", "tracking": None})
