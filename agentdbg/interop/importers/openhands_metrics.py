"""What OpenHands tells of tokens, costs and times: for each answer by its id, or as running totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import amount, whole_number
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.recorder.prices import normalise_usage

if TYPE_CHECKING:
    from agentdbg.interop.drafts import Step

__all__ = ["Metrics"]

_COUNTS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_NO_COST = 1e-9
"""What sums of floats may be off by."""


class Metrics:
    """The use of each answer; `around` stands beside the events: the metrics of a run, a conversation's state."""

    def __init__(self, around: dict[str, Any]) -> None:
        self.model = ""
        self._by_answer: dict[str, dict[str, Any]] = {}
        self._cost_of: dict[str, float] = {}
        self._latency: dict[str, float] = {}
        self._totals: dict[str, dict[str, int]] = {}
        self._costs: dict[str, float] = {}
        self._grown: dict[str, int] = {}
        self._grown_cost = 0.0
        beside = as_dict(as_dict(around.get("stats")).get("usage_to_metrics"))
        for told in (around.get("metrics"), *beside.values()):
            self._take_list(as_dict(told))
        agent = as_dict(around.get("agent"))
        self.model = as_word(as_dict(agent.get("llm")).get("model")) or self.model
        config = as_dict(as_dict(around.get("metadata")).get("llm_config")) or as_dict(
            as_dict(around.get("metadata")).get("llm")
        )
        self.model = as_word(config.get("model")) or self.model

    def _take_list(self, told: dict[str, Any]) -> None:
        listed, costs = as_list(told.get("token_usages")), as_list(told.get("costs"))
        for number, used in enumerate(listed):
            if isinstance(used, dict) and as_word(used.get("response_id")):
                self._by_answer[used["response_id"]] = used
                cost = amount(as_dict(costs[number]).get("cost")) if len(costs) == len(listed) else None
                if cost is not None:
                    self._cost_of[used["response_id"]] = cost
        for lasted in as_list(told.get("response_latencies")):
            seconds = as_dict(lasted).get("latency")
            if isinstance(seconds, (int, float)) and as_word(as_dict(lasted).get("response_id")):
                self._latency[lasted["response_id"]] = seconds * 1000
        self.model = as_word(told.get("model_name")) or self.model

    def take_totals(self, told: dict[str, Any], of: str = "") -> None:
        """Running totals: what an update adds was used by the answer that comes next."""
        self.model = as_word(told.get("model_name")) or self.model
        total = as_dict(told.get("accumulated_token_usage"))
        known = self._totals.setdefault(of, {})
        for name in _COUNTS:
            count = whole_number(total.get(name))
            if count is not None and count > known.get(name, 0):
                self._grown[name] = self._grown.get(name, 0) + count - known.get(name, 0)
                known[name] = count
        cost = amount(told.get("accumulated_cost"))
        if cost is not None and cost > self._costs.get(of, 0.0):
            self._grown_cost += cost - self._costs.get(of, 0.0)
            self._costs[of] = cost

    def knows(self, answer_id: str) -> bool:
        """Whether it is told what this answer used."""
        return answer_id in self._by_answer

    def model_of(self, answer_id: str) -> str:
        """Which model gave this answer."""
        return as_word(self._by_answer.get(answer_id, {}).get("model")) or self.model

    def settle(self, step: Step, answer_id: str, own: Any = None, *, in_totals: bool = True) -> None:
        """
        Give an answer what it used: by its id, by its own response, else by what the totals grew by.

        What is told of one answer is in the totals too, now or at their next update, unless they leave it out.
        """
        used = self._by_answer.pop(answer_id, None) or (own if isinstance(own, dict) else None)
        cost = self._cost_of.pop(answer_id, None)
        if used is None and any(count > 0 for count in self._grown.values()):
            used, self._grown = {name: max(count, 0) for name, count in self._grown.items()}, {}
        elif used is not None and in_totals:
            for name in _COUNTS:
                self._grown[name] = self._grown.get(name, 0) - (whole_number(used.get(name)) or 0)
        if cost is not None and step.fields["cost_usd"] is None:
            step.fields["cost_usd"] = cost
            self._grown_cost -= cost if in_totals else 0.0
        if used is not None and step.fields["usage"] is None:
            step.fields["usage"] = normalise_usage(_as_usage(used))
        if answer_id in self._latency:
            step.duration_ms = self._latency.pop(answer_id)
        if self._grown_cost > _NO_COST and step.fields["cost_usd"] is None:
            step.fields["cost_usd"], self._grown_cost = self._grown_cost, 0.0

    def leave(self, step: Step | None) -> None:
        """What the totals grew by after the last answer was its use too."""
        if step is None or not any(count > 0 for count in self._grown.values()):
            return
        known = dict(step.fields["usage"] or {})
        for name in ("prompt_tokens", "completion_tokens"):
            known[name] = (known.get(name) or 0) + max(self._grown.get(name, 0), 0)
        known["total_tokens"] = known["prompt_tokens"] + known["completion_tokens"]
        step.fields["usage"], self._grown = normalise_usage(known), {}


def _as_usage(used: dict[str, Any]) -> dict[str, Any]:
    if "cache_read_tokens" not in used and "cache_write_tokens" not in used:
        return {key: value for key, value in used.items() if key not in ("model", "response_id")}
    usage: dict[str, Any] = {name: whole_number(used.get(name)) for name in ("prompt_tokens", "completion_tokens")}
    if used.get("cache_read_tokens"):
        usage["prompt_tokens_details"] = {"cached_tokens": used["cache_read_tokens"]}
    if used.get("cache_write_tokens"):
        usage["cache_creation_input_tokens"] = used["cache_write_tokens"]
    if used.get("reasoning_tokens"):
        usage["completion_tokens_details"] = {"reasoning_tokens": used["reasoning_tokens"]}
    return usage
