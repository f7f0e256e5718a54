"""A model call as a person reads it: Markdown, code, trees, folds that the browser's search reaches, the raw text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Recorded
from tests.browser.gallery import Story, write_gallery
from tests.server.running import viewer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """The gallery."""
    data_dir = tmp_path_factory.mktemp("gallery")
    runs = write_gallery(data_dir)
    with viewer(data_dir) as running:
        yield Recorded(data_dir, runs, running)


@pytest.fixture
def answer(open_page: Callable[..., Page], recorded: Recorded) -> Page:
    """The last model call of the chart run, opened."""
    return open_page(recorded.address("chart", event="36"), ready="event-conversation .answer")


def test_an_answer_is_shown_as_its_author_meant_it(answer: Page) -> None:
    """Tables with bars, code without colours and stars around words are work for the reader."""
    said = answer.locator("event-conversation .answer")

    expect(said.locator("strong")).to_have_text("two years share a label")
    expect(said.locator("table tbody tr")).to_have_count(2)
    expect(said.locator("ol > li")).to_have_count(2)
    expect(said.locator(".fence .code-key").first).to_have_text("def")
    expect(said.locator(".fence .code-add")).to_contain_text("year_label")
    expect(said.get_by_role("link", name="the chart guide")).to_have_attribute("rel", "noopener noreferrer nofollow")


def test_a_result_stands_under_the_call_that_asked_for_it(answer: Page) -> None:
    """Between a call and its result may lie ten others; the reader should not have to match ids."""
    call = answer.locator("event-conversation .fresh .call", has_text="run_query")

    expect(call.locator(".result .result-label")).to_have_text("result #35")
    expect(call.locator(".result .tree")).to_contain_text('"source": "warehouse.revenue"')


def test_json_text_of_a_tool_is_shown_as_the_values_it_holds(
    open_page: Callable[..., Page], recorded: Recorded
) -> None:
    """Most tools answer with JSON in a string, and backslashes are no way to read it; Raw shows the letters."""
    story = Story("json text", 1)
    story.tool("look_up", {"body": '{"customer": {"name": "Dana"}}'}, '{"found": true, "rows": [1, 2]}', 5)
    run_id = story.write(recorded.data_dir)
    page = open_page(f"{recorded.viewer.origin}/?run_id={run_id}&event=2", ready="event-details .sides")
    sides = page.locator("event-details .sides")

    expect(sides.locator("dt", has_text="found")).to_be_visible()
    expect(sides.locator(".json-text", has_text="Dana")).to_be_visible()
    page.keyboard.press("m")
    expect(sides).to_contain_text('"{"found": true, "rows": [1, 2]}"')
    page.keyboard.press("m")


def test_a_short_result_in_json_is_one_line_of_values(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Most results are short, and braces in the letters of prose are hard to tell from words."""
    story = Story("short json", 1)
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    prompt = [
        {"role": "user", "content": "What did I order?"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"hits": [{"id": 65, "title": "T65"}]}'},
    ]
    story.llm("gpt-4o", prompt, "A kettle.", 900)
    run_id = story.write(recorded.data_dir)
    page = open_page(f"{recorded.viewer.origin}/?run_id={run_id}&event=2", ready="event-conversation .result")

    expect(page.locator("event-conversation .result .tree .leaf")).to_have_text('{hits: [{id: 65, title: "T65"}]}')


def test_what_is_folded_is_found_by_the_browsers_own_search(answer: Page) -> None:
    """Ctrl+F is what everyone knows; a word it finds in a fold opens that fold."""
    fold = answer.locator("event-conversation .before-fold")
    expect(fold.locator("> .fold")).to_have_attribute("aria-expanded", "false")
    before = fold.locator("> .before")
    expect(before).to_have_attribute("hidden", "until-found")
    expect(before).to_contain_text("Step 16")

    before.dispatch_event("beforematch")

    expect(fold.locator("> .fold")).to_have_attribute("aria-expanded", "true")
    expect(before.get_by_text("Step 16")).to_be_visible()


def test_raw_shows_every_letter_and_is_remembered(answer: Page, recorded: Recorded) -> None:
    """Whoever debugs a prompt needs the stars and the backticks too."""
    answer.keyboard.press("m")

    said = answer.locator("event-conversation .answer")
    expect(said).to_contain_text("**two years share a label**")
    expect(said.locator("table")).to_have_count(0)
    answer.goto(recorded.address("chart", event="36"))
    expect(answer.locator("event-conversation .answer")).to_contain_text("```python")
    answer.keyboard.press("m")
    expect(answer.locator("event-conversation .answer table")).to_be_visible()


def test_nothing_is_fetched_for_what_a_model_wrote(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """A picture in an answer would tell its server who reads which run, and when."""
    page = open_page(recorded.address("chart"))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate(
        """() => {
          const details = document.createElement("event-details");
          const text = "![x](https://evil.example/x.png) [y](javascript:alert(1)) <img src=https://evil.example/z>";
          details.context = { runId: "r", run: {}, total: 0, getRow: async () => null, fetchEvent: async () => ({}) };
          details.event = { event_id: "e", event_type: "LLM_CALL", name: "m", ts: "", payload: { response: text } };
          document.querySelector("main").append(details);
        }"""
    )
    page.wait_for_timeout(800)
    said = page.locator("main > event-details")
    page.evaluate("() => document.querySelector('main > event-details')?.redraw?.()")

    assert [url for url in asked if "evil" in url] == []
    expect(said.locator("img")).to_have_count(0)
    expect(said.locator(".no-media")).to_have_text("Image not loaded: x")
    assert all(href.startswith("https:") for href in said.locator("a").evaluate_all("all => all.map((a) => a.href)"))


def test_what_changed_since_the_call_before_is_told(answer: Page) -> None:
    """Why did it answer differently this time? The prompt of 300 messages says it in one line, if one can find it."""
    answer.locator("event-details [data-tab=changes]").click()
    changes = answer.locator("event-changes")

    expect(changes.locator(".since")).to_contain_text("3 messages added, 1 edited · system prompt · 1 tool")
    expect(changes.locator(".changed-part").first.locator("ins").last).to_have_text("16")
    expect(changes.locator(".lens-column")).to_have_count(18)
    expect(changes.locator(".lens-column[aria-pressed=true]")).to_contain_text("36")
    changes.locator(".lens-column", has_text="28").click()
    expect(answer.locator("event-changes .since")).to_contain_text("6 dropped")


def test_who_of_several_speaks_is_said(open_page: Callable[..., Page], tmp_path: Path) -> None:
    """In a talk of four agents, four turns of "model" are nobody's."""
    story = Story("round table", 1)
    said = [{"role": "assistant", "name": name, "content": f"I am {name}."} for name in ("alice", "bob_critic")]
    story.llm("gpt-4o", [{"role": "user", "name": "moderator", "content": "Begin."}, said[0]], said[1], 900)
    run_id = story.write(tmp_path)
    with viewer(tmp_path) as served:
        page = open_page(f"{served.origin}/?run_id={run_id}&event=2", ready="event-conversation .answer")

        names = page.locator("event-conversation .who .named")
        expect(names).to_have_text(["moderator", "alice", "bob_critic"])


def test_a_language_from_the_right_turns_round_neither_code_nor_our_words(
    open_page: Callable[..., Page], tmp_path: Path
) -> None:
    """A call whose brackets stand at the wrong end cannot be read, and a sentence of two ways loses its order."""
    story = Story("right to left", 1)
    answer = "وجدت رحلة **MS910**، استعمل `find(1)`:\n\n```python\nprint('مرحبا')\n```"
    story.llm("gpt-4o", [{"role": "user", "content": "أريد رحلة"}], answer, 900)
    run_id = story.write(tmp_path)
    with viewer(tmp_path) as served:
        page = open_page(f"{served.origin}/?run_id={run_id}&event=2", ready="event-conversation .answer .fence")
        said = page.locator("event-conversation .answer")

        expect(said.locator(".rich").first).to_have_css("direction", "rtl")
        for code in said.locator("code").all():
            expect(code).to_have_css("direction", "ltr")
        expect(said.locator(".fence")).to_have_css("text-align", "start")
        expect(page.locator("run-verdict .sentence bdi")).to_contain_text("MS910")
        expect(page.locator("run-verdict .sentence")).to_contain_text("Answered: وجدت")
