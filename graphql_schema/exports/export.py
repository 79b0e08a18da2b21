"""One export: the stretches in which a whole connection is read, how large each is and what it costs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from app.auth.principal import Principal
from app.config import environment_name
from app.db.reader import Reader, reading_for
from app.errors import AppError, LimitExceeded, RateLimited
from graphql_schema.answer import Operation
from graphql_schema.context import Services
from graphql_schema.planner.errors import InvalidArgument, NotExportable, NotPlanned, TooCostly
from graphql_schema.planner.plan import Plan
from graphql_schema.planner.rows import CURSOR, SIZE, AskedRows

Row = tuple[str, bytes]  # cursor and JSON
FIRST_ROWS = 100
MOST_ROWS = 2_000  # of one stretch
GROWTH = 4
STRETCH_BYTES = 500_000  # aimed at, from what the last stretch weighed
ROWS_A_POINT = 10  # a row costs a tenth of what it would cost in a query
SHARE = 10  # of the key's points in a window, the most that one stretch may cost


class ExportLimit(AppError):
    code = "EXPORT_LIMIT"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"An export has at most {most} rows and more match. Filter, or go on with `after`.",
            limit="exportRows",
            maximum=most,
            setting=environment_name("max_export_rows"),
        )


@dataclass(slots=True)
class Export:
    """Made when all that can be refused is checked. `turn` bounds how many stretches are read at once."""

    services: Services
    operation: Operation
    principal: Principal
    variables: dict[str, Any]
    asked: AskedRows
    turn: asyncio.Semaphore

    def check(self) -> None:
        """Raises AppError for what must be refused before anything is read."""
        self._most_rows()
        self._most_of_stretch(self._plan(self.asked.argument("after", self.variables)))

    async def stretches(self) -> AsyncIterator[list[Row]]:
        """Raises RateLimited only before the first; later it waits until the key has points again."""
        bounded, left = self.asked.argument("first", self.variables) is not None, self._most_rows()
        after, size, patient = self.asked.argument("after", self.variables), FIRST_ROWS, False
        while left:
            plan = self._plan(after)
            size = min(size, self._most_of_stretch(plan), left)
            try:
                rows = await self._read(plan, after, size, patient=patient)
            except LimitExceeded:
                if size == 1:
                    raise
                size = max(1, size // GROWTH)  # rows are larger than those before them, or than most
                continue
            if rows:
                yield rows
            if len(rows) < size:
                return
            left -= size
            after, patient, size = rows[-1][0], True, _next_size(rows)
        if not bounded and await self._read(self._plan(after), after, 1, patient=True):
            raise ExportLimit(self.services.settings.max_export_rows)

    def _most_rows(self) -> int:
        most = self.services.settings.max_export_rows
        first: int | None = self.asked.argument("first", self.variables)
        if first is not None and not 1 <= first <= most:
            raise InvalidArgument("first", f"must be 1 to {most}, not {first}")
        return first or most

    def _plan(self, after: str | None) -> Plan:
        operation, planner = self.operation, self.services.planner
        try:
            return planner.rows(
                operation.document, operation.name, self.variables, self.principal.role, onward=after is not None
            )
        except NotPlanned as needs:
            which = needs.field or "Some field of the nodes"
            raise NotExportable(f"{which} is not read from the database alone. Leave it out.") from None

    def _cost(self, plan: Plan, size: int) -> int:
        return plan.cost.total({**self.variables, SIZE: size})

    def _most_of_stretch(self, plan: Plan) -> int:
        settings, row = self.services.settings, self._cost(plan, 1)
        if row > settings.max_cost:
            raise TooCostly(row, settings.max_cost)
        payable = settings.rate_limit_points // SHARE * ROWS_A_POINT
        return max(1, min(MOST_ROWS, settings.max_cost // row, payable // row))

    async def _read(self, plan: Plan, after: str | None, size: int, *, patient: bool) -> list[Row]:
        await self._pay(-(-self._cost(plan, size) // ROWS_A_POINT), patient=patient)
        async with self.turn:
            variables = {**self.variables, SIZE: size, CURSOR: after}
            with reading_for(Reader(self.principal.team_id, self.principal.key_id)):
                return await self.services.planner.run_rows(plan, self.principal, variables)

    async def _pay(self, points: int, *, patient: bool) -> None:
        while True:
            try:
                await self.services.limiter.spend(self.principal.key_id, points)
            except RateLimited as error:
                if not patient:
                    raise
                await asyncio.sleep(error.details["retry_after_s"])
            else:
                return


def _next_size(rows: list[Row]) -> int:
    """As many rows as weigh what a stretch should, if they are like those just read."""
    weight = sum(len(body) for _, body in rows)
    return max(1, min(GROWTH * len(rows), STRETCH_BYTES * len(rows) // max(1, weight)))
