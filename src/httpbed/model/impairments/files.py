"""Files that an experiment names; reading the experiment never looks for them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

FileName = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""Relative to the experiment's file, or absolute."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""SHA-256 in hexadecimal."""
