"""
What the user decided about redaction, as one frozen value.

The defaults are the documented ones. Reading settings is the configuration's business; this module only says what
they mean once they are known.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DEFAULT_KEYS", "DEFAULT_MAX_FIELD_BYTES", "WHOLE_WORD_KEYS", "RedactionRules"]

DEFAULT_KEYS = ("api_key", "token", "authorization", "cookie", "secret", "password")
"""A key that contains one of these, in any spelling, loses its value. REDACT_KEYS replaces this list."""

WHOLE_WORD_KEYS = (
    "passwd",
    "pwd",
    "passphrase",
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
    "phpsessid",
    "jsessionid",
    # The same in the languages that people ask agents in.
    "passwort",
    "kennwort",
    "mot_de_passe",
    "contrase\u00f1a",
    "senha",
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
)
"""Matched as whole words of a key, so that `author` and `passenger` stay; nobody's setting replaces these."""

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
