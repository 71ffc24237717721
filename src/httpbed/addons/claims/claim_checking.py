"""Every mistake in the claims of an experiment, each at its place in the file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from httpbed.addons.claims import compiled_claim
from httpbed.addons.claims.cell_builder import ClaimDesign
from httpbed.addons.claims.stated_claim import StatedClaim
from httpbed.experiment.document import KeyPath
from httpbed.experiment.factorial import TreatmentKey
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


def complete(stated: StatedTables, available: frozenset[TreatmentKey]) -> list[str]:
    """Return the ids of valid claims whose treatments are all available, arms left out."""
    design, claims = ClaimDesign.of_tables(stated), stated.tables.values()
    can_run = {
        claim.id: compiled_claim.compile_claim(claim, design).treatments()[""] <= available
        for claim in claims
        if not claim.parts
    }
    return [
        claim.id for claim in claims if all(can_run[part] for part in claim.parts or [claim.id])
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
    selected: list[object] = []
    """The cells of each arm; None of an arm that cannot be compiled."""
    for index, arm in enumerate(stated.arm):
        path = ("arm", index)
        if names.index(arm.name) != index:
            yield TableProblem((*path, "name"), "names two arms", "give each arm its own name")
        try:
            compiled = compiled_claim.compile_claim(stated.of_arm(arm), design)
        except TableProblemsError as error:
            selected.append(None)
            yield from (
                TableProblem((*path, *problem.at), problem.reason, problem.remedy)
                for problem in error.problems
            )
        else:
            cells = (compiled.cells, compiled.subtracted)
            if cells == (main.cells, main.subtracted):
                reason = "selects the same treatments as the claim itself"
                yield TableProblem(path, reason, "name what differs in where or compare")
            if cells in selected:
                earlier = names[selected.index(cells)]
                reason = f"selects the same treatments as the arm {earlier!r}"
                yield TableProblem(path, reason, "delete one of the arms")
            selected.append(cells)


def _stated_problems(stated: StatedTables) -> Iterator[tuple[KeyPath, TableProblem]]:
    return problems(stated.tables, ClaimDesign.of_tables(stated), stated.unread)


TABLE = StatedTable(
    "claim",
    "claims",
    StatedClaim,
    1000,
    "What the experiment's results should show, with the values that support it. Claims change"
    " nothing that runs.",
    _stated_problems,
    complete,
)
