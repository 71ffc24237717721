"""Every kind of workload: the core's download and upload, and those that addons register."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Discriminator, Tag, TypeAdapter
from pydantic.json_schema import SkipJsonSchema

from httpbed.base.addon import Seam, refuse_duplicates
from httpbed.experiment.workload import Capability, Download, Upload, Workload

NO_SUCH_KIND = "no_such_kind"
"""pydantic's error type for a workload of an unknown kind."""
WORKLOADS = Seam("kinds of workload", type)
"""Models of workloads, each with a ``kind`` of one word."""


def _kinds() -> dict[str, type[Workload]]:
    models: list[Any] = [Download, Upload, *WORKLOADS.provided()]
    kinds = [model.model_fields["kind"].annotation.__args__[0] for model in models]
    refuse_duplicates(WORKLOADS.name, kinds)
    return dict(zip(kinds, models, strict=True))


KINDS: Mapping[str, type[Workload]] = _kinds()
"""The model of each kind."""


def others_with(key: str, place: Sequence[int | str]) -> str:
    """Name the other kinds that have a key, in quotes; empty where no workload's table is."""
    form = place[-2] if len(place) > 1 else ""
    if form not in {f"<{kind}>" for kind in KINDS}:
        return ""
    kinds = [kind for kind, model in KINDS.items() if key in model.model_fields]
    return " or ".join(f'"{kind}"' for kind in kinds)


class UnreadWorkload(Workload):
    """The workload of a campaign's trials, if only an addon reads it that is not installed.

    Nothing runs it.
    """

    def needs(self) -> Iterator[Capability]:
        """Yield nothing: it is not known."""
        yield from ()

    def requests(self) -> int:
        """Return 0: it is not known."""
        return 0

    def body_bytes(self) -> int:
        """Return 0: it is not known."""
        return 0


_unread = functools.cache(lambda kind: UnreadWorkload(kind=kind))


def of_campaign(table: object) -> object:
    """Return a workload's table as a campaign has it, with what this httpbed reads.

    A kind that no installed addon reads is only named. A key that the model lacks is left out: it
    was checked when the trials ran, by an httpbed that had it.
    """
    kind = table.get("kind", "download") if isinstance(table, Mapping) else None
    if not isinstance(table, Mapping) or not isinstance(kind, str):
        return table
    if kind not in KINDS:
        return _unread(kind) if re.fullmatch("[a-z]{1,20}", kind) else table
    known = KINDS[kind].model_fields.keys()
    return table if table.keys() <= known else {key: table[key] for key in table if key in known}


def _kind(value: object) -> str | None:
    """Return the form of a workload; without a kind it is checked as a download."""
    if isinstance(value, UnreadWorkload):
        return "<unread>"
    if isinstance(value, Mapping):
        kind = value.get("kind", "download")
    else:
        kind = getattr(value, "kind", None)
    return f"<{kind}>" if isinstance(kind, str) and kind in KINDS else None


if TYPE_CHECKING:
    StatedWorkload = Workload
else:
    _FORMS = [Annotated[model, Tag(f"<{kind}>")] for kind, model in KINDS.items()]
    _FORMS += [SkipJsonSchema[Annotated[UnreadWorkload, Tag("<unread>")]]]
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
