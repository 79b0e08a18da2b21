"""How a GraphQL type maps to its table, declared once, with the type.

    @mapped(AgentRow.__table__, prefix=Prefix.AGENT)
    @strawberry.type(description="…")
    class Agent(Node):
        slug: str = column("…", filter=True, order=True)
        team = one("Team", "graphql_schema.teams.types", "…", on=lambda agent, team: team.id == agent.team_id)

A field declared here has no resolver: the compiler turns it into SQL. What needs Python says so with `python`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Annotated, Any, TypeVar
from uuid import UUID

import strawberry
from graphql import FieldNode, GraphQLObjectType
from sqlalchemy import ColumnElement, FromClause, Select, Uuid, bindparam
from strawberry.types.base import get_object_definition

from app.auth.principal import Principal
from app.auth.roles import Permission
from app.ids import Prefix
from graphql_schema.planner.signature import give_signature

PLAN = "plan"
NEEDS = "needs"  # the permission of a mutation
Row = Any  # an alias's columns: `row.slug`
T = TypeVar("T", bound=type)


class Caller:
    """SQL parameters of every statement: who asks. Used in predicates such as `row.id == Caller.key_id`."""

    team_id = bindparam("caller_team_id", type_=Uuid())
    key_id = bindparam("caller_key_id", type_=Uuid())
    agent_id = bindparam("caller_agent_id", type_=Uuid())


def caller_parameters(principal: Principal) -> dict[str, UUID | None]:
    """The values of Caller's parameters, for a statement that is run outside of a plan."""
    return {
        Caller.team_id.key: principal.team_id,
        Caller.key_id.key: principal.key_id,
        Caller.agent_id.key: principal.agent_id,
    }


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the row, by default the one named like the field."""

    name: str | None = None
    prefix: Prefix | None = None
    filter: bool = False
    order: bool = False
    group: bool = False
    aggregate: bool = False
    needs: Permission | None = None


@dataclass(frozen=True, slots=True)
class Expression:
    """A value that SQL computes from the row."""

    build: Callable[[Row], ColumnElement[Any]]
    needs: Permission | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    """An object made of columns of the same row."""


@dataclass(frozen=True, slots=True)
class Derived:
    """An object made of the columns of one row that a sub-select computes from this row and the arguments.

    `checks` look at arguments before anything runs: each returns its value or raises AppError.
    """

    build: Callable[..., Select[Any]]
    checks: Mapping[str, Callable[[Any], Any]]
    cost: int
    needs: Permission | None = None


@dataclass(frozen=True, slots=True)
class One:
    """At most one row of another table. `on` gets the parent row, the child row and the arguments as parameters."""

    on: Callable[..., ColumnElement[bool]]
    needs: Permission | None = None
    of: Any = None  # the other type, as an annotation


@dataclass(frozen=True, slots=True)
class Many:
    """A connection over another table's rows."""

    on: Callable[..., ColumnElement[bool]] | None
    needs: Permission | None = None
    filter: bool = False  # whether the row can be found by what these rows are


@dataclass(frozen=True, slots=True)
class Listing:
    """A short list that cannot grow without bound, whole and in order."""

    on: Callable[[Row, Row], ColumnElement[bool]]
    order: str | Callable[[Row, Row], ColumnElement[Any]]
    most: int
    needs: Permission | None = None


@dataclass(frozen=True, slots=True)
class AnyNode:
    """A node of whatever type its id names; `many` for a list of ids."""

    many: bool


@dataclass(frozen=True, slots=True)
class Entity:
    """A node in a payload, held there as its key and read after the commit."""


@dataclass(frozen=True, slots=True)
class Python:
    """A field that Python resolves from the named columns of its row.

    At the root it may give entities, in a list of as many as its argument `first` says, up to `most`.
    """

    requires: tuple[str, ...] = ()
    cost: int = 1
    needs: Permission | None = None
    most: int = 1


def plan_of(of: GraphQLObjectType, node: FieldNode) -> Any:
    """How a selected field is declared; None for one that is not planned."""
    definition = of.fields.get(node.name.value)
    strawberry_field = definition.extensions.get("strawberry-definition") if definition else None
    return strawberry_field.metadata.get(PLAN) if strawberry_field else None


ROOT_PLANS = One | Many | AnyNode


@dataclass(frozen=True, slots=True)
class TypeMap:
    name: str
    table: FromClause | None
    prefix: Prefix | None
    scope: Callable[[Row], ColumnElement[bool]] | None
    needs: Permission | None
    node_needs: Permission | None = None


MAPS: dict[str, TypeMap] = {}


def mapped(
    table: Any = None,
    *,
    prefix: Prefix | None = None,
    scope: Callable[[Row], ColumnElement[bool]] | None = None,
    needs: Permission | None = None,
    node_needs: Permission | None = None,
) -> Callable[[T], T]:
    """Register a type. Its rows are always limited to the caller's team: by `team_id`, or by `scope` where given.

    `table` may be a select's subquery, where the graph shows rows otherwise than the table keeps them. Without a table
    the type is embedded: its columns belong to the row of whoever holds it. `needs` is asked wherever
    the type is read, `node_needs` where it is read by its id alone.
    """

    def register(cls: T) -> T:
        name = get_object_definition(cls, strict=True).name
        limit = scope or (None if table is None else lambda row: row.team_id == Caller.team_id)
        MAPS[name] = TypeMap(name, table, prefix, limit, needs, node_needs)
        return cls

    return register


def column(description: str, *, deprecation_reason: str | None = None, **options: Any) -> Any:
    return strawberry.field(
        description=description, deprecation_reason=deprecation_reason, metadata={PLAN: Column(**options)}
    )


def expression(description: str, build: Callable[[Row], ColumnElement[Any]], *, needs: Permission | None = None) -> Any:
    return strawberry.field(description=description, metadata={PLAN: Expression(build, needs)})


def embedded(description: str) -> Any:
    return strawberry.field(description=description, metadata={PLAN: Embedded()})


def entity(description: str) -> Any:
    return strawberry.field(description=description, metadata={PLAN: Entity()})


def python(
    description: str, *, requires: tuple[str, ...] = (), cost: int = 1, needs: Permission | None = None, most: int = 1
) -> Callable[[Callable[..., Any]], Any]:
    """Decorates a resolver `(self, info) -> …` whose `self` is a mapping of the required columns."""
    made: Any = strawberry.field(description=description, metadata={PLAN: Python(requires, cost, needs, most)})
    return made  # type: ignore[no-any-return]


def listing(
    type_name: str,
    module: str,
    description: str,
    *,
    on: Callable[[Row, Row], ColumnElement[bool]],
    order: str | Callable[[Row, Row], ColumnElement[Any]],
    most: int,
    needs: Permission | None = None,
) -> Any:
    """`order` names a column of the listed rows, or makes one of the parent row and theirs."""
    returned = listed(lazily(type_name, module))
    return planned_field(returned, {}, description, Listing(on, order, most, needs))


def derived(
    type_name: str,
    module: str,
    description: str,
    build: Callable[..., Select[Any]],
    *,
    arguments: Mapping[str, Any] | None = None,
    checks: Mapping[str, Callable[[Any], Any]] | None = None,
    cost: int = 1,
    needs: Permission | None = None,
) -> Any:
    """`build` gets the row and the arguments as parameters; its tables must be limited to the row's team."""
    plan = Derived(build, checks or {}, cost, needs)
    return planned_field(lazily(type_name, module), arguments or {}, description, plan)


def one(
    type_name: str,
    module: str,
    description: str,
    *,
    on: Callable[..., ColumnElement[bool]],
    nullable: bool = False,
    arguments: Mapping[str, Any] | None = None,
    needs: Permission | None = None,
) -> Any:
    """`arguments` maps a Python name to its annotation, such as `Annotated[str, strawberry.argument(…)]`."""
    returned = lazily(type_name, module)
    plan = One(on, needs, returned)
    return planned_field(returned | None if nullable else returned, arguments or {}, description, plan)


def planned_field(returned: Any, arguments: Mapping[str, Any], description: str, plan: Any) -> Any:
    """A field whose arguments Strawberry learns from a made-up signature; it never runs."""

    def resolver(**_: Any) -> Any:
        raise AssertionError("planned fields are answered by SQL")

    give_signature(resolver, arguments, returned)
    return strawberry.field(resolver=resolver, description=description, metadata={PLAN: plan})


def lazily(type_name: str, module: str) -> Any:
    """A type that may be declared later, or in a module that imports this one."""
    return Annotated[type_name, strawberry.lazy(module)]


def listed(of: Any) -> Any:
    """The type of a list whose items' type is known only at run time."""
    return GenericAlias(list, (of,))


def described(annotation: Any, description: str) -> Any:
    """An argument of a planned field."""
    return Annotated[annotation, strawberry.argument(description=description)]


def optional(name: str, description: str) -> Any:
    """A member of an input that may be left out."""
    return strawberry.field(name=name, default=strawberry.UNSET, description=description)
