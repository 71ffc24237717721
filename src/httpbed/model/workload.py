"""What is fetched."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from httpbed.model.units import Bytes
from httpbed.model.value import Value


class Workload(Value):
    """One file, fetched once on a new connection."""

    kind: Literal["download"]
    """``download``: one GET of one file."""
    size: Bytes = Field(le=10**10)
    """The file's length in bytes; its content is random text from the experiment's seed."""
