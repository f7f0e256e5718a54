"""What redaction misses and eats, on lists half of which no rule was written for; `python -m benchmarks.redaction`."""

from __future__ import annotations

import random
import string
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.redaction import RedactionRules, Redactor
from benchmarks.redaction import (
    FORMS,
    HARMLESS,
    MORE_FORMS,
    NAMES,
    SHAPES,
    eaten,
    form_leaks,
    is_changed,
    name_leaks,
    shape_leaks,
    written_later,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

LISTS: dict[str, tuple[list[Any], Callable[[Redactor, Any], bool], float]] = {
    "key shapes": (SHAPES, shape_leaks, 0.03),
    "named forms": (FORMS, form_leaks, 0.03),
    "more forms": (MORE_FORMS, form_leaks, 0.03),
    "key names": (NAMES, name_leaks, 0.03),
    "harmless values": (HARMLESS, is_changed, 0.04),
}


@pytest.mark.parametrize("half", [0, 1], ids=["first half", "held out"])
@pytest.mark.parametrize("name", LISTS)
def test_few_of_the_list_go_wrong(redactor: Redactor, name: str, half: int) -> None:
    """A rule for each example is no law; only what holds for the other half is one."""
    cases, fails, most = LISTS[name]
    wrong = [case for case in cases[half::2] if fails(redactor, case)]

    assert len(wrong) <= most * len(cases[half::2]), wrong


@pytest.mark.parametrize("part", ["seen", "held_out"])
def test_little_of_what_was_written_later_goes_wrong(redactor: Redactor, part: str) -> None:
    """Lists that no rule was read off; 6 % is what the worst of them must not pass."""
    for title, cases, fails in written_later(part):
        wrong = [case for case in cases if fails(redactor, case)]

        assert len(wrong) <= 0.06 * len(cases), (title, wrong)


def test_hardly_anything_is_eaten_of_source_code() -> None:
    """Agents that write programs show their source with every call."""
    library = Path(sysconfig.get_paths()["stdlib"])
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(library.glob("[a-m]*/*.py"))[:300]]
    characters, taken = eaten(Redactor(RedactionRules()), texts)

    assert taken / characters < 200e-6


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "Secret", "data": {"user": "YWRtaW4=", "url": "cG9zdGdyZXM6Ly9h"}},
        {"kind": "Secret", "metadata": {"name": "db"}, "stringData": {"conn": "YWRtaW4="}},
        {"auth_type": "hunter2-Xq9"},
        {"token_name": "9aTz4PqLmV0bXc2RkWn7Ys1D"},
    ],
)
def test_a_form_gives_a_secret_away_in_a_dict_too(redactor: Redactor, value: dict[str, Any]) -> None:
    """Tools hand over parsed YAML as often as its text."""
    encoded = redactor.seal({"value": value}).encoded

    assert b"__REDACTED__" in encoded
    assert not any(secret in encoded for secret in (b"YWRtaW4=", b"cG9z", b"hunter2", b"9aTz4"))


UNITS = [
    "AzureKeyCredential(", 'Client("a", ', "kind: Secret\ndata:\n", 'variable "key" {', 'key || "a" ',
    "echo a | docker ", "secret set a=", "token: a b ", "class Cookie:\n ", '"Cookie:"', "token.text == 'a' ",
    'name="key">a', "password=f(", "token_type=", "dbpass=", "token = aa ", "https://a.hook/",
    " -p aA1aA1aA1aA1aA1aA1 ",
    "passwords:\n- a\n", "a,password\nb,c\n", "(a, token) values ('a', 'b'), ",
    "<password a='", 'password: a or "', "token = f('a', ",
    "sksk-", 'login("a", ', 'token = """a\n', 'print("token=" ',
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_the_time_of_a_form_grows_with_the_text_and_no_faster(unit: str) -> None:
    """A prompt made of one half of a form must not hold the agent up."""

    def seconds(length: int) -> float:
        redactor = Redactor(RedactionRules(max_field_bytes=1_000_000))
        payload = {"text": "password=1 " + unit * (length // len(unit))}
        began = time.process_time()
        redactor.seal(payload)
        return time.process_time() - began

    seconds(1000)
    short = min(seconds(10_000) for _ in range(3))
    long = min(seconds(80_000) for _ in range(3))

    assert long < 8 * short * 3 + 0.01


@pytest.mark.parametrize("kind", ["m", "w"], ids=["letters and digits", "with dashes"])
def test_a_drawn_text_after_any_prefix_is_a_key(redactor: Redactor, kind: str) -> None:
    """Providers come and go; nearly all of them make their keys of a short prefix and a long drawn text."""
    dice = random.Random(4)
    prefixes = ["".join(dice.choices(string.ascii_letters, k=dice.randint(2, 9))) for _ in range(60)]
    templates = [f"{prefix}{dice.choice('_-.')}{{{kind}{dice.randint(34, 60)}}}" for prefix in prefixes]

    assert sum(shape_leaks(redactor, template) for template in templates) <= 1


@pytest.mark.parametrize(
    "text",
    [
        "sha512-9f4bBzLq0aG2v5bXo1Q8m3nKpTt7uYw6sRcD2eF4gH5iJ6kL7mN8oP9qR0sT1uV2wX3yZ4aB5cD6eF7gH8iJ9k",
        "call_Zx81KqPw93LmNb52VcRt7Y0s",
        "resp_68a1b2c3d4e5f60718293a4b5c6d7e8f9012a3b4c5d6e7f8",
        "test_a_dict_changed_by_another_thread_is_still_recorded",
        "some_module.ThisIsAVeryLongClassNameForATestOfTheParser",
    ],
)
def test_hashes_ids_and_long_names_are_no_keys(redactor: Redactor, text: str) -> None:
    """They stand in every run, and debugging needs them."""
    assert redactor.seal({"value": text}).value == {"value": text}


@pytest.mark.parametrize(
    "text",
    [
        'print("shlex: token=" + repr(raw))\nprint("done")',
        'raise Error(("<tokenize>", lnum, pos, line)) or "EOF"',
        'HELP_TOKEN = """\nA token to say where to start.\nNothing else is needed.\n"""',
        'TOKEN_BLOCK_BEGIN: "begin of statement block"',
        "SECRET_KEY = 'aws_secret_access_key'",
        'ENV_VAR_TOKEN = "AWS_SESSION_TOKEN"',
        "for result in found:\n    exposed, token = result\n",
        "\"AdminPassword\": {\n  'type': 'string', 'description': 'The password of the administrator 1'}",
        'auth_header = f"AWS {self.access_key}:{signature}"',
        "parser.add_argument('--api-key', required=True, help='your key')",
        "raise exceptions.InvalidS3LoggingPersistentUiLogsPolicyError",
        "HTB{t3h_FuTUr3_15_bR1ghT_1_H0p3_y0uR3_W34r1nG_5h4d35}",
        "The authorization: granted by the board in 2019.",
        ".password-field:focus{outline:0}",
        "https://docs.example.com/webhooks/v2/overview",
    ],
)
def test_what_programs_say_of_secrets_is_kept(redactor: Redactor, text: str) -> None:
    """A quote that closes, a help text, a name in quotes, a variable: none of them gives anything away."""
    assert redactor.seal({"value": text}).value == {"value": text}


def test_which_tests_should_pass_is_no_password(redactor: Redactor) -> None:
    """The data of benchmarks for agents is full of it."""
    value = {"FAIL_TO_PASS": '["test/rules/std_L060_test.py::test__rules__std_L060_raised"]'}

    assert redactor.seal(value).value == value


@pytest.mark.parametrize(
    "template",
    [
        "ctx7sk-{g}",
        "SWMTKN-1-{l50}-{l25}",
        "https://outlook.example.com/webhook/{g}/IncomingWebhook/{h32}",
        "twine upload -u me -p {m30} dist",
        "vault login {m26}",
        'smtp.login("me@example.com", "{m9}7xQ")',
        'DriverManager.getConnection(url, "root", "{m9}7xQ")',
        'var apiKey = []byte("{m32}")',
        'client.setPassword("{m12}")',
        "keytool -storepass {m9}7xQ -list",
        "Set-Cookie: sid={m32}; HttpOnly",
        "password = '{m9}' + other",
        'it\'s the password: "{m12}", is it not?',
        "the key acme|{m40}. And that was it",
        "the key acme-{m40}. And that was it",
    ],
)
def test_what_is_drawn_goes_wherever_it_stands(redactor: Redactor, template: str) -> None:
    """After one letter, inside a conversion, as the second of two texts that log somebody in."""
    assert not form_leaks(redactor, template)
