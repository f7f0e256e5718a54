"""
How things stand, said otherwise than the last result has it: "your plan is active" after `{"status": "past_due"}`,
"142 euros" after "142 GBP".

A state counts only where the result has one, the sentence names its thing by id or by the tool's own word, and says
plainly that it is so now.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.analysis.effect_guess.tool_names import word_set, words_of
from agentdbg.analysis.value_text import parse_embedded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentdbg.analysis.suspects.run_story import Step

__all__ = ["Denied", "other_currency", "other_state"]

_STATE_KEYS = frozenset({"status", "state", "order_status", "payment_status", "account_status", "subscription_status"})
_GOOD = word_set("""
    active open approved accepted confirmed available completed complete delivered paid enabled eligible valid
    online running
""")
_BAD = word_set("""
    cancelled canceled rejected declined denied failed inactive closed unavailable disabled expired ineligible
    suspended terminated revoked blocked locked invalid offline stopped
""") | {"past due", "overdue", "unpaid", "in arrears", "not found"}
_ALL = "|".join(sorted(map(re.escape, _GOOD | _BAD), key=len, reverse=True))
_DEEPEST = 2
_SHORTEST_WORD = 4
_LONGEST_ID = 64
_OTHERWISE = re.compile(
    r"\?|\b(?:not|no|never|if|unless|whether|would|could|should|might|may|(?<!at )once|when|until|was|were|had|before"
    r"|after|from|only|except|again|soon|tomorrow|next|other|another|all|both|no longer|so that|will|to be)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
_SIGNS = {"$": "usd", "\u20ac": "eur", "\u00a3": "gbp", "\u00a5": "jpy"}
_WORDS = {
    "usd": "usd",
    "dollar": "usd",
    "dollars": "usd",
    "eur": "eur",
    "euro": "eur",
    "euros": "eur",
    "gbp": "gbp",
    "pounds": "gbp",
    "sterling": "gbp",
    "chf": "chf",
    "francs": "chf",
    "jpy": "jpy",
    "yen": "jpy",
    "inr": "inr",
    "rupees": "inr",
    "sek": "sek",
    "nok": "nok",
    "dkk": "dkk",
    "pln": "pln",
}
_AMOUNT = re.compile(
    rf"(?P<sign>[$\u20ac\u00a3\u00a5])?\s?(?P<figure>\d[\d,]{{0,14}}(?:\.\d{{1,4}})?)(?!\w|[.,]\d)"
    rf"(?:\s?(?P<word>{'|'.join(_WORDS)})\b|\s?(?P<after>[\u20ac\u00a3]))?",
    re.IGNORECASE,
)
_CONVERTED = re.compile(r"convert|exchange|equivalent|roughly|about|approx|~|\brate\b|\bif\b|\?", re.IGNORECASE)


class Denied(NamedTuple):
    """What was said, and what the result has instead."""

    said: str
    name: str
    value: Any
    result: Step


def other_state(sentences: Iterable[str], results: Sequence[Step]) -> Denied | None:
    """A sentence that says of a thing that it stands well where its result says that it does not, or the reverse."""
    found = [(result, _state_in(parse_embedded(result.text))) for result in results]
    told = [(result, *named) for result, named in found if named is not None]
    if len(told) != 1:
        return None
    result, key, state, ids = told[0]
    plain = state.lower().replace("_", " ").replace("-", " ").strip()
    if plain not in _GOOD | _BAD:
        return None
    things = [re.escape(word) for word in words_of(result.name)[1:] if len(word) >= _SHORTEST_WORD]
    named = "|".join([*map(re.escape, ids), *things])
    if not named:
        return None
    number, aside = r"(?:\s*[\"'(#*_`]*[\w-]*\d[\w-]*)?[\"')*_`]*", r"(?:\s*\([^()]{0,40}\))?"
    says = re.compile(
        rf"(?<!\w)(?:{named})(?!\w){number}{aside}\s+(?:is|are)(?: now| still| currently| already| indeed)? ({_ALL})\b",
        re.IGNORECASE,
    )
    for sentence in sentences:
        said = None if _OTHERWISE.search(sentence) else says.search(sentence)
        if said is not None and (said[1].lower() in _GOOD) != (plain in _GOOD):
            return Denied(sentence.strip(), key, state, result)
    return None


def _state_in(value: Any, depth: int = 0) -> tuple[str, str, list[str]] | None:
    """The one state that a result has, under which name, with the ids of its thing."""
    if not isinstance(value, dict):
        return None
    states = [(key, item) for key, item in value.items() if str(key).lower() in _STATE_KEYS and isinstance(item, str)]
    inner = [item for item in value.values() if isinstance(item, (dict, list))]
    if len(states) == 1 and not any(_has_state(item) for item in inner):
        ids = [str(item) for key, item in value.items() if str(key).lower().endswith("id") and _is_id(item)]
        return states[0][0], states[0][1], ids
    if not states and len(value) == 1 and depth < _DEEPEST:
        return _state_in(next(iter(value.values())), depth + 1)
    return None


def _is_id(item: Any) -> bool:
    return isinstance(item, str) and _SHORTEST_WORD <= len(item) <= _LONGEST_ID


def _has_state(value: Any, depth: int = 0) -> bool:
    if depth > _DEEPEST + 2:
        return True  # nobody has looked
    if isinstance(value, dict):
        return any(str(key).lower() in _STATE_KEYS or _has_state(item, depth + 1) for key, item in value.items())
    return isinstance(value, list) and any(_has_state(item, depth + 1) for item in value)


def other_currency(sentences: Iterable[str], results: Sequence[Step], known: str) -> Denied | None:
    """A sentence with the amount of a result in a currency that nothing in the run has."""
    amounts = {
        figure: (currency, shown, result)
        for result in results
        for figure, currency, shown in _amounts_in(result.text)
        if currency
    }
    if not amounts:
        return None
    spoken = {currency for _, currency, _ in _amounts_in(known)} | {
        _WORDS[word] for word in re.findall(r"[a-z]+", known.lower()) if word in _WORDS
    }
    for sentence in sentences:
        if _CONVERTED.search(sentence):
            continue
        for figure, currency, shown in _amounts_in(sentence):
            other = amounts.get(figure)
            if currency and other is not None and other[0] != currency and currency not in spoken:
                return Denied(shown, "", other[1], other[2])
    return None


def _amounts_in(text: str) -> Iterable[tuple[float, str, str]]:
    for found in _AMOUNT.finditer(text[:8_000]):
        sign, word = found["sign"] or found["after"], found["word"]
        currency = _SIGNS.get(sign or "") or _WORDS.get((word or "").lower(), "")
        if currency:
            yield float(found["figure"].replace(",", "")), currency, found[0].strip()
