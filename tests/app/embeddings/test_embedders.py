"""Each kind of embedder keeps the same promise, and says what is wrong when it cannot."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from app.config import load_settings
from app.embeddings.choice import embedder_of
from app.embeddings.embedder import DIMENSIONS, EmbeddingFailed, fitted
from app.embeddings.provider import MOST_TEXTS, ProviderEmbedder
from app.embeddings.static import StaticEmbedder
from app.errors import ConfigurationError
from tests.app.embeddings.conftest import Provider

TEXTS = ["Review my pull request", "", "review MY pull request", "A vegan recipe"]


@pytest.fixture
async def remote(provider: Provider) -> AsyncIterator[ProviderEmbedder]:
    embedder = ProviderEmbedder(model="some-model", url=provider.url, key="secret", timeout_s=0.3)
    yield embedder
    await embedder.close()


async def test_static_vectors_have_length_one_and_mean_something() -> None:
    handlers = list(logging.getLogger().handlers)

    vectors = await StaticEmbedder().embed(TEXTS)

    assert (vectors.shape, vectors.dtype) == ((4, DIMENSIONS), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 1, 1])
    assert vectors[0] @ vectors[2] == pytest.approx(1)
    assert vectors[0] @ vectors[3] < 0.3
    assert logging.getLogger().handlers == handlers
    assert "wordllama" not in sys.modules


async def test_static_embedder_may_be_shared_by_threads_from_its_first_use() -> None:
    alone = await StaticEmbedder().embed(TEXTS)
    shared = StaticEmbedder()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: shared.embed_now(TEXTS), range(16)))

    assert all(np.array_equal(vectors, alone) for vectors in found)
    assert (await shared.embed([])).shape == (0, DIMENSIONS)


async def test_provider_is_asked_for_256_dimensions_and_answers_in_any_order(
    provider: Provider, remote: ProviderEmbedder
) -> None:
    vectors = await remote.embed(TEXTS)

    assert [int(row.argmax()) for row in vectors[[0, 2, 3]]] == [0, 1, 2]
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 1, 1])
    assert provider.asked == [
        {"model": "some-model", "input": [TEXTS[0], *TEXTS[2:]], "dimensions": 256, "encoding_format": "float"}
    ]
    assert "post /v1/embeddings" in provider.headers[0]
    assert "authorization: bearer secret" in provider.headers[0]


async def test_provider_gets_many_texts_in_several_requests(provider: Provider, remote: ProviderEmbedder) -> None:
    vectors = await remote.embed(["word"] * (MOST_TEXTS + 1))

    assert vectors.shape == (MOST_TEXTS + 1, DIMENSIONS)
    assert [len(asked["input"]) for asked in provider.asked] == [MOST_TEXTS, 1]


@pytest.mark.parametrize(
    ("status", "body", "may_pass"),
    [
        (429, b"{}", True),
        (503, b"", True),
        (401, b"{}", False),
        (200, b"not json", False),
        (200, b'{"data": "no"}', False),
        (200, b'{"data": [{"index": 0, "embedding": [1, 2, 3]}]}', False),
        (200, b'{"data": []}', False),
    ],
)
async def test_wrong_answer_of_a_provider_is_a_typed_failure(
    provider: Provider, remote: ProviderEmbedder, status: int, body: bytes, may_pass: bool
) -> None:
    provider.status, provider.body = status, body

    with pytest.raises(EmbeddingFailed) as failed:
        await remote.embed(["word"])

    assert failed.value.may_pass is may_pass
    assert "secret" not in failed.value.message


async def test_silent_or_absent_provider_may_answer_later(provider: Provider, remote: ProviderEmbedder) -> None:
    provider.silent = True
    absent = ProviderEmbedder(model="some-model", url="http://127.0.0.1:1", key=None, timeout_s=5)

    for embedder in (remote, absent):
        with pytest.raises(EmbeddingFailed) as failed:
            await embedder.embed(["word"])
        assert failed.value.may_pass

    await absent.close()


def test_vectors_of_other_lengths_are_fitted() -> None:
    short, long = np.array([[3.0, 4.0]], np.float32), np.ones((1, 384), np.float32)

    assert fitted(short)[0, :3] == pytest.approx([0.6, 0.8, 0])
    assert fitted(long).shape == (1, DIMENSIONS)
    assert np.linalg.norm(fitted(long)) == pytest.approx(1)


def test_settings_choose_the_embedder_and_refuse_half_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(embedder_of(load_settings().embedder), StaticEmbedder)

    monkeypatch.setenv("PARLEY_EMBEDDER", '{"kind": "openai", "model": "m", "url": "http://host/v1", "key": "hidden"}')
    chosen = load_settings().embedder
    assert embedder_of(chosen).name == "m@host"
    assert "hidden" not in chosen.model_dump_json()

    monkeypatch.setenv("PARLEY_EMBEDDER", '{"kind": "openai", "key": "hidden"}')
    with pytest.raises(ConfigurationError, match="PARLEY_EMBEDDER: model is needed") as refused:
        load_settings()
    assert "hidden" not in refused.value.message


class Encoder:
    """A model of sentence-transformers, of three dimensions."""

    def __init__(self, name: str) -> None:
        if name == "absent":
            raise OSError("no such model")

    def encode(self, texts: list[str]) -> Any:
        return [[3.0, 4.0, float(len(text))] for text in texts]


async def test_transformer_keeps_the_same_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("sentence_transformers")
    package.__spec__ = ModuleSpec("sentence_transformers", None)
    package.SentenceTransformer = Encoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)
    monkeypatch.setattr("app.embeddings.transformer.version", lambda _: "5.0")
    settings = '{"kind": "transformer", "model": "%s"}'

    monkeypatch.setenv("PARLEY_EMBEDDER", settings % "small")
    embedder = embedder_of(load_settings().embedder)
    vectors = await embedder.embed(TEXTS)
    monkeypatch.setenv("PARLEY_EMBEDDER", settings % "absent")
    absent = embedder_of(load_settings().embedder)

    assert embedder.name == "small@sentence-transformers-5.0"
    assert (vectors.shape, vectors.dtype) == ((4, DIMENSIONS), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 1, 1])
    assert vectors[0, 1] / vectors[0, 0] == pytest.approx(4 / 3)
    with pytest.raises(EmbeddingFailed, match="could not embed: no such model") as failed:
        await absent.embed(["word"])
    assert not failed.value.may_pass


def test_transformer_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setenv("PARLEY_EMBEDDER", '{"kind": "transformer", "model": "all-MiniLM-L6-v2"}')

    with pytest.raises(ConfigurationError, match=r"parley\[transformers\]"):
        embedder_of(load_settings().embedder)
