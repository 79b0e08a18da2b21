"""API key secrets: made, shown once, kept only as a hash.

A secret holds 256 random bits, so one plain SHA-256 is enough at rest: there is nothing to guess that a slow hash
would protect, and it keeps authentication out of the profile.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

TOKEN_PREFIX = "parley_"
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_VISIBLE = len(TOKEN_PREFIX) + 6  # and never more than a third: a secret of one's own may be short


def new_secret() -> str:
    return _token(secrets.token_bytes(32))


def derived_secret(callers_secret: str, salt: bytes) -> str:
    """The same secret for the same caller and salt: a retried call can show it again though it is not stored."""
    return _token(hmac.digest(callers_secret.encode(), b"api-key:" + salt, "sha256"))


def hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def visible_prefix(secret: str) -> str:
    return secret[: min(_VISIBLE, len(secret) // 3)]


def _token(entropy: bytes) -> str:
    number, digits = int.from_bytes(entropy), []
    while number:
        number, digit = divmod(number, 62)
        digits.append(_ALPHABET[digit])
    return TOKEN_PREFIX + "".join(digits).rjust(43, "0")
