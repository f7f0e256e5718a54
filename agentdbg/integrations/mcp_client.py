"""
MCP clients: each tool call, resource and prompt that a program asks a server for is one TOOL_CALL.

    from agentdbg.integrations import mcp_client
    mcp_client.enable()

A result with `isError` is an error. Where a framework records the tool itself, nothing is recorded twice. Every request
of a session, also those that begin it, goes through the door as a call of the kind "mcp", and so does connecting: a
replay answers all of them, and starts no server. Python servers that a recorded program starts are runs of their own,
linked to the program's. What a server says of its tools (`readOnlyHint`, `destructiveHint`) becomes their effect once
the program has listed them. Supported: mcp >= 1.23.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agentdbg.around import Call, Pairing, contained, enclosing_call, mcp_failure, text_of, when_imported

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["disable", "enable"]

_pairing = Pairing("mcp")
_effects: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()
"""What each session's server says of its tools, by their names."""
_CONNECTIONS = {
    "mcp.client.stdio": ("stdio_client",),
    "mcp.client.streamable_http": ("streamable_http_client", "streamablehttp_client"),
    "mcp.client.sse": ("sse_client",),
}
_HANDED_ON = ("AGENTDBG_", "PYTHONPATH")
_FOLLOWS = "AGENTDBG_PARENT_RUN_ID"


class _Switch:
    records = False
    is_installed = False


def enable() -> None:
    """Record what every MCP session of this process asks its server for."""
    if not _Switch.is_installed:
        try:
            import mcp.client.session  # noqa: PLC0415 -- only when it is wanted
        except ImportError as error:
            raise ImportError("agentdbg records MCP clients, whose package is missing: pip install mcp") from error
        _Switch.is_installed = True
        session = mcp.client.session.ClientSession
        for name in ("call_tool", "read_resource", "get_prompt"):
            _replace(session, name, _recorded(name))
        _replace(session, "send_request", _asked)
        _replace(session, "send_discover", _asked)
        when_imported(_CONNECTIONS, _follow_connections)
    _Switch.records = True


def disable() -> None:
    """Record no more of it."""
    _Switch.records = False


def _replace(owner: Any, name: str, around: Callable[[Any], Any]) -> None:
    original = getattr(owner, name, None)
    if original is not None and not hasattr(original, "agentdbg_original"):
        replacement: Any = functools.wraps(original)(around(original))
        replacement.agentdbg_original = original
        setattr(owner, name, replacement)


# Tools, resources and prompts.


def _recorded(method: str) -> Callable[[Any], Any]:
    def around(original: Any) -> Any:
        async def call(session: Any, *args: Any, **kwargs: Any) -> Any:
            key = object()
            if not _begin(key, session, method, args, kwargs):
                return await original(session, *args, **kwargs)
            try:
                result = await _pairing.make_async(key, original, session, *args, **kwargs)
                result = _as_result(method, result)
            except BaseException as error:
                _pairing.end(key, error=error)
                raise
            _end(key, result)
            return result

        return call

    return around


@contained
def _begin(key: object, session: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if not _Switch.records:
        return False
    first = "uri" if method == "read_resource" else "name"
    given = {**dict(zip((first, "arguments"), args, strict=False)), **kwargs}
    name = str(given.get(first)) if method == "call_tool" else method
    arguments = given.get("arguments") or {}
    if method != "call_tool":
        arguments = {first: str(given.get(first)), **({"arguments": arguments} if arguments else {})}
    around = enclosing_call("tool")
    if around is not None and (around.framework not in (None, "mcp") or around.name == name):
        return False  # the framework's tool is this one
    effect = _effects.get(session, {}).get(name) if method == "call_tool" else "read"
    meta = {"mcp": method, **({"effect": effect} if effect else {})}
    return _pairing.start(key, "tool", name, arguments, can=("answer",), meta=meta)


@contained
def _note_effects(session: Any, result: Any) -> None:
    """Remember what a server says of its tools when it lists them: which only read, and which change something."""
    for tool in getattr(result, "tools", None) or ():
        hints = _plain(getattr(tool, "annotations", None)) or {}
        if hints.get("readOnlyHint") is True:
            _effects.setdefault(session, {})[tool.name] = "read"
        elif hints.get("readOnlyHint") is False or hints.get("destructiveHint") is True:
            _effects.setdefault(session, {})[tool.name] = "write"


@contained
def _end(key: object, result: Any) -> None:
    _pairing.end(key, _readable(result), error=mcp_failure(result))


def _readable(result: Any) -> Any:
    """What a server answered: structured where it is, else the words, else the blocks as data."""
    structured = getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)
    if structured is not None:
        return structured
    content = getattr(result, "content", None)
    if isinstance(content, list) and all(getattr(block, "type", None) == "text" for block in content):
        return text_of(content)
    return _plain(result)


def _as_result(method: str, result: Any) -> Any:
    """A decider may answer with plain data, which the program must not notice."""
    kinds = {"call_tool": "CallToolResult", "read_resource": "ReadResourceResult", "get_prompt": "GetPromptResult"}
    if isinstance(result, str) and method == "call_tool":
        result = {"content": [{"type": "text", "text": result}]}
    if isinstance(result, dict):
        return getattr(sys.modules["mcp.types"], kinds[method]).model_validate(result)
    return result


def _plain(model: Any) -> Any:
    dump = getattr(model, "model_dump", None)
    return dump(by_alias=True, mode="json", exclude_none=True) if callable(dump) else model


# Requests.


def _asked(original: Any) -> Any:
    """Every request of a session, as a call that deciders may answer; on the tape, and no event."""

    async def send(session: Any, request: Any, result_type: Any = None, *args: Any, **kwargs: Any) -> Any:
        more = () if result_type is None else (result_type, *args)
        given = {"version": request} if isinstance(request, str) else _plain(request)
        name = " ".join([str(given.get("method", "server/discover")), *_named(given)])
        call = _announced(name, given)
        if call is None:
            result = await original(session, request, *more, **kwargs)
            _note_effects(session, result)
            return result
        try:
            result = await call.make_async(lambda **_: original(session, request, *more, **kwargs), **call.input)
            if isinstance(result, dict) and result_type is not None:
                validate = getattr(result_type, "model_validate", None) or result_type.validate_python
                result = validate(result)
        except BaseException as error:
            call.step_out()
            call.fail(error)
            raise
        call.step_out()
        await call.settle(_plain(result))
        call.finish(_plain(result))
        _note_effects(session, result)
        return result

    return send


def _named(given: dict[str, Any]) -> list[str]:
    params = given.get("params") or {}
    return [str(params[key]) for key in ("name", "uri") if key in params]


@contained
def _announced(name: str, given: dict[str, Any]) -> Call | None:
    params = {key: value for key, value in (given.get("params") or {}).items() if key != "_meta"}
    call = Call("mcp", name, {**given, "params": params}, None, {})
    return call if call.begin(can=("answer",)) else None


# Connections.


def _follow_connections(module: str) -> None:
    library, package = sys.modules[module], sys.modules["mcp"]
    for name in _CONNECTIONS[module]:
        original = getattr(library, name, None)
        _replace(library, name, functools.partial(functools.partial, _Connection, name))
        if getattr(package, name, None) is original and original is not None:
            setattr(package, name, getattr(library, name))
    if module == "mcp.client.stdio":
        _replace(library, "get_default_environment", _with_ours)


def _with_ours(original: Any) -> Any:
    """A server gets next to nothing of the environment; a Python one is recorded if it gets what tells it to."""

    def get_default_environment() -> dict[str, str]:
        known: dict[str, str] = original()
        if _FOLLOWS in os.environ:
            known = {**{name: value for name, value in os.environ.items() if name.startswith(_HANDED_ON)}, **known}
        return known

    return get_default_environment


class _Connection:
    """Connecting to a server: as always, or, where a decider answers, streams with nobody at the other end."""

    def __init__(self, name: str, original: Any, *args: Any, **kwargs: Any) -> None:
        self._has_session_id = name == "streamablehttp_client"
        self._connection = original(*args, **kwargs)
        self._where = _address(args[0] if args else next(iter(kwargs.values()), None))
        self._is_live = False

    async def __aenter__(self) -> Any:
        call = _announced(f"connect {self._where}", {"params": {"server": self._where}})
        if call is None:
            return await self._connect()
        try:
            streams = await call.make_async(lambda **_: self._connect(), **call.input)
        except BaseException as error:
            call.step_out()
            call.fail(error)
            raise
        call.step_out()
        call.finish({"connected": True})
        return streams if self._is_live else self._nobody()

    async def _connect(self) -> Any:
        self._is_live = True
        return await self._connection.__aenter__()

    def _nobody(self) -> Any:
        anyio = sys.modules["anyio"]
        self._held = [anyio.create_memory_object_stream(float("inf")) for _ in range(2)]
        (_, reads), (writes, _) = self._held
        return (reads, writes, lambda: None) if self._has_session_id else (reads, writes)

    async def __aexit__(self, *error: Any) -> Any:
        if self._is_live:
            return await self._connection.__aexit__(*error)
        for stream in (stream for pair in self._held for stream in pair):
            stream.close()
        return None


def _address(server: Any) -> str:
    command = getattr(server, "command", None)
    return str(server) if command is None else " ".join([str(command), *map(str, getattr(server, "args", ()))])
