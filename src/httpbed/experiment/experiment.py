"""An experiment: a question, its factors, its design and its report, without the scenario."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    Tag,
    WithJsonSchema,
    create_model,
    model_validator,
)

from httpbed.base import spellings, units
from httpbed.base.clock import Clock
from httpbed.base.errors import RejectedValueError
from httpbed.base.units import Seconds
from httpbed.base.value import TEXT, Value, form_by_key
from httpbed.experiment import factorial
from httpbed.experiment.factorial import (
    Blocks,
    Exclusion,
    FactorName,
    FactorNames,
    Group,
    LevelText,
    Scale,
    ScaleName,
)
from httpbed.experiment.metric import DEFAULT_METRIC, METRICS
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.stated_tables import STATED_TABLES, StatedTable, StatedTables

# How many blocks an experiment has: a number, or a range in which a width of interval decides.


MIN_BEFORE_STOPPING = 6
"""Default of the fewest blocks: fewer values have no interval of 95 %."""
_WIDTH = re.compile(r"ci (?P<share>\S.*)")


def parse_width(text: str) -> float:
    """Return the share in ``ci 5 %``: the half-width of an interval over its estimate.

    Raises:
        RejectedValueError: The text is none, or the share is not above 0 % and below 100 %.
    """
    match, remedy = _WIDTH.fullmatch(text), 'write it like "ci 5 %"'
    if match is None:
        raise RejectedValueError(f"{text!r} is no width of an interval", remedy)
    share = units.parse_share(match["share"])
    if not 0 < share < 1:
        raise RejectedValueError(f"{match['share']} is not above 0 % and below 100 %", remedy)
    return share


def _checked_width(text: str) -> str:
    parse_width(text)
    return text


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


def replicates_until(text: str, most: int) -> Replicates:
    """Return the range that ``--until`` means for an experiment of ``most`` blocks."""
    return Replicates(min=min(MIN_BEFORE_STOPPING, most), max=most, until=text)


NumberOfBlocks = Annotated[
    Annotated[Blocks, Tag(TEXT)] | Annotated[Replicates, Tag("<range>")],
    form_by_key("10", max="<range>", until="<range>", min="<range>"),
]
"""``replicates``: a number of blocks, or a range."""


SHORTEST_TIME_LIMIT_S = 600.0
LONGEST_TIME_LIMIT_S = 86_400.0
"""Recipes set the programs' own timeouts to a day, so that no program gives up before its trial."""
IDEAL_TIMES_LIMIT = 20


def _level_names(levels: object) -> object:
    """Return the names of a factor's levels: texts in a list, or the keys of a table."""
    return list(levels) if isinstance(levels, Mapping) else levels


FactorLevels = Annotated[
    list[LevelText],
    BeforeValidator(_level_names),
    WithJsonSchema({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "object"}]}),
]
"""The levels of a factor, by text or name."""


class ReportOptions(Value):
    """What the report shows first."""

    metric: Literal[tuple(METRICS)] = DEFAULT_METRIC  # type: ignore[valid-type]
    """The metric of the main table."""
    base: dict[FactorName, str] = Field(default_factory=dict)
    """Levels of the base treatment. Within each condition, the other treatments are compared with
    it."""
    rows: FactorNames = Field(default_factory=list)
    """Factors of the matrix's rows. Default: those with the most levels, as long as the rows are
    few."""
    columns: FactorNames = Field(default_factory=list)
    """Factors of the matrix's columns. Default: the factors of the base, as long as the columns are
    few."""
    pages: FactorNames = Field(default_factory=list)
    """Factors whose levels have a matrix each. Default: those that are neither in the rows nor in
    the columns."""


class Experiment(Value):
    """An experiment file without its scenario."""

    schema_: Literal[1] = Field(alias="schema")
    """Version of this file format."""
    name: str = Field(pattern=spellings.NAME)
    """Short name: lower-case letters, digits and hyphens."""
    question: str = Field(min_length=1)
    """The question that the experiment answers, in one sentence."""
    citation: str = Field(default="", max_length=400)
    """The publication whose measurements the experiment repeats, as a list of references has it."""
    replicates: NumberOfBlocks
    """Number of blocks. Each block runs every treatment once. ``{ min = 6, max = 40, until = "ci 5
    %" }`` adds blocks to a treatment until its interval is narrow enough."""
    seed: int = Field(ge=0, lt=2**63, strict=True)
    """Determines the order within blocks, the random stream of every impairment, and the content of
    generated files."""
    clock: Clock = "real"
    """``virtual`` runs each trial in a guest whose clock stands still while a program computes, so
    that a trial gives the same numbers again, however busy the machine."""
    time_limit: Annotated[Seconds, Field(gt=0, le=LONGEST_TIME_LIMIT_S)] | None = None
    """Time after which a trial has timed out. Default: 20 times the ideal transfer time, at least
    600 s."""
    factors: dict[FactorName, FactorLevels] = Field(default_factory=dict)
    """The factors: each name with its levels, written as in the place that refers to the factor. In
    a table each level has a name and may be a text, a table or a list."""
    groups: list[Group] = Field(default_factory=list)
    """The design is the union of these groups. Default: all combinations of all levels."""
    exclude: list[Exclusion] = Field(default_factory=list)
    """Treatments that the design leaves out."""
    scales: dict[ScaleName, Scale] = Field(default_factory=dict)
    """How much of the design ``httpbed run --scale`` runs."""
    report: ReportOptions = ReportOptions()
    """What the report shows first."""

    if TYPE_CHECKING:  # the tables of addons, by the names of their fields

        def __getattr__(self, name: str) -> Any: ...

    def time_limit_s(self, scenario: Scenario) -> float:
        """Return the seconds after which a trial of this scenario has timed out."""
        ideal = IDEAL_TIMES_LIMIT * scenario.ideal_s()
        return self.time_limit or max(SHORTEST_TIME_LIMIT_S, ideal)

    def treatments(self) -> Iterator[dict[str, str]]:
        """Yield every treatment, the first factor varying slowest."""
        return factorial.treatments(self.factors, self.groups, self.exclude)

    @property
    def blocks(self) -> int:
        """The number of blocks, or the upper end of its range."""
        return self.replicates if isinstance(self.replicates, int) else self.replicates.max

    @property
    def stopping(self) -> Replicates | None:
        """The range of replicates; None for a fixed number."""
        return None if isinstance(self.replicates, int) else self.replicates

    def stated(
        self, table: StatedTable, others: Mapping[str, Experiment] | None = None
    ) -> StatedTables:
        """Return its tables of one name, and what they can refer to; ``others`` are named."""
        return StatedTables(
            dict(enumerate(getattr(self, table.field))),
            (),
            self.factors,
            list(self.treatments()),
            {name: other.stated(table) for name, other in (others or {}).items()},
        )

    def trials(self) -> int:
        """Return the number of trials in all blocks."""
        return sum(1 for _ in self.treatments()) * self.blocks

    def at_scale(self, name: ScaleName | None) -> Experiment:
        """Return the experiment reduced to one of its scales; None keeps all of it."""
        if name is None:
            return self
        scale = self.scales[name]
        return self._reduced(
            factors=factorial.narrowed(self.factors, scale.levels),
            groups=factorial.scaled(self.groups, scale),
            replicates=scale.replicates,
        )

    def with_replicates(self, replicates: int | None) -> Experiment:
        """Return the experiment with so many blocks, at every scale; None keeps its own numbers."""
        if replicates is None:
            return self
        update = {"replicates": replicates}
        scales = {name: scale.model_copy(update=update) for name, scale in self.scales.items()}
        blocks = self.stopping.at_most(replicates) if self.stopping else replicates
        return self.model_copy(update={"replicates": blocks, "scales": scales})

    def with_clock(self, clock: Clock | None) -> Experiment:
        """Return the experiment by another clock; None keeps its own."""
        return self.model_copy(update={"clock": clock}) if clock else self

    def reduced_to(self, treatments: Collection[Mapping[str, str]], replicates: int) -> Experiment:
        """Return the experiment with only some treatments of its factors, and so many blocks."""
        groups = [
            Group(name="chosen", levels={name: [level] for name, level in treatment.items()})
            for treatment in treatments
        ]
        exclude = [
            exclusion for exclusion in self.exclude if not any(map(exclusion.matches, treatments))
        ]
        return self._reduced(groups=groups, exclude=exclude, replicates=replicates)

    def _reduced(self, **changes: Any) -> Experiment:
        """Return the experiment with another design, and only the levels that it uses."""
        reduced = self.model_copy(update=changes)
        used: dict[str, set[str]] = {name: set() for name in reduced.factors}
        for treatment in reduced.treatments():
            for name, level in treatment.items():
                used[name].add(level)
        factors = {
            name: [level for level in levels if level in used[name]]
            for name, levels in reduced.factors.items()
        }
        return reduced.model_copy(update={"factors": factors})


@cache
def experiment_model() -> type[Experiment]:
    """Return the model of an experiment file, with the tables that installed addons read."""
    fields: dict[str, Any] = {
        table.field: (
            list[table.model],  # type: ignore[name-defined]
            Field(
                default_factory=list,
                alias=table.name,
                max_length=table.most,
                description=table.meaning,
            ),
        )
        for table in STATED_TABLES.provided()
    }
    return create_model("Experiment", __base__=Experiment, **fields)
