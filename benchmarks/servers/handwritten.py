"""The baseline: one hand-written statement per read, which returns JSON. No authentication, limits or GraphQL."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TEAM = UUID(os.environ["TEAM_ID"])
_GID = "'{0}_' || encode(uuid_send({1}.id), 'hex')"
_AGENT = f"""json_build_object('id', {_GID.format("agent", "a")}, 'slug', a.slug, 'name', a.name,
    'status', upper(a.status), 'modelTier', a.model_tier, 'skills', (
        select coalesce(json_agg(json_build_object('name', s.name, 'description', s.description) order by s.position),
            '[]') from agent_skill s where s.agent_id = a.id))"""
SINGLE = f"""select json_build_object('data', json_build_object('agent', (
    select json_build_object('id', {_GID.format("agent", "a")}, 'slug', a.slug, 'name', a.name, 'tagline', a.tagline,
        'role', a.role, 'status', upper(a.status), 'type', upper(a.type), 'modelTier', a.model_tier)
    from agent a where a.team_id = $1 and a.slug = $2)))::text"""
PAGE = f"""select json_build_object('data', json_build_object('team', (
    select json_build_object('id', {_GID.format("team", "t")}, 'name', t.name, 'handoffRules', (
        select json_build_object(
            'nodes', coalesce(json_agg(json_build_object(
                'id', {_GID.format("rule", "r")}, 'condition', r.condition, 'priority', r.priority,
                'fromAgent', (select {_AGENT} from agent a where a.id = r.from_agent_id),
                'toAgent', (select {_AGENT} from agent a where a.id = r.to_agent_id)
            ) order by r.place) filter (where r.place <= $2), '[]'),
            'pageInfo', json_build_object('hasNextPage', count(*) > $2))
        from (select r.*, row_number() over (order by r.id) as place from handoff_rule r where r.team_id = t.id
            order by r.id limit $2 + 1) r))
    from team t where t.id = $1)))::text"""
GROUPS = """select json_build_object('data', json_build_object('agents', json_build_object('groupedAggregates',
    coalesce(json_agg(json_build_object('key', json_build_object('status', upper(g.status), 'type', upper(g.type)),
        'count', g.count, 'modelTier', json_build_object('mean', g.mean, 'max', g.max)) order by g.count desc), '[]')
    )))::text
    from (select status, type, count(*), avg(model_tier)::float8 as mean, max(model_tier) from agent
        where team_id = $1 group by status, type) g"""


def json_response(body: str) -> Response:
    return Response(body, media_type="application/json")


async def agent(request: Request) -> Response:
    return json_response(await request.app.state.pool.fetchval(SINGLE, TEAM, request.path_params["slug"]))


async def page(request: Request) -> Response:
    return json_response(await request.app.state.pool.fetchval(PAGE, TEAM, int(request.query_params["first"])))


async def groups(request: Request) -> Response:
    return json_response(await request.app.state.pool.fetchval(GROUPS, TEAM))


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    settings: dict[str, Any] = {"server_settings": {"jit": "off"}}
    async with asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=10, max_size=10, **settings) as app.state.pool:
        yield


routes = [Route("/agents/{slug}", agent), Route("/page", page), Route("/groups", groups)]

if __name__ == "__main__":
    app = Starlette(routes=routes, lifespan=lifespan)
    uvicorn.run(app, port=int(os.environ["PORT"]), loop="uvloop", http="httptools", access_log=False)
