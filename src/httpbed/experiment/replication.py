"""How many blocks an experiment has: a number, or a range in which a width of interval decides."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, Tag, model_validator

from httpbed.base import units
from httpbed.base.errors import RejectedValueError
from httpbed.base.value import Value
from httpbed.experiment.alternatives import TEXT, chosen

MAX_BLOCKS = 10_000
MIN_BEFORE_STOPPING = 6
"""Default of the fewest blocks: fewer values have no interval of 95 %."""
_WIDTH = re.compile(r"ci (?P<share>\S.*)")


def parse_width(text: str) -> float:
    """Return the share in ``ci 5 %``: the half-width of an interval over its estimate.

    Raises:
        RejectedValueError: The text is none, or the share is not between 0 % and 100 %.
    """
    match = _WIDTH.fullmatch(text)
    if match is None:
        raise RejectedValueError(f'{text!r} does not have the form "ci 5 %"')
    share = units.parse_share(match["share"])
    if not 0 < share < 1:
        raise RejectedValueError(f"{match['share']} is not between 0 % and 100 %")
    return share


def _checked_width(text: str) -> str:
    parse_width(text)
    return text


Blocks = Annotated[int, Field(ge=1, le=MAX_BLOCKS, strict=True)]


class Replicates(Value):
    """Blocks until the intervals are narrow enough."""

    min: Blocks = MIN_BEFORE_STOPPING
    """Fewest blocks of a treatment."""
    max: Blocks
    """Most blocks of a treatment."""
    until: Annotated[str, AfterValidator(_checked_width)]
    """``"ci 5 %"``: a treatment gets no further block once the half-width of the 95 % interval of
    its median is at most this share of the median, in the report's metric."""

    @model_validator(mode="after")
    def _is_range(self) -> Replicates:
        if self.min > self.max:
            raise ValueError(f"min = {self.min} is more than max = {self.max}")
        return self

    @property
    def width(self) -> float:
        """The share in ``until``."""
        return parse_width(self.until)

    def at_most(self, most: int) -> Replicates:
        """Return the range with another upper end."""
        return Replicates(min=min(self.min, most), max=most, until=self.until)


def until(text: str, most: int) -> Replicates:
    """Return the range that ``--until`` means for an experiment of ``most`` blocks."""
    return Replicates(min=min(MIN_BEFORE_STOPPING, most), max=most, until=text)


NumberOfBlocks = Annotated[
    Annotated[Blocks, Tag(TEXT)] | Annotated[Replicates, Tag("<range>")],
    chosen("10", max="<range>", until="<range>", min="<range>"),
]
"""``replicates``: a number of blocks, or a range."""
