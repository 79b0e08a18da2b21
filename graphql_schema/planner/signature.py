"""Gives a resolver that never runs the signature from which Strawberry learns a field's arguments and type."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any


def give_signature(resolver: Callable[..., Any], arguments: Mapping[str, Any], returned: Any) -> None:
    """`arguments` maps a Python name to its annotation, or to a pair of annotation and default."""
    annotations = {name: spec[0] if isinstance(spec, tuple) else spec for name, spec in arguments.items()}
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=annotations[name],
            default=spec[1] if isinstance(spec, tuple) else inspect.Parameter.empty,
        )
        for name, spec in arguments.items()
    ]
    resolver.__annotations__ = {**annotations, "return": returned}
    resolver.__signature__ = inspect.Signature(parameters, return_annotation=returned)  # type: ignore[attr-defined]
