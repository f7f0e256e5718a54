"""Values after the `?`: what fits is taken, what does not is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.server.running import RunningViewer


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/api/runs?limit=-1", "limit: has to be at least 0"),
        ("/api/runs?limit=10001", "limit: has to be at most 10000"),
        ("/api/runs?limit=1.5", "limit: is not a whole number"),
        (f"/api/runs?limit={'9' * 5000}", "limit: is not a whole number"),
        (f"/api/runs?q={'x' * 1001}", "q: has more than 1000 characters"),
        ("/api/compare?a=x", "b: is missing"),
    ],
)
def test_a_value_that_does_not_fit_is_named(served: RunningViewer, path: str, said: str) -> None:
    """Whoever writes a script against the API reads what to change."""
    answer = served.ask(path)

    assert answer.status == 400
    assert answer.json()["error"] == {"code": "bad_request", "message": said}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/api/compare", 405),
        ("DELETE", "/api/runs/x/breaks", 405),
        ("GET", "/api/compare/nothing", 404),
        ("GET", "/api/comparex", 404),
    ],
)
def test_routes_loaded_on_demand_answer_as_others_do(
    served: RunningViewer, method: str, path: str, status: int
) -> None:
    """When a route is loaded is our affair; a wrong method is still told from a wrong path."""
    assert served.ask(path, method, {"X-AgentDbg-Token": served.token}).status == status
