"""Families of runs: forks under their parents, whatever is missing or tangled."""

from __future__ import annotations

from typing import Any

from agentdbg.analysis.families import family_of, in_trees, parent_of, relation, served_and_live


def run(run_id: str, parent: str | None = None, **origin: Any) -> Any:
    replay = {"mode": "fork", "parent_run_id": parent, **origin} if parent else {"state": "whole"}
    return {"run_id": run_id, "replay": replay}


def tree(*runs: Any) -> list[tuple[str, int]]:
    return [(one["run_id"], depth) for one, depth in in_trees(runs)]


def test_forks_stand_under_their_parent_the_oldest_first() -> None:
    """Runs come newest first; a fork of a fork is one step further in."""
    runs = [run("c", "a"), run("x"), run("d", "b"), run("b", "a"), run("a")]

    assert tree(*runs) == [("x", 0), ("a", 0), ("b", 1), ("d", 2), ("c", 1)]
    assert [one["run_id"] for one, _ in family_of("d", runs)] == ["a", "b", "d", "c"]
    assert family_of("nobody", runs) == []


def test_a_fork_whose_parent_is_gone_is_a_run_of_its_own() -> None:
    """Deleting a parent hides no fork; nor do files that name each other, or themselves, as parents."""
    assert tree(run("b", "deleted")) == [("b", 0)]
    assert sorted(tree(run("a", "b"), run("b", "a"), run("c", "c"))) == [("a", 0), ("b", 0), ("c", 0)]


def test_a_relation_is_said_in_a_few_words() -> None:
    """What was changed is what tells forks apart."""
    edits = [{"path": "result.ok", "op": "set", "value": False}, {"path": "system", "op": "append", "value": "x" * 99}]
    said = relation(run("b", "a", at={"n": 3}, edits=edits, mocks=["refund={}"]))

    assert said.startswith('fork at #3, result.ok=false, system+="xxx')
    assert said.endswith("…, mock refund")
    assert relation(run("b", "a", mode="replay", equal=True)) == "replay, equal"
    damaged: Any = {"run_id": "a", "replay": "?"}
    assert (relation(run("a")), parent_of(damaged)) == ("", None)


def test_what_was_served_is_what_the_run_says() -> None:
    """Draws that are made live are no calls of models or tools, so what was served is not the rest."""

    def counted(**origin: Any) -> tuple[int, int] | None:
        return served_and_live(run("b", "a", **origin) | {"counts": {"llm_calls": 2, "tool_calls": 3}})

    assert counted(served=3, edited=1, mock=1, live=4) == (5, 4)
    assert counted(live=1) == (4, 1)
    assert counted() is None
