"""
What stays although its key sounds secret, because it hides nothing and debugging needs it.

A missing key has to look missing; a schema describes a password and holds none; the tokens beside their log
probabilities are the model's words. None of this holds under a key that the user has chosen.

Remember what cleaning made of long texts, because the history of a conversation comes again with every call.

A text is found by itself, never by a number made of it, so nothing is taken for something else. What is kept has a
ceiling; when that is reached, everything is forgotten.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.events import REDACTED
from agentdbg.redaction.key_words import counts_passes, counts_some, says_nothing, word_set
from agentdbg.redaction.keys import is_told, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.redaction.assigned_values import Span

__all__ = [
    "WORTH_REMEMBERING",
    "RememberedTexts",
    "is_schema",
    "logprob_names",
    "speaks_of_grammar",
    "stays",
    "without_samples",
]


_LONGEST_COUNT = 80
_CONTAINERS = frozenset({dict, list, tuple, set, frozenset, bytes})
_MOST_LEFT_OUT = 8


def _children(value: Any) -> Iterable[Any]:
    return value.values() if type(value) is dict else value


def stays(name: str, value: Any) -> bool:
    """Whether a value under a secret name is none: null, booleans, empty, a placeholder, or how many tests passed."""
    kind = type(value)
    if value is None or kind is bool:
        return True
    if kind is str:
        return says_nothing(value) or _says_which(name, value)
    if kind is dict or kind is list:
        few = len(value) <= _MOST_LEFT_OUT
        return few and (_is_reference(value) or _all_stay(value))
    if kind in _CONTAINERS:
        return not value
    if (kind is not int and kind is not float) or len(name) > _LONGEST_COUNT:
        return False
    words = words_of(name)
    return "tokens" in words or counts_passes(words) or counts_some(words)


def _says_which(name: str, text: str) -> bool:
    """Whether a text is where a program runs, under `PWD`, or which tokenizer a model has."""
    if name[-3:].lower() == "pwd":
        return _DIRECTORY.fullmatch(text) is not None and not any(map(is_told, text.split("/")))
    return name[-9:].lower() == "tokenizer" and _TOKENIZER.fullmatch(text) is not None


def _all_stay(value: Any) -> bool:
    is_list = type(value) is list
    return all(stays("", child) or (is_list and _is_complaint(child)) for child in _children(value))


_COMPLAINT = re.compile(
    r"(?=.*\b(?:already|at least|at most|blank|can't|cannot|common|does not|doesn't|expected|incorrect|invalid|may not"
    r"|match|missing|must|required|should|too|weak|wrong)\b)"
    r"[A-Za-z][a-z']{0,20}(?: \(?[A-Za-z0-9'\-]{1,20}(?:\(s\))?[,.;:]?\)?){2,30}[.!]?"
)


def _is_complaint(text: Any) -> bool:
    """Whether one of a list says in words what is wrong with a password: `["can't be blank", "is too short"]`."""
    return (
        type(text) is str
        and len(text) <= _LONGEST_COMPLAINT
        and _COMPLAINT.fullmatch(text) is not None
        and not any(map(is_told, text.split()))
    )


_LONGEST_COMPLAINT = 200


_DIRECTORY = re.compile(r"(?:/|~/|[A-Za-z]:\\)[\w.\-/\\]{0,200}")
"""`PWD=/home/bob`: where a program runs."""
_TOKENIZER = re.compile(
    r"[a-z]{1,2}[0-9]{2,3}k_[a-z]{3,9}|[A-Za-z][\w\-]{1,40}/[A-Za-z][\w.\-]{1,80}|[A-Za-z]{2,20}Tokenizer(?:Fast)?"
)
"""`cl100k_base`, `meta-llama/Llama-3.1-8B`, `LlamaTokenizerFast`: which one it is."""


def _is_reference(value: Any) -> bool:
    """Whether a dict only says where a secret is to be found, as Kubernetes writes it."""
    if (
        type(value) is not dict
        or not _REFERENCE.issuperset(value)
        or not ("secretName" in value or [*value] == ["name"])
    ):
        return False
    return not any(type(child) is not int and (type(child) is not str or is_told(child)) for child in value.values())


_REFERENCE = word_set("defaultMode key name namespace optional secretName")
_TYPES = word_set("array boolean integer null number object string")
_KEYWORDS = word_set(
    "$anchor $comment $defs $id $ref $schema additionalItems additionalProperties allOf anyOf const contains "
    "contentEncoding contentMediaType default definitions dependentRequired dependentSchemas deprecated description "
    "discriminator else enum example examples exclusiveMaximum exclusiveMinimum format if items maxItems maxLength "
    "maxProperties maximum minItems minLength minProperties minimum multipleOf not nullable oneOf optional pattern "
    "patternProperties prefixItems properties propertyNames readOnly required strict then title type "
    "unevaluatedProperties uniqueItems writeOnly xml"
)
_COMPOSED = word_set("$ref allOf anyOf const enum oneOf")


_WAYS_TO_LOG_IN = word_set("bearerFormat description flows in name openIdConnectUrl scheme type")
_KINDS_OF_LOGIN = word_set("apiKey http mutualTLS oauth2 openIdConnect")


def is_schema(value: Any) -> bool:
    """Whether a value describes another one in the words of JSON Schema, or a login in those of OpenAPI."""
    if type(value) is not dict or not value or len(value) > len(_KEYWORDS):
        return False
    kinds = value.get("type")
    if type(kinds) is str and kinds in _KINDS_OF_LOGIN:
        return _WAYS_TO_LOG_IN.issuperset(value)
    if not all(type(key) is str and (key in _KEYWORDS or key.startswith("x-")) for key in value):
        return False
    if kinds is None:
        return not _COMPOSED.isdisjoint(value)
    listed = kinds if type(kinds) is list else [kinds]
    return all(type(kind) is str and kind.lower() in _TYPES for kind in listed)


_SAMPLES = ("default", "const", "example", "examples")


def without_samples(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a secret, already plain, without the values that it gives for one."""
    for name in _SAMPLES:
        if name in schema and not stays(name, schema[name]):
            schema[name] = REDACTED
    return schema


_TOKENS_OF_LOGPROBS = word_set("token tokens decoded_token tokenId token_id token_ids")


_OF_GRAMMAR = word_set("dep lemma ner pos token_str upos xpos")
"""What taggers say of a word."""


def speaks_of_grammar(names: Iterable[Any]) -> bool:
    """Whether one of the names is of what taggers say about words."""
    return any(type(name) is str and name in _OF_GRAMMAR for name in names)


_MARKS_OF_TOKENS = 3
"""So many characters may a token have beside those of the text: `##ing`, `\u0120the`."""


def logprob_names(items: Iterable[tuple[Any, Any]]) -> frozenset[str]:
    """The keys under which a dict that also has log probabilities, a place in a text, or grammar holds words."""
    items = list(items)
    if any(type(name) is type(value) is str and name in _OF_GRAMMAR for name, value in items):
        return _TOKENS_OF_LOGPROBS
    for name, _ in items:
        if type(name) is str and len(name) < 40:
            squeezed = name.lower().replace("_", "")
            if "logprob" in squeezed:
                return _TOKENS_OF_LOGPROBS
    return _TOKENS_OF_LOGPROBS if _is_place_of_token(items) else frozenset()


def _is_place_of_token(items: list[tuple[Any, Any]]) -> bool:
    """Whether from `start` to `end` is as far as `token` is long: dates and pages have other ends."""
    named = {name: value for name, value in items if type(name) is str}
    token, start, end = named.get("token"), named.get("start"), named.get("end")
    if not (type(token) is str and type(start) is int and type(end) is int):
        return False
    return 0 <= len(token) - (end - start) <= _MARKS_OF_TOKENS


WORTH_REMEMBERING = 80
"""Characters; a shorter text is cleaned as quickly as it is found."""
_MOST_CHARACTERS = 2_000_000
_LONGEST_REMEMBERED = 200_000
_COST_OF_A_SPAN = 120
"""Bytes of memory for each."""


class RememberedTexts:
    """
    Where the secrets stand in the long texts seen lately: the event and the tape of a call hold the same ones.

    Shared by the threads of a process; a lost entry costs only time.
    """

    __slots__ = ("_left", "_spans")

    def __init__(self) -> None:
        self._spans: dict[str, list[Span]] = {}
        self._left = _MOST_CHARACTERS

    def find(self, text: str) -> list[Span] | None:
        """Where the secrets of a text stand; None when that is not known."""
        return None if len(text) < WORTH_REMEMBERING else self._spans.get(text)

    def add(self, text: str, spans: list[Span]) -> None:
        """Note where the secrets of a text stand."""
        if not WORTH_REMEMBERING <= len(text) <= _LONGEST_REMEMBERED:
            return
        cost = len(text) + _COST_OF_A_SPAN * len(spans)
        if self._left < cost:
            self._spans.clear()
            self._left = _MOST_CHARACTERS
        self._left -= cost
        self._spans[text] = spans

    def without_clean(self, value: Any) -> Any:
        """A plain value without the long texts that are known to be clean."""
        kind = type(value)
        if kind is str:
            return "" if len(value) >= WORTH_REMEMBERING and self._spans.get(value) == [] else value
        if kind is dict:
            return {key: self.without_clean(child) for key, child in value.items()}
        return [self.without_clean(child) for child in value] if kind is list else value
