"""Every kind of workload: the core's download, and those that addons register."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Discriminator, Tag, TypeAdapter

from httpbed.base.addon import Seam, refuse_duplicates
from httpbed.experiment.workload import Download, Workload

NO_SUCH_KIND = "no_such_kind"
"""pydantic's error type for a workload of an unknown kind."""
WORKLOADS = Seam("kinds of workload", type)
"""Models of workloads, each with a ``kind`` of one word."""


def _kinds() -> dict[str, type[Workload]]:
    models: list[Any] = [Download, *WORKLOADS.provided()]
    kinds = [model.model_fields["kind"].annotation.__args__[0] for model in models]
    refuse_duplicates(WORKLOADS.name, kinds)
    return dict(zip(kinds, models, strict=True))


KINDS: Mapping[str, type[Workload]] = _kinds()
"""The model of each kind."""


def _kind(value: object) -> str | None:
    """Return the form of a workload; without a kind it is checked as a download."""
    if isinstance(value, Mapping):
        kind = value.get("kind", "download")
    else:
        kind = getattr(value, "kind", None)
    return f"<{kind}>" if isinstance(kind, str) and kind in KINDS else None


if TYPE_CHECKING:
    StatedWorkload = Workload
else:
    _FORMS = (Annotated[model, Tag(f"<{kind}>")] for kind, model in KINDS.items())
    StatedWorkload = Annotated[
        functools.reduce(operator.or_, _FORMS),
        Discriminator(
            _kind,
            custom_error_type=NO_SUCH_KIND,
            custom_error_message="is not a kind of workload; use "
            + " or ".join(f'"{kind}"' for kind in KINDS),
        ),
    ]
    """A workload of any kind, as an experiment file has it."""
_READER: TypeAdapter[Workload] = TypeAdapter(StatedWorkload)


def parse(document: object) -> Workload:
    """Read a workload's table.

    Raises:
        ValidationError: With every mistake in it.
    """
    return _READER.validate_python(document)
