"""`agentdbg sql`: what is asked is answered from every stored run, and nothing else happens."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.cli import _run
from agentdbg.exceptions import UsageError
from agentdbg.interop.exports.run_content import events_of
from agentdbg.interop.tables.database import VIEWS
from agentdbg.interop.tables.database import ask as ask_tables
from agentdbg.storage import load_events
from agentdbg.storage.housekeeping import delete_run, rename_run
from tests.analysis.story import Story
from tests.commands.stored import Ran, run_in_terminal, run_process, store
from tests.interop.exports.runs import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def ask(cli: Callable[..., Ran]) -> Callable[[str], list[dict[str, Any]]]:
    """The rows that answer a question."""

    def asked(question: str) -> list[dict[str, Any]]:
        ran = cli("sql", question, "--format", "json")
        assert ran.code == 0, ran.err
        return ran.json  # type: ignore[no-any-return]

    return asked


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs whose events were read, in order."""
    read: list[str] = []

    def counted(folder: Any, run_id: str) -> Any:
        read.append(run_id)
        return events_of(folder, run_id)

    monkeypatch.setattr("agentdbg.interop.tables.database.events_of", counted)
    return read


def _tables(data_dir: Path) -> Path:
    return data_dir / "index" / "tables"


def test_events_are_the_log(ask: Callable[..., Any], rich_run: str) -> None:
    """Whatever a question needs that no column holds is in the payload."""
    rows = ask("select * from events order by n")
    logged = list(load_events(rich_run))

    assert [row["payload"] for row in rows] == [event["payload"] for event in logged]
    assert [row["ts"] for row in rows] == [event["ts"] for event in logged]
    assert list(rows[0]) == [column.name for column in VIEWS["events"]]


def test_calls_have_views_of_their_own(ask: Callable[..., Any], rich_run: str) -> None:
    """Arguments and answers are read into with `->>`, without knowing where the payload keeps them."""
    (call,) = ask("select *, response->>'content' as said, prompt->1->>'content' as asked from llm_calls")
    tools = ask("select tool, args->>'path' as path, result->0 as first, status from tool_calls order by n")

    assert (call["model"], call["cached_tokens"], call["said"], call["asked"]) == ("gpt-4o", 120, "Ünïcödé 🙂", HOSTILE)
    assert tools[0] == {"tool": "read", "path": "a.txt", "first": 1.0, "status": "ok"}
    assert (tools[1]["tool"], tools[1]["status"]) == (HOSTILE, "error")


def test_findings_are_those_of_explain(ask: Callable[..., Any], cli: Callable[..., Ran], rich_run: str) -> None:
    """Two commands that disagree about a run would both be useless."""
    explained = cli("explain", rich_run, "--json").json["findings"]
    rows = ask("select kind, severity, sentence, n as event, evidence from findings")

    assert explained
    key = "{kind} {event}".format_map
    assert sorted(rows, key=key) == sorted(explained, key=key)


@pytest.mark.parametrize("view", VIEWS)
def test_the_listed_columns_are_those_the_view_has(
    ask: Callable[..., Any], cli: Callable[..., Ran], rich_run: str, view: str
) -> None:
    """The list without a question is what people write their questions from."""
    described = {row["column_name"]: row["column_type"] for row in ask(f"describe {view}")}
    listed = {row["column"]: row["type"] for row in cli("sql", "--format", "json").json if row["view"] == view}

    assert described == listed
    assert all(f"  {name} " in cli("sql").out for name in listed)
    assert f"{view}," in cli("sql", "-f", "csv").out


def test_with_no_runs_every_view_is_empty(ask: Callable[..., Any]) -> None:
    """A new user's first question gets an answer, not an error."""
    for view in VIEWS:
        assert ask(f"select * from {view}") == []
    assert ask("select count(*) as n, sum(cost_usd) as cost from runs") == [{"n": 0, "cost": None}]


def test_only_what_changed_is_read_again(
    ask: Callable[..., Any], data_dir: Path, reads: list[str], rich_run: str, parallel_run: str
) -> None:
    """Ten thousand runs are read once, not once a question."""
    count = "select count(*) as n from events"
    before = ask(count)[0]["n"]
    assert sorted(reads) == sorted([rich_run, parallel_run])

    reads.clear()
    ask(count)
    assert reads == []

    path = data_dir / "runs" / rich_run / "events.jsonl"
    last = path.read_text().splitlines()[-1]
    with path.open("a") as file:
        file.write(last.replace('"RUN_END"', '"MY_OWN"') + "\n")
    new = store(data_dir, Story())
    assert ask(count)[0]["n"] == before + 2
    assert sorted(reads) == sorted([rich_run, new])


def test_a_question_reads_only_what_it_is_about(ask: Callable[..., Any], reads: list[str], rich_run: str) -> None:
    """How many runs failed today is answered at once, however much they recorded."""
    assert ask("select status from runs") == [{"status": "error"}]
    assert reads == []
    assert ask("select count(*) as n from query('select * from ev' || 'ents where n = 1')") == [{"n": 1}]
    assert rich_run in reads


def test_a_new_name_shows_and_reads_no_event(
    ask: Callable[..., Any], data_dir: Path, reads: list[str], rich_run: str
) -> None:
    """A label lies beside the log and does not touch it."""
    ask("select count(*) from events")
    reads.clear()
    rename_run(rich_run, "the broken one", data_dir)

    assert ask("select distinct run_name from runs join events using (run_id)") == [{"run_name": "the broken one"}]
    assert reads == []


def test_a_deleted_run_is_gone_from_the_answers_and_from_the_disk(
    ask: Callable[..., Any], data_dir: Path, reads: list[str], rich_run: str, parallel_run: str
) -> None:
    """What somebody deletes must not live on in a cache."""
    ask("select * from events, findings limit 1")
    path = data_dir / "runs" / rich_run / "events.jsonl"
    path.write_bytes(path.read_bytes() + b"\n")
    ask("select count(*) from events")  # the run now has rows in two files
    delete_run(rich_run, data_dir)
    reads.clear()

    assert ask("select run_id from runs") == [{"run_id": parallel_run}]
    assert all(rich_run.encode() not in found.read_bytes() for found in _tables(data_dir).rglob("*.parquet"))
    assert ask("select distinct run_id from events") == [{"run_id": parallel_run}]
    assert ask("select * from findings") == []
    assert reads == []


def test_small_files_are_joined(ask: Callable[..., Any], data_dir: Path) -> None:
    """A run asked about while it is recorded adds a file at each question; they must not pile up."""
    for number in range(25):
        story = Story()
        story.tool("t", {"number": number}, number)
        store(data_dir, story)
        assert ask("select count(*) as n, sum((args->>'number')::int) as s from tool_calls") == [
            {"n": number + 1, "s": number * (number + 1) // 2}
        ]

    assert len(list((_tables(data_dir) / "events").glob("*.parquet"))) <= 9
    assert len(list(_tables(data_dir).glob("runs-*"))) == 1


@pytest.mark.parametrize("harm", ["delete", "one file", "manifest", "not a database", "damaged", "read only"])
def test_the_cache_may_be_deleted_or_damaged_at_any_time(
    ask: Callable[..., Any], data_dir: Path, rich_run: str, parallel_run: str, harm: str
) -> None:
    """It is a cache: losing it costs a second, never an answer."""
    question = "select run_id, count(*) as n from events group by run_id order by run_id"
    before = ask(question)
    folder = _tables(data_dir)
    (events,) = (folder / "events").glob("*.parquet")
    if harm == "delete":
        shutil.rmtree(data_dir / "index")
    elif harm == "one file":
        events.unlink()
    elif harm == "manifest":
        (folder / "events" / "manifest.sqlite3").unlink()
    elif harm == "not a database":
        (folder / "events" / "manifest.sqlite3").write_bytes(b"nonsense" * 1000)
    elif harm == "damaged":
        events.write_bytes(events.read_bytes()[:-200])
    else:
        shutil.rmtree(data_dir / "index")
        (data_dir / "index").write_text("a file stands where the folder should be")

    assert ask(question) == before
    assert ask(question) == before


def test_a_folder_may_have_any_name(ask: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is a pattern or a quote to DuckDB is a name to everyone else."""
    odd = tmp_path / "it's [old] *?"
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(odd))
    store(odd, Story())

    assert ask("select count(*) as n from runs join events using (run_id)") == [{"n": 1}]


def test_the_first_answer_waits_for_no_package_that_it_does_not_need(
    rich_run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading numpy takes longer than the question, and there is no array in any answer."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    ran = run_process("sql", "select *, now(), [n], {'a': 1.5::decimal(4, 2)} from events join runs using (run_id)")

    assert ran.code == 0
    assert "| pyarrow.parquet" in ran.err.replace("  ", "")
    assert "numpy" not in ran.err


def test_questions_asked_at_once_all_get_the_answer(data_dir: Path, rich_run: str, parallel_run: str) -> None:
    """A notebook and a cron job share one folder."""
    for _ in range(20):
        store(data_dir, Story())
    with ThreadPoolExecutor(4) as pool:
        ran = list(pool.map(lambda _: run_process("sql", "select count(*) as n from runs", "-f", "json"), range(4)))

    assert [(one.code, one.json) for one in ran] == [(0, [{"n": 22}])] * 4, [one.err for one in ran]


@pytest.mark.parametrize(
    "question",
    [
        "drop view runs",
        "select 1; select 2",
        "copy runs to 'out.csv'",
        "attach 'x.db'",
        "set threads = 1",
        "install httpfs",
        "load httpfs",
        "explain analyze copy runs to 'out.csv'",
        "create table t as select 1",
        "call pragma_version()",
        "",
        "/* nothing */",
    ],
)
def test_only_one_select_is_a_question(cli: Callable[..., Ran], rich_run: str, question: str) -> None:
    """Nothing that is typed here can change a run, a file or a setting."""
    ran = cli("sql", question)

    assert (ran.code, ran.out) == (2, "")
    assert "one SELECT is one question" in ran.err


@pytest.mark.parametrize(
    "question",
    [
        "select * from read_csv('{secret}')",
        "select * from read_text('{secret}')",
        "select * from '{secret}'",
        "select * from glob('{folder}/*')",
        "select * from read_parquet('https://example.com/x.parquet')",
        "select * from 's3://bucket/x.parquet'",
        "select * from runs, data_dir",
        "select * from sniff_csv('{secret}')",
        "select content from read_blob('{secret}')",
        "select * from parquet_metadata('{secret}')",
        "select * from json_execute_serialized_sql(json_serialize_sql('select content from read_text(''{secret}'')'))",
        "select getenv('HOME')",
        "from query('copy runs to ''{folder}/stolen.csv''')",
        "from enable_logging(storage = 'file', storage_path = '{folder}/log')",
    ],
)
def test_no_file_network_or_variable_can_be_read(
    cli: Callable[..., Ran], rich_run: str, tmp_path: Path, question: str
) -> None:
    """A question pasted from somewhere must not be able to carry files away."""
    (tmp_path / "secret.csv").write_text("hunter2\n")
    ran = cli("sql", question.format(secret=tmp_path / "secret.csv", folder=tmp_path))

    assert ran.code == 2
    assert "hunter2" not in ran.out + ran.err
    assert [path.name for path in tmp_path.glob("*[gv]")] == ["secret.csv"]


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("selec 1", "syntax error"),
        ("select nope from runs", "agentdbg sql"),
        ("select * from nope", "llm_calls"),
        ("select error('at a row') from runs", "at a row"),
        ("select (run_name || 'x')::int from runs", "Could not convert"),
    ],
)
def test_a_wrong_question_is_answered_kindly(cli: Callable[..., Ran], rich_run: str, question: str, word: str) -> None:
    """One line that says what is wrong; no stack, no internal error."""
    ran = cli("sql", question)

    assert ran.code == 2
    assert word in ran.err
    assert ran.err.count("\n") == 1


def test_csv_is_read_back_by_csv(cli: Callable[..., Ran], rich_run: str) -> None:
    """Quotes, lines and signs of other people's text survive; only a NUL, which no CSV holds, is marked."""
    ran = cli("sql", "select tool, null as none, 1.5 as x from tool_calls order by n", "-f", "csv")

    hostile = HOSTILE.replace("\0", "\ufffd")
    assert list(csv.reader(StringIO(ran.out))) == [["tool", "none", "x"], ["read", "", "1.5"], [hostile, "", "1.5"]]


def test_every_type_of_value_can_be_printed(cli: Callable[..., Ran], rich_run: str) -> None:
    """Times with a zone need a package that is not ours; nobody should have to know."""
    question = (
        "select now() is not null as t, now() as zoned, started_at, date '2026-01-02' as d, time '10:00' as clock,"
        " interval 90 minute as i, [1, 2] as l, {'a': 1.5} as s, map{'k': now()} as m, 'x'::blob as b,"
        " 'nan'::double as nan, sum(llm_calls) over () as huge, 1.50::decimal(4,2) as dec, 1 as a, 2 as a,"
        " uuid() as u from runs -- a comment at the end"
    )
    (row,) = cli("sql", question, "-f", "json").json
    del row["zoned"], row["m"], row["u"]

    assert row == {
        "t": True,
        "started_at": row["started_at"],
        "d": "2026-01-02",
        "clock": "10:00:00",
        "i": "1:30:00",
        "l": [1, 2],
        "s": {"a": 1.5},
        "b": "eA==",
        "nan": None,
        "huge": 1,
        "dec": 1.5,
        "a": 1,
        "a_2": 2,
    }
    for form in ("table", "csv"):
        assert cli("sql", question, "-f", form).code == 0


@pytest.mark.parametrize("odd", ["NaN", "[1,]", "[Infinity]"])
def test_what_only_duckdb_takes_for_json_is_printed_as_text(ask: Callable[..., Any], odd: str) -> None:
    """Whoever reads the answer has a JSON reader, and a stricter one."""
    assert ask(f"select '{odd}'::json as odd, '[1]'::json as fine") == [{"odd": odd, "fine": [1]}]


@pytest.mark.parametrize("place", ["", "tables", "tables/events", "tables/events/manifest.sqlite3"])
def test_a_link_in_the_cache_leads_nowhere(
    ask: Callable[..., Any], data_dir: Path, rich_run: str, tmp_path: Path, place: str
) -> None:
    """A repository may bring a data folder along, and a link in it to somebody's tables or database."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sales.parquet").write_bytes(b"all of it")
    (theirs / "books.sqlite3").touch()
    link = data_dir / "index" / place
    shutil.rmtree(data_dir / "index", ignore_errors=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(theirs / "books.sqlite3" if place.endswith("sqlite3") else theirs)

    assert ask("select count(distinct run_id) as runs from events") == [{"runs": 1}]
    kept = {path.name: path.read_bytes() for path in theirs.rglob("*") if path.suffix in (".parquet", ".sqlite3")}
    assert {name: content for name, content in kept.items() if not name.startswith("runs.")} == {
        "sales.parquet": b"all of it",
        "books.sqlite3": b"",
    }


def test_hostile_text_does_not_reach_the_terminal(data_dir: Path, rich_run: str) -> None:
    """A tool's name that clears the screen is shown, not obeyed."""
    for form in ("table", "json", "csv"):
        shown = run_in_terminal("sql", "select tool, args, result from tool_calls", "-f", form, NO_COLOR="1").out
        assert "\x1b[2J" not in shown
        assert "\u202e" not in shown
        assert "read" in shown


def test_a_question_can_come_from_a_file(rich_run: str) -> None:
    """Long questions live in files."""
    ran = run_process("sql", "-", "-f", "csv", stdin="select count(*) as n\nfrom runs;\n")

    assert (ran.code, ran.out) == (0, "n\n1\n")


def test_a_table_of_too_many_rows_says_so(cli: Callable[..., Ran]) -> None:
    """A table is for eyes; whoever wants all of it takes CSV."""
    ran = cli("sql", "select range as number from range(5000)")

    assert ran.out.count("\n") == 1001
    assert "first 1,000 rows" in ran.err
    assert cli("sql", "select * from range(5000)", "-f", "csv").out.count("\n") == 5001


def test_what_is_kept_is_private(ask: Callable[..., Any], data_dir: Path, rich_run: str) -> None:
    """The cache holds what the runs hold."""
    ask("select * from events, findings limit 1")

    assert _tables(data_dir).stat().st_mode & 0o077 == 0
    assert all(os.stat(path).st_mode & 0o077 == 0 for path in _tables(data_dir).rglob("*"))


def test_metadata_is_typed(ask: Callable[..., Any], rich_run: str) -> None:
    """Cost by environment is the first question of everyone who pays."""
    rows = ask("select environment, sum(cost_usd) as cost, any_value(metadata->>'version') as v from runs group by all")

    assert rows == [{"environment": "staging", "cost": 0.5, "v": "3"}]
    assert json.dumps(rows)


def test_an_interrupted_reading_is_taken_up_where_it_stopped(
    ask: Callable[..., Any], data_dir: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C during the first minute must not cost that minute again."""
    ids = [store(data_dir, Story()) for _ in range(6)]
    monkeypatch.setattr("agentdbg.interop.tables.cache._LARGEST", 2)  # a file is full after two runs of one event

    def stops(folder: Any, run_id: str) -> Any:
        if len(reads) == 4:
            raise KeyboardInterrupt
        reads.append(run_id)
        return events_of(folder, run_id)

    with monkeypatch.context() as patched:
        patched.setattr("agentdbg.interop.tables.database.events_of", stops)
        assert _run(["sql", "select count(*) from events"]) == 130
    first = list(reads)
    reads.clear()

    assert ask("select count(*) as n from events") == [{"n": 6}]
    assert sorted([*first, *reads]) == sorted(ids)


def test_a_question_that_takes_too_long_is_stopped(cli: Callable[..., Ran]) -> None:
    """A join without a condition must not take the machine with it."""
    question = "select count(*) from range(1000000000) a, range(100000) b where a.range % 7 = b.range % 5"
    ran = cli("sql", question, "--timeout", "1")

    assert ran.code == 2
    assert "took longer than 1 seconds" in ran.err


@pytest.mark.skipif(os.name == "nt", reason="no such signal there")
@pytest.mark.parametrize("wanted", ["n", "none_such"])
def test_no_thread_outlives_a_question(wanted: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that would stop it holds the connection, and DuckDB tells at length what is held when Python exits."""

    class Late(threading.Timer):
        """As on a busy machine, where a thread takes its time to notice that nobody needs it."""

        def run(self) -> None:
            super().run()
            time.sleep(0.1)

    monkeypatch.setattr(threading, "Timer", Late)
    before = set(threading.enumerate())
    question = f"select 1 as n order by {wanted}"
    with contextlib.suppress(UsageError), ask_tables(question, [], data_dir, _nobody, 60) as answer:
        assert list(answer.rows) == [(1,)]

    assert set(threading.enumerate()) <= before


def _nobody(share: float) -> None:
    """Wants to know how far reading is."""


def test_ctrl_c_ends_a_question_without_a_word(cli: Callable[..., Ran]) -> None:
    """DuckDB takes notice of it by itself, and raises an exception of another kind."""
    question = "select count(*) from range(1000000000) a, range(100000) b where a.range % 7 = b.range % 5"
    threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
    ran = cli("sql", question, "--timeout", "60")

    assert (ran.code, ran.err) == (130, "")
