"""
The messages and tools of a model span, put together from its attributes and events.

Conventions differ: `llm.input_messages.0.message.role` (OpenInference), `gen_ai.input.messages` as one JSON text
(GenAI), `gen_ai.prompt.0.role` (OpenLLMetry), an event for each message (GenAI before v1.37). All become chat messages
as OpenAI has them, with the arguments of tool calls read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from agentdbg.interop.drafts import read_arguments
from agentdbg.interop.otel.conventions import GenAI, OpenInference
from agentdbg.interop.otel_spans import SpanEvent
from agentdbg.interop.shapes import as_dict, as_list, as_word

if TYPE_CHECKING:
    from agentdbg.interop.otel_spans import Span

__all__ = ["finish_reason_in", "listed_under", "messages_in", "tool_call_in", "tools_in"]

_DEEPEST_NAME = 12
_MOST_DIGITS = 6
_TOOLS = ("llm.tools.", "llm.request.functions.")
_DETAILS_EVENT = "gen_ai.client.inference.operation.details"
_CHOICE_EVENT = "gen_ai.choice"
_MESSAGE_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_THOUGHTS = ("reasoning", "thinking")
_BLOCKS = frozenset({"text", "toolUse", "toolResult", "reasoningContent", "image", "document"})
_MESSAGES = {"input": GenAI.INPUT_MESSAGES, "output": GenAI.OUTPUT_MESSAGES}
_WHOLE = {
    "input": ("gen_ai.content.prompt", "gen_ai.prompt", "ai.prompt.messages"),
    "output": ("gen_ai.content.completion", "gen_ai.completion", ""),
}


def messages_in(span: Span, side: Literal["input", "output"]) -> list[Any] | None:
    """The messages of one side; None when the span has none."""
    attributes = span.attributes
    found = _told_whole(attributes, side)
    if found:
        return found
    nested = listed_under(attributes, f"llm.{side}_messages.")
    if nested:
        items = [_undotted(item) for item in nested if isinstance(item, dict)]
        return [_from_openinference(item.get("message", item)) for item in items]
    numbered = listed_under(attributes, "gen_ai.prompt." if side == "input" else "gen_ai.completion.")
    if numbered:
        return [_as_chat(item) for item in numbered if isinstance(item, dict)]
    return (
        _from_events(span.events, side)
        or _from_events(_listed_events(attributes), side)
        or _from_own_ways(attributes, side)
    )


def _listed_events(attributes: dict[str, Any]) -> list[SpanEvent]:
    """The events that pydantic-ai writes into one attribute, all of them together."""
    told = as_list(read_arguments(attributes.get("events", attributes.get("all_messages_events"))))
    found = [SpanEvent(as_word(item.get("event.name")), None, item) for item in told if isinstance(item, dict)]
    if found and "all_messages_events" in attributes and found[-1].name == "gen_ai.assistant.message":
        found[-1] = SpanEvent(_CHOICE_EVENT, None, {"message": found[-1].attributes})
    return found


def tool_call_in(span: Span) -> tuple[Any, Any]:
    """What a tool was given and gave, where its span tells it in events."""
    given = output = None
    for event in span.events:
        if event.name == "gen_ai.tool.message":
            given = read_arguments(event.attributes.get("content"))
        elif event.name == _CHOICE_EVENT:
            output = _plain_blocks(read_arguments(event.attributes.get("message")))
    return given, output


def finish_reason_in(span: Span) -> str | None:
    """Why the model stopped, where only its answer says so."""
    told = as_list(read_arguments(span.attributes.get(GenAI.OUTPUT_MESSAGES)))
    told += [event.attributes for event in span.events if event.name == _CHOICE_EVENT]
    raw = read_arguments(span.attributes.get(OpenInference.OUTPUT))
    told += as_list(as_dict(raw).get("choices"))
    return next((reason for item in told if (reason := as_word(as_dict(item).get("finish_reason")))), None)


def tools_in(attributes: dict[str, Any]) -> list[Any] | None:
    """The tools the model was offered, with the schemas of their arguments."""
    told = read_arguments(attributes.get(GenAI.TOOL_DEFINITIONS)) or attributes.get("ai.prompt.tools")
    if not told and "model_request_parameters" in attributes:  # pydantic-ai
        parameters = as_dict(read_arguments(attributes["model_request_parameters"]))
        told = [*as_list(parameters.get("function_tools")), *as_list(parameters.get("output_tools"))]
    offered = [read_arguments(item) for item in as_list(told)]
    names = "" if offered else "\n".join(attributes)  # looked through at once: most spans have none of these
    if _TOOLS[0] in names or _TOOLS[1] in names:
        for item in listed_under(attributes, _TOOLS[0]):
            tool = item.get("tool", item) if isinstance(item, dict) else item
            offered.append(read_arguments(tool.get("json_schema", tool)) if isinstance(tool, dict) else tool)
        functions = [item for item in listed_under(attributes, _TOOLS[1]) if isinstance(item, dict)]
        offered += [{**item, "parameters": read_arguments(item.get("parameters"))} for item in functions]
    return [_as_function(tool) for tool in offered] or None


def _as_function(tool: Any) -> Any:
    """A tool as OpenAI describes one, whether or not its description was wrapped."""
    if not isinstance(tool, dict) or "function" in tool or not as_word(tool.get("name")):
        return tool
    if tool.get("type", "function") != "function":
        return tool
    return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}


def _told_whole(attributes: dict[str, Any], side: Literal["input", "output"]) -> list[Any] | None:
    told = read_arguments(attributes.get(_MESSAGES[side]))
    if told is None:
        told = _part_of_all(as_list(read_arguments(attributes.get("pydantic_ai.all_messages"))), side)
    if not isinstance(told, list) or not told:
        return None
    first = read_arguments(attributes.get(GenAI.SYSTEM_INSTRUCTIONS)) if side == "input" else None
    messages = [message for item in told for message in _from_parts(item)]
    return [{"role": "system", "content": _text_of_parts(first)}, *messages] if first else messages


def _part_of_all(messages: list[Any], side: Literal["input", "output"]) -> list[Any]:
    """One side of a conversation that a span tells as one list: the last answer is what came out."""
    has_answer = bool(messages) and as_dict(messages[-1]).get("role") == "assistant"
    cut = len(messages) - 1 if has_answer else len(messages)
    return messages[:cut] if side == "input" else messages[cut:]


def _undotted(item: Any) -> Any:
    """An item whose names hold dots (`message.role`), as Phoenix gives them back, with objects in their place."""
    if isinstance(item, list):
        return [_undotted(inner) for inner in item]
    if not isinstance(item, dict) or not any("." in name for name in item):
        return item
    made: dict[str, Any] = {}
    for name, value in item.items():
        *path, last = name.split(".", _DEEPEST_NAME)
        at = made
        for part in path:
            inner = at.setdefault(part, {})
            at = inner if isinstance(inner, dict) else {}
        at[last] = _undotted(value)
    return made


def _from_openinference(message: Any) -> dict[str, Any]:
    if not isinstance(message, dict):
        return {"role": "user", "content": message}
    content = message.get("content")
    if content is None and isinstance(message.get("contents"), list):
        content = [item.get("message_content", item) for item in message["contents"] if isinstance(item, dict)]
    calls = [item.get("tool_call", item) for item in as_list(message.get("tool_calls")) if isinstance(item, dict)]
    return _as_chat({**message, "content": content, "tool_calls": calls})


def _as_chat(message: dict[str, Any]) -> dict[str, Any]:
    """A message with a content and calls, whichever of the two ways its calls are nested."""
    content = _content(message.get("content"))
    made: dict[str, Any] = {"role": message.get("role", "user"), "content": content}
    calls = [_call(call) for call in as_list(message.get("tool_calls")) if isinstance(call, dict)]
    if isinstance(content, list) and content and all(_BLOCKS & set(as_dict(block)) for block in content):
        made.update(_from_blocks(content))
        calls += made.pop("tool_calls")
    if calls:
        made["tool_calls"] = calls
    for key in ("tool_call_id", "name", "reasoning_content"):
        if message.get(key):
            made[key] = message[key]
    return made


def _from_blocks(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """A content as Bedrock's API has it, where the name of a block's only field says what it is."""
    calls = [as_dict(block["toolUse"]) for block in blocks if "toolUse" in block]
    results = [as_dict(block["toolResult"]) for block in blocks if "toolResult" in block]
    thoughts = [as_dict(as_dict(block.get("reasoningContent")).get("reasoningText")).get("text") for block in blocks]
    rest = [block for block in blocks if not {"toolUse", "toolResult", "reasoningContent"} & set(block)]
    made: dict[str, Any] = {
        "content": _plain_blocks(rest) or None,
        "tool_calls": [
            _call({"id": call.get("toolUseId"), "name": call.get("name"), "arguments": call.get("input")})
            for call in calls
        ],
    }
    if any(thoughts):
        made["reasoning_content"] = "\n".join(filter(None, thoughts))
    if len(results) == 1 and not rest and not calls:
        made.update(
            role="tool", tool_call_id=results[0].get("toolUseId"), content=_plain_blocks(results[0].get("content"))
        )
    elif results:
        made["content"] = blocks
    return made


def _plain_blocks(blocks: Any) -> Any:
    """The text of such blocks where they are nothing but text."""
    texts = [as_dict(block).get("text") for block in as_list(blocks)]
    return "\n".join(map(str, texts)) if texts and all(isinstance(text, str) for text in texts) else blocks


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = as_dict(call.get("function")) or call
    return {
        "id": call.get("id"),
        "type": "function",
        "function": {"name": function.get("name"), "arguments": _arguments(function.get("arguments"))},
    }


def _arguments(given: Any) -> Any:
    read = read_arguments(given)
    return read if isinstance(read, dict) else given


def _content(given: Any) -> Any:
    """The text of a message; blocks, also as JSON text, where it is more than text."""
    blocks = read_arguments(given) if isinstance(given, str) and given.startswith("[{") else given
    if not isinstance(blocks, list) or not all(isinstance(block, dict) and "type" in block for block in blocks):
        return blocks if isinstance(blocks, list) and all(_BLOCKS & set(as_dict(block)) for block in blocks) else given
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    return "\n".join(texts) if len(texts) == len(blocks) else blocks


def _from_parts(message: Any) -> list[Any]:
    """A message of the GenAI conventions, a role and parts; results of several tools may stand in one."""
    if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
        return [message]
    parts = [part for part in message["parts"] if isinstance(part, dict)]
    results = [
        {"role": "tool", "content": part.get("response", part.get("result")), "tool_call_id": part.get("id")}
        for part in parts
        if part.get("type") == "tool_call_response"
    ]
    rest = [part for part in parts if part.get("type") != "tool_call_response"]
    if results and not rest:
        return results
    said = _said_in_parts(message, rest)
    return [said, *results] if said["role"] == "assistant" else [*results, said]


def _said_in_parts(message: dict[str, Any], parts: list[dict[str, Any]]) -> dict[str, Any]:
    if len(parts) == 1 and parts[0].get("type") == "text" and not message.get("name"):
        return {"role": message.get("role", "user"), "content": parts[0].get("content")}
    others = [part for part in parts if part.get("type") not in ("text", "tool_call", *_THOUGHTS)]
    text = _text_of_parts(parts)
    made: dict[str, Any] = {"role": message.get("role", "user"), "content": parts if others else text or None}
    calls = [_call(part) for part in parts if part.get("type") == "tool_call"]
    if calls:
        made["tool_calls"] = calls
    thoughts = [part["content"] for part in parts if part.get("type") in _THOUGHTS and as_word(part.get("content"))]
    if thoughts:
        made["reasoning_content"] = "\n".join(thoughts)
    if message.get("name"):
        made["name"] = message["name"]
    return made


def _text_of_parts(parts: Any) -> str:
    if isinstance(parts, str):
        return parts
    texts = [part.get("content") for part in as_list(parts) if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def _from_events(events: list[SpanEvent], side: Literal["input", "output"]) -> list[Any] | None:
    """Messages a span noted one by one, or all at once, as events."""
    found: list[Any] = []
    for event in events:
        if event.name == _DETAILS_EVENT:
            return _told_whole(event.attributes, side)
        body = {**event.attributes, **as_dict(read_arguments(event.attributes.get("gen_ai.event.content")))}
        if side == "input" and event.name in _MESSAGE_EVENTS:
            found.append(_from_event(body, _MESSAGE_EVENTS[event.name]))
        elif side == "output" and event.name == _CHOICE_EVENT:
            message = read_arguments(body.get("message"))
            message = message if isinstance(message, dict) else {} if message is None else {"content": message}
            found.append(_from_event({**body, **message}, "assistant"))
        elif event.name == _WHOLE[side][0]:
            return _plain_messages(event.attributes.get(_WHOLE[side][1]), side)
    return found or None


def _from_event(body: dict[str, Any], role: str) -> dict[str, Any]:
    made = _as_chat({**body, "role": body.get("role", role), "tool_calls": read_arguments(body.get("tool_calls"))})
    if role == "tool" and body.get("id"):
        made["tool_call_id"] = body["id"]
    return made


def _from_own_ways(attributes: dict[str, Any], side: Literal["input", "output"]) -> list[Any] | None:
    """What SDKs tell that follow no convention in this: the Vercel AI SDK."""
    if side == "input":
        return _plain_messages(attributes.get(_WHOLE[side][2]), side)
    calls = [
        {"id": call.get("toolCallId"), "name": call.get("toolName"), "arguments": call.get("input", call.get("args"))}
        for call in as_list(read_arguments(attributes.get("ai.response.toolCalls")))
        if isinstance(call, dict)
    ]
    text = attributes.get("ai.response.text")
    thought = attributes.get("ai.response.reasoning")
    if text is None and not calls and not thought:
        return None
    said = _as_chat({"role": "assistant", "content": text or None, "tool_calls": calls})
    return [{**said, "reasoning_content": thought} if thought else said]


def _plain_messages(given: Any, side: str) -> list[Any] | None:
    told = read_arguments(given)
    if isinstance(told, str) and told:
        told = [{"role": "user" if side == "input" else "assistant", "content": told}]
    messages = [_as_chat(item) if isinstance(item, dict) else item for item in as_list(told)]
    return messages or None


def listed_under(attributes: dict[str, Any], prefix: str) -> list[Any]:
    """The list that attributes named `prefix0.…`, `prefix1.…` spell out."""
    whole = attributes.get(prefix.rstrip("."))
    if isinstance(whole, list):
        return whole
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        *path, last = key[len(prefix) :].split(".", _DEEPEST_NAME)
        at = tree
        for name in path:
            inner = at.setdefault(name, {})
            at = inner if isinstance(inner, dict) else {}
        at[last] = value
    return as_list(_with_lists(tree))


def _with_lists(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    if tree and all(key.isdecimal() and len(key) <= _MOST_DIGITS for key in tree):
        return [_with_lists(tree[key]) for key in sorted(tree, key=int)]
    return {key: _with_lists(value) for key, value in tree.items()}
