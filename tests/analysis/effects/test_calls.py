"""What a call does, told from what it is asked to do."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.analysis.effects import guess
from agentdbg.events import TRUNCATED

READS: list[tuple[str, Any]] = [
    ("bash", {"command": "ls -la"}),
    ("bash", "ls -la"),
    ("execute_bash", {"command": "git status && git diff"}),
    ("run_terminal_cmd", {"command": "cat a.txt", "is_background": False}),
    ("shell", {"command": ["grep", "-r", "x", "src"]}),
    ("run_commands", {"commands": ["ls", "pwd"]}),
    ("ls", {"command": "ls -F"}),
    ("sql_db_query", {"query": "SELECT * FROM orders"}),
    ("execute_sql", {"sql": "select 1"}),
    ("query", {"sql": "SELECT count(*) FROM t"}),
    ("python_repl", {"code": "print(1 + 1)"}),
    ("python_interpreter", "import math\nmath.pi"),
    ("execute_code", {"language": "python", "code": "sum([1, 2])"}),
    ("execute_code", {"language": "bash", "code": "ls"}),
    ("http_request", {"method": "GET", "url": "https://example.com"}),
    ("graphql", {"query": "query { viewer { id } }"}),
    ("graphql", {"query": '{ a(text: "mutation") { b } } # mutation'}),
    ("computer", {"action": "mouse_move"}),
    ("local_shell", {"action": {"type": "exec", "command": ["ls"]}}),
    ("str_replace_editor", {"command": "view", "path": "a.py"}),
    ("manage_tasks", {"action": "list"}),
    ("computer", {"action": "screenshot"}),
    ("open_file", {"path": "a", "mode": "r"}),
    ("calculator", {"operation": "add", "a": 1, "b": 2}),
    ("add", {"a": 1, "b": 2}),
    ("transfer_to_billing", {}),
    ("search_docs", {"query": "update policy set by management"}),
    ("email", {"operation": "search"}),
    ("file_manager", {"mode": "read", "path": "a"}),
    ("mongodb_aggregate", {"pipeline": [{"$match": {}}]}),
]
WRITES: list[tuple[str, Any]] = [
    ("bash", {"command": "rm -rf /"}),
    ("bash", {"command": "ls", "cmd": "rm x"}),
    ("shell", {"command": ["rm", "-rf", "my dir"]}),
    ("run_commands", {"commands": ["ls", "rm x"]}),
    ("sandbox", {"command": "ls && rm x"}),
    ("sql_db_query", {"query": "DROP TABLE orders"}),
    ("read_query", {"query": "DELETE FROM orders"}),
    ("anything", {"sql": "UPDATE t SET a = 1"}),
    ("python_repl", {"code": "open('x', 'w')"}),
    ("http_request", {"method": "delete", "url": "https://example.com"}),
    ("fetch", {"url": "https://example.com", "method": "POST"}),
    ("graphql", {"query": "mutation { close(id: 1) }"}),
    ("graphql", {"query": "query A { a { b } } mutation B { c }"}),
    ("graphql", {"query": "# look\nfragment F on X { a } mutation B { c }"}),
    ("http_request", {"url": "https://example.com", "options": {"method": "POST"}}),
    ("browser_evaluate", {"function": "() => document.querySelector('a').click()"}),
    ("computer", {"action": "key", "text": "Return"}),
    ("local_shell", {"action": {"type": "exec", "command": ["rm", "x"]}}),
    ("str_replace_editor", {"command": "create", "path": "a.py"}),
    ("manage_tasks", {"action": "delete", "id": 1}),
    ("computer", {"action": "left_click"}),
    ("open_file", {"path": "a", "mode": "w"}),
    ("edit_notebook", {"cell": 1, "new_source": "1 + 1"}),
    ("add", {"item_id": 7, "quantity": 2}),
    ("transfer_to_savings", {"amount": 5}),
    ("http_request", {"method": "GET", "url": "https://a.b", "headers": {"X-HTTP-Method-Override": "DELETE"}}),
    ("email", {"operation": "send"}),
    ("file_manager", {"mode": "append", "path": "a"}),
    ("mongodb_aggregate", {"pipeline": [{"$match": {}}, {"$out": "copy"}]}),
]
UNKNOWN: list[tuple[str, Any]] = [
    ("bash", {"command": "pytest -q"}),
    ("bash", {"command": f"ls {TRUNCATED}"}),
    ("bash", {}),
    ("bash", None),
    ("robot", {"command": "sleep"}),
    ("sql_db_query", {"query": "CALL clean_up()"}),
    ("sql_db_query", {"request": 7}),
    ("python_repl", {"code": "frobnicate()"}),
    ("execute_code", {"language": "ruby", "code": "1"}),
    ("weather", {"city": "Rome"}),
    ("transfer_to_billing", {"amount": 5}),
]


@pytest.mark.parametrize(("name", "args"), READS, ids=str)
def test_what_is_asked_to_look_reads(name: str, args: Any) -> None:
    """A shell that lists a folder is no alarm."""
    assert guess(name, args).kind == "read"


@pytest.mark.parametrize(("name", "args"), WRITES, ids=str)
def test_what_is_asked_to_change_something_writes(name: str, args: Any) -> None:
    """`rm -rf /` has to stop a gate, whatever the tool is called."""
    assert guess(name, args).kind == "write"


@pytest.mark.parametrize(("name", "args"), UNKNOWN, ids=str)
def test_what_is_not_surely_a_read_is_unknown(name: str, args: Any) -> None:
    """Somebody who knows has to say it."""
    assert guess(name, args).kind == "unknown"


def test_a_verdict_knows_what_it_rests_on() -> None:
    """That `rm` deletes is no guess from the name of the tool that ran it."""
    assert guess("bash", {"command": "rm x"}).source == "asked"
    assert guess("delete_file", {"path": "x"}).source == "guessed"
    assert guess("bash", {"command": "frob"}).source == "unknown"
