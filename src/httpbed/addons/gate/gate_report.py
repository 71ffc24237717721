"""The verdict of a gate: on the terminal, as JSON values, and in the formats of CI systems.

* ``junit``: the XML that CI systems show as tests: a test case for each claim and treatment, and
  one for the gate itself, which fails exactly if the gate does.
* ``github``: workflow commands, which GitHub shows as annotations. The Markdown goes to the job's
  summary, the file that ``GITHUB_STEP_SUMMARY`` names.

What a program, a file or a server named is escaped for each: XML has no control characters, and a
workflow command ends at a line break.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree as ET

from httpbed.addons.claims import claims_report as claims
from httpbed.addons.claims import judging
from httpbed.addons.claims.claim_verdict import ClaimVerdict
from httpbed.addons.claims.judging import JudgedClaim
from httpbed.addons.compare import diff_table, regression
from httpbed.addons.compare.regression import GateVerdict, TreatmentChange
from httpbed.base.errors import ConfigError, Mistake, require_none, visible
from httpbed.experiment.factorial_mistakes import metric_mistakes
from httpbed.experiment.metric import METRICS
from httpbed.experiment.roles import BUILD, BUILDS
from httpbed.report.phrasing import listed, treatment
from httpbed.report.terminal import Console
from httpbed.results import findings, sample, selection
from httpbed.results.selection import SelectedArm
from httpbed.store import resume
from httpbed.store.results import Results

FAILING: Mapping[ClaimVerdict, str] = {
    "contradicted": "contradicted",
    "no difference": "with no difference",
}
"""Verdicts on a claim that fail a gate, as its cause has them."""


@dataclass(frozen=True)
class Gate:
    """A campaign against its baseline."""

    baseline: Results | None
    """None: the campaign ran the baseline's build, too, or is judged by its claims alone."""
    campaign: Results
    metric: str
    margin: float
    judged: Sequence[JudgedClaim]
    changes: Sequence[TreatmentChange]
    selected: Mapping[Path, Sequence[SelectedArm]]
    """By campaign: arms whose results may be selected."""
    strict: bool
    """Whether an inconclusive verdict ends with exit code 1."""

    @property
    def verdict(self) -> GateVerdict:
        """Whether the campaign is worse, or contradicts its claims."""
        if any(self.selected.values()):
            return "refused"
        of_claims = {claim.main.verdict for claim in self.judged}
        of_treatments = regression.verdict(self.changes) if self.changes else "pass"
        if of_claims & FAILING.keys() or of_treatments == "regression":
            return "regression"
        is_pass = of_claims <= {"reproduced"} and of_treatments == "pass"
        return "pass" if is_pass else "inconclusive"

    @property
    def fails(self) -> bool:
        """Whether it ends with exit code 1."""
        is_open = self.verdict == "inconclusive"
        return self.verdict in {"regression", "refused"} or (self.strict and is_open)


def decide(
    campaigns: Sequence[Results],
    *,
    metric: str | None,
    margin: float,
    treatments: bool,
    strict: bool,
) -> Gate:
    """Judge a campaign's claims, and compare its treatments with the baseline's.

    Args:
        campaigns: The campaign, after its baseline if that is another one; else treatments of the
            new build are compared with those of the old one.
        metric: None: the campaign's own.
        margin: A share: by how much a treatment may be worse.
        treatments: Whether treatments are compared even if there are claims; else a campaign with
            claims is compared only by how often it completes.
        strict: Whether an inconclusive verdict ends with exit code 1.

    Raises:
        ConfigError: There is nothing to compare, or neither direction of the metric is worse.
    """
    *others, campaign = campaigns
    baseline = others[0] if others else None
    _require_baseline(baseline, campaign)
    judged = judging.judge(campaign) if campaign.stated_experiment.claims else ()
    name = metric or findings.default_metric(campaign)
    if METRICS[name].better == "neither" and (treatments or not judged):
        reason = f"neither direction of {name} is worse"
        raise ConfigError([Mistake("--metric", reason, "choose another metric")])
    if metric:
        # No gate of a metric that no trial can have would ever fail.
        design = campaign.experiment.treatments()
        scenarios = (sample.scenario(campaign, levels) for levels in design)
        require_none([*metric_mistakes(metric, scenarios, str(campaign.directory), "--metric")])
    by_claims = bool(judged) and not treatments
    allowed = math.inf if by_claims else margin
    if baseline:
        changes = regression.compare(baseline, campaign, name, allowed)
    elif regression.has_builds(campaign):
        changes = regression.compare_builds(campaign, name, allowed)
    else:
        changes = ()
    if by_claims:
        changes = tuple(change for change in changes if change.verdict == "regression")
    selected = {results.directory: selection.selected_arms(results) for results in campaigns}
    return Gate(baseline, campaign, name, margin, judged, changes, selected, strict)


def _require_baseline(baseline: Results | None, campaign: Results) -> None:
    """Refuse a campaign that nothing can be compared with."""
    if baseline:
        _require_shared_treatments(baseline, campaign)
    elif not regression.has_builds(campaign) and not campaign.stated_experiment.claims:
        reason = "has neither two builds of a program nor claims"
        remedy = "name the campaign before the change first"
        raise ConfigError([Mistake(str(campaign.directory), reason, remedy)])


def _require_shared_treatments(old: Results, now: Results) -> None:
    """Refuse a baseline of another experiment, even if only claims are judged."""
    treatments, others = (
        {
            frozenset(zip(results.experiment.factors, levels, strict=True))
            for levels in results.blocks
        }
        for results in (old, now)
    )
    if not treatments & others:
        reason = f"shares no treatment with {old.directory}"
        remedy = "compare two campaigns of the same experiment"
        raise ConfigError([Mistake(str(now.directory), reason, remedy)])


def show(gate: Gate, out: Console) -> None:
    """Print the claims, and a line for each treatment."""
    if gate.judged:
        claims.show(gate.campaign, gate.judged, out)
    if gate.changes:
        regression.show(gate.changes, gate.metric, out)


def in_markdown(gate: Gate) -> str:
    """Return the change as GitHub Flavored Markdown, for a pull request."""
    question = gate.campaign.experiment.question
    verdicts = [f"{claim.stated.id}: {claim.main.verdict}" for claim in gate.judged]
    return regression.in_markdown(
        question, gate.changes, gate.metric, [*verdicts, *notes(gate)], closing(gate)
    )


def notes(gate: Gate) -> Iterator[str]:
    """Name the versions and settings that differ between the campaigns."""
    if gate.baseline is None:
        return
    manifests = gate.baseline.manifest, gate.campaign.manifest
    for name, before, now in resume.differences(*manifests):
        yield f"{name} was {before or 'not there'} and is now {now or 'gone'}"


def explaining(gate: Gate) -> list[str]:
    """Return the command line that says why the treatment that became worst takes longer.

    Empty if no treatment takes longer, or if the builds ran in two campaigns.
    """
    worst = _slowest(gate)
    if worst is None or gate.baseline:
        return []
    sides = [
        ",".join(f"{name}={level}" for name, level in {**worst.levels, BUILD: build}.items())
        for build in BUILDS
    ]
    return ["httpbed", "explain", str(gate.campaign.directory), "--why", *sides]


def explanation_note(gate: Gate) -> Iterator[str]:
    """Say how to find out why a treatment takes longer."""
    if words := explaining(gate):
        yield f"what it spends the time on: {shlex.join(words)}"
    elif _slowest(gate):
        yield (
            "what the time is spent on is explained for builds of one campaign only: run both with"
            " httpbed compare --against, or httpbed gate --scenarios"
        )


def _slowest(gate: Gate) -> TreatmentChange | None:
    """Return the treatment that takes longer than the margin allows, by the largest ratio."""
    if METRICS[gate.metric].unit != "s":
        return None
    slower = [
        change
        for change in gate.changes
        if change.verdict == "regression" and math.isfinite(change.ratio)
    ]
    return max(slower, key=lambda change: change.ratio, default=None)


def values(gate: Gate) -> Mapping[str, Any]:
    """Return the gate for :func:`json.dumps`."""
    return {
        "schema": 1,
        "verdict": gate.verdict,
        "claims": claims.values(gate.campaign, gate.judged)["claims"] if gate.judged else [],
        "comparison": regression.values(gate.changes, gate.metric, gate.margin)
        if gate.changes
        else None,
        "refused_arms": list(_arm_values(gate)),
    }


def _arm_values(gate: Gate) -> Iterator[Mapping[str, Any]]:
    """Yield the arms whose results may be selected."""
    for directory, arms in gate.selected.items():
        for arm in arms:
            yield {
                "directory": str(directory),
                "levels": dict(arm.levels),
                "trials": arm.trials,
                "with_invalid_attempts": arm.repeated,
                "share_of_others": arm.others,
            }


def closing(gate: Gate) -> str:
    """Return the last line: the verdict, its cause, and what it means for the exit code."""
    match gate.verdict:
        case "refused":
            refused = [
                f"{directory}: {selection.in_words(arm)}"
                for directory, arms in gate.selected.items()
                for arm in arms
            ]
            remedy = "find what makes these attempts invalid (httpbed report), then run more blocks"
            return visible(f"gate: refused: {'; '.join(refused)}; {remedy}")
        case "inconclusive":
            exits = "1, because of --strict" if gate.strict else "0; --strict gives 1"
            reason = "the campaigns cannot exclude a regression"
            return f"gate: inconclusive: {reason} (exit code {exits})"
        case "regression":
            return f"gate: regression: {listed(list(_causes(gate)))}"
    return "gate: pass"


def _causes(gate: Gate) -> Iterator[str]:
    for verdict, words in FAILING.items():
        failing = [claim.stated.id for claim in gate.judged if claim.main.verdict == verdict]
        if failing:
            yield f"{'claim' if len(failing) == 1 else 'claims'} {listed(failing)} {words}"
    yield from regression.causes(gate.changes)


SUMMARY = "GITHUB_STEP_SUMMARY"
Level = Literal["error", "warning", "notice"]


@dataclass(frozen=True)
class Case:
    """A claim, a treatment, or the gate itself."""

    name: str
    verdict: str
    reason: str
    fails: bool
    is_open: bool
    """Whether the campaigns settle nothing."""

    @property
    def message(self) -> str:
        """The verdict with its reason."""
        return ": ".join(filter(None, (self.verdict, self.reason)))


def cases(gate: Gate) -> Iterator[Case]:
    """Yield the claims, the treatments, and last the gate."""
    for claim in gate.judged:
        verdict = claim.main.verdict
        has_failed, is_open = verdict in FAILING, verdict in {"open", "not run"}
        yield Case(f"claim {claim.stated.id}", verdict, claim.stated.says, has_failed, is_open)
    for change in gate.changes:
        name = treatment(change.levels, change.levels)
        reason = ", ".join(filter(None, (diff_table.change_text(change), change.reason)))
        has_failed, is_open = change.verdict == "regression", change.verdict == "inconclusive"
        yield Case(name, change.verdict, reason, has_failed, is_open)
    last = closing(gate).removeprefix(f"gate: {gate.verdict}").removeprefix(": ")
    is_open = gate.verdict == "inconclusive" and not gate.fails
    yield Case("gate", gate.verdict, last, gate.fails, is_open)


def in_junit(gate: Gate) -> str:
    """Return the verdict as JUnit XML."""
    gate_cases = list(cases(gate))
    name = gate.campaign.experiment.name
    counts = {
        "tests": str(len(gate_cases)),
        "failures": str(sum(case.fails for case in gate_cases)),
        "skipped": str(sum(case.is_open for case in gate_cases)),
    }
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": visible(name), **counts})
    for case in gate_cases:
        names = {"classname": visible(name), "name": visible(case.name)}
        element = ET.SubElement(suite, "testcase", names)
        if case.fails:
            ET.SubElement(element, "failure", {"message": visible(case.message)})
        elif case.is_open:
            ET.SubElement(element, "skipped", {"message": visible(case.message)})
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def in_github(gate: Gate) -> str:
    """Return the verdict as workflow commands."""
    lines = []
    for case in cases(gate):
        level: Level = "error" if case.fails else "warning" if case.is_open else "notice"
        if level != "notice" or case.name == "gate":
            title = escaped(f"httpbed: {case.name}", ":,")
            lines.append(f"::{level} title={title}::{escaped(case.message)}")
    return "\n".join(lines) + "\n"


def escaped(text: str, further: str = "") -> str:
    """Escape a message, or with further characters a property, as workflow commands need it."""
    for character in f"%\r\n{further}":
        text = text.replace(character, f"%{ord(character):02X}")
    return visible(text)


def append_to_summary(markdown: str) -> None:
    """Append Markdown to the summary of GitHub's job; do nothing elsewhere."""
    if file := os.environ.get(SUMMARY):
        with Path(file).open("a", encoding="utf-8") as summary:
            summary.write(markdown)
