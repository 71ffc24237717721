"""Files that an experiment names; reading the experiment never looks for them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from httpbed.base import spellings

LONGEST_NAME = 1000

FileName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=spellings.FILE)]
"""Relative to the experiment's file, or absolute."""
Digest = Annotated[str, Field(pattern=spellings.SHA256)]
"""SHA-256 in hexadecimal."""


def is_file_name(value: object) -> bool:
    """Tell whether a value is taken for a name."""
    return (
        isinstance(value, str)
        and len(value) <= LONGEST_NAME
        and re.fullmatch(spellings.FILE, value) is not None
    )
