"""Enums of teams in the schema."""

from __future__ import annotations

from app.teams import models
from app.teams.flags import FeatureFlag
from graphql_schema.publish_enum import publish_enum

publish_enum(
    models.AfterWork,
    "What happens after an agent's reply when no handoff rule fires.",
    {
        models.AfterWork.RETURN_TO_USER: "The user has the word.",
        models.AfterWork.TERMINATE: "The conversation ends successfully.",
        models.AfterWork.CONTINUE: "The same agent goes on.",
    },
)
publish_enum(
    models.MessagePolicy,
    "Whether the team's agents may write to each other.",
    {
        models.MessagePolicy.OPEN: "They may, directly and to the whole team.",
        models.MessagePolicy.HUB_AND_SPOKE: "They reach each other by task, handoff or consultation only, and write "
        "only in the channels of tasks and collaboration sessions that they have part in.",
    },
)
publish_enum(
    FeatureFlag,
    "Parts of Parley that are off until an installation or a team turns them on.",
    {
        FeatureFlag.AGENT_COLLABORATION: "Messages are routed among agents; off: the named or default agent answers.",
        FeatureFlag.EXPERT_GATE: "Routing weighs every agent on four signals.",
        FeatureFlag.ENSEMBLE_MODE: "More than one agent may answer a message.",
        FeatureFlag.TASK_DELEGATION: "Agents may delegate tasks to each other.",
        FeatureFlag.COLLABORATION: "Agents may run collaboration sessions.",
    },
)
