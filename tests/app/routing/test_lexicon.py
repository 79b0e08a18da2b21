"""What people say tells what they speak of: by words, by pairs of words and by what is near in meaning."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.routing import lexicon as module
from app.routing.lexicon import FOLDER, LANGUAGES, SMALL_WORDS, lexicon
from app.routing.telling import Met, told
from app.routing.words import in_order, pairs_of, stems


def subject_of(text: str) -> str:
    known, order = lexicon(), in_order(text)
    words = known.subjects_of(dict.fromkeys(stems(text), 1.0), pairs_of(order), 1.0)
    return known.names[int(known.with_senses(words[None, :], [text], known.english_of(order))[0].argmax())]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("The rice came out mushy again", "cooking"),
        ("My suitcase did not come out on the belt", "air travel"),
        ("I forgot my password and the reset mail never comes", "logins and accounts"),
        ("The cat keeps scratching the sofa", "pets"),
        ("Our landlord wants to raise the rent", "real estate"),
        ("Die Bremsen am Auto quietschen", "cars"),
        ("Mein Rücken tut weh vom Sitzen", "body at the desk"),
        ("Mon colis n'est jamais arrivé", "deliveries"),
        ("Necesito un vuelo barato a Lisboa", "air travel"),
    ],
)
def test_everyday_sentence_tells_its_subject(text: str, subject: str) -> None:
    assert subject_of(text) == subject


@pytest.mark.parametrize(
    ("pair", "subject"),
    [("money back", "refunds and complaints"), ("write off", "accounting"), ("check in", "air travel")],
)
def test_pair_of_words_tells_what_neither_word_does(pair: str, subject: str) -> None:
    known = lexicon()
    one, other = (each.stem for each in in_order(pair))
    counts = {one: 1.0, other: 1.0}

    alone = known.subjects_of(counts, [], 1.0)
    together = known.subjects_of(counts, [(one, other)], 1.0)

    assert known.names[int(alone.argmax())] != subject
    assert known.names[int(together.argmax())] == subject


@given(st.text(max_size=200))
def test_any_text_has_subjects_of_length_one_or_none(text: str) -> None:
    known = lexicon()

    words = known.subjects_of(dict.fromkeys(stems(text), 1.0), pairs_of(in_order(text)), 1.0)
    both = known.with_senses(words[None, :], [text])[0]

    for found in (words, both):
        assert np.isfinite(found).all()
        assert np.linalg.norm(found) == pytest.approx(1, abs=1e-4) or not found.any()


def test_text_without_words_has_no_subject() -> None:
    known = lexicon()

    assert not known.with_senses(np.zeros((1, len(known.names)), np.float32), [""]).any()


def test_it_is_read_once_however_many_ask() -> None:
    module._read.cache_clear()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: lexicon(), range(8)))

    assert len({id(each) for each in found}) == 1


def test_it_reads_the_same_every_time() -> None:
    once = lexicon()
    module._read.cache_clear()
    again = lexicon()

    assert again is not once
    assert (again.names, again.background, again.known) == (once.names, once.background, once.known)
    assert np.array_equal(again._senses, once._senses)
    assert np.array_equal(again._pairs.weights, once._pairs.weights)


def test_every_subject_has_words_and_sentences_and_says_nothing_twice() -> None:
    files = sorted(FOLDER.glob("*.txt"))
    assert len(files) >= 138

    for file in files:
        listed, said = file.read_text().split("\n\n", 1)
        words, lines = listed.split(), said.splitlines()
        assert len(words) >= 200, file.name
        assert len(lines) >= 200, file.name
        assert len(set(words)) == len(words), file.name
        assert len({line.lower() for line in lines}) == len(lines), file.name


def test_every_language_has_words_for_every_subject() -> None:
    for file in LANGUAGES.glob("*.txt"):
        names = [line.split(": ")[0] for line in file.read_text().splitlines()]
        assert sorted(names) == sorted([SMALL_WORDS, *lexicon().names]), file.name


def test_key_of_one_subject_tells_more_than_a_key_of_many() -> None:
    rare, common, unknown = 1, 2, 3
    table = told([Met.of({rare: 3.0, common: 3.0}), Met.of({common: 3.0}), Met.of({common: 3.0})])

    assert table.of({rare: 1.0})[0] > table.of({common: 1.0})[0] > 0
    assert not table.of({rare: 1.0})[1:].any()
    assert not table.of({unknown: 1.0}).any()
    assert not table.of({}).any()
    assert table.of({rare: 2.0, unknown: 5.0}) == pytest.approx(2 * table.of({rare: 1.0}))
