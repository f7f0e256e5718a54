"""The run a test gets: what was recorded so far, and assertions that say what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.checks.run_baseline import Baseline, BaselineRun, Variant
from agentdbg.analysis.conversation import answer
from agentdbg.analysis.effects import SideEffect, normal_form
from agentdbg.analysis.wording import count_noun
from agentdbg.commands.run_files import facts_of
from agentdbg.policy_file import effect_rules
from agentdbg.storage.layout import run_dir
from agentdbg.storage.reader import list_runs, load_events

if TYPE_CHECKING:
    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.checks.run_facts import RunFacts
    from agentdbg.analysis.findings import Finding
    from agentdbg.events import Event, RunMeta
    from agentdbg.pytest_plugin.expectations import Expectations
    from agentdbg.pytest_plugin.recording import Recording

__all__ = ["RecordedRun"]

Call = tuple[str, Any]
"""A tool's name and its arguments."""


class RecordedRun:
    """
    What a test recorded, read anew whenever it is asked.

    While the test runs its run is open; it then counts as one that ends well, here and now. A function that is traced
    with limits makes a run of its own; where the test itself recorded no call, that run is meant.
    """

    def __init__(self, recording: Recording, expectations: Expectations) -> None:
        self._recording = recording
        self._expectations = expectations

    def begin_anew(self, recording: Recording) -> None:
        """Stand for the run of the next example."""
        self._recording = recording

    @property
    def recorded(self) -> Any:
        """The run that this test replays, with its `arguments`; an AssertionError in a test that replays none."""
        original = getattr(self._recording, "original", None)
        if original is None:
            raise AssertionError("this test replays no recording; @pytest.mark.agentdbg_replay names one")
        return original

    @property
    def run_id(self) -> str:
        """The id of the run."""
        own, others = self._recording.run_id, self._others()
        return others[0]["run_id"] if others and not (own and self._has_calls(own)) else own

    @property
    def passed_over(self) -> list[str]:
        """The names of other runs of this test in which calls were recorded, and at which nothing here looks."""
        others = self._others()
        meant = self.run_id if others else ""
        return [str(run["run_name"]) for run in others if run["run_id"] != meant and self._has_calls(run["run_id"])]

    @property
    def data_dir(self) -> Path:
        """The data folder of this test alone; `AGENTDBG_DATA_DIR=… agentdbg view` opens it."""
        return self._recording.data_dir

    @property
    def path(self) -> Path:
        """The run's own folder, with run.json and events.jsonl."""
        return Path(run_dir(self.data_dir, self.run_id))

    @property
    def events(self) -> list[Event]:
        """Every event, in the order of the file."""
        return list(self._events_of(self.run_id))

    @property
    def status(self) -> str:
        """`ok` or `error`."""
        return self.facts().status

    @property
    def tools(self) -> list[str]:
        """The names of the tools that were called, in order, each as often as it was called."""
        return [call.name for call in self.facts().calls]

    @property
    def effects(self) -> list[Call]:
        """The calls that changed something outside: name and arguments."""
        return [(effect.name, effect.args) for effect in self.facts().effects]

    @property
    def unknown_calls(self) -> list[Call]:
        """The calls of tools of which nobody knows whether they change anything: name and arguments."""
        return [(call.name, call.args) for call in self.facts().unknown_calls]

    @property
    def errors(self) -> list[str]:
        """What failed, in its own words."""
        return [failed.said for failed in self.facts().errors]

    @property
    def findings(self) -> list[Finding]:
        """What `agentdbg explain` would find, the worst first."""
        return list(self.facts().findings)

    @property
    def loops(self) -> list[str]:
        """The loops of warning and worse, a sentence each."""
        return [finding.sentence for finding in self.facts().loops]

    @property
    def answer(self) -> str | None:
        """What the model said last, if it said anything."""
        said = [event for event in self._events_of(self.run_id) if event["event_type"] == "LLM_CALL"][-1:]
        return (answer(said[0]["payload"].get("response")).text or None) if said else None

    @property
    def llm_calls(self) -> int:
        """How many calls of models."""
        return int(self._total("llm_calls", ""))

    @property
    def tool_calls(self) -> int:
        """How many calls of tools."""
        return int(self._total("tool_calls", ""))

    @property
    def steps(self) -> int:
        """Calls of models and of tools."""
        return int(self._total("steps", ""))

    @property
    def total_tokens(self) -> int:
        """Tokens in all. An AssertionError where models were called and none said how many it used."""
        return int(self._total("total_tokens", "no model call of this run said how many tokens it used"))

    @property
    def cost_usd(self) -> float:
        """What the models cost. An AssertionError where models were called and no price is known."""
        return self._total("cost_usd", "what this run cost is not known: no call had both usage and a known price")

    def args_of(self, tool: str) -> list[Any]:
        """The arguments of each call of one tool, in order."""
        called = [event for event in self.events if event["event_type"] == "TOOL_CALL" and event["name"] == tool]
        return [normal_form(event["payload"].get("args")) for event in called]

    def assert_no_loops(self) -> None:
        """The agent did not go round in circles: no loop of warning or worse."""
        __tracebackhide__ = True
        self.check(loops="none")

    def assert_no_errors(self) -> None:
        """No call failed and no error was recorded."""
        __tracebackhide__ = True
        self.check(max_errors=0)

    def assert_effects(self, expected: str | Path | Iterable[Call], **rules: Any) -> None:
        """
        The same side effects as expected: those of a baseline file, or a list of `(tool, arguments)`.

        A call of a tool that nobody knows has to be expected too. A file is looked for beside the test;
        `pytest --agentdbg-update` writes it.
        """
        __tracebackhide__ = True
        others = ("status", "loops", "max_tokens", "max_cost_usd")
        if isinstance(expected, (str, Path)):
            self.check(baseline=expected, **{**dict.fromkeys(others, "off"), **rules})
        else:
            # A list has no findings to compare with; a file has.
            off = dict.fromkeys((*others, "findings"), "off")
            self._expectations.check(self, _inline(expected), {**off, **rules})

    def check(self, baseline: str | Path | None = None, **rules: Any) -> None:
        """The rules of a policy, by the same names: `run.check(must_call=["search"], max_tokens=5000)`."""
        __tracebackhide__ = True
        self._expectations.check(self, baseline, rules)

    def facts(self, policy: Policy | None = None) -> RunFacts:
        """All that checks look at, as far as it is recorded."""
        rules = self._expectations.effect_rules() if policy is None else effect_rules(policy)
        if not self.run_id:
            raise AssertionError("the test has made no run: nothing in it called what the recording is of")
        facts = facts_of(self.run_id, self.data_dir, rules)
        if self._recording.is_open and facts.run_id == self._recording.run_id:
            return replace(facts, status="ok", has_end=True)
        return facts

    def _total(self, name: str, unknown: str) -> float:
        __tracebackhide__ = True
        totals = self.facts().totals
        value = totals.get(name)
        if value is None and totals.get("llm_calls"):
            raise AssertionError(unknown)
        return value or 0

    def _others(self) -> list[RunMeta]:
        """The runs that were made in this test beside its own, the newest first."""
        own = self._recording.run_id
        runs = list_runs(None, self.data_dir)
        began = next((run["started_at"] for run in runs if run["run_id"] == own), "")
        # A folder that is kept has the runs of earlier sessions too.
        not_others = {own, *getattr(self._recording, "earlier", ())}
        return [run for run in runs if run["run_id"] not in not_others and run["started_at"] >= began]

    def _has_calls(self, run_id: str) -> bool:
        return any(event["event_type"] in ("LLM_CALL", "TOOL_CALL") for event in self._events_of(run_id))

    def _events_of(self, run_id: str) -> Iterable[Event]:
        return load_events(run_id, self.data_dir)

    def __repr__(self) -> str:
        totals = self.facts().totals
        nouns = (("llm_calls", "model call"), ("tool_calls", "tool call"), ("errors", "error"))
        said = ", ".join(count_noun(int(totals.get(name) or 0), noun) for name, noun in nouns)
        return f"<agentdbg run {self.run_id[:8]}: {said}; {self.path}>"


def _inline(calls: Any) -> Baseline:
    """A baseline of side effects alone, as a test writes them down."""
    __tracebackhide__ = True
    wanted = 'assert_effects takes a list like [("refund", {"amount": 40})], or the file of a baseline'
    # A table of calls would lose those that are made twice.
    listed = [calls] if isinstance(calls, Mapping) or not isinstance(calls, Iterable) else list(calls)
    expected = []
    for call in listed:
        if not isinstance(call, (tuple, list)) or len(call) != 2 or not isinstance(call[0], str):
            raise AssertionError(f"{wanted}; {call!r:.60} is neither")
        expected.append(SideEffect(0, "", call[0], normal_form(call[1]), "declared"))
    return Baseline((BaselineRun("", "the test", ""),), ("ok",), {}, (Variant(1, tuple(expected)),))
