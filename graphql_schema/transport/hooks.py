"""Checks at the start that what limits rely on inside other libraries is still there.

The versions are pinned in pyproject.toml. If one is changed and a hook is gone, a limit would silently not hold; so the
server does not start.
"""

from __future__ import annotations

from importlib.metadata import version

from graphql import GraphQLObjectType, OverlappingFieldsCanBeMergedRule, SchemaMetaFieldDef, get_named_type
from graphql.validation import ValidationContext
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from app.errors import ConfigurationError

_METHODS: dict[type, tuple[str, ...]] = {
    HttpToolsProtocol: (
        "connection_made", "connection_lost", "on_message_begin", "on_headers_complete", "on_body",
        "on_message_complete", "handle_websocket_upgrade", "pause_writing", "resume_writing",
    ),
    WebSocketsSansIOProtocol: ("connection_lost", "handle_connect", "pause_writing", "resume_writing", "shutdown"),
}  # fmt: skip


def check_hooks() -> None:
    """Raises ConfigurationError that names every hook that is missing."""
    missing = [
        f"{owner.__name__}.{name}" for owner, names in _METHODS.items() for name in names if not hasattr(owner, name)
    ]
    if not _bounds_comparisons():
        missing.append("OverlappingFieldsCanBeMergedRule.rule_context.remaining_complexity_budget")
    if not _resolves_introspection():
        missing.append("the resolvers of __Schema")
    if missing:
        versions = ", ".join(f"{name} {version(name)}" for name in ("graphql-core", "uvicorn", "websockets"))
        raise ConfigurationError(
            f"Limits would not hold with these versions ({versions}): {', '.join(missing)} is missing. "
            "Install the versions that pyproject.toml names."
        )


def _bounds_comparisons() -> bool:
    context = ValidationContext.__new__(ValidationContext)
    rule = OverlappingFieldsCanBeMergedRule(context)
    return isinstance(getattr(getattr(rule, "rule_context", None), "remaining_complexity_budget", None), int)


def _resolves_introspection() -> bool:
    of = get_named_type(SchemaMetaFieldDef.type)
    return isinstance(of, GraphQLObjectType) and all(field.resolve is not None for field in of.fields.values())
