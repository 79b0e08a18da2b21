"""What is team-relevant, and how sure that is."""

from __future__ import annotations

import pytest

from app.embeddings.static import StaticEmbedder
from app.memories.classification import EXAMPLES, SURE, classify
from app.memories.library import Library
from app.memories.models import MemoryKind
from tests.fixtures.growth import growth

P, S, E, H = MemoryKind.PRIVATE, MemoryKind.SHARED, MemoryKind.EPISODIC, MemoryKind.PROCEDURAL
LABELLED = [
    ("User's company switched to PostgreSQL", S),
    ("Our largest customer is the city of Graz.", S),
    ("The team uses Python 3.12 for every new service.", S),
    ("The launch of the product moved from March to May.", S),
    ("We host everything in two data centres.", S),
    ("The project costs 300 euros a day.", S),
    ("I should write shorter introductions.", P),
    ("Note to self: I keep mixing up the two APIs.", P),
    ("I'm unsure about my last summary.", P),
    ("My own outline was better than the second one.", P),
    ("Yesterday the nightly build broke.", E),
    ("In Tuesday's meeting the design was agreed.", E),
    ("Last week the client complained twice.", E),
    ("Three days ago the ticket was handed over to support.", E),
    ("Always run the linter before you push.", H),
    ("Never promise a refund on the phone.", H),
    ("To restore a backup, first stop the server, then copy the files.", H),
    ("When the payment fails, check the card's date and call the bank.", H),
]


async def test_kinds_are_found_by_words_and_meaning() -> None:
    library = Library(None, None, StaticEmbedder())  # type: ignore[arg-type]
    wrong, shared_by_mistake = [], []
    for text, kind in LABELLED:
        likeness = await library.likeness(await library.meaning(text))
        found = classify(text, likeness, owned=True, has_subject=False)
        assert 0 < found.confidence <= 1
        assert found.reason
        if found.kind is not kind:
            wrong.append((text, found))
        if kind is P and found.kind is not P:
            shared_by_mistake.append(text)

    assert len(wrong) <= 2, wrong
    assert shared_by_mistake == []
    assert set(EXAMPLES) == set(MemoryKind)


@pytest.mark.parametrize("text", ["Blue.", "42", "?", "x" * 4_000])
def test_what_nothing_speaks_for_stays_private_or_is_told_with_little_confidence(text: str) -> None:
    owned = classify(text, owned=True, has_subject=False)
    unowned = classify(text, owned=False, has_subject=False)

    assert owned.kind is P
    assert unowned.kind is not P
    assert unowned.confidence < SURE


def test_a_subject_makes_it_a_profile() -> None:
    assert classify("Likes tea.", owned=True, has_subject=True).kind is MemoryKind.USER_PROFILE


@pytest.mark.parametrize("piece", ["if ", "first ", "step ", "the user "])
def test_finding_a_kind_takes_time_by_the_length(piece: str) -> None:
    def find(text: str) -> object:
        return classify(text, owned=True, has_subject=False)

    assert growth(find, lambda size: piece * (size // len(piece)), 250) < 6
