"""What a hostile page, name or client may try against a viewer on this machine. None of it gets in."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import statistics
import time
import uuid
from typing import TYPE_CHECKING

import pytest

from tests.server.running import RunningViewer, viewer
from tests.storage.handmade import as_line, tool_call, usual_events, write_run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

FOREIGN_HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "localhost.evil.example:{port}",
    "127.0.0.1.evil.example:{port}",
    "127.0.0.1.nip.io:{port}",
    "127.0.0.1:{port}@evil.example",
    "evil.example#127.0.0.1:{port}",
    "localhost.:{port}",
    "127.1:{port}",
    "2130706433:{port}",
    "0x7f000001:{port}",
    "0.0.0.0:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "127.0.0.1:{port} evil.example",
    "127.0.0.1:notaport",
    "127.0.0.1:99999",
    "192.168.0.1:{port}",
    "",
]


def tree(folder: Path) -> str:
    """A digest of every name and byte in a folder, caches aside."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if "index" not in path.relative_to(folder).parts and path.name != "viewer.lock":
            digest.update(str(path.relative_to(folder)).encode())
            if path.is_file() and not path.is_symlink():
                digest.update(path.read_bytes())
    return digest.hexdigest()


def still_serves(served: RunningViewer, run_id: str) -> None:
    """Everyone else is answered as before."""
    answer = served.ask(f"/api/runs/{run_id}")
    assert (answer.status, answer.json()["run_id"]) == (200, run_id)


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
@pytest.mark.parametrize("path", ["/", "/api/runs", "/static/app.js", "/nowhere"])
def test_a_foreign_host_is_refused_everywhere(host: str, path: str, served: RunningViewer) -> None:
    """A name rebound to 127.0.0.1 makes the browser treat the viewer as that site's own."""
    named = host.format(port=served.port)
    status = served.raw_status(f"GET {path} HTTP/1.1\r\nHost: {named}\r\nConnection: close\r\n\r\n".encode())
    assert status in (400, 403)


@pytest.mark.parametrize(
    "head",
    [
        "GET /api/runs HTTP/1.1\r\n",
        "GET /api/runs HTTP/1.0\r\n",
        "GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n",
        "GET /api/runs HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: 127.0.0.1:{port}\r\n",
        "GET /api/runs HTTP/1.1\r\nHost: evil.example\r\nForwarded: host=127.0.0.1\r\n",
        "GET http://127.0.0.1:{port}/api/runs HTTP/1.1\r\nHost: evil.example\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n",
        "POST /api/runs/x/rename HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n",
        "DELETE /api/runs/x HTTP/1.1\r\nHost: evil.example\r\n",
    ],
)
def test_no_host_two_hosts_or_a_forwarded_one_do_not_help(head: str, served: RunningViewer) -> None:
    """Every way around the Host header is closed, on every method."""
    request = head.format(port=served.port).encode() + b"Connection: close\r\n\r\n"
    assert served.raw_status(request) in (400, 403)


@pytest.mark.parametrize(
    "host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}", "localhost:9"]
)
def test_our_own_names_are_answered(host: str, served: RunningViewer) -> None:
    """Another port is fine: that is what an SSH forward looks like."""
    request = f"GET /api/info HTTP/1.1\r\nHost: {host.format(port=served.port)}\r\nConnection: close\r\n\r\n"
    assert served.raw_status(request.encode()) == 200


def _cross_site_writes(run_id: str, port: int) -> dict[str, tuple[str, str, dict[str, str], bytes]]:
    rename, delete, restore = f"/api/runs/{run_id}/rename", f"/api/runs/{run_id}", f"/api/runs/{run_id}/restore"
    body = json.dumps({"run_name": "stolen"}).encode()
    as_json = {"Content-Type": "application/json"}
    ours = f"http://127.0.0.1:{port}"
    return {
        "fetch": ("POST", rename, {**as_json, "Origin": "https://evil.example"}, body),
        "form as text": ("POST", rename, {"Content-Type": "text/plain", "Origin": "https://evil.example"}, body),
        "form": (
            "POST",
            rename,
            {"Content-Type": "application/x-www-form-urlencoded", "Origin": "https://evil.example"},
            body,
        ),
        "multipart": ("POST", rename, {"Content-Type": "multipart/form-data; boundary=x", "Origin": "null"}, body),
        "sandboxed frame": ("POST", rename, {**as_json, "Origin": "null"}, body),
        "file page": ("POST", rename, {**as_json, "Origin": "file://"}, body),
        "extension": ("POST", rename, {**as_json, "Origin": "chrome-extension://abcdef"}, body),
        "other port": ("POST", rename, {**as_json, "Origin": "http://127.0.0.1:3000"}, body),
        "other name of ours": ("POST", rename, {**as_json, "Origin": f"http://localhost.evil.example:{port}"}, body),
        "https of ours": ("POST", rename, {**as_json, "Origin": f"https://evil.example:{port}"}, body),
        "no origin, no token": ("POST", rename, as_json, body),
        "beacon without origin": ("POST", rename, {"Content-Type": "text/plain"}, body),
        "empty origin": ("POST", rename, {**as_json, "Origin": ""}, body),
        "two origins in one": ("POST", rename, {**as_json, "Origin": f"{ours}, https://evil.example"}, body),
        "origin as prefix": ("POST", rename, {**as_json, "Origin": f"{ours}.evil.example"}, body),
        "userinfo": ("POST", rename, {**as_json, "Origin": f"http://127.0.0.1:{port}@evil.example"}, body),
        "wrong token": ("POST", rename, {**as_json, "X-AgentDbg-Token": "guess"}, body),
        "token in the address": ("POST", f"{rename}?token=guess", as_json, body),
        "referer only": ("POST", rename, {**as_json, "Referer": f"{ours}/"}, body),
        "delete": ("DELETE", delete, {"Origin": "https://evil.example"}, b""),
        "delete without origin": ("DELETE", delete, {}, b""),
        "restore": ("POST", restore, {"Origin": "https://evil.example"}, b""),
        "said to be cross-site": ("POST", rename, {**as_json, "Origin": ours, "Sec-Fetch-Site": "cross-site"}, body),
        "method override": ("POST", delete, {**as_json, "X-HTTP-Method-Override": "DELETE"}, b""),
        "put": ("PUT", delete, {"Origin": ours}, body),
        "patch": ("PATCH", delete, {"Origin": ours}, body),
        "preflight": (
            "OPTIONS",
            rename,
            {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"},
            b"",
        ),
    }


@pytest.mark.parametrize("kind", list(_cross_site_writes("x", 1)))
def test_no_other_page_can_change_anything(kind: str, served: RunningViewer, data_dir: Path, run_id: str) -> None:
    """Any site the user visits can make their browser send these."""
    method, path, headers, body = _cross_site_writes(run_id, served.port)[kind]
    before = tree(data_dir)
    answer = served.ask(path, method, headers, body)

    assert answer.status in (400, 403, 405)
    assert "access-control-allow-origin" not in answer.headers
    assert set(answer.json()["error"]) == {"code", "message"}
    assert tree(data_dir) == before
    still_serves(served, run_id)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
)
def test_no_other_page_can_read_anything(headers: dict[str, str], served: RunningViewer, run_id: str) -> None:
    """Traces hold what users typed; a script tag, an image or a frame elsewhere must get nothing of it."""
    for path in ("/api/runs", f"/api/runs/{run_id}/events", f"/api/runs/{run_id}/rows", "/static/app.js"):
        assert served.ask(path, headers=headers).status == 403


def test_a_link_to_the_page_works(served: RunningViewer) -> None:
    """The address of a run may stand in a chat or an issue."""
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert served.ask("/", headers=headers).status == 200


def _upgrade(served: RunningViewer, path: str, *extra: str, host: str | None = None) -> int:
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {host if host is not None else f'127.0.0.1:{served.port}'}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        *extra,
    ]
    return served.raw_status("\r\n".join([*lines, "", ""]).encode())


def test_a_websocket_from_elsewhere_is_refused(served: RunningViewer, run_id: str) -> None:
    """WebSockets know no same-origin rule of their own: any page may open one anywhere."""
    for path in (f"/ws/run/{run_id}", "/ws/runs", "/ws/nowhere"):
        for origin in ("https://evil.example", "null", "http://127.0.0.1:3000", "http://localhost.evil.example"):
            assert _upgrade(served, path, f"Origin: {origin}") == 403
        assert _upgrade(served, path, host="evil.example") in (400, 403)
        assert _upgrade(served, path, "Sec-Fetch-Site: cross-site") == 403
    for path in (f"/ws/run/{run_id}", "/ws/runs"):
        assert _upgrade(served, path, f"Origin: {served.origin}") == 101
        assert _upgrade(served, path) == 101


TRAVERSALS = [
    "..",
    "../..",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e",
    "%2e%2e%2f%2e%2e%2f",
    "%252e%252e%252f",
    "..%5c..%5c",
    "..%c0%af..%c0%af",
    "%c0%ae%c0%ae%c0%af",
    "..%ef%bc%8f",
    "....//....//",
    "..;/",
    "..%00",
    "%00",
    "%2fetc%2fpasswd",
    "/etc/passwd",
    "//etc/passwd",
    "file:%2f%2f%2fetc%2fpasswd",
    "c:%5cwindows%5cwin.ini",
    "%5c%5chost%5cshare",
    "~root",
    ".%2e/",
    "%u002e%u002e%u2215",
    "..%0d%0aX-Injected:%201",
    "*",
    "{run_id}%2f..%2f{run_id}",
    "{run_id}/../../../../etc/passwd",
    "{run_id}.",
    "%20{run_id}",
    "{upper}",
]
ROUTES = [
    ("GET", "/api/runs/{id}"),
    ("GET", "/api/runs/{id}/events"),
    ("GET", "/api/runs/{id}/rows"),
    ("GET", "/api/runs/{id}/skeleton"),
    ("GET", "/api/runs/{id}/events/{id}"),
    ("POST", "/api/runs/{id}/rename"),
    ("DELETE", "/api/runs/{id}"),
    ("POST", "/api/runs/{id}/restore"),
    ("GET", "/static/{id}"),
    ("GET", "/{id}"),
]


@pytest.mark.parametrize("encoding", TRAVERSALS)
def test_no_spelling_of_a_path_leaves_the_runs(
    encoding: str, served: RunningViewer, data_dir: Path, run_id: str
) -> None:
    """Ids are looked up among the runs that were found; nothing a request says becomes a path."""
    (data_dir / "secret.txt").write_text("top secret")
    (data_dir / "events.jsonl").write_text("top secret")
    before = tree(data_dir)
    part = encoding.format(run_id=run_id, upper=run_id.upper())
    for method, route in ROUTES:
        head = (
            f"{method} {route.format(id=part)} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nOrigin: {served.origin}\r\n"
        )
        body = b'{"run_name":"x"}' if method == "POST" else b""
        request = head.encode() + f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
        answer = served.raw(request)
        status = int(answer.split(b" ", 2)[1])

        assert status in (400, 404, 405), (method, route, status)
        assert b"top secret" not in answer
        assert b"root:" not in answer
        assert b"\r\nx-injected" not in answer.lower()
    assert tree(data_dir) == before
    still_serves(served, run_id)


def test_symlinks_are_not_followed(served: RunningViewer, data_dir: Path, tmp_path: Path) -> None:
    """A link planted in the data folder must not open the rest of the disk to the page."""
    secret = tmp_path / "secret"
    secret.write_text('{"event_type":"LEAK","name":"top secret"}\n')
    linked, inside = str(uuid.uuid4()), str(uuid.uuid4())
    write_run(tmp_path, linked)
    os.symlink(tmp_path / "runs" / linked, data_dir / "runs" / linked)
    write_run(data_dir, inside)
    for name in ("events.jsonl", "run.json"):
        (data_dir / "runs" / inside / name).unlink()
        os.symlink(secret, data_dir / "runs" / inside / name)

    assert served.ask(f"/api/runs/{linked}").status == 404
    assert served.ask(f"/api/runs/{linked}/events").status == 404
    for path in ("", "/events", "/rows", "/summary", "/report"):
        assert b"top secret" not in served.ask(f"/api/runs/{inside}{path}").body


@pytest.mark.parametrize("how", ["declared", "chunked", "declared on GET", "declared on a socket"])
def test_a_body_of_60_megabytes_is_not_taken(how: str, served: RunningViewer, run_id: str) -> None:
    """Nothing we are sent is larger than a name."""
    before = served.memory_kb()
    start = {
        "declared": f"POST /api/runs/{run_id}/rename",
        "chunked": f"POST /api/runs/{run_id}/rename",
        "declared on GET": "GET /api/runs",
        "declared on a socket": "GET /ws/runs",
    }[how]
    sizes = "Transfer-Encoding: chunked" if how == "chunked" else "Content-Length: 60000000"
    head = f"{start} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nOrigin: {served.origin}\r\n{sizes}\r\n\r\n"
    piece = b"x" * 1_000_000
    received = b""
    with socket.create_connection((served.host, served.port), timeout=10) as connection:
        try:
            connection.sendall(head.encode())
            for _ in range(60):
                connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if how == "chunked" else piece)
        except OSError:
            pass  # refused before all of it was sent
        with contextlib.suppress(OSError):
            received = connection.recv(4096)

    assert received[9:12] in (b"413", b"404", b"400", b"")
    assert served.memory_kb() - before < 20_000
    still_serves(served, run_id)


def test_stalled_readers_cost_nothing(tmp_path: Path) -> None:
    """A client that asks for a large run and reads nothing must not fill the server's memory, nor hold up others."""
    large, small = str(uuid.uuid4()), str(uuid.uuid4())
    write_run(tmp_path, large, raw=as_line(tool_call(large, payload={"result": "x" * 5_000})) * 10_000)
    for data_dir in (tmp_path, tmp_path / "beside"):
        write_run(data_dir, small, events=usual_events(small))
    with viewer(tmp_path) as served, viewer(tmp_path / "beside") as unhindered:
        for each in (served, unhindered):
            still_serves(each, small)
        before = served.memory_kb()
        stalled = []
        for path in [f"/api/runs/{large}/events"] * 20 + [f"/ws/run/{large}"] * 10 + [f"/ws/run/{large}?rows=1"] * 5:
            connection = socket.create_connection((served.host, served.port))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            upgrade = (
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                "Sec-WebSocket-Version: 13\r\n"
                if path.startswith("/ws")
                else ""
            )
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n{upgrade}\r\n".encode())
            stalled.append(connection)
        waits: list[float] = []
        usual: list[float] = []
        for _ in range(20):
            for each, seconds in ((served, waits), (unhindered, usual)):
                begun = time.perf_counter()
                still_serves(each, small)
                seconds.append(time.perf_counter() - begun)
            time.sleep(0.05)
        # A busy machine is slow for both; a server that is held up by its readers only for those who share it.
        assert statistics.median(waits) < 3 * statistics.median(usual) + 0.2, (waits, usual)
        grown = served.memory_kb() - before
        for connection in stalled:
            connection.close()

        assert grown < 100_000  # the run is 50 MB; thirty-five copies of it would be 1.7 GB
        still_serves(served, small)


def test_beyond_loopback_everything_needs_the_token(tmp_path: Path) -> None:
    """On a network, whoever reaches the port must not reach the traces."""
    run_id = write_run(tmp_path)
    with viewer(tmp_path, "0.0.0.0") as served:
        served.host = "127.0.0.1"
        for path in ("/", "/api/runs", f"/api/runs/{run_id}/events", "/static/app.js", "/api/info"):
            assert served.ask(path).status == 401
            assert served.ask(path, headers={"X-AgentDbg-Token": "guess"}).status == 401
        assert _upgrade(served, f"/ws/run/{run_id}") == 403
        assert _upgrade(served, "/ws/runs", f"X-AgentDbg-Token: {served.token}") == 101
        assert served.ask("/api/runs", headers={"X-AgentDbg-Token": served.token}).status == 200
        assert served.token in served.url

        entered = served.ask(f"/?run_id={run_id}&token={served.token}")
        assert (entered.status, entered.headers["location"]) == (303, f"/?run_id={run_id}")
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        carried = {"Cookie": cookie.split(";")[0]}
        assert served.ask("/", headers=carried).status == 200
        assert served.ask("/api/runs", headers=carried).status == 200
        rename = (f"/api/runs/{run_id}/rename", "POST")
        assert served.ask(*rename, {**carried, "Origin": "https://evil.example"}, b'{"run_name":"x"}').status == 403
        assert served.ask(*rename, carried, b'{"run_name":"x"}').status == 403
        assert served.ask(*rename, {**carried, "Origin": served.origin}, b'{"run_name":"x"}').status == 200


def test_an_allowed_host_gets_in_and_no_other(tmp_path: Path) -> None:
    """Codespaces and containers put a name of their own in front of the viewer."""
    run_id = write_run(tmp_path)
    with viewer(tmp_path, allowed=("me-8712.app.example",)) as served:
        name = {"Host": "me-8712.app.example"}
        assert served.ask("/api/runs", headers=name).status == 200
        assert served.ask("/api/runs", headers={"Host": "you-8712.app.example"}).status == 403
        ours = {**name, "Origin": "https://me-8712.app.example"}
        assert served.ask(f"/api/runs/{run_id}/rename", "POST", ours, b'{"run_name":"x"}').status == 200
        forwarded = {"Origin": "https://me-8712.app.example"}
        assert served.ask(f"/api/runs/{run_id}/rename", "POST", forwarded, b'{"run_name":"x"}').status == 200


def test_the_token_lets_a_script_write(served: RunningViewer, data_dir: Path) -> None:
    """A script on this machine reads the token from viewer.lock, which only its user can."""
    run_id = write_run(data_dir)
    lock = json.loads((data_dir / "viewer.lock").read_text())
    assert (data_dir / "viewer.lock").stat().st_mode & 0o777 == 0o600
    headers = {"X-AgentDbg-Token": lock["token"]}

    assert served.ask(f"/api/runs/{run_id}", "DELETE", headers).status == 200
    assert served.ask(f"/api/runs/{run_id}").status == 404


def test_every_answer_carries_the_security_headers(served: RunningViewer, run_id: str) -> None:
    """A header missing on one error page is a hole in all of them."""
    paths = ["/", "/static/app.js", "/nowhere", "/api/runs", f"/api/runs/{run_id}/events", "/api/runs/xyz", "/docs"]
    answers = {path: served.ask(path) for path in paths}
    answers["refused"] = served.ask("/", headers={"Host": "evil.example"})
    answers["refused write"] = served.ask("/api/runs/x", "DELETE")
    for path, answer in answers.items():
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cache-control"] == ("no-cache" if path in ("/", "/static/app.js") else "no-store")
        assert "server" not in answer.headers
    assert answers["/docs"].status == 404


def test_a_wrong_token_is_not_answered_with_the_right_one(served: RunningViewer) -> None:
    """On loopback anyone on this machine may look; what lets them write is only for who can read viewer.lock."""
    guessed = served.ask("/?token=guess&run_id=x")
    assert (guessed.status, guessed.headers["location"]) == (303, "/?run_id=x")
    assert served.token not in str(guessed.headers)

    assert served.token in served.ask(f"/?token={served.token}").headers["set-cookie"]


def test_odd_frames_and_a_run_that_goes_leave_the_terminal_quiet(tmp_path: Path) -> None:
    """What a page sends, or a run deleted while it is looked at, is no fault to print a stack for."""
    run_id = write_run(tmp_path)
    with viewer(tmp_path) as served:
        sockets = []
        for path in (f"/ws/run/{run_id}", f"/ws/run/{run_id}?rows=1", "/ws/runs"):
            connection = socket.create_connection((served.host, served.port), timeout=5)
            connection.sendall(
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nUpgrade: websocket\r\n"
                "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                "Sec-WebSocket-Version: 13\r\n\r\n".encode()
            )
            assert connection.recv(12) == b"HTTP/1.1 101"
            connection.sendall(b"\x82\x82\0\0\0\0\x00\xff" + b"\x81\x82\0\0\0\0hi")  # binary, then text
            sockets.append(connection)
        assert served.ask(f"/api/runs/{run_id}", "DELETE", {"Origin": served.origin}).status == 200
        for connection in sockets[:2]:
            received = b""
            while b'"code":"run_not_found"' not in received and (chunk := connection.recv(65_536)):
                received += chunk
            assert b'"code":"run_not_found"' in received
        for connection in sockets:
            connection.close()
        served.process.terminate()
        assert served.process.communicate(timeout=10)[1] == ""
