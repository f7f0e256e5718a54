"""
The words in which shells, databases and services of other languages than English say that something failed.

Most come from the translated messages of operating systems, so few of them cover many programs.
"""

from __future__ import annotations

import re

__all__ = ["states_foreign_failure"]

_LABELS = (
    "fehler fehlgeschlagen erreur échec erro errore fallo fout fel feil fejl virhe błąd chyba hiba hata eroare greška "
    "viga kesalahan eroare خطأ त्रुटि lỗi ошибка помилка грешка σφάλμα خطأ שגיאה 错误 錯誤 失败 失敗 エラー 오류 에러"
)
"""What stands before a colon where an English program writes "error:"."""
_BEGINNINGS = (
    "impossible de", "impossible d'", "impossibile", "no se pudo", "no se puede", "no se ha podido",
    "no se encontró", "no se encuentra", "não foi possível", "não é possível", "nie można", "nie udało się",
    "nelze", "kan ikke", "kan inte", "kan niet", "kon niet", "не удалось", "невозможно", "не удаётся",
    "ongeldig", "ongeldige", "ugyldig", "ugyldige", "gagal", "không thể", "nu s-a putut", "tiempo agotado",
    "tempo esgotado", "délai dépassé", "zeitüberschreitung", "не вдалося", "neplatný", "neplatná", "nieprawidłowy",
    "nieprawidłowa", "geçersiz", "virheellinen", "érvénytelen", "tidak dapat", "es konnte kein",
    "unbekannte", "unbekannter", "unbekanntes", "kein zugriff", "keine berechtigung", "sin permiso", "sin acceso",
    "accès interdit", "nicht angemeldet", "nicht autorisiert", "nicht berechtigt", "no autorizado",
    "non autorizzato", "ogiltig",
    "ogiltigt", "ungültige", "ungültiger", "ungültiges",
)  # fmt: skip
"""What begins a statement of failure."""
_ENDINGS = (
    "nicht gefunden", "nicht gefunden werden", "nicht möglich", "nicht verfügbar", "nicht erlaubt",
    "nicht zulässig", "nicht erreichbar", "nicht vorhanden", "existiert nicht", "verweigert", "abgelehnt",
    "fehlgeschlagen", "ungültig", "abgelaufen", "überschritten", "keine berechtigung", "introuvable",
    "non accordée", "non autorisé", "aucun résultat", "keine ergebnisse gefunden", "sin resultados",
    "nenhum resultado", "nessun risultato", "geen resultaten", "ничего не найдено", "refusé", "refusée", "interdit",
    "échoué", "expiré", "expirée", "invalide", "dépassé", "n'existe pas", "no existe", "no encontrado",
    "no encontrada", "no permitido", "no permitida", "no válido", "no válida", "no disponible", "denegado",
    "denegada", "rechazado", "rechazada", "falló", "caducado", "agotado", "não existe", "não encontrado",
    "não encontrada", "não permitido", "não autorizado", "negado", "negada", "falhou", "expirou", "non trovato",
    "non trovata", "non riuscito", "non riuscita", "non consentito", "non valido", "non valida", "negato",
    "fallito", "fallita", "scaduto", "niet gevonden", "niet toegestaan", "geweigerd", "mislukt", "geen toegang",
    "bestaat niet", "hittades inte", "nekades", "ikke funnet", "ikke fundet", "nægtet", "nektet", "nie znaleziono",
    "nie istnieje", "odmowa dostępu", "nenalezen", "nenalezena", "odepřen", "bulunamadı", "reddedildi", "başarısız",
    "не найден", "не найдена", "не найдено", "не существует", "запрещён", "запрещен", "запрещено", "отказано",
    "inconnu", "inconnue", "desconocido", "desconocida", "desconhecido", "sconosciuto", "unbekannt", "onbekend",
    "неизвестен", "неизвестна", "неверный", "неверная", "ei löydy", "ei löytynyt", "epäonnistui", "nem található",
    "sikertelen", "nu a fost găsit", "nu a fost găsită",
    "nu există", "tidak ditemukan", "tidak valid", "không tìm thấy", "không hợp lệ", "không tồn tại", "thất bại",
    "se nezdařilo", "selhalo", "neexistuje", "przekroczono limit", "nie powiodło się", "fant ikke", "findes ikke",
    "finns inte", "finnes ikke", "δεν βρέθηκε", "απέτυχε", "отклонено", "отклонён", "истекло", "превышено",
    "превышен", "не знайдено",
)  # fmt: skip
"""What ends one, or stands before its circumstances."""
_UNSPACED = (
    "找不到", "未找到", "没有找到", "不存在", "无法", "無法", "被拒绝", "被拒絕", "权限不足", "權限不足",
    "没有权限", "超时", "逾時", "已过期", "失败", "見つかりません", "存在しません", "無効な", "无效",
    "見つかりませんでした", "できません", "できませんでした", "失敗しました", "拒否されました", "エラーが発生",
    "タイムアウトしました", "찾을 수 없", "실패했", "거부되", "존재하지 않", "권한이 없", "시간이 초과",
    "결과가 없", "잘못된", "유효하지 않", "権限がありません", "不正な", "لم يتم العثور", "غير موجود", "غير صالح", "فشل",
    "अमान्य", "नहीं मिल", "विफल", "ไม่พบ", "ไม่สามารถ", "ไม่ถูกต้อง", "ล้มเหลว", "לא נמצא", "לא חוקי", "נכשל",
    "אין הרשאה",
)  # fmt: skip
"""What states it wherever it stands, in languages that put no spaces between words."""


_TELLING = frozenset(f"{' '.join(_BEGINNINGS + _ENDINGS)} konnte konnten".split())
_WORD = re.compile(r"[^\W\d_]+")


def _any_of(words: tuple[str, ...] | list[str]) -> str:
    return "|".join(map(re.escape, words))


_LABELLED = re.compile(
    rf"(?:{_any_of(_LABELS.split())})(?:\s\w{{1,8}})?\s?[:：]\s*(?!\d+\s*$"
    r"|nein\b|kein|non\b|nessun|aucun|ningun|無し|なし|无)\S",
    re.IGNORECASE,
)
_GOOD_NEWS = re.compile(
    r"(?=.*(?:\b(?:błęd|err(?:eur|or)|erro|fehler|hata|ошиб|problem|problèm|проблем)|エラー|問題|错误|錯誤|问题|問題|오류|문제|에러|没有失败))"
    r".*(?:没有(?:失败|错误|问题)|gefunden|trouv|encontr|trovat|gevonden|znalezion|bulun|hitta|funnet|fundet|найден|обнаружен"
    r"|找到|发现|發現|見つかり|찾을)",
    re.IGNORECASE,
)
"""No errors were found."""
_PHRASED = re.compile(
    rf"(?:{_any_of(_BEGINNINGS)})\b|[^.\n]{{0,160}}\b(?:{_any_of(_ENDINGS)}|konnten? nicht (?:\w+ )?\w+ werden)\b"
    r"(?=[^.\w]*$|\s*[:,;!(]|\s+\S+\s*$)",
    re.IGNORECASE,
)


def states_foreign_failure(sentence: str) -> bool:
    """Whether the first sentence of a text states a failure in another language than English."""
    if _LABELLED.match(sentence):
        return True
    is_unspaced = not sentence.isascii() and any(phrase in sentence for phrase in _UNSPACED)
    if not is_unspaced and _TELLING.isdisjoint(_WORD.findall(sentence.lower())):
        return False  # most sentences; what follows takes longer
    if _GOOD_NEWS.search(sentence):
        return False
    return is_unspaced or _PHRASED.match(sentence) is not None
