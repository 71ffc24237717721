"""The report as one HTML file that needs nothing else: no network and no font.

Its one script sorts tables. A policy in the page allows that script by its digest. It allows no
other script and no address, so a name from a server or a file can neither run nor load anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from markupsafe import Markup

from httpbed.addons.claims import claim_matrix as matrix
from httpbed.addons.claims import claims_section_report as claims_section
from httpbed.addons.cluster import machines_report as machines
from httpbed.addons.figures.section import DeclaredFigures
from httpbed.addons.handover import handovers_report as handovers
from httpbed.addons.pages.report import bands, thumbnails
from httpbed.addons.pages.report.film import Film
from httpbed.addons.pages.report.section import Section
from httpbed.addons.timeline import timelines_report as timelines
from httpbed.addons.timeline.time_series_report import SIGNS, OverTime
from httpbed.report import access, drawing, html_tables, inline, levels, manifest, notes, templating
from httpbed.report.answer import answer, every_comparison, sums_up
from httpbed.report.figures import Plot
from httpbed.report.phrasing import listed as in_words
from httpbed.report.phrasing import percent
from httpbed.results.comparison import EQUAL_MARGIN
from httpbed.results.findings import Findings
from httpbed.store.results import Results

TEMPLATE = "report.html.j2"
SCRIPT = "sort.js"
MOST_UNFOLDED = 24
"""Treatments, or invalid attempts, in a plot or a table that is shown unfolded."""


@dataclass(frozen=True)
class SectionFigures:
    """The figures of sections that only some reports have."""

    over_time: Sequence[Plot] = ()
    """Of the section on hand-overs."""
    pages: Section | None = None
    """The section on page loads."""
    declared: DeclaredFigures | None = None
    """The figures that the experiment declares."""
    series: OverTime | None = None
    """The section on the course of trials."""


def render(
    results: Results,
    findings: Findings,
    plots: list[Plot],
    shown: SectionFigures = SectionFigures(),
) -> str:
    """Render the report."""
    listed = findings.first(html_tables.MOST_LISTED)
    return templating.render(
        TEMPLATE,
        **_answer(results, findings),
        **_tables(results, listed),
        **_evidence(results, findings),
        unlisted=_unlisted(findings),
        plots=_drawn(plots, folded=_long(findings, plots)),
        moves=_moves(listed, results, shown.over_time),
        pages=_pages(findings, shown.pages),
        most_unfolded=MOST_UNFOLDED,
        **_script(),
        declared=_declared(shown.declared),
        series=_series(shown.series),
    )


def _script() -> dict[str, Any]:
    text = (resources.files(__package__) / "templates" / SCRIPT).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"script": Markup(text), "script_hash": f"sha256-{digest}"}  # noqa: S704 - our own file


def _drawn(plots: Sequence[Plot], folded: Sequence[Plot] = ()) -> list[dict[str, Any]]:
    return [
        {
            "caption": plot.caption,
            "name": plot.name,
            "svg": inline.svg(plot),
            "folded": plot in folded,
        }
        for plot in plots
    ]


def _long(findings: Findings, plots: Sequence[Plot]) -> Sequence[Plot]:
    """Return the plots that would fill more than a screen: the one with a line per treatment."""
    return plots[:1] if sum(1 for _ in findings.rows()) > MOST_UNFOLDED else ()


def _declared(shown: DeclaredFigures | None) -> dict[str, Any] | None:
    """Gather what the section of declared figures shows; None where none is declared."""
    if shown is None or not (shown.plots or shown.undrawn):
        return None
    return {"plots": _drawn(shown.plots), "undrawn": shown.undrawn}


def _series(shown: OverTime | None) -> dict[str, Any] | None:
    """Gather what the section on the course of trials shows; None without any record."""
    if shown is None or not (shown.plots or shown.undrawn):
        return None
    return {**vars(shown), "plots": _drawn(shown.plots), "signs": SIGNS}


def _moves(
    findings: Findings, results: Results, over_time: Sequence[Plot]
) -> dict[str, Any] | None:
    """Gather what the section on hand-overs shows; None where there is no such section."""
    if not findings.has_handovers:
        return None
    columns = handovers.whole(findings)
    return {
        "facts": access.facts(results.document),
        "columns": columns,
        "groups": html_tables.cells(findings, results.document, columns),
        "plots": _drawn(over_time),
        "undrawn": timelines.undrawn(findings),
        "trial": timelines.example(results),
    }


def _pages(findings: Findings, shown: Section | None) -> dict[str, Any] | None:
    """Gather what the section on page loads shows; None where there is no such section."""
    if shown is None:
        return None
    parts = [
        {
            "name": part.name,
            "film": _film(part.film) if part.film else None,
            "plots": _drawn(part.plots),
            "left_out": part.left_out,
        }
        for part in shown.parts
    ]
    return {
        "metrics": shown.metrics,
        "plots": _drawn(shown.plots),
        "parts": parts,
        "left_out": shown.left_out,
        "trial": shown.example,
        "bands": bands.MEANING if any(bands.brief(findings)) else "",
    }


def _film(film: Film) -> dict[str, Any]:
    return {
        "name": film.name,
        "caption": film.caption,
        "alternative": film.alternative,
        "moving": thumbnails.address(film.data, "webp"),
        "stills": thumbnails.address(film.stills, "webp"),
        "width": film.size[0],
        "height": film.size[1],
    }


def _answer(results: Results, findings: Findings) -> dict[str, Any]:
    document = results.document
    return {
        "name": results.experiment.name,
        "question": results.experiment.question,
        "claims": claims_section.make(results, findings.claims),
        "answer": answer(findings, document),
        "notes": notes.notes(findings, results),
        "drawings": [drawing.topology(document, upright=upright) for upright in (False, True)],
        "conditions": html_tables.conditions(findings, results),
        "legends": levels.legends(document),
        "margin": percent(EQUAL_MARGIN),
        "completion": html_tables.completion(findings),
    }


def _tables(results: Results, listed: Findings) -> dict[str, Any]:
    """Gather what has a line for each of the listed treatments."""
    document = results.document
    return {
        "sentences": every_comparison(listed, document) if sums_up(listed) else [],
        "head": html_tables.headings(listed),
        "groups": html_tables.groups(listed, document),
        "matrix": matrix.matrix(listed, results.experiment.report),
        "reasons": html_tables.reasons(listed, document)[: html_tables.MOST_LISTED],
        "treatments": sum(1 for _ in listed.rows()),
    }


def _unlisted(findings: Findings) -> str:
    """Say how much the tables leave out; empty if they have everything."""
    most = html_tables.MOST_LISTED
    counts = {
        "treatments": sum(1 for _ in findings.rows()) - most,
        "invalid attempts": len(findings.invalid) - most,
    }
    texts = [f"{count} further {what}" for what, count in counts.items() if count > 0]
    if not texts:
        return ""
    return (
        f"This page lists the first {most} of a kind, and leaves out {in_words(texts)}. The answer"
        " and the notes count all of them."
    )


def _evidence(results: Results, findings: Findings) -> dict[str, Any]:
    made_by = results.manifest
    return {
        "checks": findings.checks,
        "invalid": findings.invalid[: html_tables.MOST_LISTED],
        "invalid_count": len(findings.invalid),
        "recorded": findings.tally.recorded,
        "facts": manifest.facts(results),
        "host": list(manifest.host(made_by)),
        "machines": machines.section(results, findings),
        "programs": manifest.programs(made_by),
        "tested": manifest.under_test(made_by),
        "digests": manifest.digests(made_by),
        "definitions": list(html_tables.definitions(results)),
        "command": made_by.get("command", ""),
        "httpbed": made_by.get("httpbed", ""),
        "started": made_by.get("started", ""),
        "clock": manifest.clock(made_by),
    }
