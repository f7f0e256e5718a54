"""Runs for the tests of everything that carries a run elsewhere."""

from __future__ import annotations

from tests.analysis.story import Story

HOSTILE = "```\n</script><script>alert(1)</script>\n![x](http://evil.example/)\n@everyone #1\x1b[2J\u202e\x00|`` ` ````"
"""Closes fences, loads pictures, pings people, moves the cursor, turns text round, breaks tables."""


def rich_story() -> Story:
    """Every type of event, an error, a loop, a span, a call that never returned, and text that does harm."""
    story = Story()
    story.llm(
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": HOSTILE}],
        {
            "role": "assistant",
            "content": "Ünïcödé 🙂",
            "tool_calls": [{"function": {"name": "read", "arguments": "{}"}}],
        },
        tokens=(200, 40),
    )
    details = story.events[-1]["payload"]
    details["usage"]["prompt_tokens_details"] = {"cached_tokens": 120}
    details.update(provider="openai", temperature=0, stop_reason="tool_calls", cost_usd=0.5, source="agent.py:7")
    story.tool("read", {"path": "a.txt", "size": 2**70}, [1.0, 1e22, None, {"deep": [HOSTILE]}], parent=2)
    story.tool(HOSTILE, None, None, error={"error_type": "KeyError", "message": HOSTILE, "stack": f"at {HOSTILE}"})
    story.write("STATE_UPDATE", "state", {"state": {"step": 1}, "diff": None})
    story.write("STATE_UPDATE", "plan", {"state": None, "diff": None}, duration_ms=5, meta={"span": "plan"})
    story.loop("cycle", "critical", "TOOL_CALL:read", [3, 4], explanation=HOSTILE)
    story.write("MY_OWN", "mine", {"anything": [HOSTILE]}, meta={"tags": [HOSTILE]})
    story.call_start("slow", given={"q": HOSTILE})
    story.error("KeyError", HOSTILE, stack="Traceback\n" + HOSTILE)
    story.end("error", error={"error_type": "KeyError", "message": "'x'", "stack": None})
    return story


def parallel_story() -> Story:
    """A span with three tools at once inside it, one of which calls a model, and a tool after them."""
    story = Story()
    began = story.now_ms
    span_id = "00000000-0000-4000-8000-0000000000aa"
    inner_id = "00000000-0000-4000-8000-0000000000bb"
    for name, start, end, parent, event_id in (
        ("ask", 120, 200, inner_id, None),
        ("a", 100, 300, span_id, inner_id),
        ("b", 110, 250, span_id, None),
        ("c", 150, 400, span_id, None),
    ):
        story.now_ms = began + start
        if name == "ask":
            story.llm("q", "a", duration_ms=end - start, parent=parent)
        else:
            story.tool(name, {}, 1, duration_ms=end - start, parent=parent, event_id=event_id)
    story.now_ms = began + 50
    span = {"state": None, "diff": None, "error": None}
    story.write("STATE_UPDATE", "work", span, duration_ms=351, meta={"span": "work"}, event_id=span_id)
    story.now_ms = began + 401
    story.tool("after", {}, 1, duration_ms=50)
    story.end()
    return story
