"""
What the user decided about redaction, as one frozen value.

The defaults are the documented ones. Reading settings is the configuration's business; this module only says what
they mean once they are known.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DEFAULT_KEYS", "DEFAULT_MAX_FIELD_BYTES", "KEYS_OF_OTHER_LANGUAGES", "WHOLE_WORD_KEYS", "RedactionRules"]

DEFAULT_KEYS = ("api_key", "token", "authorization", "cookie", "secret", "password")
"""A key that contains one of these, in any spelling, loses its value. REDACT_KEYS replaces this list."""

WHOLE_WORD_KEYS = (
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "pass",
    "private_key",
    "ssh_key",
    "signing_key",
    "encryption_key",
    "access_key",
    "access_key_id",
    "credential",
    "credentials",
    "auth",
    "bearer",
    "jwt",
    "dsn",
    "connection_string",
    "otp",
    "csrf",
    "psk",
    "mnemonic",
    "seed_phrase",
    "recovery_phrase",
    "recovery_code",
    "recovery_codes",
    "backup_code",
    "backup_codes",
    "phpsessid",
    "jsessionid",
    # The same in the languages that people ask agents in.
    "passwort",
    "kennwort",
    "mot_de_passe",
    "contrase\u00f1a",
    "senha",
    "palavra_passe",
    "wachtwoord",
    "has\u0142o",
    "heslo",
    "l\u00f6senord",
    "passord",
    "adgangskode",
    "salasana",
    "jelsz\u00f3",
    "\u015fifre",
    "\u043f\u0430\u0440\u043e\u043b\u044c",
    "\u5bc6\u7801",
    "\u5bc6\u78bc",
    "\u30d1\u30b9\u30ef\u30fc\u30c9",
    "\ube44\ubc00\ubc88\ud638",
    "\u0442\u043e\u043a\u0435\u043d",
    "\u0441\u0435\u043a\u0440\u0435\u0442",
    "\u53e3\u4ee4",
    "\u4ee4\u724c",
    "\u5bc6\u94a5",
    "\u79d8\u5bc6\u9375",
    "\u30c8\u30fc\u30af\u30f3",
    "\ud1a0\ud070",
    "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19",
    "\u0643\u0644\u0645\u0629_\u0627\u0644\u0633\u0631",
    "\u0643\u0644\u0645\u0629_\u0627\u0644\u0645\u0631\u0648\u0631",
    "\u05e1\u05d9\u05e1\u05de\u05d4",
    "\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2_\u03c0\u03c1\u03cc\u03c3\u03b2\u03b1\u03c3\u03b7\u03c2",
    "m\u1eadt_kh\u1ea9u",
    "kata_sandi",
    "\u092a\u093e\u0938\u0935\u0930\u094d\u0921",
    "lozinka",
    "slapta\u017eodis",
    "\u30b7\u30fc\u30af\u30ec\u30c3\u30c8",
    "\ube44\ubc00\ud0a4",
    "\u79c1\u94a5",
    "\u79c1\u9470",
    "\u5bc6\u9470",
    "contrasenia",
    "mdp",
    "kodeord",
    "toegangscode",
    "zugangsdaten",
    "pasahitza",
    "\u6697\u8a3c\u756a\u53f7",
)
"""Matched as whole words of a key, so that `author` and `passenger` stay; nobody's setting replaces these."""

KEYS_OF_OTHER_LANGUAGES = (
    "clave",
    "chave",
    "llave",
    "chiave",
    "cle_api",
    "cle_secrete",
    "cle_privee",
    "cle_acces",
    "schluessel",
    "schl\xfcssel",
    "apischl\xfcssel",
    "sleutel",
    "nyckel",
    "n\xf8kkel",
    "klucz",
    "kl\xed\u010d",
    "kulcs",
    "anahtar",
    "\u043a\u043b\u044e\u0447",
    "\u03ba\u03bb\u03b5\u03b9\u03b4\u03af",
    "\u05de\u05e4\u05ea\u05d7",
    "\u0645\u0641\u062a\u0627\u062d",
    "\u0915\u0941\u0902\u091c\u0940",
    "\ud0a4",
    "api\ud0a4",
    "\u30ad\u30fc",
    "api\u30ad\u30fc",
    "\u5bc6\u5319",
    "geheimnis",
    "geheimer",
    "geheim",
    "secreto",
    "secreta",
    "segreto",
    "segreta",
    "segredo",
    "tajn\xfd",
    "tajn\xe9",
    "gizli",
    "hemlighet",
    "hemlig",
    "\u0441\u0435\u043a\u0440\u0435\u0442\u043d\u044b\u0439",
    "\u0441\u0435\u043a\u0440\u0435\u0442\u043d\u0430\u044f",
    "\u0441\u0435\u043a\u0440\u0435\u0442\u043d\u044b\u0439_\u043a\u043b\u044e\u0447",
    "\u043a\u043b\u044e\u0447_api",
    "parola",
    "geslo",
    "parool",
    "jeton",
    "cheie",
    "kunci",
    "khoa_bi_mat",
    "kh\xf3a",
    "parole",
    "\u043a\u043b\u044e\u0447\u0430",
    "\u0441\u0435\u043a\u0440\u0435\u0442\u0430",
)
"""Key and secret as other languages have them: beside one only what looks random goes, as these words say more."""

DEFAULT_MAX_FIELD_BYTES = 20_000


class RedactionRules(NamedTuple):
    """How one run is redacted; `enabled=False` leaves only JSON-safety and size, `values=False` only keys."""

    enabled: bool = True
    keys: tuple[str, ...] = DEFAULT_KEYS
    values: bool = True
    patterns: tuple[str, ...] = ()
    max_field_bytes: int = DEFAULT_MAX_FIELD_BYTES

    @property
    def keys_are_users_own(self) -> bool:
        """Whether the user chose the keys, and so wants whatever stands under them gone."""
        return self.keys != DEFAULT_KEYS
