"""Parses, limits and validates documents once; afterwards a document is one look-up by its text."""

from __future__ import annotations

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    OperationDefinitionNode,
    OverlappingFieldsCanBeMergedRule,
    Source,
    ValidationContext,
    parse,
    specified_rules,
    validate,
)
from graphql.validation.validate import ValidationAbortedError

from app.config import Settings
from graphql_schema.answer import Document
from graphql_schema.transport.limits import LIMIT_EXCEEDED, document_problems, lexical_problem
from graphql_schema.transport.lru import LRU

PARSE_FAILED = "GRAPHQL_PARSE_FAILED"
VALIDATION_FAILED = "GRAPHQL_VALIDATION_FAILED"
MAX_ERRORS = 10
MAX_MESSAGE_CHARS = 1_000
KEPT_DOCUMENTS = 2_000
KEPT_CHARS = 300_000  # a parsed document takes 50 to 350 times the memory of its text: 25 MB, at worst 100
KEPT_FAILURES = 500
KEPT_FAILURE_CHARS = 500_000
COMPARISONS = 8_000  # about 15 ms of CPU; 35 fragments with the same fields in one place need 7,000


class _BoundedOverlapRule(OverlappingFieldsCanBeMergedRule):
    """Comparing equally named fields is quadratic; graphql-core's own budget lets it run for half a second."""

    def __init__(self, context: ValidationContext) -> None:
        super().__init__(context)
        self.rule_context.remaining_complexity_budget = COMPARISONS


_RULES = tuple(_BoundedOverlapRule if rule is OverlappingFieldsCanBeMergedRule else rule for rule in specified_rules)


class Documents:
    def __init__(self, core: GraphQLSchema, settings: Settings) -> None:
        self._core = core
        self._settings = settings
        self._known: LRU[str, Document] = LRU(KEPT_DOCUMENTS, size=KEPT_CHARS, size_of=lambda text, _: len(text))
        self._failed: LRU[str, list[GraphQLError]] = LRU(
            KEPT_FAILURES, size=KEPT_FAILURE_CHARS, size_of=lambda text, _: len(text)
        )

    def known(self, text: str) -> Document | list[GraphQLError] | None:
        """What `get` would answer, if it can do so without reading the text."""
        return self._known.get(text) or self._failed.get(text)

    def get(self, text: str) -> Document | list[GraphQLError]:
        """The document, or why it cannot be had; never raises."""
        document = self.known(text)
        if document is None:
            document = self.read(text)
            self.keep(text, document)
        return document

    def read(self, text: str) -> Document | list[GraphQLError]:
        """What `get` would answer, read anew and not kept: safe in another thread."""
        if problem := lexical_problem(text, self._settings):
            return [problem]
        document = self._parse(text)
        return document if isinstance(document, Document) else [_detached(error, text) for error in document]

    def keep(self, text: str, document: Document | list[GraphQLError]) -> None:
        if isinstance(document, Document):
            self._known.put(text, document)
        elif len(text) <= self._settings.max_query_chars:
            self._failed.put(text, document)

    def _parse(self, text: str) -> Document | list[GraphQLError]:
        try:
            ast = parse(text, allow_empty_selection_sets=False)
        except GraphQLError as error:
            return [error]
        errors = document_problems(ast, self._settings) or validate(self._core, ast, _RULES, MAX_ERRORS)
        if errors:
            return errors
        _unlink_tokens(ast)
        nodes = [node for node in ast.definitions if isinstance(node, OperationDefinitionNode)]
        if not nodes:
            return [GraphQLError("This document has no operation, only fragments.")]
        return Document(text, ast, {node.name.value if node.name else None: node for node in nodes})


def _unlink_tokens(ast: DocumentNode) -> None:
    """Tokens are linked both ways. Without the links, a document that the cache forgets is freed at once."""
    token = ast.loc.start_token if ast.loc else None
    while token is not None:
        following, token.prev, token.next = token.next, None, None
        token = following


def _detached(error: GraphQLError, text: str) -> GraphQLError:
    """The same error with its code, without the syntax tree that the original would keep alive."""
    extensions = error.extensions or {
        "code": PARSE_FAILED if isinstance(error, GraphQLSyntaxError) else VALIDATION_FAILED
    }
    message = error.message[:MAX_MESSAGE_CHARS]
    if isinstance(error, ValidationAbortedError) and "error limit" not in message:
        message = "This document repeats or nests its fields and fragments too often to be checked. Make it smaller."
        extensions = {"code": LIMIT_EXCEEDED, "limit": "validation", "value": COMPARISONS + 1, "maximum": COMPARISONS}
    positions = list(error.positions)[:3] if error.positions else None
    return GraphQLError(message, source=Source(text) if positions else None, positions=positions, extensions=extensions)
