"""Which archive answers a claim, and what the archives of the other clock and other seeds say.

The clock is an arm. A claim is judged in virtual time where an archive there has its trials, unless
``results/clocks.toml`` says that computing decides it. The answer then names what the other clock
says, in which cells both differ, and which other seeds give the same verdict.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from httpbed.report.phrasing import listed
from markdown_table import table
from results_archives import PUBLISHED, Claim, Clock, PublishedExperiment, place

OTHER: Mapping[Clock, Clock] = {"virtual": "real", "real": "virtual"}
NOT_RUN = "not run"
ROBUST = "robust"
CAUSE = "computing, which takes no time in virtual time"
UNANNOUNCED = "computing, or that the servers of one did not announce HTTP/3"
HEAD = ("clock", "found again")
"""The columns of a table whose claims have several archives."""


def claims_of(found: Sequence[PublishedExperiment]) -> list[Claim]:
    """Return the claims of some experiments in the paper's order, each as it is answered.

    Beside what an archive says they have its ``clock``, the claim of the other clock as ``beside``,
    and those of other seeds as ``repeated``.
    """
    by_id: dict[str, list[tuple[PublishedExperiment, Claim]]] = {}
    for one in found:
        for claim in one.claims:
            by_id.setdefault(claim["id"], []).append((one, claim))
    firsts = [own for own in by_id.values() if not all(one.is_repetition for one, _ in own)]
    return sorted(map(_answer, firsts), key=place)


def _answer(judged: Sequence[tuple[PublishedExperiment, Claim]]) -> Claim:
    firsts = {
        one.clock: {**claim, "unannounced": one.is_unannounced}
        for one, claim in judged
        if not one.is_repetition
    }
    repeated = [(one, claim) for one, claim in judged if one.is_repetition]
    clock = _deciding(firsts)
    own, beside = firsts[clock], firsts.get(OTHER[clock])
    is_same = beside and not beside["unannounced"] and beside["verdict"] == own["verdict"]
    if beside and is_same and _has_unrun_arms(own):
        # Only the archive of the other clock has the arms, which are no part of the paper.
        words = beside["robustness_in_words"]
        own = {
            **own,
            "robustness": beside["robustness"],
            "robustness_in_words": f"{words}, in {OTHER[clock]} time" if words else words,
        }
    return {**own, "clock": clock, "beside": beside, "repeated": repeated}


def _deciding(firsts: Mapping[Clock, Claim]) -> Clock:
    """Return the clock by which a claim is judged."""
    if "virtual" not in firsts or "real" not in firsts:
        return next(iter(firsts))
    virtual, real = firsts["virtual"], firsts["real"]
    if virtual["id"] in _stated()["computing"]:
        return "real"
    if real["verdict"] == NOT_RUN:
        return "virtual"
    # A campaign of few blocks gives some claims no estimate.
    has_estimate = [claim["estimate"] is not None for claim in (virtual, real)]
    return "real" if virtual["verdict"] == NOT_RUN or has_estimate == [False, True] else "virtual"


def _has_unrun_arms(claim: Claim) -> bool:
    return any(arm["verdict"] == NOT_RUN for arm in claim["arms"])


@cache
def _stated() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = tomllib.loads((PUBLISHED / "clocks.toml").read_text())
    return found


def have_several(claims: Sequence[Claim]) -> bool:
    """Whether some of these claims have more than one archive."""
    return any(claim["beside"] or claim["repeated"] for claim in claims)


def columns(claim: Claim) -> list[str]:
    """Return the clock of a claim's verdict with that of the other one, and its repetitions."""
    return [_clocks(claim), again(claim)]


def _clocks(claim: Claim) -> str:
    why = _stated()["computing"].get(claim["id"], "")
    own = f"{claim['clock']}, because computing decides: {why}" if why else claim["clock"]
    if claim["beside"] is None:
        return own
    return f"{own}; in {OTHER[claim['clock']]} time {_compared(claim, claim['beside'])}"


def _compared(claim: Claim, other: Claim) -> str:
    """Say what another archive says: the same, or its own verdict and effect."""
    if other["verdict"] == claim["verdict"]:
        return "the same"
    if other["verdict"] == NOT_RUN:
        return NOT_RUN
    return f"{other['verdict']}: {other['effect']}"


def again(claim: Claim) -> str:
    """Say which repetitions with another seed give the same verdict; empty without any."""
    return "; ".join(
        f"{'yes' if text == 'the same' else text}, seed {', '.join(map(str, one.seeds))},"
        f" {one.clock} time"
        for one, other in claim["repeated"]
        if (text := _compared(claim, other)) != NOT_RUN
    )


def summary(claims: Sequence[Claim]) -> str:
    """Count in sentences the claims by clock, and those that were found again."""
    both = [claim for claim in claims if claim["beside"] and claim["beside"]["verdict"] != NOT_RUN]
    same = sum(claim["beside"]["verdict"] == claim["verdict"] for claim in both)
    in_virtual = sum(claim["clock"] == "virtual" for claim in both)
    repeated = [claim for claim in claims if again(claim)]
    found = sum(again(claim).startswith("yes") for claim in repeated)
    others = Counter(
        other["verdict"]
        for claim in repeated
        for _, other in claim["repeated"]
        if other["verdict"] not in {claim["verdict"], NOT_RUN}
    )
    rest = ", ".join(f"{count} {verdict}" for verdict, count in others.items())
    return (
        "The clock is an arm. In virtual time computing takes no time: the numbers come from the"
        " programs and the network alone, and the same command gives them again. A claim is judged"
        " there where its grid ran there, unless computing decides it. By both clocks ran"
        f" {len(both)} of the {len(claims)} claims: {in_virtual} judged in virtual time,"
        f" {len(both) - in_virtual} in real time, {same} with the same verdict by both."
        f"{_robust_by_one(both)} With another seed, by which other packets are lost where any"
        f" are, {len(repeated)} ran again:"
        f" {found} found again{'; of the others ' if rest else ''}{rest}."
    )


def _robust_by_one(both: Sequence[Claim]) -> str:
    """Name the claims, run by both clocks, that are robust by their own and not by the other."""
    names = [
        claim["id"]
        for claim in both
        if claim["robustness"] == ROBUST
        and claim["beside"]["robustness"] != ROBUST
        and not _has_unrun_arms(claim["beside"])
    ]
    if not names:
        return ""
    return f" Robust by the clock that judges, and not by the other: {listed(names)}."


def section(claims: Sequence[Claim]) -> Iterator[str]:
    """Yield the table of cells that differ between the clocks; nothing if none ran by both."""
    if not any(claim["beside"] for claim in claims):
        return
    rows = [row for claim in claims if claim["beside"] for row in _differing(claim)]
    yield "### Cells that differ by clock"
    yield (
        "Cells of claims above whose intervals in virtual and in real time do not meet. Both have"
        " the same seed, so the same packets are lost."
        + ("" if rows else " Of all claims that ran by both clocks, no cell differs.")
    )
    if rows:
        yield table(["claim", "cell", "in virtual time", "in real time", "cause"], rows)


def _differing(claim: Claim) -> Iterator[list[str]]:
    by_clock = {claim["clock"]: claim, OTHER[claim["clock"]]: claim["beside"]}
    virtual, real = (_cells(by_clock[clock]) for clock in ("virtual", "real"))
    cause = CAUSE if claim["unannounced"] == claim["beside"]["unannounced"] else UNANNOUNCED
    why = {**_stated()["computing"], **_stated()["causes"]}.get(claim["id"], cause)
    for levels in virtual:
        if levels in real and _are_apart(virtual[levels], real[levels]):
            yield [claim["id"], levels, _number(virtual[levels]), _number(real[levels]), why]


def _cells(claim: Claim) -> dict[str, Mapping[str, Any]]:
    """Return a claim's cells by their levels; the only one of a claim without any by its id."""
    if claim["cells"]:
        return {", ".join(cell["levels"].values()): cell for cell in claim["cells"]}
    return {"": claim["estimate"]} if claim["estimate"] else {}


def _are_apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    ends = [(cell["low"], cell["high"]) for cell in (one, other)]
    if any(end is None for pair in ends for end in pair):
        return False
    return bool(ends[0][1] < ends[1][0] or ends[1][1] < ends[0][0])


def _number(cell: Mapping[str, Any]) -> str:
    return f"{cell['value']:.3g} [{cell['low']:.3g}, {cell['high']:.3g}]"
