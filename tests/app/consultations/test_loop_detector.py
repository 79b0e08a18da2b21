"""When asking leads nowhere: labelled sequences that must be found, and as many that must not; by the real embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from app.config import EmbedderSettings
from app.consultations.likeness import Likeness
from app.consultations.loop_detector import Said, Verdict, detect
from app.consultations.models import ExchangeKind, LoopKind
from app.embeddings.choice import embedder_of
from app.routing.calibration import calibrate
from app.routing.lexicon import lexicon

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
# A sequence is what was said, oldest first, and asked last. `Q` begins a consultation, `C` clarifies it, `R` answers.
ALIKE = [
    ["Q Which fields does the User model have?"] * 3,
    ["Q Which fields does the User model have?", "Q What fields are in the User model?",
     "Q Which fields does the User model have?"],
    ["Q How should I structure Docker volumes?", "R Use named volumes.", "Q How should Docker volumes be structured?",
     "R Use named volumes.", "Q How should I structure the Docker volumes?"],
    ["Q Should pagination start at 0 or 1?", "R At 1.", "Q Should the pagination start at 1 or at 0?", "R At 1.",
     "Q should pagination start at 0 or 1"],
    ["Q Where do we store session tokens?", "Q Where are session tokens stored?",
     "Q Where do we store session tokens?"],
    ["Q What does POST /users return on conflict?", "R 409.", "Q What does POST /users return on conflict, please?",
     "R 409.", "Q What does POST /users return on conflict?"],
    ["Q Login fails intermittently, need help debugging", "R A race.",
     "Q Please help: login fails intermittently, I need help debugging it", "R A race.",
     "Q Login fails intermittently, need help debugging!"],
    ["Q Is this auth implementation secure?"] * 4,
    ["Q Why is the build slow?", "R Caching is off.", "Q why is the build slow", "R Caching is off.",
     "Q Why is the build slow??"],
    ["Q What timeout should the client use?", "R 30 s.", "Q What timeout should the client use?", "R 30 s.",
     "Q Again: what timeout should the client use?"],
    ["Q Which index should I add to the orders table?", "Q Which index should I add to the orders table?",
     "Q Which index should I add to the orders table, please?"],
    ["Q Who owns the billing service?", "R Ada.", "Q Who owns the billing service?", "R Ada.",
     "Q Who owns the billing service?"],
    ["Q How do I run the migrations?", "R make migrate", "Q How do I run the migrations?", "R make migrate",
     "Q How do I run the migrations?"],
    ["Q Can I drop column `legacy_id`?", "R No.", "Q Can I drop column `legacy_id`?", "R No.",
     "Q Can I drop the column `legacy_id`?"],
    ["Q Does the cache expire?", "Q Which port?", "Q Does the cache expire?", "Q Does the cache expire?"],
]  # fmt: skip
STALLED = [
    ["Q How does the retry policy work?", "R It backs off.", "C I do not understand, explain.", "R It backs off.",
     "C Still unclear, please explain again.", "R It backs off.", "C Not clear yet, sorry."],
    ["Q Why does the import fail?", "R Bad encoding.", "C It still fails.", "R Check the encoding.",
     "C Still the same problem.", "R Check the encoding.", "C It is still failing, please help."],
    ["Q How do I mock the gateway?", "R Use a fake.", "C Please explain.", "R Use a fake.", "C Please elaborate.",
     "R Use a fake.", "C More details, please."],
    ["Q What is the deploy order?", "R First the database.", "C And then?", "R First the database.", "C Really?",
     "R Yes, first the database.", "C Are you sure?"],
    ["Q Which layout for the page?", "R Two columns.", "C Could you clarify?", "R Two columns.", "C Clarify again?",
     "R Two columns.", "C I am confused, clarify please."],
    ["Q Why is the query slow?", "R A missing index.", "C Why is it slow?", "R A missing index.", "C Why so slow?",
     "R A missing index.", "C Why is that query slow?"],
    ["Q How do I reset the queue?", "R Stop the worker.", "C It does not work.", "R Stop the worker.",
     "C That does not work either.", "R Stop the worker first.", "C Does not work, what is wrong?"],
    ["Q Which certificate is used?", "R The wildcard one.", "C Which one exactly?", "R The wildcard one.",
     "C Which exactly?", "R The wildcard.", "C Which certificate exactly?"],
    ["Q How are prices rounded?", "R Half up.", "C Thanks, but explain.", "R Half up.", "C I still do not know.",
     "R Half up.", "C Explain the rounding of prices."],
    ["Q What does the flag do?", "R It hides the menu.", "C Tell me more.", "R It hides the menu.", "C Tell me again.",
     "R It hides the menu.", "C Please tell me more again."],
    ["Q How do I read the log?", "R With the viewer.", "C Okay, how?", "R With the viewer.", "C But how exactly?",
     "R With the viewer.", "C How, please?", "R With the viewer.", "C How exactly, sorry?"],
]  # fmt: skip
FINE = [
    ["Q Which fields does the User model have?"],
    ["Q Which fields does the User model have?", "R id", "Q Which fields does the User model have?"],
    ["Q Which fields does the User model have?", "R id", "Q Which fields does the Order model have?", "R total",
     "Q Which fields does the Invoice model have?"],
    ["Q What does POST /users return on conflict?", "R 409", "Q What does POST /orders return on conflict?", "R 409",
     "Q What does POST /items return on conflict?"],
    ["Q How do I deploy the frontend?", "R With make.", "Q How do I deploy the backend?", "R With helm.",
     "Q How do I deploy the worker?"],
    ["Q Which index should I add?", "R On email.", "Q Which index should I drop?", "R None.",
     "Q Which index should I rebuild?"],
    ["Q Why is the build slow on Linux?", "R IO.", "Q Why is the build slow on Windows?", "R The scanner.",
     "Q Why is the build slow on macOS?"],
    ["Q Is auth.py secure?", "R Yes.", "Q Is session.py secure?", "R No.", "Q Is login.py secure?"],
    ["Q What changed in version 1.2?", "R Paging.", "Q What changed in version 1.3?", "R Sorting.",
     "Q What changed in version 1.4?"],
    ["Q Should pagination start at 0 or 1?", "R 1", "Q Should sorting be stable?", "R Yes",
     "Q Should filters be combined with and?"],
    ["Q How does the retry policy work?", "R It backs off.", "C Does it add jitter to the delay?",
     "R Up to ten percent.", "C Who sets the maximum number of attempts?", "R The task.",
     "C What happens to the budget of a failed attempt?"],
    ["Q Why does the import fail?", "R Bad encoding.", "C The header has a byte order mark, could that matter?",
     "R Strip it.", "C Now row 4711 fails with an IntegrityError.", "R A duplicate customer number.",
     "C After removing duplicates column `vat_rate` is null."],
    ["Q How do I mock the gateway?", "R Use a fake.", "C The fake lacks refunds, where would they go?",
     "R Into its ledger.", "C And webhooks with signatures?", "R Sign them with the test key.",
     "C Which clock do the timestamps follow?"],
    ["Q What is the deploy order?", "R Database, then API.", "C When do workers restart?", "R After the API.",
     "C How long may draining take?", "R Ten seconds.", "C Who approves a rollback at night?"],
    ["Q Login fails intermittently.", "R A race in session creation.", "C The lock on users did not help.",
     "R Lock the session row.", "C Then test_login times out after 30 s.", "R Deadlock: order the locks.",
     "C Ordered by id it passes, but logout blocks."],
    ["Q Which layout for the page?", "R Two columns.", "C On phones, too?", "R One column there."],
    ["Q Why is the query slow?", "R A missing index.", "C I added ix_orders_customer, now 80 ms.", "R Good.",
     "C The plan still sorts 9000 rows.", "R Add created_at.", "C Down to 4 ms; is the old index needed?"],
    ["Q How do I reset the queue?", "R Stop the worker.", "C It says permission denied for role app.", "R Use admin.",
     "C Admin lacks the password file in CI.", "R Mount the secret.", "C Mounted; which command purges?"],
    ["Q Which certificate is used?", "R The wildcard one.", "C Does it cover api.example.com?", "R Yes.",
     "C Until when is it valid?", "R May.", "C Does renewal restart nginx?"],
    ["Q How are prices rounded?", "R Half up.", "C Also negative amounts?", "R Away from zero.",
     "C Does tax round per line or per invoice?", "R Per line."],
    ["Q How do I cache avatars?", "R A CDN.", "Q How do I cache translations?", "R In memory.",
     "Q How do I cache search results?", "R Redis.", "Q How do I cache exchange rates?", "R For an hour.",
     "Q How do I cache permissions?"],
    ["Q Which fields does Order have?", "R id", "C Is total gross or net?", "R Gross.", "C In which currency?"],
    ["Q Does the API page by cursor?", "R Yes.", "Q Does the API sort by date?", "R Yes.",
     "Q Does the API filter by tag?"],
    ["Q What is our SLA?", "R 99.9.", "Q What is our RPO?", "R 5 min.", "Q What is our RTO?"],
    ["Q Why did job 17 fail?", "R Memory.", "Q Why did job 18 fail?", "R Memory.", "Q Why did job 19 fail?"],
    ["Q May I rename `customer`?", "R No.", "Q May I rename `order`?", "R No.", "Q May I rename `invoice`?"],
    ["Q Who reviews security?", "R Eve.", "Q Who reviews the copy?", "R Kyra.", "Q Who reviews migrations?"],
    ["Q Explain the cache.", "R It keeps reads.", "C Which keys?", "R Users.", "C What evicts them?", "R LRU."],
    ["Q How big may uploads be?", "R 5 MB.", "C And videos?", "R 500 MB.", "C Are they scanned for viruses?",
     "R By ClamAV.", "C Where do rejected files go?"],
    ["Q Which region for backups?", "R eu-west-1.", "C Encrypted with which key?", "R KMS.",
     "C How often is a restore rehearsed?", "R Monthly.", "C Who gets the report of the rehearsal?"],
    ["Q What does the linter miss?", "R Dead code.", "Q What does the type checker miss?", "R Side effects.",
     "Q What do the tests miss?"],
]  # fmt: skip


def likeness(texts: Sequence[str]) -> Likeness:
    async def embed() -> Likeness:
        embedder, every = embedder_of(EmbedderSettings()), list(dict.fromkeys(texts))
        calibration = calibrate(embedder.name, await embedder.embed(lexicon().background))
        return Likeness(dict(zip(every, await embedder.embed(every), strict=True)), calibration)

    return asyncio.run(embed())


def said_in(sequence: Sequence[str], minutes_apart: float = 1.0) -> list[Said]:
    found: list[Said] = []
    consultation, number, first = uuid4(), 0, ""
    for place, line in enumerate(sequence):
        letter, text = line.split(" ", 1)
        if letter == "Q":
            consultation, number, first = uuid4(), 0, text
        number += 1
        kind = {"Q": ExchangeKind.QUESTION, "R": ExchangeKind.RESPONSE, "C": ExchangeKind.CLARIFICATION}[letter]
        at = NOW - timedelta(minutes=minutes_apart * (len(sequence) - place))
        found.append(Said(consultation, number, kind, text, at, first))
    return found


def judge(sequence: Sequence[str], alike: Likeness, **more: object) -> Verdict:
    *history, now = said_in(sequence)
    return detect(now, history, alike=alike, **more)  # type: ignore[arg-type]


def asked_and_found(sequences: Sequence[Sequence[str]]) -> dict[str, LoopKind | None]:
    """All prefixes that end with a question would be asked one after the other: here only the whole."""
    alike = likeness([line.split(" ", 1)[1] for sequence in sequences for line in sequence])
    asked = [sequence[:-1] if sequence[-1].startswith("R") else sequence for sequence in sequences]
    return {f"{place}: {asked[place][-1]}": judge(asked[place], alike).kind for place in range(len(asked))}


def test_what_must_be_found() -> None:
    identical, stalled = asked_and_found(ALIKE), asked_and_found(STALLED)

    assert {name: kind for name, kind in identical.items() if kind is not LoopKind.IDENTICAL} == {}
    assert {name: kind for name, kind in stalled.items() if kind not in (LoopKind.STALL, LoopKind.IDENTICAL)} == {}
    circles = [
        detect(said_in(["Q Why?"])[0], [], circle=path, alike=Likeness()).kind for path in (["a", "b", "a"],) * 2
    ]
    crowds = [detect(said_in(["Q Why?"])[0], [], active=active, alike=Likeness()).kind for active in (3, 4, 30)]
    assert circles + crowds == [LoopKind.CIRCULAR] * 2 + [LoopKind.TOO_MANY] * 3
    assert len(identical) + len(stalled) + len(circles) + len(crowds) >= 30


def test_what_must_not_be_found() -> None:
    found = asked_and_found(FINE)

    assert {name: kind for name, kind in found.items() if kind is not None} == {}
    assert len(found) >= 30


def test_an_hour_later_nothing_is_held_against_anybody() -> None:
    sequence = ALIKE[0]
    *history, now = said_in(sequence, minutes_apart=31)

    assert detect(now, history, alike=likeness([now.text])).kind is None


def test_many_exchanges_with_progress_are_recognised() -> None:
    progress = FINE[10]
    verdict = judge(progress, likeness([line.split(" ", 1)[1] for line in progress]))

    assert (verdict.kind, verdict.progress) == (None, True)


def test_without_an_embedder_words_are_compared() -> None:
    assert judge(ALIKE[0], Likeness()).kind is LoopKind.IDENTICAL
    assert judge(FINE[3], Likeness()).kind is None


@pytest.mark.parametrize("active", [0, 1, 2])
def test_three_open_ones_are_none_too_many(active: int) -> None:
    assert detect(said_in(["Q Why?"])[0], [], active=active, alike=Likeness()).kind is None
