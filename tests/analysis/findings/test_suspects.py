"""Which steps of a failed run are named first, and what is known of its outcome."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.analysis.findings import Examination, examine
from agentdbg.analysis.known_outcome import outcome_in_metadata
from agentdbg.analysis.suspects import RunStory
from agentdbg.analysis.suspects.origins import where_from
from tests.analysis.story import Story

ASKED = [{"role": "user", "content": "How many albums did Ana Lua publish between 2000 and 2009?"}]


def _examined(story: Story, outcome: str | None = "failed", status: str = "ok") -> Examination:
    meta = story.meta(status)
    if outcome is not None:
        meta["mark"] = {"outcome": outcome, "why": ""}
    return examine(story.events, meta)


def test_the_decision_is_named_before_the_call_that_failed() -> None:
    """A failing call is where it shows; the model that asked for it is where it went wrong."""
    story = Story()
    decision = story.llm(ASKED, {"content": "", "tool_calls": [{"function": {"name": "search", "arguments": "{}"}}]})
    call = story.tool("search", {}, error={"error_type": "KeyError", "message": "'query'"}, parent=decision)
    story.llm(ASKED, "She published four albums.")
    story.end()
    first = _examined(story, None).suspects[0]
    assert (first.number, first.numbers, first.kind) == (decision, (decision, call), "asked_for_failure")
    assert first.sentence == f"gpt-4o #{decision} asked for search #{call}, which failed: KeyError: 'query'."


def test_code_in_an_answer_is_an_action_and_its_output_belongs_to_it() -> None:
    """Agents that act in text record no tool: the next prompt says how it went."""
    story = Story()
    story.llm(ASKED, "We should look for a list of her albums.")
    acted = story.llm(ASKED, "```python\nprint(web('albums'))\n```")
    seen = {
        "role": "user",
        "content": "exitcode: 1 (execution failed)\nCode output: NameError: name 'web' is not defined",
    }
    heard = story.llm([*ASKED, {"role": "assistant", "content": "…"}, seen], "Then the answer is 4.")
    story.end()
    first = _examined(story).suspects[0]
    assert first.numbers == (acted, heard)
    assert "NameError: name 'web' is not defined" in first.sentence


def test_data_typed_into_code_is_told_from_data_that_was_given() -> None:
    """A table nobody gave is made up; the same table after a search is work."""
    made_up = '```python\nalbums = ["Mar Aberto", "Luz de Maio", "Cinza", "Vento Sul"]\nprint(len(albums))\n```'
    for source, expected in ((None, True), ("Mar Aberto, Luz de Maio, Cinza, Vento Sul, Raiz", False)):
        story = Story()
        story.llm(ASKED, "I will search.")
        if source:
            story.tool("search", {"q": "Ana Lua"}, source)
        wrote = story.llm(ASKED, made_up)
        story.end()
        typed = [one.number for one in _examined(story).suspects if one.kind == "typed_data"]
        assert typed == ([wrote] if expected else []), source


def _says(story: Story, talk: list[dict[str, Any]], speaker: str, text: str) -> int:
    """One speaker's turn; the others hear it."""
    message = {"role": "assistant", "name": speaker, "content": text}
    number = story.llm(list(talk), message)
    talk.append(message)
    return number


def test_where_nothing_shows_those_who_worked_first_come_before_those_who_plan_or_close() -> None:
    """A ledger, the choice of a speaker and a closing word are seldom the cause."""
    story, talk = Story(), list(ASKED)
    _says(story, talk, "Orchestrator", "Initial plan: ask the surfer for her albums.")
    worked = []
    for page in ("discography", "biography", "concerts"):
        _says(story, talk, "Orchestrator", "Next speaker Surfer")
        worked.append(_says(story, talk, "Surfer", f"I clicked '{page}'. Here is a screenshot of her {page}."))
    _says(story, talk, "Orchestrator", "TERMINATE")
    story.end()
    suspects = _examined(story).suspects
    assert [suspect.number for suspect in suspects] == worked
    assert suspects[0].sentence == f"Surfer #{worked[0]} is the first step that worked on the task."


def test_a_talk_that_begins_with_the_task_takes_it_for_given() -> None:
    """Agents that talk among themselves have no prompt: what the first message holds is no claim of its speaker."""
    story = Story()
    talk: list[dict[str, Any]] = []
    _says(story, talk, "Music_Expert", "# Task: how many albums did Ana Lua publish between 2000 and 2009?")
    terminal = "There is no code from the last 1 message for me to execute."
    _says(story, talk, "Computer_terminal", terminal)
    _says(story, talk, "Music_Expert", "I will look at what Ana Lua did between 2000 and 2009.")
    claimed = _says(story, talk, "Critic_Expert", "The albums of Ana Lua are Mar Aberto of 2003 and Luz Fria of 2007.")
    _says(story, talk, "Music_Expert", "That is agreed, and the answer is 2.")
    _says(story, talk, "Music_Expert", "TERMINATE")
    story.end()
    first = _examined(story, None).suspects[0]
    assert (first.number, first.kind) == (claimed, "claimed_alone")
    assert "2003" in first.sentence
    assert "Computer_terminal" not in " ".join(suspect.sentence for suspect in _examined(story).suspects)


def test_a_late_failure_comes_before_an_early_step_with_no_mark() -> None:
    """A prior is where to look when nothing shows; here something shows."""
    story = Story()
    for words in ("I open the list.", "I read it.", "I count.", "I compare."):
        story.tool("read_list", {"page": words}, {"rows": [words]}, parent=story.llm(ASKED, words))
    decision = story.llm(ASKED, "Now the prices.")
    story.tool("get_prices", {}, error={"error_type": "KeyError", "message": "'year'"}, parent=decision)
    story.llm(ASKED, "They cost 12 each.")
    story.end()
    assert _examined(story).suspects[0].number == decision


def test_an_id_that_nobody_gave_is_named_with_its_argument() -> None:
    """An order number out of nowhere changes somebody else's order."""
    story = Story()
    story.llm([{"role": "user", "content": "Cancel order A1001"}], "I will.")
    decision = story.llm([{"role": "user", "content": "Cancel order A1001"}], "Cancelling.")
    call = story.tool("cancel_order", {"order": {"id": "B7734X"}}, "done", parent=decision)
    story.llm(None, "Your order is cancelled.")
    story.end()
    first = _examined(story).suspects[0]
    assert first.numbers == (decision, call)
    assert "the order.id “B7734X”, which nothing before it holds" in first.sentence


def test_a_run_known_to_have_failed_has_three_suspects_and_a_good_one_none() -> None:
    """Silence about a failure helps nobody; noise about a success is worse."""
    story = Story()
    for words in ("First I look.", "Then I compare.", "Then I decide.", "It is blue."):
        story.llm(ASKED, words)
    story.end()
    failed, unknown, good = (_examined(story, outcome) for outcome in ("failed", None, "passed"))
    assert [suspect.rank for suspect in failed.suspects] == [1, 2, 3]
    assert failed.state == "problems"
    assert (unknown.suspects, unknown.state) == ([], "ok")
    assert (good.suspects, [finding.kind for finding in good.findings], good.state) == ([], ["time_spent"], "ok")


def test_what_a_good_run_recovered_from_is_not_told() -> None:
    """A passing run with a failed lookup on the way is a passing run."""
    story = Story()
    decision = story.llm(ASKED, "I look.")
    for _ in range(4):
        story.tool("search", {"q": "a"}, error={"error_type": "Timeout", "message": "slow"}, parent=decision)
    story.llm(ASKED, "Four.")
    story.end()
    assert _examined(story, None).state == "problems"
    assert _examined(story, "passed").state == "ok"


@pytest.mark.parametrize(
    ("metadata", "passed"),
    [
        ({"reward": 0.0}, False),
        ({"reward": 1.0}, True),
        ({"eval": {"score": 0}}, False),
        ({"reward_info": {"reward": 1}}, True),
        ({"utility": False}, False),
        ({"passed": "yes"}, True),
        ({"scores": {"match": {"value": "I"}}}, False),
        ({"scores": {"exact": 1, "style": 0}}, False),
        ({"scores": [{"name": "accuracy", "value": 0}]}, False),
        ({"evaluations": [{"name": "style", "score": 1}, {"name": "correctness", "score": 0}]}, False),
        ({"metrics": {"f1": 0.3, "threshold": 0.5}}, False),
        ({"metrics": {"f1": 0.7, "threshold": 0.5}}, True),
        ({"evaluation": {"status": "failed"}}, False),
        ({"job": {"status": "failed"}}, None),
        ({"scores": {"toxicity": 0.0, "error_rate": 0}}, None),
        ({"scores": {"harmlessness": 0.0}}, False),
        ({"label": "incorrect"}, False),
        ({"label": "no"}, None),
        ({"info": '{"reward": 0}'}, False),
        ({"tests_passed": 3, "tests_total": 5}, False),
        ({"tests_passed": 5, "tests_total": 5}, True),
        ({"is_correct": "false"}, False),
        ({"info": {"exit_status": "exit_cost"}}, False),
        ({"info": {"exit_status": "exit_cost"}, "resolved": True}, True),
        ({"exit_status": "submitted"}, None),
        ({"error": "context length exceeded"}, False),
        ({"error": "none"}, None),
        ({"score": 0.7}, None),
        ({"score": 0.7, "pass_mark": 0.8}, False),
        ({"score": 87}, None),
        ({"question": "passed or failed?", "is_correct": None}, None),
        ({"imported_from": {"success": False}}, None),
        ("no table", None),
    ],
)
def test_scores_in_metadata_are_read_at_any_depth(metadata: Any, passed: bool | None) -> None:
    """Benchmarks write their verdict beside the run; a score in between says nothing without a pass mark."""
    found = outcome_in_metadata(metadata)
    assert (None if found is None else found.passed) is passed


@pytest.mark.parametrize("nothing", [[], {"hits": []}, {"count": 0}, "no results", {"ok": False, "message": "no"}])
def test_a_search_in_other_words_that_finds_nothing_is_one_loop(nothing: Any) -> None:
    """Eight reworded searches without a hit are the commonest waste, and no two of them are equal."""
    story = Story()
    for words in ("list", "discography", "records", "catalogue", "releases", "works"):
        decision = story.llm(ASKED, f"I look for her {words}.")
        story.tool("search", {"query": f"Ana Lua singer albums {words}"}, nothing, parent=decision)
    story.llm(ASKED, "Nothing was found.")
    story.end()
    loops = [finding for finding in _examined(story, None).findings if finding.kind == "loop"]
    assert [finding.severity for finding in loops] == ["warning"]


def test_one_lookup_after_the_other_is_work_even_if_each_finds_nothing() -> None:
    """A batch asks for different things."""
    story = Story()
    for order in ("A1", "B2", "C3", "D4", "E5", "F6"):
        decision = story.llm(ASKED, f"Now {order}.")
        story.tool("get_order", {"id": order}, [], parent=decision)
    story.llm(ASKED, "None of them exists.")
    story.end()
    assert [finding for finding in _examined(story, None).findings if finding.severity != "info"] == []


def test_a_value_is_traced_to_the_step_that_brought_it() -> None:
    """`--where`: what a tool gave is a source, what a model said first came from nowhere."""
    story = Story()
    decision = story.llm(ASKED, "I look.")
    call = story.tool("search", {"q": "albums"}, {"total": 1002.0}, parent=decision)
    said = story.llm(ASKED, "There are 1,002 albums by 57 singers.")
    told = RunStory()
    for number, event in enumerate(story.events, 1):
        told.observe(number, event, event["payload"])
    assert [(found.number, found.is_source) for found in where_from(told, "1,002")] == [(call, True), (said, False)]
    assert [(found.number, found.is_source) for found in where_from(told, "57")] == [(said, False)]
    assert where_from(told, "2009")[0].number is None
    assert where_from(told, "Berlin") == []


def test_asking_a_third_time_for_what_failed_twice_is_a_ground_of_its_own() -> None:
    """The first failure may be bad luck; the third shows that nothing was learnt."""
    story = Story()
    asked = []
    for _ in range(3):
        asked.append(
            story.llm(ASKED, {"content": "", "tool_calls": [{"function": {"name": "scroll", "arguments": "{}"}}]})
        )
        story.tool(
            "scroll", {"": ""}, error={"error_type": "TypeError", "message": "bad argument ''"}, parent=asked[-1]
        )
    story.llm(ASKED, "She published four albums.")
    story.end()
    assert [(one.number, one.kind) for one in _examined(story, None).suspects][:2] == [
        (asked[0], "asked_for_failure"),
        (asked[2], "asked_again"),
    ]


def _talk(*answers: str, tool: bool = False) -> Story:
    """A person asks, and asks again after each answer."""
    story = Story()
    prompt = [{"role": "user", "content": "Please change my flight."}]
    for place, answer in enumerate(answers):
        story.llm(prompt, answer)
        if tool and not place:
            story.tool("get_user", {"name": "Ana"}, {"id": "ana_1", "flights": ["HAT-12"]})
        asked = {"role": "user", "content": f"And without the number, version {place}?"}
        prompt = [*prompt, {"role": "assistant", "content": answer}, asked]
    story.end()
    return story


def test_a_refusal_without_a_single_look_is_named() -> None:
    """Whoever can look something up and sends the person away instead has failed them; a look before it is work."""
    answers = ("Sure, what is its number?", "Unfortunately, I need the number. You find it in your mail.", "Goodbye.")
    kinds = [suspect.kind for suspect in _examined(_talk(*answers), None).suspects]
    assert kinds[:1] == ["turned_away"]
    assert "turned_away" not in [one.kind for one in _examined(_talk(*answers, tool=True), None).suspects]


def test_telling_a_person_that_something_did_not_work_is_no_ground() -> None:
    """Often it is the right answer; among agents it is where the work stopped."""
    said = "I was unable to find such a flight."
    assert "met_a_wall" not in [one.kind for one in _examined(_talk("Let me see.", said, tool=True), None).suspects]
    alone = Story()
    alone.llm(ASKED, "I look.")
    alone.llm(ASKED, said)
    alone.llm(ASKED, "Then there are none.")
    alone.end()
    assert "met_a_wall" in [one.kind for one in _examined(alone, None).suspects]


def test_the_step_before_a_ledger_without_progress_is_named() -> None:
    """The run says itself where it went astray; that a plan speaks of code blocks does not make it work."""
    plan = "We are working to address the request. The terminal runs scripts (quoted in ```python code blocks)."
    ledger = 'Updated Ledger: {"is_in_loop": {"reason": "…", "answer": %s}, "next_speaker": {"answer": "Surfer"}}'
    story = Story()
    story.llm(ASKED, plan, model="Orchestrator")
    story.llm(ASKED, "I typed 'albums' into the search bar. A list of shops.", model="Surfer")
    story.llm(ASKED, ledger % "false", model="Orchestrator")
    astray = story.llm(ASKED, "I clicked the first advertisement. Buy now!", model="Surfer")
    said = story.llm(ASKED, ledger % "true", model="Orchestrator")
    story.llm(ASKED, "I clicked the browser back button. A list of shops.", model="Surfer")
    story.end()
    found = _examined(story)
    assert (found.suspects[0].kind, found.suspects[0].numbers) == ("no_progress", (astray, said))
    assert 1 not in [suspect.number for suspect in found.suspects]


def test_of_a_sentence_the_figures_and_names_tell_where_the_answer_came_from() -> None:
    """That nothing before holds a whole sentence says nothing."""
    story = Story()
    decision = story.llm(ASKED, "I look it up.")
    story.tool("run_sql", {"query": "SELECT count(*) FROM users"}, [{"count": 312}], parent=decision)
    story.llm(ASKED, "312 users signed up in the month of May.")
    story.end()
    assert {suspect.kind for suspect in _examined(story).suspects} == {"led_to_answer", "position"}


def test_an_edit_that_found_nothing_to_replace_has_failed() -> None:
    """It is no lookup that came back empty: the file is as it was."""
    story = Story()
    story.tool("read_file", {"path": "cli.py"}, "import argparse", parent=story.llm(ASKED, "I read it."))
    decision = story.llm(ASKED, "I add the flag.")
    story.tool("edit", {"path": "cli.py", "old": "argprase"}, "No match found for the old text.", parent=decision)
    story.tool("edit", {"path": "cli.py", "old": "argparse"}, "No output", parent=story.llm(ASKED, "Once more."))
    story.llm(ASKED, "The flag is there.")
    story.end()
    failed = [one for one in _examined(story).suspects if one.kind == "asked_for_failure"]
    assert [one.number for one in failed] == [decision]


def test_a_sentence_about_a_model_without_a_name_begins_like_one() -> None:
    """An imported conversation does not say which model it was."""
    story = Story()
    decision = story.llm(ASKED, "I look.", model="unknown")
    story.tool("get_prices", {}, error={"error_type": "KeyError", "message": "'year'"}, parent=decision)
    story.end()
    suspect = _examined(story).suspects[0]
    assert suspect.sentence.startswith(f"The model #{decision} asked for get_prices")
    assert suspect.line["parts"][0] == {"text": "The model", "style": "plain"}  # our words, not the program's


def test_the_next_item_of_a_batch_puts_nothing_right() -> None:
    """Two invitations that were sent do not send the third."""
    story = Story()
    for who, sent in (("ana", True), ("bo", False), ("cy", True)):
        asked = story.llm(ASKED, {"content": "", "tool_calls": [{"function": {"name": "send_invite"}}]})
        answer = {"sent": True} if sent else {"ok": False, "error": "mailbox full"}
        story.tool("send_invite", {"to": who}, answer, parent=asked)
    story.llm(ASKED, "All three were invited.")
    story.end()

    sentence = next(one.sentence for one in _examined(story).suspects if one.kind == "asked_for_failure")

    assert sentence.endswith("which failed: mailbox full.")


def test_another_call_that_worked_is_not_called_the_same() -> None:
    """A shell that ran the tests and then printed a file did not run the tests again."""
    story = Story()
    for command, code in (("pytest -q", 1), ("cat a.py", 0)):
        asked = story.llm(ASKED, {"content": "", "tool_calls": [{"function": {"name": "bash"}}]})
        story.tool("bash", {"command": command}, {"exit_code": code, "stdout": "a"}, parent=asked)
    story.llm(ASKED, "There it is.")
    story.end()

    sentence = next(one.sentence for one in _examined(story).suspects if one.kind == "asked_for_failure")

    assert sentence.endswith("Another call of bash worked at #5.")


def test_a_line_of_a_log_is_no_failure_of_whoever_reads_it() -> None:
    story = Story()
    lines = "10:02 ERROR ConnectionError: db timeout\n10:09 ERROR ConnectionError: db timeout"
    story.tool("logs", {"service": "pay"}, lines, parent=story.llm(ASKED, "I look."))
    story.llm(ASKED, "There were two, both of the database.")
    story.end()

    assert "asked_for_failure" not in {one.kind for one in _examined(story).suspects}


def test_words_that_are_wrong_come_before_a_step_with_no_mark() -> None:
    """An answer does nothing, but here its words are the fault."""
    story = Story()
    asked = story.llm(ASKED, {"content": "", "tool_calls": [{"function": {"name": "get_areas"}}]})
    story.tool("get_areas", {}, {"biel": 39.3, "zug": 38.3}, parent=asked)
    answer = story.llm(ASKED, "Biel is larger: 39.3 - 38.3 = 2.0.")
    story.end()

    assert _examined(story).suspects[0].number == answer
