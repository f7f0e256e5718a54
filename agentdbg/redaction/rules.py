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
