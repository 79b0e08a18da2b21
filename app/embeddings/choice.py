"""Which embedder the settings ask for."""

from __future__ import annotations

from app.config import EmbedderKind, EmbedderSettings
from app.embeddings.embedder import Embedder
from app.embeddings.provider import ProviderEmbedder
from app.embeddings.static import StaticEmbedder
from app.embeddings.transformer import TransformerEmbedder


def embedder_of(wanted: EmbedderSettings) -> Embedder:
    """Raises ConfigurationError when a package is missing; loads no weights and opens no connection yet."""
    if wanted.kind is EmbedderKind.STATIC:
        return StaticEmbedder()
    assert wanted.model is not None  # the settings refuse the other kinds without one
    if wanted.kind is EmbedderKind.TRANSFORMER:
        return TransformerEmbedder(wanted.model)
    key = wanted.key.get_secret_value() if wanted.key else None
    return ProviderEmbedder(model=wanted.model, url=wanted.url, key=key, timeout_s=wanted.timeout_s)
