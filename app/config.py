"""Settings, read once from the environment.

Two names are given by convention and carry no prefix: DATABASE_URL and REDIS_URL. Every other setting is
PARLEY_<NAME>. `docs/settings.md` is generated from this class; a wrong value stops the start and names itself.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AliasChoices, BaseModel, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.errors import ConfigurationError

ENV_PREFIX = "PARLEY_"
MODEL_PROVIDERS = ("anthropic", "ollama", "openai")
Positive = Annotated[int, Field(gt=0)]
Price = Annotated[Decimal, Field(ge=0, le=10_000)]


class LogFormat(StrEnum):
    JSON = "json"
    CONSOLE = "console"


class Flags(BaseModel):
    """The feature flags of a whole installation; a team may override each."""

    agent_collaboration: bool = False
    expert_gate: bool = False
    ensemble_mode: bool = False
    task_delegation: bool = False
    collaboration: bool = False


class EmbedderKind(StrEnum):
    STATIC = "static"
    OPENAI = "openai"
    TRANSFORMER = "transformer"


class EmbedderSettings(BaseModel):
    """What turns texts into vectors: the static model of the default install, a provider, or a local transformer."""

    kind: EmbedderKind = EmbedderKind.STATIC
    model: str | None = None
    url: str = "https://api.openai.com/v1"
    key: SecretStr | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 5.0

    @model_validator(mode="after")
    def _model_named(self) -> Self:
        if (self.kind is EmbedderKind.STATIC) != (self.model is None):
            raise ValueError("model is needed for the kinds openai and transformer, and only for them")
        return self


class ScriptedReply(BaseModel):
    """What the offline model says as an agent; without one, as any. `when`: only where the request holds these words,
    `in_conversation`: only where the conversation does; `wait_s`: after so many seconds."""

    agent: str = ""
    say: str = ""
    when: str = ""
    in_conversation: str = ""
    wait_s: Annotated[float, Field(ge=0, le=600)] = 0.0


class HandoffJudge(StrEnum):
    EMBEDDING = "embedding"
    MODEL = "model"


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    database_url: str | None = Field(
        None,
        validation_alias=AliasChoices("DATABASE_URL"),
        description="PostgreSQL 15+ with pgvector, `postgresql://user:password@host/name`. "
        "Unset: `parley dev` embeds one.",
    )
    redis_url: str | None = Field(
        None,
        validation_alias=AliasChoices("REDIS_URL"),
        description="Redis 6+ or Valkey, `redis://host:port/0`. Unset: `parley dev` embeds one.",
    )
    host: str = Field("127.0.0.1", description="Address that the API listens on.")
    port: int = Field(8000, ge=0, le=65535, description="Port that the API listens on; 0 picks a free one.")
    data_dir: Path = Field(Path(".parley"), description="Folder of the embedded services' data (`parley dev` only).")
    demo_key: str | None = Field(
        None,
        description="Admin key of the demo team (`parley dev` only). Unset: one is made and kept in the data folder.",
    )
    log_level: str = Field("info", description="`debug`, `info`, `warning` or `error`.")
    log_format: LogFormat = Field(LogFormat.JSON, description="`json` for machines, `console` for people.")
    graphiql: bool = Field(False, description="Serve GraphiQL at `/graphql` to browsers. `parley dev` turns it on.")
    dashboard: bool = Field(
        True, description="Serve the dashboard at `/`. It shows nothing without an API key and speaks only the API."
    )
    cors_origins: str = Field(
        "",
        description="Comma-separated origins whose pages may call the API, such as `https://dash.example.org`; `*` for "
        "all. `parley dev` allows all.",
    )
    trusted_proxies: str = Field(
        "",
        description="Comma-separated addresses or networks of proxies whose X-Forwarded-For is trusted; `*` trusts "
        "every peer. Empty: the header is ignored, and the peer's own address counts.",
    )

    pool_size: Positive = Field(20, description="Most database connections of one process for writes.")
    read_pool_size: Positive = Field(10, description="Most database connections of one process for planned reads.")
    statement_timeout_ms: Positive = Field(10_000, description="Longest that one SQL statement may run.")
    read_timeout_ms: Positive = Field(
        3_000, description="Longest that one SQL statement of a query, a subscription or an export may run."
    )
    operation_timeout_s: float = Field(15.0, gt=0, description="Longest that one query or mutation may take.")
    shutdown_grace_s: float = Field(10.0, gt=0, description="How long open work may finish after SIGTERM.")

    max_body_bytes: Positive = Field(1_048_576, description="Largest HTTP body or WebSocket message.")
    max_query_chars: Positive = Field(100_000, description="Longest GraphQL document.")
    max_tokens: Positive = Field(5_000, description="Most lexical tokens in a document.")
    max_depth: Positive = Field(15, description="Deepest nesting of fields in an operation.")
    max_aliases: Positive = Field(50, description="Most aliases in an operation, fragments expanded.")
    max_directives: Positive = Field(50, description="Most directives in an operation, fragments expanded.")
    max_root_fields: Positive = Field(20, description="Most root fields in an operation.")
    max_fields: Positive = Field(1_000, description="Most fields in an operation, fragments expanded.")
    max_variables_depth: Positive = Field(24, description="Deepest nesting inside the variables.")
    max_cost: Positive = Field(10_000, description="Most points one operation may cost: about one a row it may return.")
    max_plan_parts: Positive = Field(
        1_500, description="Largest plan of an operation: 1 for each field and filter condition, 20 for each table."
    )
    max_text_conditions: Positive = Field(
        10, description="Most conditions `contains`, `startsWith` and `match` in an operation."
    )
    max_python_values: Positive = Field(
        4_000, description="Most values in the answer of an operation that has a field which Python computes."
    )
    max_introspection_values: Positive = Field(
        200_000, description="Most values in the answer of an introspection query; the whole schema has about 71,000."
    )
    max_answer_bytes: Positive = Field(8_388_608, description="Largest answer to one operation, or to one event.")
    planning_ms_per_key: Positive = Field(
        5_000,
        description="Milliseconds of CPU that one key may spend in a rate window, in each process, on reading and "
        "planning documents that the process does not have in its cache.",
    )
    planning_ms_per_team: Positive = Field(
        15_000, description="The same for all keys of a team together, in milliseconds."
    )
    rate_limit_points: Positive = Field(60_000, description="Points that one key may spend in a rate window.")
    rate_limit_window_s: Positive = Field(60, description="Length of the rate window.")
    auth_failures_per_minute: Positive = Field(
        20, description="Wrong keys that one address may send in a minute before it is answered 429."
    )
    max_sockets_per_key: Positive = Field(
        2_000, description="WebSockets and event streams that one key may hold open in one process."
    )
    max_streams_per_key: Positive = Field(
        250, description="Different subscriptions that one key may have open in one process; equal ones count once."
    )
    max_streams_per_team: Positive = Field(
        1_000, description="Different subscriptions that all keys of a team may have open in one process."
    )
    max_unauthenticated: Positive = Field(
        1_000,
        description="Connections to one process that have not shown a valid key. One more closes the oldest of them. "
        "Never more than half of the process's file descriptors.",
    )
    max_unauthenticated_per_network: Positive = Field(
        100,
        description="Of these, how many may come from one IPv4 address or one IPv6 /64; more are closed at once. "
        "Addresses in `PARLEY_TRUSTED_PROXIES` are not counted.",
    )
    request_deadline_s: float = Field(
        10.0,
        gt=0,
        description="Seconds within which a request's head must be complete, then the first byte of its body must "
        "arrive, and within which a new WebSocket must send its key.",
    )
    max_automatic_chars_per_team: Positive = Field(
        5_000_000, description="Characters of automatic persisted queries that Redis keeps for one team a day."
    )
    embedded_redis_mb: Positive = Field(256, description="Memory limit of the embedded Valkey (`parley dev` only).")
    max_export_rows: Positive = Field(5_000_000, description="Most rows that one export may have.")
    max_exports_per_key: Positive = Field(4, description="Exports that one key may run at a time in one process.")
    max_operations_per_socket: Positive = Field(100, description="Operations that may be open on one WebSocket.")

    event_retention_days: Positive = Field(
        30, description="Days that events can be replayed; older partitions are dropped."
    )
    event_poll_s: float = Field(2.0, gt=0, description="How often the event log is polled when no wake-up arrives.")
    subscriber_buffer: Positive = Field(
        256, description="Events held for one slow subscriber before it drops to reading the log at its own pace."
    )
    stalled_socket_s: float = Field(30.0, gt=0, description="A socket that takes nothing for this long is aborted.")
    idempotency_hours: Positive = Field(24, description="How long an idempotency key is remembered.")

    worker_slots: Positive = Field(
        20, description="Tasks that one worker runs at a time; those that only wait for others do not count."
    )
    worker_metrics_port: int = Field(
        0, ge=0, le=65535, description="Port on which a worker serves its `/metrics`, on `PARLEY_HOST`; 0: none."
    )

    inbox_limit: Positive = Field(
        1_000, description="Unread messages that one agent's inbox holds; the next one is refused until some are read."
    )

    inbox_limit_per_sender: Positive = Field(
        200, description="Unread messages of one sender that one agent's inbox holds, so that nobody fills it alone."
    )
    questions_per_sender: Positive = Field(
        50, description="Open questions to people, asked outside any task, that one agent or one key's name may have."
    )
    first_tasks_per_sender: Positive = Field(
        2_000, description="Open tasks without a parent that one agent may have delegated."
    )

    team_day_budget_usd: Decimal = Field(
        Decimal(50),
        ge=0,
        description="US dollars that one team's tasks may cost in a UTC day, unless the team has its own.",
    )
    team_month_budget_usd: Decimal = Field(
        Decimal(500),
        ge=0,
        description="US dollars that one team's tasks may cost in a UTC month, unless it has its own.",
    )
    task_budget_usd: Decimal = Field(
        Decimal("0.50"),
        gt=0,
        description="US dollars reserved for a task that is delegated without a budget of its own.",
    )
    agent_day_allowance_usd: Decimal = Field(
        Decimal(0),
        ge=0,
        description="US dollars that an agent's key may spend in a UTC day on work that it starts outside any task, "
        "unless an admin granted the agent its own (`setAgentAllowance`). 0: such work is refused.",
    )
    reply_timeout_s: Positive = Field(
        300,
        le=3_600,
        description="Seconds that an agent may take for its reply in a conversation, its turn and further attempts "
        "included, unless the message says otherwise.",
    )
    reply_max_tokens: Positive = Field(
        32_000, le=10_000_000, description="Tokens that one attempt at a reply may use, what it reads included."
    )

    handoff_steps: Positive = Field(
        20,
        le=1_000,
        description="Replies that agents may give by themselves, handing over or going on, since the user last spoke; "
        "then the user has the word.",
    )
    handoff_judge: HandoffJudge = Field(
        HandoffJudge.EMBEDDING,
        description="Who judges the plain language of handoff rules: `embedding`, or `model`, the model of tier 0, "
        "which reads every reply of an agent that has rules once more, at its price. The offline model never judges.",
    )
    handoff_repeats: Positive = Field(
        5,
        le=100,
        description="How often one agent may hand a conversation to the same agent for the same reason since the user "
        "last spoke.",
    )

    consultation_context_tokens: Positive = Field(
        2_000, le=100_000, description="Tokens of context, about four characters each, that a consulted agent is given."
    )
    redact_emails: bool = Field(
        True,
        description="Whether e-mail addresses are taken out of consultations. Keys, tokens, passwords, connection "
        "strings and private keys always are.",
    )

    model_tier_0: str = Field(
        "offline",
        description="Model of tier 0, for light work: `offline`, or `openai:`, `anthropic:` or `ollama:` and its name.",
    )
    model_tier_1: str = Field("offline", description="Model of tier 1, for ordinary work.")
    model_tier_2: str = Field("offline", description="Model of tier 2, for demanding work.")
    offline_directives: bool = Field(
        False,
        description="Whether the offline model obeys directives in the instructions of tasks that admins and "
        "integrators delegate, and `PARLEY_OFFLINE_SCRIPT`. For demos and tests; `parley dev` turns it on.",
    )
    offline_script: tuple[ScriptedReply, ...] = Field(
        (),
        description="What the offline model says as an agent, as JSON, for demos and tests: "
        '`[{"agent": "writer", "say": "The draft is complete.", "when": "draft", "wait_s": 0.5}]`. Of several entries '
        "that fit each is said once in a conversation, in order, and the last one again and again.",
    )
    tier_usd_per_million_tokens: tuple[Price, Price, Price] = Field(
        (Decimal("0.5"), Decimal(3), Decimal(15)),
        description="What routing estimates costs by: US dollars for a million tokens of tier 0, 1 and 2, as JSON. "
        "Tiers whose model is `offline` or `ollama:` cost nothing. What work really costs is priced apart from it.",
    )
    model_request_timeout_s: float = Field(
        60.0, gt=0, description="Longest that one request to a model may take, to the end of its answer."
    )

    embedder: EmbedderSettings = Field(
        EmbedderSettings(),
        description="What turns texts into vectors of 256 numbers, as JSON. The default works offline. "
        '`{"kind": "openai", "model": "text-embedding-3-small", "key": "…"}` asks a provider (any with the same API by '
        '`url`, within `timeout_s` seconds); `{"kind": "transformer", "model": "all-MiniLM-L6-v2"}` needs the extra '
        "`transformers`. Vectors of different models cannot be compared.",
    )
    flags: Flags = Field(
        Flags(),
        description='Feature flags of the installation, as JSON, such as `{"task_delegation": true}`. '
        "All off by default; a team may override each.",
    )

    @field_validator("log_level")
    @classmethod
    def _known_level(cls, value: str) -> str:
        if value.lower() not in {"debug", "info", "warning", "error"}:
            raise ValueError("must be debug, info, warning or error")
        return value.lower()

    @field_validator("model_tier_0", "model_tier_1", "model_tier_2")
    @classmethod
    def _known_provider(cls, value: str) -> str:
        provider, _, name = value.partition(":")
        if value != "offline" and (provider not in MODEL_PROVIDERS or not name.strip()):
            known = ", ".join(f"{one}:<model>" for one in MODEL_PROVIDERS)
            raise ValueError(f"must be offline or one of {known}")
        return value

    @field_validator("database_url")
    @classmethod
    def _postgres_only(cls, value: str | None) -> str | None:
        if value and not value.startswith(("postgresql://", "postgres://")):
            raise ValueError("must start with postgresql://")
        return value

    @field_validator("redis_url")
    @classmethod
    def _redis_only(cls, value: str | None) -> str | None:
        if value and not value.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must start with redis://, rediss:// or unix://")
        return value


def environment_name(field: str) -> str:
    alias = Settings.model_fields[field].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else (ENV_PREFIX + field).upper()


_SECRET = {"DATABASE_URL", "REDIS_URL", "PARLEY_DEMO_KEY", "PARLEY_EMBEDDER"}


def load_settings(**overrides: Any) -> Settings:
    """Read the environment; raises ConfigurationError that names every wrong variable."""
    try:
        return Settings(**overrides)
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            field = str(problem["loc"][0])
            name = field if field in {"DATABASE_URL", "REDIS_URL"} else environment_name(field)
            got = "" if name in _SECRET else f" (got {problem['input']!r})"
            lines.append(f"{name}: {problem['msg'].removeprefix('Value error, ')}{got}")
        raise ConfigurationError("; ".join(lines)) from None
