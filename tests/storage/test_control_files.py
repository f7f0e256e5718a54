"""Control files: the first answer counts, and nothing that another user or a link put there is taken."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.owner import describe_owner
from agentdbg.storage.control_files import (
    MOST_COMMAND_BYTES,
    answer_pause,
    control_dir,
    forget_breaks,
    new_pause_id,
    pause_headline,
    paused_in,
    post_pause,
    read_breaks,
    reject_command,
    take_command,
    withdraw_pause,
    write_breaks,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def pause(tmp_path: Path) -> dict[str, Any]:
    pause = {"pause_id": new_pause_id(), "since": "2026-01-01T00:00:00.000Z", "call": {"name": "refund"}}
    post_pause(tmp_path, pause)
    return pause


def test_a_pause_is_answered_once(tmp_path: Path, pause: dict[str, Any]) -> None:
    """The terminal, the page and an assistant may all answer; the program must obey one of them."""
    assert paused_in(tmp_path) == [pause]
    assert answer_pause(tmp_path, pause["pause_id"], {"do": "continue"})
    assert not answer_pause(tmp_path, pause["pause_id"], {"do": "abort"})

    assert take_command(tmp_path, pause["pause_id"]) == {"do": "continue"}

    withdraw_pause(tmp_path, pause["pause_id"])
    assert not paused_in(tmp_path)
    assert not Path(control_dir(tmp_path)).exists()
    assert not answer_pause(tmp_path, pause["pause_id"], {"do": "continue"})


def test_pauses_come_and_go_at_once(tmp_path: Path) -> None:
    """The last one to go takes the folder with it, under the hands of those that come, look or set breakpoints."""
    troubles: list[BaseException] = []
    over = threading.Event()

    def again_and_again(act: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            try:
                while not over.is_set():
                    act()
            except BaseException as error:
                troubles.append(error)

        return run

    def wait_a_moment() -> None:
        pause_id = new_pause_id()
        post_pause(tmp_path, {"pause_id": pause_id, "since": ""})
        assert pause_id in {pause["pause_id"] for pause in paused_in(tmp_path)}
        withdraw_pause(tmp_path, pause_id)

    def set_breaks() -> None:
        write_breaks(tmp_path, ["tool:refund"])
        forget_breaks(tmp_path)

    acts = [wait_a_moment] * 3 + [set_breaks, lambda: paused_in(tmp_path), lambda: read_breaks(tmp_path)]
    threads = [threading.Thread(target=again_and_again(act)) for act in acts]
    for thread in threads:
        thread.start()
    over.wait(1)
    over.set()
    for thread in threads:
        thread.join()

    assert troubles == []


def test_files_are_private(tmp_path: Path, pause: dict[str, Any]) -> None:
    """What waits may hold what the agent works on."""
    modes = [
        os.stat(path).st_mode & 0o777 for path in [Path(control_dir(tmp_path)), *Path(control_dir(tmp_path)).iterdir()]
    ]

    assert modes == [0o700, 0o600]


def _linked(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere.json"
    elsewhere.write_text('{"do": "abort"}')
    elsewhere.chmod(0o600)
    path.symlink_to(elsewhere)


def _open_to_others(path: Path) -> None:
    path.write_text('{"do": "abort"}')
    path.chmod(0o644)


def _too_large(path: Path) -> None:
    path.write_text(json.dumps({"do": "abort", "value": "x" * MOST_COMMAND_BYTES}))
    path.chmod(0o600)


def _pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def _no_json(path: Path) -> None:
    path.write_text("[" * 100_000)
    path.chmod(0o600)


def _list(path: Path) -> None:
    path.write_text("[1]")
    path.chmod(0o600)


@pytest.mark.skipif(os.name != "posix", reason="file modes")
@pytest.mark.parametrize("forged", [_linked, _open_to_others, _too_large, _pipe, _no_json, _list])
def test_a_forged_command_does_nothing(tmp_path: Path, pause: dict[str, Any], forged: Callable[[Path], None]) -> None:
    """A command is taken only from a small regular file of our own user."""
    forged(Path(control_dir(tmp_path)) / f"command-{pause['pause_id']}.json")

    assert take_command(tmp_path, pause["pause_id"]) is None


@pytest.mark.skipif(os.name != "posix", reason="needs root to make a file of somebody else")
def test_another_users_command_does_nothing(tmp_path: Path, pause: dict[str, Any]) -> None:
    """Also where the folder was opened by mistake."""
    if os.getuid() != 0:
        pytest.skip("needs root to make a file of somebody else")
    path = Path(control_dir(tmp_path)) / f"command-{pause['pause_id']}.json"
    path.write_text('{"do": "abort"}')
    path.chmod(0o600)
    os.chown(path, 12345, 12345)

    assert take_command(tmp_path, pause["pause_id"]) is None


def test_a_linked_control_folder_is_not_followed(tmp_path: Path) -> None:
    """No symlink in the data folder is."""
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").mkdir()
    Path(control_dir(tmp_path / "run")).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="link"):
        post_pause(tmp_path / "run", {"pause_id": new_pause_id()})
    with pytest.raises(OSError, match="link"):
        write_breaks(tmp_path / "run", ["tool:refund"])


def test_nothing_is_read_through_a_linked_control_folder(tmp_path: Path, pause: dict[str, Any]) -> None:
    """Else who may write in one run's folder shows, answers and stops the program of another."""
    pause_id = pause["pause_id"]
    write_breaks(tmp_path, ["tool:refund"])
    assert answer_pause(tmp_path, pause_id, {"do": "continue"})
    (tmp_path / "run").mkdir()
    Path(control_dir(tmp_path / "run")).symlink_to(control_dir(tmp_path))

    assert paused_in(tmp_path / "run") == []
    assert not answer_pause(tmp_path / "run", pause_id, {"do": "abort"})
    assert take_command(tmp_path / "run", pause_id) is None
    assert read_breaks(tmp_path / "run") == []
    assert take_command(tmp_path, pause_id) == {"do": "continue"}


def test_only_pauses_that_somebody_waits_in_are_shown(tmp_path: Path, pause: dict[str, Any]) -> None:
    """The page offers an answer for each; one that nobody takes would look like a program that hangs."""
    folder = Path(control_dir(tmp_path))
    gone = {"pause_id": new_pause_id(), "since": "0", "owner": {**describe_owner(), "started": "1"}}
    ours = {"pause_id": new_pause_id(), "since": "1", "owner": describe_owner()}
    for one in (gone, ours):
        post_pause(tmp_path, one)
    damaged = {"paused-list.json": "[1]", "paused-torn.json": "{", "paused-other.json": json.dumps(pause)}
    for name, text in {**damaged, f"command-{new_pause_id()}.json": json.dumps(pause)}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)

    assert [one["pause_id"] for one in paused_in(tmp_path)] == [ours["pause_id"], pause["pause_id"]]


def test_an_answer_that_makes_no_sense_leaves_room_for_another(tmp_path: Path, pause: dict[str, Any]) -> None:
    """The program waits on, and the first to answer now is the first."""
    assert answer_pause(tmp_path, pause["pause_id"], {"do": "dance"})
    reject_command(tmp_path, pause["pause_id"])

    assert take_command(tmp_path, pause["pause_id"]) is None
    assert answer_pause(tmp_path, pause["pause_id"], {"do": "continue"})
    assert take_command(tmp_path, pause["pause_id"]) == {"do": "continue"}


def test_a_forged_command_is_taken_away(tmp_path: Path, pause: dict[str, Any]) -> None:
    """It is looked at ten times a second, for as long as the program waits."""
    path = Path(control_dir(tmp_path)) / f"command-{pause['pause_id']}.json"
    path.write_text("no JSON")
    path.chmod(0o600)

    assert take_command(tmp_path, pause["pause_id"]) is None
    assert not path.exists()


def test_an_answer_too_large_to_be_taken_is_refused_to_its_face(tmp_path: Path, pause: dict[str, Any]) -> None:
    """Written, it would only be thrown away where nobody sees it."""
    with pytest.raises(ValueError, match="4,000,000 are the most"):
        answer_pause(tmp_path, pause["pause_id"], {"do": "continue", "value": "x" * MOST_COMMAND_BYTES})

    assert answer_pause(tmp_path, pause["pause_id"], {"do": "continue"})


@pytest.mark.parametrize("told", ["[]", '{"breaks": 5}', '{"breaks": null}', "{", '{"breaks": [1, null]}'])
def test_breakpoints_that_cannot_be_read_are_none(tmp_path: Path, pause: dict[str, Any], told: str) -> None:
    """The program asks at each of its calls, and must not end because a file is odd."""
    del pause
    path = Path(control_dir(tmp_path)) / "breaks.json"
    path.write_text(told)
    path.chmod(0o600)

    assert read_breaks(tmp_path) == []


def test_breakpoints_go_with_their_run(tmp_path: Path) -> None:
    """Nothing of a run that is over waits to be found."""
    write_breaks(tmp_path, ["tool:refund"])
    forget_breaks(tmp_path)

    assert not Path(control_dir(tmp_path)).exists()


def test_a_pause_is_told_in_half_a_line() -> None:
    """A list of runs says what each waits at, also when a pause of another version says less."""
    assert pause_headline({"when": "after", "call": {"name": "refund"}}) == "Paused after refund, waiting for you"
    assert pause_headline({"when": 5, "call": None}) == "Paused at a call, waiting for you"


def test_breaks_are_set_from_outside(tmp_path: Path) -> None:
    """The page sets them by a click on a step's tool."""
    assert read_breaks(tmp_path) == []

    write_breaks(tmp_path, ["tool:refund"])

    assert read_breaks(tmp_path) == ["tool:refund"]


def test_an_id_of_another_form_is_no_pause(tmp_path: Path, pause: dict[str, Any]) -> None:
    """No path is built from the text of a request."""
    assert not answer_pause(tmp_path, "../../x", {"do": "abort"})
    assert not answer_pause(tmp_path, new_pause_id(), {"do": "abort"})
