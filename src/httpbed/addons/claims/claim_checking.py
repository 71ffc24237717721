"""Every mistake in the claims of an experiment, each at its place in the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from httpbed.addons.claims import compiled_claim
from httpbed.addons.claims.cell_builder import ClaimDesign
from httpbed.addons.claims.stated_claim import StatedClaim
from httpbed.cli.validate import FileCheck
from httpbed.experiment.document import KeyPath
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import treatment_key
from httpbed.experiment.stated_tables import (
    StatedTable,
    StatedTables,
    TableProblem,
    TableProblemsError,
    in_tables,
)

OWN_ESTIMATE = (
    *("metric", "items", "where", "compare", "trend", "knee", "flip", "over", "share_in"),
    *("count_in", "take", "rank_of", "minus", "minus_other", "expect", "arm"),
)
"""Keys that a claim about other claims does not have."""


def problems(
    claims: Mapping[int, StatedClaim], design: ClaimDesign, unread: Collection[str] = ()
) -> Iterator[tuple[KeyPath, TableProblem]]:
    """Yield each mistake with the path of its claim's table.

    Args:
        claims: The claims by their index in the file.
        design: What they can refer to.
        unread: The ids of claims that have other mistakes and cannot be checked.
    """
    known = {claim.id: claim for claim in claims.values()}

    def of_claim(stated: StatedClaim) -> Iterator[TableProblem]:
        if stated.parts:
            return _of_combination(stated, known, unread)
        return _of_estimate(stated, design)

    return in_tables(TABLE.name, claims, of_claim)


def complete(whole: Experiment, scale: Experiment) -> list[str]:
    """Return the ids of valid claims whose treatments a scale runs, arms left out."""
    design = ClaimDesign.of_experiment(whole)
    available = {treatment_key(treatment) for treatment in scale.treatments()}
    can_run = {
        claim.id: compiled_claim.compile_claim(claim, design).treatments()[""] <= available
        for claim in whole.claims
        if not claim.parts
    }
    return [
        claim.id
        for claim in whole.claims
        if all(can_run[part] for part in claim.parts or [claim.id])
    ]


def _of_combination(
    stated: StatedClaim, known: Mapping[str, StatedClaim], unread: Collection[str]
) -> Iterator[TableProblem]:
    key = "all_of" if stated.all_of else "any_of"
    if stated.all_of and stated.any_of:
        yield TableProblem(("any_of",), "excludes all_of", "keep one, or write two claims")
    for of_estimate in OWN_ESTIMATE:
        if getattr(stated, of_estimate):
            reason = f"does not apply to a claim with {key}, which has no estimate of its own"
            yield TableProblem((of_estimate,), reason, "delete it")
    for index, name in enumerate(stated.parts):
        if name not in known:
            if name not in unread:
                yield TableProblem((key, index), f"there is no claim {name!r}")
        elif known[name].parts:
            reason = f"{name} has {'all_of' if known[name].all_of else 'any_of'} itself"
            yield TableProblem((key, index), reason, "list the claims that it lists")


def _of_estimate(stated: StatedClaim, design: ClaimDesign) -> Iterator[TableProblem]:
    try:
        main = compiled_claim.compile_claim(stated, design)
    except TableProblemsError as error:
        yield from error.problems
        return
    names = [arm.name for arm in stated.arm]
    seen: list[object] = []
    for index, arm in compiled_claim.arms(stated):
        path = ("arm", index)
        if names.index(names[index]) != index:
            yield TableProblem((*path, "name"), "names two arms", "give each arm its own name")
        try:
            other = compiled_claim.compile_claim(arm, design)
        except TableProblemsError as error:
            seen.append(None)
            yield from (
                TableProblem((*path, *problem.at), problem.reason, problem.remedy)
                for problem in error.problems
            )
        else:
            if (other.cells, other.subtracted) == (main.cells, main.subtracted):
                reason = "selects the same treatments as the claim itself"
                yield TableProblem(path, reason, "name what differs in where or compare")
            selected = (other.cells, other.subtracted)
            if selected in seen:
                reason = f"selects the same treatments as the arm {names[seen.index(selected)]!r}"
                yield TableProblem(path, reason, "delete one of the arms")
            seen.append(selected)


def _stated_problems(stated: StatedTables) -> Iterator[tuple[KeyPath, TableProblem]]:
    design = ClaimDesign(stated.factors, frozenset(map(treatment_key, stated.treatments)))
    return problems(stated.tables, design, stated.unread)


TABLE = StatedTable(
    "claim",
    "claims",
    StatedClaim,
    1000,
    "What the experiment's results should show, with the values that support it. Claims change"
    " nothing that runs.",
    _stated_problems,
)


def _across_files(
    experiment: Experiment, others: Mapping[str, Experiment]
) -> Iterable[tuple[KeyPath, TableProblem]]:
    """Find what is wrong in claims about other experiments."""
    design = ClaimDesign.of_experiment(experiment, others)
    return problems(dict(enumerate(experiment.claims)), design)


def _complete_counts(experiment: Experiment) -> dict[str, int]:
    """Count the claims, and those whose treatments each scale runs; empty without claims."""
    if not experiment.claims:
        return {}
    counts = {"all": len(experiment.claims)}
    for name in experiment.scales:
        counts[name] = len(complete(experiment, experiment.at_scale(name)))
    return counts


CHECK = FileCheck("claims", _across_files, _complete_counts)
