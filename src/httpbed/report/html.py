"""The report as one HTML file that needs nothing else: no network, no script, no font."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from httpbed.analysis.compare import EQUAL_MARGIN
from httpbed.analysis.findings import Findings
from httpbed.model.errors import visible
from httpbed.report import drawing, inline, levels, manifest, notes, page
from httpbed.report.figures import Plot
from httpbed.report.phrasing import percent
from httpbed.store.results import Results

TEMPLATE = "report.html.j2"


def render(results: Results, findings: Findings, plots: list[Plot]) -> str:
    """Render the page. Whatever comes from a file or a program is escaped by the template."""
    environment = Environment(
        loader=PackageLoader("httpbed.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template(TEMPLATE)
    text = template.render(
        **_answer(results, findings),
        **_evidence(results, findings),
        plots=[
            {"caption": plot.caption, "name": plot.name, "svg": inline.svg(plot)} for plot in plots
        ],
    )
    return "\n".join(map(visible, text.split("\n")))


def _answer(results: Results, findings: Findings) -> dict[str, Any]:
    document = results.document
    return {
        "name": results.experiment.name,
        "question": results.experiment.question,
        "answer": page.sentences(findings, document),
        "notes": notes.notes(findings, results),
        "head": page.headings(findings),
        "groups": page.groups(findings, document),
        "overview": page.overview(findings, document),
        "drawings": [drawing.topology(document, upright=upright) for upright in (False, True)],
        "conditions": page.conditions(findings, results),
        "legends": levels.legends(document),
        "margin": percent(EQUAL_MARGIN),
        "completion": page.completion(findings),
        "reasons": page.reasons(findings, document),
    }


def _evidence(results: Results, findings: Findings) -> dict[str, Any]:
    made_by = results.manifest
    return {
        "checks": findings.checks,
        "invalid": findings.invalid,
        "recorded": findings.tally.recorded,
        "facts": manifest.facts(results),
        "host": list(manifest.host(made_by)),
        "programs": manifest.programs(made_by),
        "tested": manifest.under_test(made_by),
        "recipes": manifest.recipes(made_by),
        "definitions": list(page.definitions(results)),
        "command": made_by.get("command", ""),
        "httpbed": made_by.get("httpbed", ""),
        "started": made_by.get("started", ""),
    }
