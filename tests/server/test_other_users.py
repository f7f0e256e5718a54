"""On a machine with several users, viewer and receiver answer their own user, and whoever has the token."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from agentdbg.server import peer_user as socket_owner_module
from agentdbg.server.peer_user import Peer, can_tell_users, is_from_own_user, peer_uid
from tests.server.running import end
from tests.server.test_attacks import tree
from tests.storage.handmade import usual_events, write_run

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

NOBODY = 65_534
ROOT = 0
is_root = hasattr(os, "geteuid") and os.geteuid() == ROOT
needs_root = pytest.mark.skipif(not is_root, reason="only root can start programs of other users")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose a connection is")

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]

# Becomes another user without losing the right to read Python's own files, which may lie in root's home.
_BECOME = """
import ctypes, os, sys
uid = int(sys.argv.pop(1))
ctypes.CDLL(None).prctl(28, 4, 0, 0, 0)
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
"""
_AGENTDBG = _BECOME + "from agentdbg.cli import main; sys.argv[0] = 'agentdbg'; main()"
_ASK = """
import json, sys
from http.client import HTTPConnection
answers = []
for host, port, method, path, headers, body in json.load(sys.stdin):
    connection = HTTPConnection(host, port, timeout=20)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        answers.append([answer.status, dict(answer.getheaders()), answer.read().decode("latin-1")])
    except Exception as error:
        answers.append([0, {}, repr(error)])
    connection.close()
print(json.dumps(answers))
"""
_LEAVE = """
import json, socket, sys
for host, port, request in json.load(sys.stdin):
    for _ in range(200):
        connection = socket.create_connection((host, port))
        connection.sendall(request.encode())
        connection.close()
"""
_SOCKET = """
import json, sys
from websockets.sync.client import connect
for url, headers in json.load(sys.stdin):
    try:
        with connect(url, additional_headers=headers) as socket:
            print("open", flush=True)
    except Exception as error:
        print(type(error).__name__, getattr(getattr(error, "response", None), "status_code", ""), flush=True)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach, as a pytest folder is not."""
    folder = Path(tempfile.mkdtemp(prefix="agentdbg-users-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_user(uid: int, program: str, given: Any) -> str:
    """Run a program as a user, and give back what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", _BECOME + program, str(uid)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def ask_as(uid: int, *requests: list[Any]) -> list[list[Any]]:
    """Make requests as a user; the status, headers and body of each answer."""
    return list(json.loads(as_user(uid, _ASK, requests)))


@contextlib.contextmanager
def started(uid: int, command: str, data_dir: Path, *arguments: str) -> Iterator[dict[str, Any]]:
    """`agentdbg view` or `receive` of a user, and what it said."""
    process = subprocess.Popen(
        [sys.executable, "-c", _AGENTDBG, str(uid), command, "--json", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "AGENTDBG_DATA_DIR": str(data_dir), "HOME": str(data_dir)},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise AssertionError(process.communicate()[1])
        yield json.loads(line)
    finally:
        end(process)


def owned_folder(folder: Path, uid: int) -> tuple[Path, str]:
    """A data folder of a user with one run in it."""
    data_dir = folder / f"data-{uid}"
    run_id = str(uuid.uuid4())
    write_run(data_dir, run_id, events=usual_events(run_id))
    for path in (data_dir, *data_dir.rglob("*")):
        os.chown(path, uid, uid)
    data_dir.chmod(0o700)
    return data_dir, run_id


@needs_root
@needs_linux
@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "other", "host"), [(ROOT, NOBODY, "127.0.0.1"), (NOBODY, ROOT, "::1"), (NOBODY, 12_345, "localhost")]
)
def test_another_user_gets_nothing_from_the_viewer(owner: int, other: int, host: str, open_folder: Path) -> None:
    """Every user of a machine reaches its ports; the files are 0600, and so must be what shows them."""
    data_dir, run_id = owned_folder(open_folder, owner)
    paths = ["/", "/api/info", "/api/runs", f"/api/runs/{run_id}", f"/api/runs/{run_id}/events", "/static/app.js"]
    paths += [f"/api/runs/{run_id}/rename", f"/api/runs/{run_id}/html", "/nowhere"]
    with started(owner, "view", data_dir, "--no-browser", "--host", host) as said:
        port = urlsplit(said["url"]).port
        origin = said["url"].partition("/?")[0]
        before = tree(data_dir)
        tricks = [{}, {"Origin": origin}, {"X-Forwarded-For": "127.0.0.1", "X-AgentDbg-Token": "guess"}]
        tricks += [{"Cookie": f"agentdbg_token_{port}="}]
        body = json.dumps({"run_name": "stolen"})
        requests = [[host, port, method, path, trick, body] for method in METHODS for path in paths for trick in tricks]
        answers = ask_as(other, *requests)
        assert {status for status, _, _ in answers} <= {401, 400}
        assert not any(run_id in body for _, _, body in answers)
        leaving = f"DELETE /api/runs/{run_id} HTTP/1.1\r\nHost: localhost:{port}\r\n"
        leaving += f"Origin: http://localhost:{port}\r\n\r\n"
        as_user(other, _LEAVE, [[host, port, leaving]])
        name = f"[{host}]" if ":" in host else host
        urls = [f"ws://{name}:{port}/ws/runs", f"ws://{name}:{port}/ws/run/{run_id}"]
        assert as_user(other, _SOCKET, [[url, {}] for url in urls]).split() == ["InvalidStatus", "403"] * 2
        assert tree(data_dir) == before

        (own,) = ask_as(owner, [host, port, "GET", "/api/runs", {}, None])
        assert (own[0], json.loads(own[2])["total"]) == (200, 1)
        assert as_user(owner, _SOCKET, [[url, {}] for url in urls]).split() == ["open"] * 2


@needs_root
@needs_linux
@pytest.mark.slow
def test_the_printed_address_lets_another_user_in(open_folder: Path) -> None:
    """A container's or WSL's relay is another user too, and its user holds the address."""
    data_dir, run_id = owned_folder(open_folder, ROOT)
    with started(ROOT, "view", data_dir, "--no-browser") as said:
        parts = urlsplit(said["url"])
        host, port, origin = parts.hostname, parts.port, f"http://{parts.netloc}"
        (token,) = parse_qs(parts.query)["token"]
        (entered,) = ask_as(NOBODY, [host, port, "GET", f"/?{parts.query}", {}, None])
        assert (entered[0], entered[1]["location"]) == (303, f"/?run_id={run_id}")
        cookie = entered[1]["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        with_cookie = {"Cookie": cookie.partition(";")[0]}
        answers = ask_as(
            NOBODY,
            [host, port, "GET", f"/?run_id={run_id}", with_cookie, None],
            [host, port, "GET", "/api/runs", with_cookie, None],
            [host, port, "GET", "/api/runs", {"X-AgentDbg-Token": token}, None],
            [host, port, "POST", f"/api/runs/{run_id}/rename", {**with_cookie, "Origin": origin}, '{"run_name": "a"}'],
            [host, port, "POST", f"/api/runs/{run_id}/rename", with_cookie, '{"run_name": "b"}'],
            [host, port, "GET", "/api/runs", {"Cookie": f"agentdbg_token_1={token}"}, None],
        )
        assert [status for status, _, _ in answers] == [200, 200, 200, 200, 403, 401]
        url = f"ws://{parts.netloc}/ws/runs"
        assert as_user(NOBODY, _SOCKET, [[url, with_cookie], [url, {}]]).split() == ["open", "InvalidStatus", "403"]


@needs_root
@needs_linux
@pytest.mark.slow
@pytest.mark.parametrize(("owner", "other"), [(ROOT, NOBODY), (NOBODY, ROOT)])
def test_another_user_writes_nothing_through_the_receiver(owner: int, other: int, open_folder: Path) -> None:
    """Runs of somebody else in one's own folder are at best confusing, at worst a full disk."""
    data_dir, _ = owned_folder(open_folder, owner)
    with started(owner, "receive", data_dir) as said:
        port = urlsplit(said["url"]).port
        before = tree(data_dir)
        kind = {"Content-Type": "application/x-protobuf"}
        paths = ["/", "/v1/traces", "/v1/metrics", "/v1/logs"]
        requests = [["127.0.0.1", port, method, path, kind, ""] for method in METHODS for path in paths]
        assert {status for status, _, _ in ask_as(other, *requests)} == {401}
        assert tree(data_dir) == before
        post = ["127.0.0.1", port, "POST", "/v1/traces"]
        with_token = {**kind, "X-AgentDbg-Token": said["token"]}
        assert [answer[0] for answer in ask_as(other, [*post, with_token, ""])] == [200]
        assert [answer[0] for answer in ask_as(owner, [*post, kind, ""])] == [200]
    with started(owner, "receive", data_dir) as again:
        assert again["token"] == said["token"]
    assert (data_dir / "receiver.token").stat().st_mode & 0o777 == 0o600


@needs_root
@needs_linux
@pytest.mark.slow
def test_a_viewer_is_found_again_also_by_another_user_who_may_read_its_lock(open_folder: Path) -> None:
    """The lock holds the token, so whoever can read the folder anyway can reuse its viewer."""
    data_dir, _ = owned_folder(open_folder, NOBODY)
    with started(NOBODY, "view", data_dir, "--no-browser") as said:
        done = subprocess.run(
            [sys.executable, "-m", "agentdbg", "view", "--json", "--no-browser"],
            capture_output=True,
            text=True,
            env={**os.environ, "AGENTDBG_DATA_DIR": str(data_dir)},
            timeout=60,
            check=True,
        )
        assert json.loads(done.stdout)["url"] == said["url"]


@needs_linux
@pytest.mark.parametrize("server", ["127.0.0.1", "::1", "::"])
@pytest.mark.parametrize("client", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("has_netlink", [True, False])
def test_the_kernel_tells_whose_a_connection_is(
    server: str, client: str, has_netlink: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both families, and IPv4 spoken through a socket of IPv6, which the kernel lists elsewhere."""
    if not has_netlink:
        monkeypatch.delattr(socket, "AF_NETLINK")
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(family))
        if server == "::":
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        opened = stack.enter_context(socket.socket(socket.AF_INET6 if ":" in client else socket.AF_INET))
        opened.settimeout(5)
        try:
            listener.bind((server, 0))
            listener.listen()
            opened.connect((client, listener.getsockname()[1]))
        except OSError:
            pytest.skip("these two do not meet here")
        accepted = stack.enter_context(listener.accept()[0])

        assert peer_uid(accepted) == os.geteuid()
        assert peer_uid(opened) == os.geteuid()
        opened.close()
        assert peer_uid(accepted) is None


def test_where_the_kernel_does_not_tell_nobody_is_our_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS, Windows, and a sandbox that hides both: the token decides then."""

    def hidden(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(socket_owner_module, "_ask_netlink", hidden)
    monkeypatch.setattr(socket_owner_module, "_look_into_tables", hidden)
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as opened:
        assert peer_uid(opened) is None
    assert not can_tell_users()
    assert not Peer(None).is_own_user
    assert not is_from_own_user({"type": "http"})
    assert not is_from_own_user({"type": "http", "state": {"agentdbg_peer": True}})


@needs_linux
def test_a_connection_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page asks many times over one connection."""
    asked: list[object] = []

    def counted(connection: object) -> int:
        asked.append(connection)
        return os.geteuid()

    class Transport(asyncio.BaseTransport):
        def get_extra_info(self, name: str, default: object = None) -> object:
            return name or default

    monkeypatch.setattr("agentdbg.server.peer_user.peer_uid", counted)
    scope = {"type": "http", "state": Peer(Transport()).as_state()}
    assert [is_from_own_user(scope) for _ in range(3)] == [True] * 3
    assert len(asked) == 1
