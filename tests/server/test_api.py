"""What the viewer answers, asked of a real one."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import struct
import time
import uuid
from array import array
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from websockets.sync.client import connect

from agentdbg.exceptions import UsageError, ViewerUnavailable
from agentdbg.index.events import EventIndex
from agentdbg.server.lifecycle import Viewer, find_viewer
from agentdbg.server.peer_user import can_tell_users
from agentdbg.server.viewer_process import serve
from agentdbg.storage.reader import load_events
from tests.index.test_event_index import varied_events
from tests.server.running import RunningViewer, eventually, viewer
from tests.storage import handmade
from tests.storage.handmade import as_line, run_json, tool_call, usual_events, write_run
from tests.storage.test_dialects import DAMAGED

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

pytestmark = pytest.mark.slow


def add(data_dir: Path, events: list[dict[str, Any]] | None = None, **fields: Any) -> str:
    """One more run in the served folder."""
    run_id = str(uuid.uuid4())
    write_run(data_dir, run_id, meta=run_json(run_id, **fields), events=events or usual_events(run_id))
    return run_id


def socket_url(served: RunningViewer, path: str) -> str:
    """Where a WebSocket is."""
    return f"ws://{served.host}:{served.port}{path}"


def test_the_list_of_runs(served: RunningViewer, data_dir: Path) -> None:
    """The first thing the page asks for."""
    run_id = add(data_dir, name="findable needle", metadata={"tags": ["x"]})
    answer = served.ask("/api/runs").json()

    assert set(answer) == {"spec_version", "runs", "total", "advice", "counts_by_status"}
    assert answer["total"] == len(answer["runs"]) == answer["counts_by_status"]["all"]
    found = served.ask("/api/runs?q=NEEDLE&limit=1").json()
    assert [meta["run_id"] for meta in found["runs"]] == [run_id]
    assert found["runs"][0]["headline"] == "hi there"
    assert served.ask("/api/runs?limit=0").json()["runs"] == []
    assert served.ask("/api/runs?status=running").json()["runs"] == []


def test_words_are_found_inside_runs_too(served: RunningViewer, data_dir: Path) -> None:
    """What is remembered of a run often stands in a prompt; words of its name and of its content may be mixed."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    events[1]["payload"]["prompt"] = "Wohin fährt die Straßenbahn?"
    meta = run_json(run_id, "tram driver", metadata={"city": "Ulm"})
    write_run(data_dir, run_id, meta=meta, events=events)
    served.ask("/api/runs")

    def found(q: str) -> dict[str, int]:
        answer = served.ask(f"/api/find?q={quote(q)}").json()
        assert [run["run_id"] for run in answer["runs"]] == list(answer["at"])
        assert answer["next"] is None
        at: dict[str, int] = answer["at"]
        return at

    assert found("STRASSENBAHN") == {}
    assert found("straßenbahn") == found("tram straßenbahn") == found("wohin city=Ulm straßenbahn") == {run_id: 2}
    assert found("straßenbahn city=Bonn") == found("straßenbahn walrus") == {}
    assert found("tram driver") == {}, "the list has those that need no look inside"


def test_one_run(served: RunningViewer, data_dir: Path) -> None:
    """run.json over HTTP is run.json as a reader sees it: what was spent is counted where the file does not say it."""
    run_id = add(data_dir)
    assert served.ask(f"/api/runs/{run_id}").json() == {**run_json(run_id), "total_tokens": 30, "cost_usd": None}


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/api/runs/nope", 400, "invalid_run_id"),
        ("/api/runs/latest", 400, "invalid_run_id"),
        ("/api/runs/11111111-2222-4333-8444-555555555555", 404, "run_not_found"),
        ("/api/runs/11111111-2222-4333-8444-555555555555/events", 404, "run_not_found"),
        ("/api/runs/11111111-2222-4333-8444-555555555555/rows", 404, "run_not_found"),
        ("/api/runs/{run_id}/events/nope", 404, "event_not_found"),
        ("/api/runs/{run_id}/events/99", 404, "event_not_found"),
        ("/api/runs/{run_id}/events/0", 404, "event_not_found"),
        ("/api/runs/{run_id}/rows?at=1,x", 400, "bad_request"),
        ("/api/runs/{run_id}/rows?offset=-1", 400, "bad_request"),
        ("/api/runs?limit=many", 400, "bad_request"),
        ("/api/nothing", 404, "not_found"),
        ("/static/nothing.js", 404, "not_found"),
    ],
)
def test_errors_have_one_shape(path: str, status: int, code: str, served: RunningViewer, run_id: str) -> None:
    """A page or a script can tell what went wrong without guessing."""
    answer = served.ask(path.format(run_id=run_id))
    assert (answer.status, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("large", [False, True])
def test_the_events_are_those_of_the_file(large: bool, served: RunningViewer, data_dir: Path) -> None:
    """Spliced or parsed, small or streamed before anything is indexed: the same array."""
    run_id = str(uuid.uuid4())
    events = varied_events(run_id, 200)
    if large:
        events += [tool_call(run_id, step, payload={"result": "x" * 5_000}) for step in range(1_000)]
    write_run(data_dir, run_id, events=events)
    for _ in range(2):
        answer = served.ask(f"/api/runs/{run_id}/events")
        assert answer.json() == events
    if not large:
        assert (answer.headers["x-total-count"], answer.headers["x-damaged-lines"]) == (str(len(events)), "0")


@pytest.mark.parametrize("padding", [0, 6_000_000])
def test_damage_and_dialects_are_served_repaired(padding: int, served: RunningViewer, data_dir: Path) -> None:
    """One bad line must not make the whole array unreadable, however large the file around it."""
    run_id = str(uuid.uuid4())
    strict = tool_call(run_id, payload={"result": "x" * 3_000})
    loose = {"event_type": "TOOL_CALL", "name": "t", "ts": handmade.START, "payload": {"status": "success"}}
    many = [as_line(strict)] * (padding // 3_000)
    lines = [as_line(strict), b"\n", as_line(loose), *many]
    for damage in DAMAGED.values():
        lines += [damage + b"\n", as_line(strict)]
    write_run(data_dir, run_id, raw=b"".join(lines).rstrip(b"\n"))
    answer = served.ask(f"/api/runs/{run_id}/events")

    assert answer.json() == list(load_events(run_id, data_dir))
    if not padding:
        assert int(answer.headers["x-damaged-lines"]) >= len(DAMAGED)


def test_events_can_be_paged_and_filtered(served: RunningViewer, data_dir: Path) -> None:
    """`offset` and `limit` count what the filter leaves."""
    run_id = str(uuid.uuid4())
    events = varied_events(run_id, 60)
    write_run(data_dir, run_id, events=events)
    tools = [event for event in events if event["event_type"] == "TOOL_CALL"]
    base = f"/api/runs/{run_id}/events"

    assert served.ask(f"{base}?offset=3&limit=5").json() == events[3:8]
    answer = served.ask(f"{base}?type=TOOL_CALL&offset=1&limit=2")
    assert answer.json() == tools[1:3]
    assert answer.headers["x-total-count"] == str(len(tools))
    both = [event for event in events if event["event_type"] in ("ERROR", "RUN_END")]
    assert served.ask(f"{base}?type=ERROR,RUN_END").json() == both
    assert served.ask(f"{base}?type=ERROR&type=RUN_END").json() == both
    assert served.ask(f"{base}?q=MY_1").json() == [event for event in events if event["event_type"] == "MY_1"]
    assert served.ask(f"{base}?type=NOPE").json() == []
    assert served.ask(f"{base}?offset=9999").json() == []


def test_one_event_by_id_or_number(served: RunningViewer, data_dir: Path) -> None:
    """A link holds the id, the page the number."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    write_run(data_dir, run_id, events=events)
    base = f"/api/runs/{run_id}/events"

    assert served.ask(f"{base}/{events[2]['event_id']}").json() == events[2]
    assert served.ask(f"{base}/3").json() == events[2]


def test_rows_in_pages_and_by_number(served: RunningViewer, data_dir: Path) -> None:
    """The timeline asks for what it shows and nothing else."""
    run_id = str(uuid.uuid4())
    events = varied_events(run_id, 50)
    write_run(data_dir, run_id, events=events)
    page = served.ask(f"/api/runs/{run_id}/rows?offset=2&limit=3").json()

    assert [row["n"] for row in page["rows"]] == [3, 4, 5]
    assert [row["event_id"] for row in page["rows"]] == [event["event_id"] for event in events[2:5]]
    assert (page["total"], page["complete"]) == (len(events), True)
    chosen = served.ask(f"/api/runs/{run_id}/rows?at=5,1,9999").json()
    assert [row["n"] for row in chosen["rows"]] == [5, 1]


def test_the_skeleton_is_the_columns(served: RunningViewer, data_dir: Path) -> None:
    """The page draws a million events from these bytes, so their places are a contract."""
    run_id = str(uuid.uuid4())
    write_run(data_dir, run_id, events=varied_events(run_id, 41))
    index = EventIndex(data_dir / "runs" / run_id, run_id)
    index.extend()
    for start in (0, 7, index.total, index.total + 5):
        answer = served.ask(f"/api/runs/{run_id}/skeleton?from={start}")
        magic, count, begin, flags = struct.unpack_from("<8sIII", answer.body)
        assert (magic, begin, flags & 1) == (b"ADBGSKL1", min(start, index.total), 1)
        assert count == index.total - begin
        assert json.loads(answer.headers["x-types"]) == index.types
        position = 20
        for small in (index.kind, index.status, index.severity, index.type):
            assert answer.body[position : position + count] == small[begin:]
            position += count + (-count % 4)
        for wide in (index.parent_n, index.start_ms, index.duration_ms, index.tokens):
            assert array("I", answer.body[position : position + 4 * count]) == wide[begin:]
            position += 4 * count
        assert position == len(answer.body)


def test_summary_search_and_report(served: RunningViewer, data_dir: Path) -> None:
    """What stands above the rows, what the search box finds, what goes to an assistant."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    write_run(data_dir, run_id, raw=b"".join([*map(as_line, events), b"torn"]))
    assert eventually(lambda: served.ask(f"/api/runs/{run_id}/summary").json()["complete"])
    summary = served.ask(f"/api/runs/{run_id}/summary").json()

    assert (summary["total_events"], summary["complete"], summary["damaged_total"]) == (4, True, 1)
    assert summary["verdict"]["word"] == "Finished"
    assert served.ask(f"/api/runs/{run_id}").json()["damaged_lines"] == 1
    found = served.ask(f"/api/runs/{run_id}/search?q=HI%20THERE").json()
    assert found == {"total": 1, "numbers": [2], "complete": True}
    report = served.ask(f"/api/runs/{run_id}/report")
    assert report.headers["content-type"].startswith("text/markdown")
    assert b"# Finished: agent" in report.body


def test_rename_delete_and_undo(served: RunningViewer, data_dir: Path) -> None:
    """The three things the page may change."""
    run_id = add(data_dir)
    ours = {"Origin": served.origin, "Content-Type": "application/json"}
    renamed = served.ask(f"/api/runs/{run_id}/rename", "POST", ours, b'{"run_name":"better"}')
    assert (renamed.status, renamed.json()["run_name"]) == (200, "better")
    for body in (b"", b"[]", b'{"run_name":7}', b"{", b'{"run_name":"' + b"x" * 600 + b'"}'):
        assert served.ask(f"/api/runs/{run_id}/rename", "POST", ours, body).status == 400
    assert served.ask(f"/api/runs/{run_id}", "DELETE", ours).status == 200
    assert served.ask(f"/api/runs/{run_id}").status == 404
    assert served.ask(f"/api/runs/{run_id}/events").status == 404
    assert served.ask(f"/api/runs/{run_id}/restore", "POST", ours).json()["run_name"] == "better"
    assert served.ask(f"/api/runs/{run_id}/restore", "POST", ours).status == 404
    assert len(served.ask(f"/api/runs/{run_id}/events").json()) == 4


def test_a_later_format_is_refused_for_that_run_alone(served: RunningViewer, data_dir: Path, run_id: str) -> None:
    """The list shows the run and why it cannot be opened."""
    later = add(data_dir, spec_version="1.0")
    assert served.ask(f"/api/runs/{later}").status == 422
    assert served.ask(f"/api/runs/{later}/events").json()["error"]["code"] == "unsupported_spec_version"
    assert later in [meta["run_id"] for meta in served.ask("/api/runs").json()["runs"]]
    assert served.ask(f"/api/runs/{run_id}").status == 200


def test_compressed_runs_are_served(served: RunningViewer, data_dir: Path) -> None:
    """An old run opens like any other."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    write_run(data_dir, run_id, events=events)
    path = data_dir / "runs" / run_id / "events.jsonl"
    path.with_name("events.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()

    assert served.ask(f"/api/runs/{run_id}/events").json() == events
    assert served.ask(f"/api/runs/{run_id}/rows").json()["total"] == 4


def test_static_files_are_not_sent_twice(served: RunningViewer) -> None:
    """Reloading the page costs a few hundred bytes."""
    first = served.ask("/")
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    again = served.ask("/", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def append(data_dir: Path, run_id: str, *events: dict[str, Any]) -> None:
    """Write as an agent does: whole lines at the end."""
    with (data_dir / "runs" / run_id / "events.jsonl").open("ab") as file:
        file.write(b"".join(map(as_line, events)))


def test_a_socket_sends_what_is_there_and_then_what_is_written(served: RunningViewer, data_dir: Path) -> None:
    """A live run fills in front of the user's eyes, and a reconnect resumes by bytes."""
    run_id = str(uuid.uuid4())
    events = [handmade.run_start(run_id), *[tool_call(run_id, step) for step in range(1_200)]]
    write_run(data_dir, run_id, events=events)
    with connect(socket_url(served, f"/ws/run/{run_id}")) as socket:
        seen: list[Any] = []
        offset, metas = 0, []
        while len(seen) < len(events):
            message = json.loads(socket.recv(timeout=10))
            if message["type"] == "events":
                assert len(message["data"]) <= 500
                seen += message["data"]
                offset = message["offset"]
            else:
                metas.append(message)
        assert seen == events
        late = tool_call(run_id, 5_000)
        append(data_dir, run_id, late)
        message = json.loads(socket.recv(timeout=10))
        while message["type"] != "events":
            metas.append(message)
            message = json.loads(socket.recv(timeout=10))
        assert message["data"] == [late]
    assert metas[0] == {"type": "run", "data": {**run_json(run_id), "total_tokens": None, "cost_usd": None}}
    with connect(socket_url(served, f"/ws/run/{run_id}?offset={offset}")) as socket:
        message = json.loads(socket.recv(timeout=10))
        assert message["data"] == [late]


def test_a_socket_of_rows_starts_after_a_number_and_tells_what_changed(served: RunningViewer, data_dir: Path) -> None:
    """The page has the first rows already; a call that ends changes the row of its start."""
    run_id = str(uuid.uuid4())
    call = str(uuid.uuid4())
    start = handmade.event(run_id, "CALL_START", 5, payload={"call_id": call, "kind": "tool", "name": "search"})
    write_run(data_dir, run_id, events=[handmade.run_start(run_id), start])
    with connect(socket_url(served, f"/ws/run/{run_id}?rows=1&from=1")) as socket:
        kinds: dict[str, Any] = {}
        while not {"rows", "run", "summary"} <= kinds.keys():
            message = json.loads(socket.recv(timeout=10))
            kinds.setdefault(message["type"], message)
        assert [row["n"] for row in kinds["rows"]["data"]] == [2]
        assert kinds["summary"]["data"]["total_events"] == 2
        append(data_dir, run_id, tool_call(run_id, 50, event_id=call))
        message = json.loads(socket.recv(timeout=10))
        while message["type"] != "rows":
            message = json.loads(socket.recv(timeout=10))
        assert [row["n"] for row in message["data"]] == [3]
        assert message["changed"] == [{"n": 2, "parent_n": None, "status": 3}]


def test_an_event_reaches_the_client_quickly(served: RunningViewer, data_dir: Path) -> None:
    """Live means that the eye cannot tell; the bound is wide because test machines are busy."""
    run_id = str(uuid.uuid4())
    write_run(data_dir, run_id, events=[handmade.run_start(run_id)])
    delays = []
    with connect(socket_url(served, f"/ws/run/{run_id}")) as socket:
        while json.loads(socket.recv(timeout=10))["type"] != "events":
            pass
        for step in range(20):
            begun = time.perf_counter()
            append(data_dir, run_id, tool_call(run_id, step))
            while json.loads(socket.recv(timeout=10))["type"] != "events":
                pass
            delays.append(time.perf_counter() - begun)

    assert sorted(delays)[len(delays) // 2] < 0.25


def test_the_list_of_runs_is_told_of_new_changed_and_deleted_ones(served: RunningViewer, data_dir: Path) -> None:
    """A run started in another terminal appears by itself."""
    with connect(socket_url(served, "/ws/runs")) as socket:
        run_id = add(data_dir)
        message = json.loads(socket.recv(timeout=10))
        while run_id not in [meta["run_id"] for meta in message["data"]]:
            message = json.loads(socket.recv(timeout=10))
        assert message["type"] == "runs"
        assert "headline" in message["data"][0]
        served.ask(f"/api/runs/{run_id}", "DELETE", {"Origin": served.origin})
        message = json.loads(socket.recv(timeout=10))
        while run_id not in message["removed"]:
            message = json.loads(socket.recv(timeout=10))


def test_a_socket_of_an_unknown_run_says_so_and_closes(served: RunningViewer) -> None:
    """The page can tell a deleted run from a lost connection."""
    with connect(socket_url(served, f"/ws/run/{uuid.uuid4()}")) as socket:
        assert json.loads(socket.recv(timeout=10))["error"]["code"] == "run_not_found"


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_viewer_cleanly_with_pages_open(name: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C gives the terminal back at once, whatever is connected, and leaves no lock."""
    run_id = write_run(tmp_path)
    with (
        viewer(tmp_path) as served,
        connect(socket_url(served, f"/ws/run/{run_id}")),
        connect(socket_url(served, "/ws/runs")),
    ):
        assert (tmp_path / "viewer.lock").exists()
        served.process.send_signal(name)
        assert served.process.wait(timeout=10) == 0
        assert served.process.stdout is not None
        assert served.process.stderr is not None
        assert served.process.stdout.read() == "stopped\n"
        assert served.process.stderr.read() == ""
    assert not (tmp_path / "viewer.lock").exists()


def test_a_viewer_is_found_again_and_a_stale_lock_is_not_believed(tmp_path: Path) -> None:
    """A second `agentdbg view` reuses the first; after a crash it starts anew."""
    write_run(tmp_path)
    assert find_viewer(tmp_path) is None
    with viewer(tmp_path) as served:
        found = find_viewer(tmp_path)
        assert found == Viewer("127.0.0.1", served.port, served.token)
        assert found.url("abc") == f"http://127.0.0.1:{served.port}/?run_id=abc&token={served.token}"
        # Other users see the command that opens a browser, so there the token is left out where it can be.
        assert ("token=" in found.url_for_browser("abc")) == (not can_tell_users())
        served.process.kill()
        served.process.wait()
        assert (tmp_path / "viewer.lock").exists()
        assert find_viewer(tmp_path) is None
    for content in ("", "{}", "[]", '{"host":1,"port":"x"}', '{"host":"127.0.0.1","port":1}'):
        (tmp_path / "viewer.lock").write_text(content)
        assert find_viewer(tmp_path) is None


def test_another_folders_viewer_is_not_taken_for_ours(tmp_path: Path) -> None:
    """A port can be taken over by somebody else's viewer."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with viewer(tmp_path / "a"):
        (tmp_path / "b" / "viewer.lock").write_bytes((tmp_path / "a" / "viewer.lock").read_bytes())
        assert find_viewer(tmp_path / "b") is None


def test_a_taken_port_is_an_error_and_never_a_claim_to_serve(tmp_path: Path) -> None:
    """Printing an address that somebody else answers would be the worst of lies."""
    told: list[Viewer] = []
    with viewer(tmp_path) as served:
        with pytest.raises(ViewerUnavailable, match=str(served.port)):
            serve(tmp_path, port=served.port, on_ready=told.append)
        assert served.ask("/api/info").status == 200
    for host in ("not a host", "203.0.113.7"):
        with pytest.raises(ViewerUnavailable):
            serve(tmp_path, host=host, port=0, on_ready=told.append)
    with pytest.raises(UsageError, match="65535"):
        serve(tmp_path, port=70_000, on_ready=told.append)
    assert told == []


def test_ipv6_addresses_stand_in_brackets(tmp_path: Path) -> None:
    """An address nobody can click is no address."""
    assert Viewer("::1", 8712).url("x") == "http://[::1]:8712/?run_id=x"
    assert Viewer("::", 8712, "t").url() == "http://[::1]:8712/?token=t"
    try:
        with viewer(tmp_path, "::1") as served:
            assert served.url.startswith("http://[::1]:")
            assert served.ask("/api/info").status == 200
    except AssertionError as error:
        if "cannot listen" not in str(error) and "no address" not in str(error):
            raise
        pytest.skip("this machine has no IPv6")


def test_no_runs_at_all_is_served(tmp_path: Path) -> None:
    """The first thing a new user sees is the empty page, not an error."""
    with viewer(tmp_path / "not" / "there") as served:
        assert served.ask("/api/runs").json()["total"] == 0
        assert served.ask("/").status == 200


def test_a_broken_newest_run_is_served_with_the_others(tmp_path: Path) -> None:
    """One broken run never hides another."""
    good = write_run(tmp_path)
    broken = write_run(tmp_path, meta=b"{", raw=b"\x00" * 100)
    with viewer(tmp_path) as served:
        assert {meta["run_id"] for meta in served.ask("/api/runs").json()["runs"]} == {good, broken}
        assert served.ask(f"/api/runs/{broken}/events").json() == []
        assert served.ask(f"/api/runs/{broken}/summary").json()["damaged_total"] == 1


def test_ten_viewers_of_a_live_run_are_no_load(tmp_path: Path) -> None:
    """Everyone shares one index; nobody's page slows the agent's machine down."""
    run_id = str(uuid.uuid4())
    write_run(tmp_path, run_id, meta=run_json(run_id, status="running"), events=usual_events(run_id)[:3])
    with viewer(tmp_path) as served:
        with contextlib.ExitStack() as sockets:
            for _ in range(10):
                sockets.enter_context(connect(socket_url(served, f"/ws/run/{run_id}?rows=1")))
            time.sleep(1)
            before = _cpu_seconds(served.process)
            time.sleep(2)
            used = _cpu_seconds(served.process) - before
        assert used / 2 < 0.8  # of one core
        assert eventually(lambda: served.ask("/api/info").status == 200)


def _cpu_seconds(process: subprocess.Popen[str]) -> float:
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("host", ["192.0.2.7", "[2001:db8::7]", "viewer.example"])
def test_a_lock_that_names_another_machine_is_not_asked(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A data folder may come with a checkout; its lock must not make us call home, nor open somebody else's page."""
    asked: list[Viewer] = []
    monkeypatch.setattr("agentdbg.server.lifecycle._ask", asked.append)
    lock = {"pid": 1, "host": host, "port": 80, "version": "0", "token": "x"}
    (tmp_path / "viewer.lock").write_text(json.dumps(lock))

    assert find_viewer(tmp_path) is None
    assert asked == []
