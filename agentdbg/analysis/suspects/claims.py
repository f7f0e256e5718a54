"""
What agents say that they did, in the languages of many of them, and how things stand.

A claim names what was done by one of a few kinds of work, each with its words in every language, so that a result that
tells of it in another language than the answer is still found.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Claim", "claim_in", "is_told_of", "only_asks"]

_LONGEST = 4_000
_KINDS = {
    "cancel": (
        "cancell?ed",
        "storniert|gekündigt|abgesagt",
        "cancelad[oa]s?|anulad[oa]s?",
        "annulée?s?|résiliée?s?",
        "cancellat[oaie]|annullat[oaie]|disdett[oaie]",
        "取消",
        "キャンセル",
        "취소",
    ),
    "book": (
        "booked|reserved|scheduled|rescheduled",
        "gebucht|reserviert|umgebucht|vereinbart",
        "reservad[oa]s?|agendad[oa]s?|programad[oa]s?",
        "réservée?s?|planifiée?s?",
        "prenotat[oaie]",
        "预订|预约|改签",
        "予約",
        "예약",
    ),
    "refund": (
        "refunded",
        "erstattet|zurückerstattet",
        "reembolsad[oa]s?",
        "remboursée?s?",
        "rimborsat[oaie]",
        "退款",
        "返金",
        "환불",
    ),
    "send": (
        "sent|e?mailed",
        "gesendet|versendet|verschickt|geschickt",
        "enviad[oa]s?",
        "envoyée?s?",
        "inviat[oaie]",
        "发送|发出",
        "送信",
        "전송",
    ),
    "change": (
        "updated|changed",
        "geändert|aktualisiert|verschoben",
        "actualizad[oa]s?|modificad[oa]s?|cambiad[oa]s?|atualizad[oa]s?|alterad[oa]s?",
        "modifiée?s?|changée?s?",
        "modificat[oaie]|aggiornat[oaie]|cambiat[oaie]",
        "修改|更改|更新",
        "変更|更新",
        "변경",
    ),
    "delete": (
        "deleted",
        "gelöscht|entfernt",
        "eliminad[oa]s?|borrad[oa]s?|excluíd[oa]s?",
        "supprimée?s?",
        "eliminat[oaie]",
        "删除",
        "削除",
        "삭제",
    ),
    "pay": (
        "paid|transferred",
        "bezahlt|überwiesen",
        "pagad[oa]s?|transferid[oa]s?",
        "payée?s?|virée?s?",
        "pagat[oaie]",
        "支付|付款|转账",
        "支払",
        "결제",
    ),
    "order": ("ordered", "bestellt", "pedid[oa]s?", "commandée?s?", "ordinat[oaie]", "下单", "注文", "주문"),
    "add": (
        "added",
        "hinzugefügt|ergänzt",
        "añadid[oa]s?|agregad[oa]s?|adicionad[oa]s?",
        "ajoutée?s?",
        "aggiunt[oaie]",
        "添加",
        "追加",
        "추가",
    ),
}
_DE, _ES, _FR, _IT, _ZH, _JA, _KO = range(1, 8)


def _words(language: int) -> str:
    return "|".join(forms[language] for forms in _KINDS.values())


_CLAIMS = (
    re.compile(
        rf"\b(?:ich|wir) hab(?:e|en)\b[^.!?\n]{{1,90}}\b(?P<did>{_words(_DE)})\b(?! worden)"
        rf"|\b(?:wurden?|worden)\b[^.!?\n]{{0,60}}\b(?P<was>{_words(_DE)})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:h[ea]|hemos) (?P<did>{_words(_ES).replace('[oa]s?', 'o')})\b"
        rf"|\b(?:ha|han) sido (?P<was>{_words(_ES)})\b|\bfo(?:i|ram) (?P<foi>{_words(_ES)})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:\bj['\u2019]ai|\bnous avons) (?:bien )?(?P<did>{_words(_FR)})\b"
        rf"|\b(?:a|ont) (?:bien )?été (?P<was>{_words(_FR)})(?!\w)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:ho|abbiamo) (?P<did>{_words(_IT)})\b|\b(?:è|sono) stat[oaie] (?P<was>{_words(_IT)})\b", re.IGNORECASE
    ),
    re.compile(rf"已(?:经)?(?:为您|帮您|为你|帮你)?(?:成功)?(?P<did>{_words(_ZH)})"),
    re.compile(rf"(?P<did>{_words(_JA)})(?:いた)?(?:しました|完了)"),
    re.compile(rf"(?P<did>{_words(_KO)})(?:했습니다|되었습니다|하였습니다)"),
)
_AUXILIARIES = frozenset(
    {"abbiamo", "avons", "foi", "foram", "ha", "habe", "haben", "han", "he", "hemos", "ho", "worden", "wurde", "wurden"}
)
"""One of these is in every claim that is written in plain letters, and in few English sentences."""
_WITHOUT_DOERS = _CLAIMS[-3:]
"""Chinese, Japanese and Korean leave out who did it."""
_OPEN = re.compile(
    r"[?\uff1f]|\b(?:wenn|falls|sobald|nicht|kein\w*|noch|früher|gestern|si|cuando|no|nunca|ya|ayer|antes|sans|lorsque|quand"
    r"|ne|pas|déjà|hier|non|quando|già|ieri|não|já|ontem|se)\b|没|未|如果|若|ません|なかった|もし|않|만약|"
    r"已经?被",
    re.IGNORECASE,
)
"""Words after which a sentence speaks of something else than what was just done."""


_QUESTION = re.compile(
    r"[?\uff1f]|\b(?:ist|wurde|wann|wo|est-ce|où|quand)\b|吗|呢|ですか|ますか|나요|습니까", re.IGNORECASE
)
_PLEASE = re.compile(
    r"\b(?:please|bitte|por favor|s['\u2019]il (?:vous|te) pla[iî]t|per favore|(?:can|could|would|will) you"
    r"|k[oö]nn(?:en|ten) sie|kannst du|puede[sn]?|podr[ií]as?|pouvez|peux|puoi|può|pode)\b"
    r"|请|帮|ください|お願い|주세요",
    re.IGNORECASE,
)


class Claim(NamedTuple):
    """A sentence that says something was done, by whom it may be, and which kind of work that is."""

    sentence: str
    kind: str
    is_own: bool
    """Whether it says that the speaker did it; "was cancelled" may be the work of others."""


def only_asks(text: str) -> bool:
    """Whether a request wants to know something and nothing done, so that an answer may tell of others' work."""
    return _QUESTION.search(text) is not None and _PLEASE.search(text) is None


def claim_in(sentence: str) -> Claim | None:
    """What a sentence in another language than English claims to have done."""
    is_english = sentence.isascii() and _AUXILIARIES.isdisjoint(sentence.lower().split())
    if is_english or len(sentence) > _LONGEST or _OPEN.search(sentence):
        return None
    for pattern in _CLAIMS:
        found = pattern.search(sentence)
        if found is not None:
            did = next(part for part in found.groups() if part)
            is_own = found.groupdict().get("did") is not None and pattern not in _WITHOUT_DOERS
            return Claim(sentence.strip(), _kind_of(did), is_own)
    return None


def _kind_of(did: str) -> str:
    return next(
        kind for kind, forms in _KINDS.items() if any(re.fullmatch(form, did, re.IGNORECASE) for form in forms[1:])
    )


def is_told_of(kind: str, text: str) -> bool:
    """Whether a text has a word for a kind of work, in any of the languages."""
    stems = (form.replace("[oa]s?", "").replace("[oaie]", "") for form in _KINDS[kind])
    return any(re.search(stem, text, re.IGNORECASE) for stem in stems)
