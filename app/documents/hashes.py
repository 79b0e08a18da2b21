"""How a document is named: by the hash of its exact text, SHA-256 as everyone does, MD5 as Relay's compiler can."""

from __future__ import annotations

import hashlib
import re

_HEX = re.compile(r"[0-9a-f]{64}|[0-9a-f]{32}")


def parse_id(text: str) -> str | None:
    """The bare hexadecimal of `sha256:<hex>`, of a bare SHA-256 or of a bare MD5; None for anything else."""
    bare = text.removeprefix("sha256:").lower()
    if not _HEX.fullmatch(bare) or (text.startswith("sha256:") and len(bare) != 64):
        return None
    return bare


def sha256(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def md5(body: str) -> str:
    return hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()


def ids_of(body: str) -> tuple[str, str]:
    """Every id that this text may be registered under."""
    return sha256(body), md5(body)


def fits(document_id: str, body: str) -> bool:
    return document_id == (sha256(body) if len(document_id) == 64 else md5(body))
