"""Files that an experiment names; reading the experiment never looks for them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

LONGEST_NAME = 1000
_NAME = r"^[^\x00-\x1f\x7f]+$"

FileName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=_NAME)]
"""Relative to the experiment's file, or absolute."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""SHA-256 in hexadecimal."""


def is_file_name(value: object) -> bool:
    """Tell whether a value is taken for a name."""
    return (
        isinstance(value, str)
        and len(value) <= LONGEST_NAME
        and re.fullmatch(_NAME, value) is not None
    )
