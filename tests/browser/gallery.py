"""
Runs that tell a story, written as files with the times a story needs.

`python -m tests.browser.gallery FOLDER` writes them and prints the id of each. The pictures in the docs are made from
them, and the tests of the page ask for what is in them.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import sys
import uuid
import zlib
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

Message = dict[str, Any]


class Story:
    """One run being told: a clock that goes on by what each step took, and the events so far."""

    def __init__(
        self, name: str, minutes_ago: float, metadata: dict[str, Any] | None = None, folder: Path | None = None
    ) -> None:
        self.run_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name} {minutes_ago}"))
        self.name = name
        self.metadata = metadata or {}
        self.began = datetime.now(timezone.utc) - timedelta(minutes=minutes_ago)
        self.at = 0
        self.events: list[dict[str, Any]] = []
        self.counts = {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0}
        self.cost = 0.0
        self.root = self._add(
            "RUN_START", name, {"run_name": name, "cwd": str(folder or "/home/dana"), "python_version": "3.13"}
        )

    def _add(self, kind: str, name: str, payload: Any, **more: Any) -> str:
        event_id = str(uuid.uuid5(uuid.UUID(self.run_id), str(len(self.events))))
        parent = more.get("parent") or (self.events[0]["event_id"] if self.events else None)
        self.events.append(
            {
                "spec_version": "0.1",
                "event_id": more.get("event_id", event_id),
                "run_id": self.run_id,
                "parent_id": parent,
                "event_type": kind,
                "ts": stamp(self.began + timedelta(milliseconds=self.at)),
                "duration_ms": more.get("took"),
                "name": name,
                "payload": payload,
                "meta": more.get("meta", {}),
            }
        )
        return str(self.events[-1]["event_id"])

    def llm(self, model: str, prompt: Any, response: Any, took: int, **more: Any) -> str:
        """A model call; `tokens` is what went in and came out."""
        self.at += took
        self.counts["llm_calls"] += 1
        tokens_in, tokens_out = more.pop("tokens", (900, 60))
        cost = more.pop("cost", tokens_in * 2.5e-6 + tokens_out * 1e-5)
        self.cost += cost
        payload = {
            "model": model,
            "prompt": prompt,
            "response": response,
            "usage": {"prompt_tokens": tokens_in, "completion_tokens": tokens_out},
            "provider": "anthropic" if model.startswith("claude") else "openai",
            "temperature": more.pop("temperature", 0.0),
            "stop_reason": "end_turn",
            "status": "ok",
            "error": None,
            "cost_usd": round(cost, 6),
            **more.pop("payload", {}),
        }
        return self._add("LLM_CALL", model, payload, took=took, **more)

    def tool(self, name: str, args: Any, result: Any, took: int, **more: Any) -> str:
        """A tool call; `error` makes it a failed one."""
        self.at += took
        self.counts["tool_calls"] += 1
        error = more.pop("error", None)
        self.counts["errors"] += error is not None
        payload = {
            "tool_name": name,
            "args": args,
            "result": result,
            "status": "error" if error else "ok",
            "error": error,
            **({"source": more.pop("source")} if "source" in more else {}),
        }
        return self._add("TOOL_CALL", name, payload, took=took, **more)

    def state(self, state: dict[str, Any], source: str | None = None) -> str:
        """The program's state."""
        payload = {"state": state, "diff": None, **({"source": source} if source else {})}
        return self._add("STATE_UPDATE", "state", payload)

    def span(self, name: str, span_id: str, began: int, parent: str | None = None) -> None:
        """A span that ends now; what is inside was told with `parent=span_id`."""
        self._add(
            "STATE_UPDATE",
            name,
            {"state": None, "diff": None, "error": None},
            took=self.at - began,
            event_id=span_id,
            parent=parent,
            meta={"span": name},
        )

    def write(self, data_dir: Path, status: str = "ok") -> str:
        """End the run and write it; its id."""
        self._add("RUN_END", "run_end", {"status": status, "summary": {}})
        folder = data_dir / "runs" / self.run_id
        folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(event, ensure_ascii=False) for event in self.events]
        (folder / "events.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        tokens = [event["payload"]["usage"] for event in self.events if event["event_type"] == "LLM_CALL"]
        ended = stamp(self.began + timedelta(milliseconds=self.at))
        meta = {
            "spec_version": "0.1",
            "run_id": self.run_id,
            "run_name": self.name,
            "started_at": stamp(self.began),
            "ended_at": ended,
            "duration_ms": self.at,
            "status": status,
            "counts": self.counts,
            "last_event_ts": ended,
            "total_tokens": sum(sum(usage.values()) for usage in tokens),
            "cost_usd": round(self.cost, 6),
            "metadata": self.metadata,
        }
        (folder / "run.json").write_text(json.dumps(meta), encoding="utf-8")
        return self.run_id


def stamp(moment: datetime) -> str:
    """A moment as events write it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def picture() -> str:
    """A small bar chart as a data URL."""
    width, height = 96, 56
    bars = [20, 26, 34, 44, 50]
    rows = []
    for y in range(height):
        row = bytearray(b"\0")
        for x in range(width):
            bar, inside = divmod(x - 8, 17)
            on = 0 <= bar < len(bars) and inside < 12 and height - 4 - bars[bar] < y < height - 4
            row += (b"\xd6\x47\x4e" if bar == 2 else b"\x5b\x8f\xdc") if on else b"\xff\xff\xff"
        rows.append(bytes(row))
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"".join(rows))),
        (b"IEND", b""),
    ]
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return "data:image/png;base64," + base64.b64encode(content).decode()


ANSWER = """The column is drawn twice because **two years share a label**. What I found:

| column | calendar | rows | label now | label after |
|---|---|--:|---|---|
| `fiscal_year` | April to March | 1,204 | 2023 | FY 2023 |
| `year` | January to December | 3,871 | 2023 | 2023 |

1. The grouping in `charts/revenue.py` uses the label, not the year.
2. The label is now unique, so the colours stay as they were:

```python
def year_label(row):
    # fiscal years start in April: 2023-04 belongs to FY 2023
    if row["calendar"] == "fiscal":
        return f"FY {row['year']}"
    return str(row["year"])
```

```diff
--- a/charts/revenue.py
+++ b/charts/revenue.py
@@ -40,3 +40,3 @@
 rows = query(sql)
-groups = by(rows, "label")
+groups = by(rows, year_label)
```

See [the chart guide](https://example.com/charts) for the rest."""

SYSTEM = """You repair charts. Read the data before you touch the code. Never edit files under vendor/.

Ask the user when a label is unclear. Never edit files under `vendor/`. Today is 15 November 2026.

""" + "\n".join(f"- Rule {n}: keep chart {n} readable, and say what was changed and why." for n in range(1, 60))

TOOLS = [
    {
        "name": name,
        "description": text,
        "parameters": {"type": "object", "properties": {key: {"type": "string"} for key in keys}},
    }
    for name, text, keys in [
        ("run_query", "Run a query against the warehouse.", ["sql", "timeout_s"]),
        ("read_file", "Read a file of the repository.", ["path"]),
        ("edit_file", "Change a file of the repository.", ["path", "old", "new"]),
        ("run_tests", "Run the tests.", ["path"]),
        ("draw", "Draw a chart as a picture.", ["chart"]),
        ("ask", "Ask the user.", ["question"]),
    ]
]


def chart_fixer(data_dir: Path) -> str:
    """A conversation that grows, is cut once, and ends with everything Markdown can do."""
    story = Story("chart-fixer", 22, {"version": "2.4.1", "session_id": "s-17"})
    messages: list[Message] = [{"role": "system", "content": SYSTEM}]
    messages.append({"role": "user", "content": "The revenue chart draws 2023 twice. Can you find out why?"})
    sizes = 5_200
    for step in range(17):
        name, args, result = _chart_step(step)
        call_id = f"call_{step}"
        said = f"Step {step + 1}: I look at {name.replace('_', ' ')} next."
        asked = {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        answer = {"role": "assistant", "content": said, "tool_calls": [asked]}
        more: dict[str, Any] = {"payload": {"tools": TOOLS}}
        story.llm(
            "claude-sonnet-4-5", list(messages), answer, 3_000 + 340 * step, tokens=(sizes, 120 + step * 9), **more
        )
        sizes += 2_200
        messages.append(answer)
        story.at += 220
        story.tool(name, args, result, 60 + 31 * step)
        messages.append({"role": "tool", "tool_call_id": call_id, "content": _as_text(result)})
        if step == 12:
            messages = [*messages[:2], *messages[8:]]
            sizes -= 7_000
    messages[0] = {
        "role": "system",
        "content": SYSTEM.replace(
            "Ask the user when a label is unclear.", "When a label is unclear, choose the shorter one and say so."
        ).replace("15 Nov", "16 Nov"),
    }
    messages[9] = {**messages[9], "content": "12 passed, 1 failed: test_labels"}
    image = {"type": "image_url", "image_url": {"url": picture()}}
    words = "Look at the picture: **2023 appears twice**, and the second one should be 2024. Keep the labels short."
    messages.append({"role": "user", "content": [{"type": "text", "text": words}, image]})
    thinking = "The two calendars share the label 2023. " * 24
    changed = [
        {
            **TOOLS[0],
            "parameters": {
                "type": "object",
                "properties": {"sql": {"type": "string"}, "limit": {"type": "integer", "default": 100}},
            },
        },
        *TOOLS[1:],
    ]
    blocks = [{"type": "thinking", "thinking": thinking}, {"type": "text", "text": ANSWER}]
    story.llm(
        "claude-sonnet-4-5",
        list(messages),
        {"role": "assistant", "content": blocks},
        14_200,
        tokens=(41_006, 1_386),
        temperature=0.7,
        payload={"tools": changed, "max_tokens": 8192},
    )
    return story.write(data_dir)


def _chart_step(step: int) -> tuple[str, dict[str, Any], Any]:
    if step == 16:
        rows = [{"label": str(2018 + n), "years": [2018 + n, 2019 + n], "total": 61.5 + 5.2 * n} for n in range(6)]
        result = {"rows": rows, "source": "warehouse.revenue", "ms": 38, "truncated": False}
        return "run_query", {"sql": "select label, count(*) from revenue group by label"}, result
    if step % 3 == 0:
        text = "".join(f"{n:3d}  axis.label({n!r}, colour=palette[{n % 7}])\n" for n in range(1, 60))
        return "read_file", {"path": f"charts/part_{step}.py"}, text
    if step % 3 == 1:
        return (
            "run_query",
            {"sql": f"select year, sum(total) from revenue_{step}"},
            {"rows": [{"year": 2023, "sum": 9}]},
        )
    return "run_tests", {"path": "tests/test_charts.py"}, "13 passed in 0.42 s\n" + "test_labels .\n" * 90


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


CODE = '''"""The support agent of a kettle shop."""


def handle_refund(state, call):
    """Pay the money back and remember it."""
    order = state["order"]
    amount = call.arguments["amount"]
    if order["status"] != "delivered":
        return reply("not_delivered", order)

    # the model chooses the amount
    done = refund(order["id"], amount, "EUR")
    if done["ok"]:
        state["refunded"] = [order["id"]]
        state["paid_out"] += amount
        state["stage"] = "done"
        record_state(state)
    return reply("refund_done", done)
'''


def write_code(data_dir: Path) -> Path:
    """The folder that the support agent was started in, older than its runs."""
    folder = data_dir / "code"
    file = folder / "shop" / "agent.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("# orders, customers and letters\n" * 76 + CODE)
    os.utime(file, (0, 0))
    return folder


def support_agent(data_dir: Path, minutes_ago: float = 6, *, is_good: bool = False, pace: float = 1) -> str:
    """A refund of 4000 cents as euros: nothing raised, and the run is wrong; or, when it is good, the right one."""
    scores = {"correct": 1.0 if is_good else 0.0, "policy": 1.0 if is_good else 0.5, "tone": 0.92}
    version = "2.4.0" if is_good else "2.4.1"
    facts = {"session_id": "s-41", "version": version, "scores": scores}
    story = Story("support-agent", minutes_ago, facts, write_code(data_dir))
    amount = 40 if is_good else 4000
    line = "shop/agent.py:{}"
    messages: list[Message] = [
        {"role": "system", "content": "You are the support agent of a kettle shop. Refunds up to 50.00 EUR are yours."},
        {"role": "user", "content": "My kettle from order A-17 arrived broken, I would like my money back."},
    ]
    state: dict[str, Any] = {"customer": None, "order": None, "paid_out": 0, "stage": "hello", "retries": 0}

    def think(text: str, tool: str | None, args: Any, took: int) -> None:
        calls = [
            {"id": f"c{len(messages)}", "type": "function", "function": {"name": tool, "arguments": json.dumps(args)}}
        ]
        answer = {"role": "assistant", "content": text, **({"tool_calls": calls} if tool else {})}
        tokens = (round((1_100 + 130 * len(messages)) * pace), 60)
        story.llm(
            "gpt-4o", list(messages), answer, round(took * pace), tokens=tokens, payload={"source": line.format(31)}
        )
        messages.append(answer)

    def act(tool: str, args: Any, result: Any, took: int, at: int, **more: Any) -> None:
        story.tool(tool, args, result, took, source=line.format(at), **more)
        messages.append({"role": "tool", "tool_call_id": f"c{len(messages) - 1}", "content": json.dumps(result)})

    think("", "get_customer", {"email": "dana@example.com"}, 1_400)
    customer = {"id": "C-209", "name": "Dana Fox", "orders": 3}
    act("get_customer", {"email": "dana@example.com"}, customer, 84, 49)
    state = {**state, "customer": customer, "stage": "find order"}
    story.state(state, line.format(50))
    think("", "search_orders", {"customer_id": "C-209", "text": "kettle"}, 1_100)
    act("search_orders", {"customer_id": "C-209", "text": "kettle"}, {"hits": []}, 120, 57)
    think("", "get_order", {"order_id": "A17"}, 1_200)
    act("get_order", {"order_id": "A17"}, {"ok": False, "status_code": 404, "error": "no order A17"}, 110, 61)
    state = {**state, "retries": 1}
    story.state(state, line.format(63))
    think("", "get_order", {"order_id": "A-17"}, 900)
    order = {"id": "A-17", "total": 4000, "unit": "cents", "item": "Kettle 1.7 l", "status": "delivered"}
    act("get_order", {"order_id": "A-17"}, order, 96, 61)
    state = {**state, "order": order, "stage": "refund"}
    story.state(state, line.format(82))
    think("", "check_policy", {"order_id": "A-17", "reason": "damaged"}, 1_300)
    act(
        "check_policy",
        {"order_id": "A-17", "reason": "damaged"},
        {"refund_allowed": True, "limit": 50.00, "currency": "EUR"},
        240,
        52,
    )
    arguments = {"amount": amount, "order_id": "A-17", "currency": "EUR"}
    think("The policy allows a refund for damaged goods.", "refund", arguments, 2_600)
    done = {"ok": True, "id": "R-5"} if is_good else {"ok": True, "id": "R-4", "flagged": "above limit 50.00"}
    act("refund", arguments, done, 450, 88)
    state = {**state, "paid_out": amount, "stage": "done", "refunded": ["A-17"]}
    story.state(state, line.format(93))
    think("", "send_email", {"to": "dana@example.com", "template": "refund_done"}, 1_900)
    act("send_email", {"to": "dana@example.com", "template": "refund_done"}, {"sent": True}, 640, 97)
    euros = "40.00" if is_good else "4,000.00"
    think(f"I have refunded {euros} EUR for your kettle. The money arrives within five days.", None, None, 2_500)
    return story.write(data_dir)


def research_crew(data_dir: Path) -> str:
    """Agents inside agents, six deep, and one call that takes most of the time."""
    story = Story("research-crew", 41, {"version": "1.3.0", "session_id": "s-12"})
    stack: list[tuple[str, str, int]] = []

    def enter(name: str) -> None:
        stack.append(
            (name, str(uuid.uuid5(uuid.UUID(story.run_id), f"{name} {len(story.events)} {len(stack)}")), story.at)
        )

    def leave() -> None:
        name, span_id, began = stack.pop()
        story.span(name, span_id, began, stack[-1][1] if stack else None)

    def ask(model: str, text: str, took: int, tokens: int) -> None:
        story.llm(model, [{"role": "user", "content": "Go on."}], text, took, tokens=(tokens, 140), parent=stack[-1][1])

    def use(name: str, result: Any, took: int) -> None:
        story.tool(name, {"query": "Mercedes Sosa"}, result, took, parent=stack[-1][1])

    enter("answer_question")
    ask(
        "o3-mini",
        "Facts given in the task: the artist, the years 2000 and 2009. Facts to look up: the albums.",
        2_000,
        1_900,
    )
    ask("o3-mini", "Use the search agent first, then let the summarizer read the page in three parts.", 1_100, 2_200)
    enter("CrewAgent.run")
    enter("Step 1")
    ask("gpt-4o", "I search the web.", 1_200, 3_000)
    use("web_search", [{"title": f"Result {n}", "url": f"https://example.org/{n}"} for n in range(9)], 1_000)
    leave()
    enter("Step 2")
    enter("SearchAgent.run")
    enter("Step 1")
    ask("gpt-4o", "I open the discography.", 1_100, 4_200)
    use("visit_wikipedia_page", "Mercedes Sosa. Discography. " * 40, 700)
    leave()
    enter("Step 2")
    enter("Summarizer.run")
    ask("gpt-4o-mini", "Part 1: early albums.", 1_200, 6_100)
    ask(
        "gpt-4o",
        "Part 2: 1962 to 2009. The page lists each album with its year; the table follows below.",
        48_200,
        31_000,
    )
    use("extract_discography_table", [{"year": 2000 + n, "title": f"Album {n}"} for n in range(7)], 900)
    ask("gpt-4o-mini", "Part 3: live albums", 1_300, 6_400)
    use("merge_discography_tables", "7 rows", 300)
    ask("gpt-4o", "Seven studio albums between 2000 and 2009, if live albums are left out.", 2_800, 7_000)
    leave()
    leave()
    enter("Step 3")
    ask("gpt-4o", "I check one more page.", 1_400, 6_200)
    use("visit_wikipedia_page", "Discography, 31 kB", 900)
    ask("gpt-4o", "Confirmed on page 2", 1_900, 6_300)
    leave()
    leave()
    leave()
    enter("Step 3")
    use("find_in_page", "3 matches for studio album", 500)
    ask("gpt-4o", "Nothing after 2009, so the count stays at seven.", 2_400, 6_600)
    leave()
    leave()
    ask(
        "gpt-4o",
        "Mercedes Sosa published seven studio albums between 2000 and 2009; see sources 2 and 4.",
        3_000,
        8_100,
    )
    leave()
    return story.write(data_dir)


def invoice_triage(data_dir: Path) -> str:
    """A tool that fails inside another, and changes of state before it."""
    story = Story("invoice-triage", 63, {"version": "1.9.0", "session_id": "s-41"})
    story.llm("gpt-4o-mini", "Sort this mail.", "This is an invoice.", 1_900, tokens=(3_000, 20))
    story.state({"stage": "read", "draft": "Dear team, attached invoice 8812 for the October delivery."})
    story.state({"stage": "parse", "fields": {"total": 1280.5}})
    story.tool(
        "parse_invoice",
        {"body": "Dear team, attached invoice 8812", "mailbox_password": "__REDACTED__"},
        None,
        12,
        error={"error_type": "KeyError", "message": "'due_date'"},
    )
    return story.write(data_dir, "error")


def long_talk(data_dir: Path) -> str:
    """A prompt of three hundred messages."""
    story = Story("long talk", 90)
    messages: list[Message] = [{"role": "system", "content": "You answer questions about the warehouse."}]
    for n in range(300):
        text = (
            f"Question {n}: how many kettles are in rack {n}?" if n % 2 == 0 else f"In rack {n - 1} there are **{n}**."
        )
        messages.append({"role": "user" if n % 2 == 0 else "assistant", "content": text})
        if n == 297:
            story.llm("gpt-4o", list(messages[:-1]), text, 800)
    messages.append({"role": "user", "content": "And the newest question: which rack is empty?"})
    story.llm("gpt-4o", messages, "Rack 12 is empty.", 900, tokens=(9_000, 8))
    return story.write(data_dir)


def thousand_calls(data_dir: Path) -> str:
    """A thousand calls, one of which is slow and one of which asks for a walrus."""
    story = Story("thousand calls", 95)
    for n in range(1000):
        prompt = "Where does the walrus live?" if n == 731 else f"Question {n}?"
        story.llm("gpt-4o-mini", prompt, f"answer {n}", 9_000 if n == 412 else 40 + n % 17, tokens=(30, 5))
    return story.write(data_dir)


def past_runs(data_dir: Path) -> list[str]:
    """Earlier runs of the same programs, of other days at any hour, so that groups have something to say."""
    paces = [1.1, 0.9, 1.0, 1.25, 0.85, 2.6, 1.05, 0.95, 1.2, 0.9, 1.0, 1.15]
    return [support_agent(data_dir, 60 * 49 + 37 * n, is_good=n % 4 != 1, pace=pace) for n, pace in enumerate(paces)]


STORIES = {
    "chart": chart_fixer,
    "support": support_agent,
    "crew": research_crew,
    "invoice": invoice_triage,
    "talk": long_talk,
    "thousand": thousand_calls,
}


def write_gallery(data_dir: Path) -> dict[str, str]:
    """All of them; run ids by name."""
    ids = {name: tell(data_dir) for name, tell in STORIES.items()}
    ids["good"] = past_runs(data_dir)[0]
    return ids


if __name__ == "__main__":
    for name, run_id in write_gallery(Path(sys.argv[1])).items():
        print(name, run_id)
