"""Gets ready what a consultation needs before its transaction: who could answer, what the team remembers, and the
meaning of texts. Holds no transaction open meanwhile, and writes nothing but a team's first routing policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import orjson
import structlog

from app.config import Settings
from app.consultations import queries
from app.consultations.context_builder import MOST_SIMILAR, Found
from app.consultations.likeness import LONGEST, Likeness, overlap
from app.consultations.spec import ConsultationSpec
from app.db.engine import Database
from app.embeddings.embedder import Embedder, EmbeddingFailed
from app.memories.library import Library
from app.memories.models import MemoryKind
from app.memories.recall import IMPORTANCE, RELEVANCE, Recalled, View
from app.redaction import Redaction
from app.routing.calibration import Calibration, similarity
from app.routing.mentions import addressing_nobody
from app.routing.models import MAX_QUERY
from app.routing.service import Draft, Message, Routing
from app.routing.team_indexes import TeamIndexes
from app.teams.flags import FeatureFlag, require

log = structlog.get_logger(__name__)
MOST_ROUTED = 5_000  # characters by which a specialist is chosen
_LOOKED_AT = 30  # memories, the best ones, among which similar consultations are looked for
_MOST_FOUND = 5
SHARES = 0.3  # overlap of words from which it belongs while no cosine can be read
BELONGS = 0.5  # calibrated likeness from which a memory belongs to the question


@dataclass(frozen=True, slots=True)
class Prepared:
    """`draft` is the decision who answers; None where nobody is to be chosen."""

    likeness: Likeness
    draft: Draft | None = None
    found: Found = field(default_factory=Found)


@dataclass(frozen=True, slots=True)
class Consulting:
    """One a process; holds nothing that matters to correctness."""

    settings: Settings
    database: Database
    routing: Routing
    indexes: TeamIndexes
    embedder: Embedder
    library: Library

    @property
    def what(self) -> Redaction:
        return Redaction.SECRETS_AND_EMAILS if self.settings.redact_emails else Redaction.SECRETS

    async def prepare(self, team_id: UUID, requester_id: UUID, spec: ConsultationSpec) -> Prepared:
        """`spec` has no secrets any more. Raises FeatureDisabled, and whatever routing refuses."""
        await self._require_flag(team_id)
        text = routed_text(spec)
        draft = await self.routing.decide(team_id, Message(text=text, without=frozenset({requester_id})))
        return Prepared(
            await self.likeness(team_id, requester_id, spec.question), draft, await self._find(team_id, text)
        )

    async def _require_flag(self, team_id: UUID) -> None:
        flags = await self.database.fetchval("select flags from team where id = $1", team_id)
        require(FeatureFlag.AGENT_COLLABORATION, self.settings.flags, orjson.loads(flags or "{}"))

    async def prepare_clarification(self, team_id: UUID, consultation_id: UUID, text: str) -> Prepared:
        """Raises FeatureDisabled and NotFound."""
        await self._require_flag(team_id)
        parties = await queries.require(self.database, team_id=team_id, consultation_id=consultation_id)
        return Prepared(await self.likeness(team_id, parties["requester_id"], text))

    async def likeness(self, team_id: UUID, requester_id: UUID, *texts: str) -> Likeness:
        """Of these texts and of all that the agent asked and was answered within the hour."""
        said = await queries.texts_of_hour(self.database, team_id, requester_id)
        every = list(dict.fromkeys(text[:LONGEST] for text in (*texts, *said)))
        try:
            vectors = await self.embedder.embed(every)
            calibration = await self.indexes.calibration()
        except EmbeddingFailed as error:
            log.warning("questions are compared by their words only", error=error.message)
            return Likeness()
        return Likeness(dict(zip(every, vectors, strict=True)), calibration)

    async def _find(self, team_id: UUID, text: str) -> Found:
        """Of the team's own shelf only: what agents keep for themselves stays with them."""
        calibration = await self._calibration()
        kinds = (MemoryKind.SHARED, MemoryKind.PROCEDURAL)
        view = View(team_id, (team_id,), kinds, quotable=True)
        memories = await self.library.search(view, text=text, limit=_LOOKED_AT)
        near = [one for one in memories if _belongs(one, text, calibration)]
        of_consultations = await queries.remembered_as(self.database, team_id, [one.id for one in near])
        similar = [one.text for one in near if one.id in of_consultations]
        others = [one for one in near if one.id not in of_consultations]
        return Found(
            decisions=_texts(others, MemoryKind.SHARED),
            similar=similar[:MOST_SIMILAR],
            practices=_texts(others, MemoryKind.PROCEDURAL),
        )

    async def _calibration(self) -> Calibration | None:
        try:
            return await self.indexes.calibration()
        except EmbeddingFailed as error:
            log.warning("memories are compared with a question by their words only", error=error.message)
            return None


def routed_text(spec: ConsultationSpec) -> str:
    """Nobody is addressed in it: whom the requester names is a suggestion at most."""
    kind = spec.reason.value.replace("_", " ") if spec.reason.value != "other" else ""
    told = "\n".join(filter(None, (spec.question, spec.given.concern, spec.given.current_task, kind)))
    return addressing_nobody(told)[: min(MOST_ROUTED, MAX_QUERY)]


def _belongs(memory: Recalled, text: str, calibration: Calibration | None) -> bool:
    if calibration is None:
        return overlap(memory.text, text) >= SHARES
    return _nearness(memory, calibration) >= BELONGS


def _nearness(memory: Recalled, calibration: Calibration) -> float:
    """The memory's cosine out of its score, on the calibrated scale."""
    return similarity(calibration, (memory.score - IMPORTANCE * memory.importance) / RELEVANCE)


def _texts(memories: Sequence[Recalled], kind: MemoryKind) -> list[str]:
    return [one.text for one in memories if one.kind is kind][:_MOST_FOUND]
