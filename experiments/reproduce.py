"""Runs the studies, judges their claims, and compares the verdicts with the published ones.

    make reproduce                                   # all studies, as they are published: a day
    make reproduce STUDY=ranjan2019                  # one of them
    make reproduce STUDY=zhang2023 SCALE=smoke       # minutes: does everything run? no verdicts
    make reproduce STUDY=zhang2023 SEED=published    # the same losses of packets as published

Without SCALE an experiment runs the trials that its published archive in ``results/`` has, or scale
standard if none is published. The clock is that of the published campaign, however busy this
machine is. Its seed is another one, so that other packets are lost: a verdict
that is found again is then found independently. With the published seed a difference comes from
programs or the machine. Campaigns are kept in ``reproduced/``; the same command resumes them. The
exit code is 1 if a verdict is the opposite of a published one.
"""

from __future__ import annotations

import signal
import sys

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback, from the first import on

import argparse
import json
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from httpbed.base.clock import Clock
from httpbed.base.units import format_share
from httpbed.experiment import parser
from httpbed.store import query

STUDIES = Path(__file__).resolve().parent
PUBLISHED = STUDIES.parent / "results"
REPRODUCED = STUDIES.parent / "reproduced"
HTTPBED: Sequence[str] = ("httpbed",)
SCALES = ("smoke", "standard", "paper", "full")
SMOKE = "smoke"
"""The scale that only shows that everything runs."""
UNPUBLISHED_SCALE = "standard"
PUBLISHED_SEED = "published"
OTHER_SEED = 1000
"""Is added to an experiment's seed for an independent one."""
NOT_RUN = "not run"
SETTLED = {"reproduced": "contradicted", "contradicted": "reproduced"}
"""A verdict and its opposite; the other verdicts have none."""


@dataclass(frozen=True)
class Selection:
    """Which trials of an experiment run."""

    scale: str
    for_claims: bool = False
    clock: Clock = "real"

    def options(self) -> list[str]:
        """Return the options of ``httpbed run``."""
        extra = ["--for-claims"] if self.for_claims else []
        return ["--scale", self.scale, *extra, "--clock", self.clock]

    def __str__(self) -> str:
        return f"{self.scale}{', for claims' if self.for_claims else ''}"


@dataclass(frozen=True)
class ComparedClaim:
    """A claim's verdict in the published results and in a new campaign."""

    id: str
    published: str | None
    """None: no verdict on it is published."""
    now: str

    @property
    def is_opposite(self) -> bool:
        """Whether both verdicts are settled and differ."""
        return self.published is not None and SETTLED.get(self.published) == self.now


@dataclass(frozen=True)
class ComparedValues:
    """How many new values lie between the least and the most of the published ones."""

    inside: int
    values: int
    expected: float
    """Of values that come from the same distribution."""

    def __str__(self) -> str:
        share = self.expected / self.values if self.values else 0.0
        return (
            f"{self.inside} of {self.values} values lie in the published range"
            f" (about {format_share(share, 0)} are expected to)"
        )


def main(words: Sequence[str] | None = None) -> int:
    """Run, judge and compare; return the exit code."""
    chosen = _arguments(words)
    try:
        opposite = _opposite(chosen)
    except OSError as error:
        print(f"{error}; {REPRODUCED} must be a folder that you may write to", file=sys.stderr)
        return 2
    return 1 if opposite else 0


def _opposite(chosen: argparse.Namespace) -> int:
    """Reproduce what is chosen; return how many verdicts are the opposite of a published one."""
    opposite = 0
    for experiment in experiments(chosen.study):
        published = PUBLISHED / experiment.parent.name / experiment.stem
        selection = selection_of(published, chosen.scale)
        seed = seed_of(experiment, chosen.seed)
        folder = REPRODUCED / (chosen.scale or "published") / f"seed-{seed}"
        campaign = folder / experiment.parent.name / experiment.stem
        print(f"== {experiment.relative_to(STUDIES)}, {selection}, seed {seed}", flush=True)
        compared = reproduced(experiment, selection, campaign, published, seed)
        if selection.scale == SMOKE:
            print(unjudged(compared), flush=True)
            continue
        opposite += sum(claim.is_opposite for claim in compared)
        for line in lines(compared):
            print(line)
        if published.is_dir():
            print(compared_values(published, campaign), flush=True)
    return opposite


def selection_of(published: Path, scale: str | None = None) -> Selection:
    """Return which trials a published archive has; scale standard where there is none.

    With ``scale``, those of this scale by the archive's clock.
    """
    file = published / "manifest.json"
    manifest: dict[str, Any] = {"scale": UNPUBLISHED_SCALE}
    if file.exists():
        manifest = json.loads(file.read_text())
    clock = manifest.get("clock", "real")
    if scale:
        return Selection(scale, clock=clock)
    return Selection(manifest["scale"], bool(manifest.get("for_claims")), clock)


def seed_of(experiment: Path, chosen: str | None) -> int:
    """Return the seed of a new campaign: by default another one than the published."""
    published = int(tomllib.loads(experiment.read_text())["seed"])
    if chosen == PUBLISHED_SEED:
        return published
    return int(chosen) if chosen else published + OTHER_SEED


def with_seed(experiment: Path, seed: int, folder: Path) -> Path:
    """Write an experiment file with another seed; the claims and all else stay."""
    text, lines = re.subn(r"(?m)^seed = .*$", f"seed = {seed}", experiment.read_text())
    if lines != 1:
        raise ValueError(experiment)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / experiment.name
    file.write_text(text)
    return file


def reproduced(
    experiment: Path, selection: Selection, campaign: Path, published: Path, seed: int
) -> list[ComparedClaim]:
    """Run an experiment, or resume it, and compare its verdicts with the published ones."""
    file = with_seed(experiment, seed, campaign.parent / "experiments")
    if not _run(file, selection, campaign):
        print("some trials have no valid attempt; the same command repeats them")
    now = judged(campaign, experiment, campaign.parent)
    return compared_claims(_claims(published), now)


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    studies = sorted({path.parent.name for path in experiments(None)})
    known = {"study": studies, "scale": SCALES, "seed": (PUBLISHED_SEED,)}
    stated = {name: ", ".join(values) for name, values in known.items()}
    stated["seed"] += ", or a number"
    options = argparse.ArgumentParser(
        "make reproduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, values in stated.items():
        options.add_argument(f"--{name}", help=values)
    chosen = options.parse_args(words)
    mistakes = [
        f"{name.upper()}: {value!r} is none of: {stated[name]}\n"
        for name, value in vars(chosen).items()
        if value and value not in known[name] and not (name == "seed" and value.isdecimal())
    ]
    if mistakes:
        options.exit(2, "".join(mistakes))
    return chosen


def experiments(study: str | None) -> list[Path]:
    """Return the experiment files of a study, or of all."""
    folders = sorted(path.parent for path in STUDIES.glob("*/published.csv"))
    return [
        file
        for folder in folders
        if study in {None, folder.name}
        for file in sorted(folder.glob("*.toml"))
    ]


def _run(experiment: Path, selection: Selection, campaign: Path) -> bool:
    """Run or resume a campaign; return whether each trial has a valid attempt."""
    campaign.parent.mkdir(parents=True, exist_ok=True)
    options = [*selection.options(), "-o", str(campaign)]
    words = [*HTTPBED, "run", str(experiment), *options]
    with subprocess.Popen(words) as run, _signals_go_to(run):
        code = run.wait()
    if code not in {0, 1}:
        sys.exit(code)
    return code == 0


@contextmanager
def _signals_go_to(run: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let a run end in order, as its own answer to a signal, and wait for it meanwhile.

    A terminal sends Ctrl-C to the run as well, and a second one would leave trials under way.
    """

    def pass_on(number: int, _: object) -> None:
        run.send_signal(number)

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None),
        signal.SIGTERM: signal.signal(signal.SIGTERM, pass_on),
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def judged(campaign: Path, experiment: Path, beside: Path) -> list[dict[str, Any]]:
    """Judge the claims that an experiment file makes today by a campaign of it.

    Args:
        campaign: The campaign or its archive.
        experiment: The experiment file.
        beside: The folder with the campaigns of the study's other experiments, which are the
            evidence for claims that refer to them.
    """
    stated = parser.read_valid(experiment.read_text()).experiment
    if stated is None or not stated.claims:
        return []
    others = referred(experiment, beside)
    words = [*HTTPBED, "claims", *map(str, [campaign, *others])]
    words += ["--experiment", str(experiment), "--json"]
    said = subprocess.run(words, check=False, stdout=subprocess.PIPE, text=True)
    if said.returncode:
        sys.exit(said.returncode)  # the verb has printed the reason
    (only,) = json.loads(said.stdout)["campaigns"]
    claims: list[dict[str, Any]] = only["claims"]
    return claims


def referred(experiment: Path, beside: Path) -> list[Path]:
    """Return the campaigns of a folder to which the claims of an experiment file refer."""
    stated = parser.read_valid(experiment.read_text()).experiment
    claims = stated.claims if stated else []
    named = {name for claim in claims for name in claim.other_experiments}
    return [path for path in sorted(beside.glob("*")) if _name(path) in named]


def _name(campaign: Path) -> str:
    """Return the name of a campaign's experiment."""
    file = campaign / "experiment.toml"
    return str(tomllib.loads(file.read_text())["name"]) if file.exists() else ""


def _claims(published: Path) -> list[dict[str, Any]]:
    file = published / "claims.json"
    if not file.exists():
        return []
    claims: list[dict[str, Any]] = json.loads(file.read_text())["claims"]
    return claims


def compared_claims(
    published: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> list[ComparedClaim]:
    """Pair verdicts by the claim's id."""
    before = {claim["id"]: claim["verdict"] for claim in published}
    return [ComparedClaim(claim["id"], before.get(claim["id"]), claim["verdict"]) for claim in now]


def unjudged(compared: Sequence[ComparedClaim]) -> str:
    """Say that scale smoke runs too few trials for a verdict, whatever the claims say of them."""
    return (
        f"scale {SMOKE} cannot judge: the {len(compared)} claims need more trials; leave out SCALE"
        " for those of the published campaign"
    )


def lines(compared: Sequence[ComparedClaim]) -> Iterator[str]:
    """Yield each claim whose verdict differs, those not run, then how many agree."""
    published = [claim for claim in compared if claim.published is not None]
    for claim in compared:
        if claim.now not in {claim.published, NOT_RUN}:
            mark = "  OPPOSITE" if claim.is_opposite else ""
            yield f"  {claim.id}: {_before(claim)}, now {claim.now}{mark}"
    if unjudged := [claim.id for claim in compared if claim.now == NOT_RUN]:
        yield f"  {NOT_RUN}: {', '.join(unjudged)}"
    same = sum(claim.now == claim.published for claim in published)
    yield f"{same} of {len(published)} published verdicts found again"


def _before(one: ComparedClaim) -> str:
    return f"published {one.published}" if one.published else "not published"


def compared_values(published: Path, campaign: Path) -> ComparedValues:
    """Compare each new value of the main metric with the published ones of its treatment.

    Of n published values and a new one, all from one distribution, each is equally likely to be
    the least or the most. So the new one lies between the others with probability (n - 1)/(n + 1).
    """
    before, after = query.read(published), query.read(campaign)
    metric = before.experiment.report.metric
    factors = [*before.experiment.factors, "item"]
    ranges = _values(before.observations, metric).group_by(factors)
    known = {
        tuple(row[name] for name in factors): row
        for row in ranges.aggregate(
            [("value", "min"), ("value", "max"), ("value", "count")]
        ).to_pylist()
    }
    inside, expected, values = 0, 0.0, 0
    for row in _values(after.observations, metric).to_pylist():
        found = known.get(tuple(row[name] for name in factors))
        if found is not None:
            values += 1
            inside += found["value_min"] <= row["value"] <= found["value_max"]
            expected += (found["value_count"] - 1) / (found["value_count"] + 1)
    return ComparedValues(inside, values, expected)


def _values(observations: pa.Table, metric: str) -> pa.Table:
    wanted = pc.and_(
        pc.equal(observations["metric"], metric), pc.equal(observations["outcome"], "completed")
    )
    return observations.filter(wanted)


if __name__ == "__main__":
    sys.exit(main())
