"""
How much redaction misses, and how much it eats that was harmless.

    python -m benchmarks.redaction [--show] [FOLDER OF TRAJECTORIES …]

Four lists in `redaction_cases` give the shares of key shapes, named forms and key names that leak, and of harmless
values that are changed. Each list has two halves: rules may be written for the first; the second is only counted, and
says how good they are on what they were not written for. The standard library's source, the text of the installed
packages and the JSON files of the folders given say what is eaten of text that nobody made for this, in parts per
million. `more_forms.txt` was held out, in two parts; rules have been written for all of it since. The lists in
`written_later` are in two parts. The `seen` ones were written without a look at the rules, in ten rounds, and the
rules were mended for them after each count; what they still miss is left so. First counts of the rounds whose services
and notations no list before had: 72 of 188 shapes, 46 of 302 forms and 4 of 311 names; 16 of 90 shapes, 25 of 364 forms
and 19 of 200 names. First counts of three more, whole and with what earlier lists have: 15 of 223 shapes, 14 of 309
forms, 14 of 427 names and 6 of 239 harmless values; 9 of 176, 56 of 516, 36 of 418 and 11 of 279; 6 of 175, 30 of 261,
7 of 372 and 9 of 268. The `held_out` ones were written after seven of them, of what agents meet today, and counted
before anything was mended for them: 0 of 177 shapes, 4 of 178 forms and 0 of 259 names leaked, and 4 of 230 harmless
values were changed; what an earlier list has too was then left out. First counts of two rounds more, which are not
kept here: 13 of 284 shapes, 20 of 390 forms, 6 of 348 names and 13 of 254 harmless values; then, of services and
notations that are rarer still and with passwords as people make them, 27 of 130 shapes, 78 of 331 forms and 14 of 218
harmless values. `--show` lists the failures of the first halves.

In the lists `{m40}` stands for forty characters drawn at random, so that no file holds anything a scanner takes for a
key: `m` letters and digits, `w` the same with `-` and `_`, `l` small letters and digits, `u` capitals and digits, `h`
hex, `d` digits, `b` base64, `g` a UUID. «…» is a secret as a person has written it.
"""

from __future__ import annotations

import json
import random
import re
import string
import sys
import sysconfig
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import encode_json
from agentdbg.redaction import RedactionRules, Redactor
from agentdbg.redaction.whole import SecretNumbers, TooSlow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_CASES = Path(__file__).parent / "redaction_cases"
SHAPES, FORMS, NAMES, MORE_FORMS = (
    (_CASES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    for name in ("shapes", "forms", "names", "more_forms")
)
HARMLESS = [json.loads(line) for line in (_CASES / "harmless.jsonl").read_text(encoding="utf-8").splitlines()]

MOST_FILES = 1_500
_ALPHABETS = {
    "m": string.ascii_letters + string.digits,
    "w": string.ascii_letters + string.digits + "-_",
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "h": "0123456789abcdef",
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "+/",
}
_WRITTEN = re.compile("«(.*?)»", re.DOTALL)
_DRAWN = re.compile(r"\{([a-z])(\d*)\}")
_PLACES: list[Callable[[str, str], Any]] = [
    lambda name, secret: {name: secret},
    lambda name, secret: [name, secret],
    lambda name, secret: f"A=1\nexport {name}={secret}\nB=2",
    lambda name, secret: f"GET / HTTP/1.1\r\n{name}: {secret}\r\nAccept: */*",
    lambda name, secret: json.dumps({"a": {name: secret}}),
    lambda name, secret: f"client = connect(url, {name}='{secret}')",
    lambda name, secret: f"https://example.com/v1?a=1&{name}={secret}&b=2",
]


def main() -> None:
    folders = [Path(argument) for argument in sys.argv[1:] if argument != "--show"]
    redactor = Redactor(RedactionRules())
    plain = Redactor(RedactionRules(), use_re2=False)
    lists: list[tuple[str, list[Any], Callable[[Redactor, Any], bool]]] = [
        ("key shapes that leak", list(SHAPES), shape_leaks),
        ("named forms that leak", list(FORMS), form_leaks),
        ("key names that leak", list(NAMES), name_leaks),
        ("harmless values changed", list(HARMLESS), is_changed),
    ]
    print(f"{'':<28}{'first half':>16}{'held out':>16}{'re2 differs':>14}")
    failures: list[str] = []
    for title, cases, fails in lists:
        failed = [fails(redactor, case) for case in cases]
        differ = sum(fails(plain, case) != before for case, before in zip(cases, failed, strict=True))
        halves = "".join(f"{sum(half):>6} of {len(half):>3}{_share(half):>4}" for half in (failed[::2], failed[1::2]))
        print(f"{title:<28}{halves}{differ:>14}")
        failures += [f"{title}: {case!r}" for case, fail in list(zip(cases, failed, strict=True))[::2] if fail]
    seen = [form_leaks(redactor, form) for form in MORE_FORMS]
    _print_written_later(redactor)
    print(f"{'more forms, all seen':<28}{sum(seen):>6} of {len(seen):>3}{_share(seen):>4}\n")
    for title, texts in _corpora(folders):
        characters, taken = eaten(redactor, texts)
        print(f"eaten of {title:<28}{taken / max(characters, 1) * 1e6:>8.1f} ppm of {characters / 1e6:.1f} million")
    if "--show" in sys.argv:
        print("\n" + "\n".join(failures))


def written_later(part: str) -> list[tuple[str, list[Any], Callable[[Redactor, Any], bool]]]:
    """The lists of one part, `seen` or `held_out`: what each is of, its cases, and what it means to go wrong."""

    def lines(name: str) -> list[str]:
        return (_CASES / "written_later" / f"{part}_{name}").read_text(encoding="utf-8").splitlines()

    return [
        ("key shapes", list(lines("shapes.txt")), shape_leaks),
        ("named forms", list(lines("forms.txt")), form_leaks),
        ("key names", list(lines("names.txt")), name_leaks),
        ("harmless values", [json.loads(line) for line in lines("harmless.jsonl")], is_changed),
    ]


def _print_written_later(redactor: Redactor) -> None:
    for seen, held_out in zip(written_later("seen"), written_later("held_out"), strict=True):
        parts = [[fails(redactor, case) for case in cases] for _, cases, fails in (seen, held_out)]
        print(
            f"{'later: ' + seen[0]:<28}"
            + "".join(f"{sum(part):>6} of {len(part):>3}{_share(part):>4}" for part in parts)
        )


def _share(half: list[bool]) -> str:
    return f"{sum(half) / len(half):.0%}"


def draw(template: str) -> tuple[str, list[str]]:
    """The template with everything random in it drawn, the same every time; and what was drawn."""
    dice = random.Random(template)
    drawn: list[str] = []

    def one(place: re.Match[str]) -> str:
        if place[1] == "g":
            drawn.append("-".join("".join(dice.choices(_ALPHABETS["h"], k=size)) for size in (8, 4, 4, 4, 12)))
        else:
            first = dice.choice(string.ascii_letters if place[1] in "mwb" else _ALPHABETS[place[1]])
            drawn.append(first + "".join(dice.choices(_ALPHABETS[place[1]], k=int(place[2]) - 1)))
        return drawn[-1]

    return _DRAWN.sub(one, template.replace("\\n", "\n")), drawn


def shape_leaks(redactor: Redactor, template: str) -> bool:
    """Whether a key survives in a text that says nothing about it."""
    key, drawn = draw(template)
    return _survives(redactor, f"I used {key} and it worked", max(drawn, key=len))


def form_leaks(redactor: Redactor, template: str) -> bool:
    """Whether a secret of a form survives."""
    text, drawn = draw(template)
    written = _WRITTEN.findall(text)
    return any(_survives(redactor, _WRITTEN.sub(r"\1", text), secret) for secret in (*drawn, *written))


def name_leaks(redactor: Redactor, name: str) -> bool:
    """Whether a random value survives beside this name in any of the usual places."""
    _, (secret,) = draw("{m32}" + name)
    return any(_survives(redactor, place(name, secret), secret) for place in _PLACES)


def is_changed(redactor: Redactor, value: Any) -> bool:
    """Whether a harmless value is changed, by itself or inside a list."""
    return redactor.seal({"value": value, "listed": [value]}).value != {"value": value, "listed": [value]}


def _survives(redactor: Redactor, value: Any, secret: str) -> bool:
    return secret in json.dumps(redactor.seal({"value": value}).value).replace("\\/", "/")


def _corpora(folders: list[Path]) -> Iterator[tuple[str, Iterable[Any]]]:
    library = Path(sysconfig.get_paths()["stdlib"])
    packages = Path(sysconfig.get_paths()["purelib"])
    yield "the standard library", _texts(library.glob("*/*.py"))
    yield "packages' code", _texts(packages.glob("*/*.py"))
    yield "packages' own texts", _texts([*packages.glob("*.dist-info/METADATA"), *packages.rglob("*.md")])
    for folder in folders:
        yield folder.name, _documents(sorted(path for path in folder.rglob("*") if path.is_file()))


def _texts(paths: Iterable[Path]) -> Iterator[str]:
    for path in islice(sorted(paths), MOST_FILES):
        yield path.read_text(encoding="utf-8", errors="replace")


def _documents(paths: Iterable[Path]) -> Iterator[Any]:
    for path in paths:
        content = path.read_text(encoding="utf-8", errors="replace")
        try:
            yield json.loads(content)
        except ValueError:
            for line in content.splitlines():
                if line.startswith("{"):
                    yield json.loads(line)


class _Counter(SecretNumbers):
    """Counts the characters of what is taken out."""

    __slots__ = ("eaten",)

    def __init__(self) -> None:
        super().__init__()
        self.eaten = 0

    def mark(self, secret: Any) -> str:
        self.eaten += len(secret) if isinstance(secret, str) else len(encode_json(secret))
        return super().mark(secret)


def eaten(redactor: Redactor, documents: Iterable[Any]) -> tuple[int, int]:
    """How many characters there are, and how many of them are taken out."""
    characters = 0
    counter = _Counter()
    for document in documents:
        encoded = encode_json(document)
        characters += len(encoded)
        try:
            redactor.whole(document, encoded, counter, seconds=60)
        except TooSlow:
            print(f"  too slow: a document of {len(encoded)} characters")
    return characters, counter.eaten


if __name__ == "__main__":
    main()
