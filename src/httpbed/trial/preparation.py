"""What is done once before a campaign's trials: read the experiment, make the bed ready.

Reading finds every mistake at once, those of the file and those of its recipes together,
before anything is built or run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from httpbed.design.blocks import design
from httpbed.host import doctor
from httpbed.host.backend import Backend
from httpbed.implementations import casting
from httpbed.implementations.catalog import Catalog
from httpbed.model import reading
from httpbed.model.errors import ConfigError, Mistake
from httpbed.model.experiment import SCENARIO_PARTS, Experiment, fill, values
from httpbed.model.reading import Reading
from httpbed.model.scenario import Scenario
from httpbed.model.trial import Trial
from httpbed.network.kernel import KINDS
from httpbed.network.link_file import LinkFile
from httpbed.trial import certificates, content, link_files, programs
from httpbed.trial.bed import Bed
from httpbed.trial.link_files import LinkFiles

Say = Callable[[str], None]


@dataclass(frozen=True)
class Loaded:
    """An experiment without mistakes, and its design."""

    text: str
    experiment: Experiment
    document: Mapping[str, Any]
    trials: tuple[Trial, ...]
    files: Mapping[str, LinkFile]
    """The files that the experiment names, by digest."""

    def implementations(self) -> list[str]:
        """Names of all implementations that take part, sorted."""
        parts = [part for scenario in self.scenarios() for part in scenario.parts()]
        return sorted({role.implementation for _, role, _ in parts})

    def sizes(self) -> set[int]:
        """Sizes of all files that are fetched."""
        return {size for scenario in self.scenarios() for size in scenario.sizes()}

    def scenarios(self) -> list[Scenario]:
        """Read each treatment's scenario once: every block has all of them."""
        return [trial.scenario() for trial in self.trials if trial.block == 1]


def load(text: str, catalog: Catalog, folder: Path = Path()) -> Loaded:
    """Read an experiment's text; files that it names are relative to ``folder``.

    Raises:
        ConfigError: With every mistake in it and in its files.
    """
    read, files = reading.read(text), LinkFiles(folder)
    found = (*read.mistakes, *files.mistakes(read), *_role_mistakes(read, catalog))
    mistakes = tuple(dict.fromkeys(found))
    if mistakes or read.experiment is None:
        raise ConfigError(mistakes)
    trials = design(read.experiment, read.document, files.completed)
    return Loaded(text, read.experiment, read.document, tuple(trials), files.found())


def _role_mistakes(read: Reading, catalog: Catalog) -> Iterator[Mistake]:
    """Check who takes which role, in every treatment, even where other parts have mistakes."""
    for levels in read.treatments:
        said = values(read.document, levels)
        parts = {part: fill(read.document.get(part), said) for part in SCENARIO_PARTS}
        for found in casting.miscast(catalog, parts):
            place, used_at = reading.place_of(read.document, found.path, levels)
            yield Mistake(place, found.reason + used_at, found.remedy)


def make_bed(
    loaded: Loaded,
    catalog: Catalog,
    *,
    capture: bool,
    say: Say,
    backend: Backend = "af_packet",
) -> Bed:
    """Build or find all that the trials stand on.

    Raises:
        HostError: The toolbox cannot be built here, or the kernel has no such backend.
    """
    found = programs.ensure(catalog, loaded.implementations(), say=say)
    seeded = backend in KINDS and doctor.require_qdisc(backend, found.tools)
    seed = loaded.experiment.seed
    return Bed(
        catalog=catalog,
        programs=found,
        certificates=certificates.ensure(datetime.now(UTC)),
        contents={size: content.ensure(seed, size) for size in sorted(loaded.sizes())},
        capture=capture,
        backend=backend,
        netem_seeded=seeded,
        files=link_files.kept(loaded.files),
    )
