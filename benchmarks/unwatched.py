"""
A page that nobody watches while it loads.

Playwright watches every page it opens: for each request of a script the browser then works out where in the source it
was made, and tells of everything that happens. On a small machine that was a third of the time to the first rows, and
no reader waits for it. So this page is opened over the bare protocol in a window of its own that has cached nothing,
is left alone, and is asked afterwards what its own clock said. A browser is busy with a new window for most of a
second, and that is no page's doing: the page is opened when the window has come to rest.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["Unwatched"]

_PATIENCE_SECONDS = 120
_REST_SECONDS = 1.0
_LOOK_SECONDS = 0.05


class Unwatched:
    """One page in a context of its own; a context manager that closes it."""

    def __init__(self, browser: Browser, script: str, width: int = 1440, height: int = 900) -> None:
        self._session = browser.new_browser_cdp_session()
        self._session.on("Target.receivedMessageFromTarget", self._received)
        self._answers: dict[int, Any] = {}
        self._asked = 0
        self._context = self._session.send("Target.createBrowserContext")["browserContextId"]
        place = {"url": "about:blank", "browserContextId": self._context, "width": width, "height": height}
        self._target = self._session.send("Target.createTarget", place)["targetId"]
        attached = self._session.send("Target.attachToTarget", {"targetId": self._target, "flatten": False})
        self._attached = attached["sessionId"]
        self._send("Page.enable")
        self._send("Page.addScriptToEvaluateOnNewDocument", source=script)
        time.sleep(_REST_SECONDS)

    def __enter__(self) -> Unwatched:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.send("Target.disposeBrowserContext", {"browserContextId": self._context})
        self._session.detach()

    def open(self, address: str, quiet_seconds: float) -> None:
        """Go there, and leave the page alone for a while."""
        self._send("Page.navigate", url=address)
        time.sleep(quiet_seconds)

    def value(self, expression: str) -> Any:
        """What an expression comes to in the page, once it does."""
        answer = self._send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def _send(self, method: str, **parameters: Any) -> Any:
        self._asked += 1
        number = self._asked
        message = json.dumps({"id": number, "method": method, "params": parameters})
        self._session.send("Target.sendMessageToTarget", {"sessionId": self._attached, "message": message})
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while number not in self._answers:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no answer to {method} in {_PATIENCE_SECONDS} s")
            time.sleep(_LOOK_SECONDS)
            self._session.send("Target.getTargetInfo", {"targetId": self._target})  # lets answers come in
        return self._answers.pop(number)

    def _received(self, event: dict[str, Any]) -> None:
        message = json.loads(event["message"])
        if "id" in message:
            self._answers[message["id"]] = message.get("result") or {"exceptionDetails": message.get("error")}
