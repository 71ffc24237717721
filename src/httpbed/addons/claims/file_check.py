"""What ``httpbed validate`` says of the claims in an experiment file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from httpbed.addons.claims import checking
from httpbed.addons.claims.cell_builder import ClaimDesign
from httpbed.cli.validate import FileCheck
from httpbed.experiment.document import KeyPath
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.stated_tables import TableProblem


def _keys(experiment: Experiment) -> frozenset[TreatmentKey]:
    return frozenset(map(treatment_key, experiment.treatments()))


def _problems(
    experiment: Experiment, others: Mapping[str, Experiment]
) -> Iterable[tuple[KeyPath, TableProblem]]:
    """Find what is wrong in claims about other experiments."""
    designs = {name: ClaimDesign(one.factors, _keys(one)) for name, one in others.items()}
    design = ClaimDesign(experiment.factors, _keys(experiment), others=designs)
    return checking.problems(dict(enumerate(experiment.claims)), design)


def _complete(experiment: Experiment) -> dict[str, int]:
    """Count the claims, and those of which each scale runs all treatments; empty without claims."""
    if not experiment.claims:
        return {}
    whole = ClaimDesign(experiment.factors, _keys(experiment))
    counts = {"all": len(experiment.claims)}
    for name in experiment.scales:
        available = _keys(experiment.at_scale(name))
        counts[name] = len(checking.complete(experiment.claims, whole, available))
    return counts


CHECK = FileCheck("claims", _problems, _complete)
