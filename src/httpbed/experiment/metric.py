"""Metrics: what each one means and how it is read, and single observations of them.

Each metric has one descriptor, in ``metrics.toml`` or in such a file of an addon. Analysis, report,
documentation and tests ask it.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from httpbed.base.addon import Seam, refuse_duplicates
from httpbed.base.spellings import FACTOR
from httpbed.base.value import Value

Source = Literal["wire", "client", "proxy", "server", "bed"]
"""Who observed it: the emulator, the client, a proxy, the server, or httpbed around them."""
Better = Literal["lower", "higher", "neither"]
Form = Literal["quantity", "share", "count", "index"]
Applies = Literal[
    "every trial",
    "download",
    "transfer",
    "TCP",
    "several files",
    "proxies",
    "retries",
    "competitors",
    "hand-over",
    "migrating client",
    "page load",
]
Censoring = Literal[
    "unknown", "observed", "longer", "observed or longer", "below body rate", "below response rate"
]
Side = Literal["", ">", "<"]
ItemStatistic = Literal["median", "mean", "largest", "smallest", "range", "interquartile range"]
"""Statistic over the files, resources or clients of one trial."""


class Metric(Value):
    """A named quantity: everything that the rest of httpbed knows about it."""

    name: str
    title: str
    """The name in tables and sentences."""
    unit: str
    """SI unit, ``bit/s``, ``byte``, ``byte/s``, ``s/GB``; ``1`` for shares, counts and indexes."""
    form: Form = "quantity"
    """How values are written: ``quantity`` with a prefix and the unit, ``share`` in percent,
    ``count`` as a whole number, ``index`` as a plain number with three decimals."""
    better: Better
    """Which direction is an improvement."""
    applies: Applies = "every trial"
    """Which completed trials have it; ``download`` and ``transfer`` mean downloads, and
    uploads, too, whose client reports times."""
    per_item: bool = False
    """Whether each file, resource or client has a value of its own, and the trial has none."""
    censoring: Censoring = "unknown"
    """What a trial that timed out says. ``unknown``: nothing. ``observed``: its value counts.
    ``longer``: its value lies above the time limit. ``observed or longer``: its value counts where
    there is one, else it lies above the limit. ``below body rate``, ``below response rate``: its
    value lies below all bodies, or all responses with headers, over the time limit."""
    handover_column: str = ""
    """Header of its median in the table of hand-overs; empty: the table does not show it."""
    page_column: str = ""
    """Header of its median in the table of page metrics; empty: the table does not show it."""
    meaning: str
    """Definition: where it begins and ends, and the source."""

    @model_validator(mode="after")
    def _form_fits_unit(self) -> Self:
        if (self.unit == "1") == (self.form == "quantity"):
            msg = f"{self.name}: unit {self.unit!r} and form {self.form!r} do not go together"
            raise ValueError(msg)
        return self

    @property
    def lower_is_better(self) -> bool:
        """Whether a lower value is an improvement."""
        return self.better == "lower"

    @property
    def side(self) -> Side:
        """On which side of its bound a censored value lies; empty where there is no bound."""
        if self.censoring in {"longer", "observed or longer"}:
            return ">"
        return "<" if self.censoring.startswith("below") else ""

    @property
    def counts_when_timed_out(self) -> bool:
        """Whether a value that was observed before a timeout counts."""
        return self.censoring in {"observed", "observed or longer"}


METRIC_FILES = Seam("files of metrics", Path)


def _read() -> dict[str, Metric]:
    files = [Path(__file__).with_name("metrics.toml"), *METRIC_FILES.provided()]
    tables = [table for file in files for table in tomllib.loads(file.read_text("utf-8")).items()]
    refuse_duplicates("metrics", [name for name, _ in tables])
    return {
        name: Metric.model_validate({"name": name, "title": name.replace("_", " "), **table})
        for name, table in tables
    }


METRICS: dict[str, Metric] = _read()
"""Every metric that a trial may have, by name."""
DEFAULT_METRIC = "request_time"


def is_unknown_metric(name: object) -> bool:
    """Whether this may be a metric of an addon that is not installed."""
    return isinstance(name, str) and bool(re.match(FACTOR, name)) and name not in METRICS


class Observation(Value):
    """One value of one metric in one trial."""

    metric: str
    value: float
    source: Source
    item: str = ""
    """Which file, resource or client it is about; empty for the whole trial."""

    @property
    def unit(self) -> str:
        """The metric's unit; empty if the addon that has the metric is not installed."""
        return METRICS[self.metric].unit if self.metric in METRICS else ""
