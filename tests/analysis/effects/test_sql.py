"""What SQL does, statement by statement."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentdbg.analysis.effect_guess.python_and_sql import looks_like_sql, sql_effect

READS = [
    "COPY (SELECT 1) TO STDOUT",
    "EXPLAIN (ANALYZE false) DELETE FROM t",
    "SELECT * FROM orders WHERE id = 7",
    "select 1",
    "  -- delete from x\n SELECT replace(name, 'a', 'b'), count(*) FROM t;",
    "SELECT 'delete from orders' AS text",
    'SELECT "update" FROM t',
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "EXPLAIN DELETE FROM orders",
    "SHOW TABLES",
    "DESCRIBE orders",
    "PRAGMA table_info(orders)",
    "BEGIN; SELECT 1; COMMIT;",
    "VALUES (1, 2)",
    "SELECT date_trunc('day', created_at) FROM t",
]
WRITES = [
    "DO $$ BEGIN DELETE FROM t; END $$",
    "EXPLAIN (ANALYZE, BUFFERS) DELETE FROM t",
    "COPY t FROM STDIN",
    "COPY t TO '/tmp/x'",
    "SET GLOBAL max_connections = 1",
    "INSERT INTO t VALUES (1)",
    "update t set a = 1",
    "DELETE FROM t",
    "DROP TABLE t",
    "create table t (a int)",
    "ALTER TABLE t ADD b int",
    "TRUNCATE t",
    "MERGE INTO t USING s ON 1=1 WHEN MATCHED THEN DELETE",
    "SELECT 1; DROP TABLE t",
    "SELECT 1;--\nDELETE FROM t",
    "WITH gone AS (DELETE FROM a RETURNING *) SELECT * FROM gone",
    "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
    "WITH a AS (SELECT 1 AS id) UPDATE t SET x = 1",
    "EXPLAIN ANALYZE DELETE FROM t",
    "SELECT * INTO copy FROM t",
    "PRAGMA user_version = 4",
    "GRANT ALL ON t TO me",
    "REPLACE INTO t VALUES (1)",
    "/* only reading */ delete from t",
    "SELECT '\\''; DELETE FROM t WHERE n = 'a'",
    "SELECT '\\'; DELETE FROM t; --'",
    "SET PASSWORD = 'new'",
    "PRAGMA wal_checkpoint(TRUNCATE)",
]
UNKNOWN = [
    "CALL archive_orders()",
    "EXEC sp_rename 'a', 'b'",
    "SELECT delete_user(5)",
    "SELECT * FROM OPENQUERY(remote, 'DELETE FROM t')",
    "SELECT pg_terminate_backend(1)",
    "SELECT nextval('seq')",
    "SELECT * FROM t FOR UPDATE",
    "/*! DELETE FROM t */ SELECT 1",
    "PRAGMA journal_mode = WAL",
    "hello there",
    "",
]


@pytest.mark.parametrize("text", READS)
def test_queries_read(text: str) -> None:
    """A query differs from run to run and leaves nothing behind."""
    assert sql_effect(text) == "read"


@pytest.mark.parametrize("text", WRITES)
def test_statements_that_change_something_write(text: str) -> None:
    """Wherever in the text they stand."""
    assert sql_effect(text) == "write"


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_is_not_surely_a_query_is_unknown(text: str) -> None:
    """A function may do anything."""
    assert sql_effect(text) in ("unknown", "write")


@pytest.mark.parametrize("text", ["delete my account", "update me on orders", "select the best flight", "", "drop it"])
def test_a_sentence_is_no_statement(text: str) -> None:
    """A search for `update policy` changes no policy."""
    assert not looks_like_sql(text)


@pytest.mark.parametrize("text", [*READS[:4], *WRITES])
def test_a_statement_is_one(text: str) -> None:
    """What is run has to be judged."""
    assert looks_like_sql(text) or text.startswith(("WITH", "SELECT 1;", "GRANT", "SELECT *"))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=80))
def test_any_text_is_judged(text: str) -> None:
    """Whatever a model writes into a query."""
    assert sql_effect(text) in ("read", "write", "unknown")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(READS[:6]), st.sampled_from(WRITES[:6]))
def test_one_write_among_queries_is_a_write(query: str, write: str) -> None:
    """The last of several statements counts as much as the first."""
    assert sql_effect(f"{query};\n{write}") == "write"
