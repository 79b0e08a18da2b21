"""The GraphQL face of Parley. The domain's enums enter the schema first: whatever type is imported finds them there."""

from graphql_schema import enums

__all__ = ["enums"]
