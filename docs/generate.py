"""Writes the reference manual's generated pages: `make docs`.

The commands' page comes from the commands themselves, the experiment's schema from the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

import corpus_figure
import experiment_page
import marked
import planted_page
import printed
import programs_page
import readme_results
import results_archives
import results_competition
import results_page
import results_suites
from httpbed.addons.pages.sites import corpus
from httpbed.addons.pages.sites import site as sites
from httpbed.cli.main import verbs
from httpbed.cli.verb import command_of, of_url
from httpbed.experiment import profiles
from httpbed.experiment.check import CheckDescriptor, all_checks
from httpbed.experiment.metric import METRICS, Metric
from httpbed.experiment.schema import experiment_schema
from httpbed.report import experiment_words

REFERENCE = Path(__file__).resolve().parent / "reference"
GUIDES = REFERENCE.parent / "guides"
EVIDENCE = REFERENCE.parent / "concepts/evidence.md"


def main() -> None:
    """Write the reference, which is not in git, and the passages of other pages."""
    write_reference()
    EVIDENCE.write_text(with_checks(EVIDENCE.read_text()))
    published = results_archives.read()
    (REFERENCE.parent / "results.md").write_text(results_page.page(published))
    results_suites.write(results_archives.PUBLISHED)
    results_competition.write(results_archives.PUBLISHED)
    readme_results.README.write_text(
        readme_results.page(readme_results.README.read_text(), published)
    )
    for guide in sorted(GUIDES.glob("*.md")):
        guide.write_text(printed.page(guide.read_text()))
    corpus_figure.write(corpus.read().sites, REFERENCE.parent / "corpus.svg")
    (EVIDENCE.parent / "planted-faults.md").write_text(planted_page.page())


def write_reference() -> None:
    """Write the pages that say only what the code says."""
    schema = experiment_schema()
    pages = {
        "commands.md": commands(),
        "corpus.md": corpus_pages(),
        "experiment.md": experiment_page.page(schema),
        "experiment.schema.json": json.dumps(schema, indent=1) + "\n",
        "metrics.md": metrics(),
        "profiles.md": networks(),
        "programs.md": programs_page.page(),
    }
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages.items():
        (REFERENCE / name).write_text(text)


def commands() -> str:
    """Gather every command's help into one page."""
    sections = ["# Commands", "Written by `make docs` from the commands themselves."]
    for name, registered in sorted(verbs().items()):
        sections += help_of(command_of(registered), ["httpbed", name])
        if at_a_url := of_url(name):
            sections += help_of(command_of(at_a_url), ["httpbed", name, "URL"])
    return "\n\n".join(sections) + "\n"


COLUMNS = 96
"""Width of the help: a code block of the site shows 100 columns."""
KINDS = {
    "paper": "a paper's own test network",
    "preset": "a tool's preset",
    "measured": "a measured network",
    "rule": "made by a stated rule",
}


def networks() -> str:
    """List every profile with its figures, its source and how they became one."""
    sections = ["# Profiles", "Written by `make docs` from `src/httpbed/experiment/profiles.toml`."]
    for name, profile in profiles.all_profiles().items():
        (facts,) = experiment_words.links({"topology": {"links": [{**PATH, "profile": name}]}})
        sections += [
            f"## `{name}`",
            f"{profile.title}; {KINDS[profile.kind]}.",
            "\n".join(
                [
                    f"- Link: {experiment_words.sentence(facts)}.",
                    f"- Source: {profile.source}.",
                    f"- Taken: {profile.taken}",
                ]
            ),
        ]
    return "\n\n".join(sections) + "\n"


METRICS_INTRODUCTION = (
    "Written by `make docs` from `src/httpbed/experiment/metrics.toml` and the addons' files."
    " A trial has a metric if the fourth column names it and its programs report what the metric"
    " needs."
    " A trial without any valid attempt ranks like one that times out, whatever it observed."
    " [What is measured of a page load](../concepts/page-metrics.md) explains those of page loads."
)
TIMED_OUT = {
    "unknown": "left out",
    "observed": "counts",
    "longer": "above the limit",
    "observed or longer": "counts, else above the limit",
    "below body rate": "below all bodies over the limit",
    "below response rate": "below all responses over the limit",
}


def metrics() -> str:
    """Define every metric, with what a trial that timed out says of it."""
    head = ["metric", "unit", "better", "trials that have it", "when a trial times out", "meaning"]
    rows = [_row_of_metric(metric) for metric in METRICS.values()]
    table = "\n".join(map(_line, [head, ["---"] * len(head), *rows]))
    return f"# Metrics\n\n{METRICS_INTRODUCTION}\n\n{table}\n"


def _row_of_metric(one: Metric) -> list[str]:
    unit = one.form if one.unit == "1" else one.unit
    applies = one.applies + (", each item" if one.per_item else "")
    return [f"`{one.name}`", unit, one.better, applies, TIMED_OUT[one.censoring], one.meaning]


def with_checks(page: str) -> str:
    """Return a page with its tables of checks, each between two comments, made anew."""
    for kind, wanted in CHECK_TABLES.items():
        table = table_of_checks([check for check in all_checks().values() if wanted(check)])
        page = marked.replaced(page, f"checks: {kind}", "checks", table)
    return page


CHECK_TABLES: dict[str, Callable[[CheckDescriptor], bool]] = {
    "bed": lambda descriptor: descriptor.of == "bed" and not descriptor.is_note,
    "subject": lambda descriptor: descriptor.of == "subject" and not descriptor.is_note,
    "notes": lambda descriptor: descriptor.is_note,
}


def table_of_checks(checks: Iterable[CheckDescriptor]) -> str:
    """Return a table with a line for each check: its name, what must hold, and where it applies."""
    rows = [
        [PLACEHOLDER.sub(r"*\1*", check.name), check.meaning, _applies(check)] for check in checks
    ]
    return "\n".join(map(_line, [["check", "meaning", "only for"], ["---"] * 3, *rows]))


PLACEHOLDER = re.compile(r"\{(\w+)\}")


def _applies(check: CheckDescriptor) -> str:
    return "" if check.applies == "every attempt" else check.applies


GROUPS = {
    "liu2024": "Liu et al. 2024: 18 sites",
    "biswal2016-few": "Biswal and Gnawali 2016: 15 sites with at most 20 objects",
    "biswal2016-dense": "Biswal and Gnawali 2016: 15 sites with 80 to 100 objects",
}


def corpus_pages() -> str:
    """List every page of the corpus with its figures and its source."""
    known = corpus.read()
    sections = ["# Corpus", CORPUS, "![Weight and requests of each page](../corpus.svg)"]
    for group, title in {**GROUPS, "": "In no group"}.items():
        names = [
            name
            for name, entry in known.sites.items()
            if group in entry.groups or not (group or entry.groups)
        ]
        rows = [_row_of(name, known.sites[name], known) for name in names]
        head = ["page", "requests", "kB", *sites.KINDS, "from"]
        sections.append(f"## {title}" + (f" (`{group}`)" if group else ""))
        sections.append("\n".join(map(_line, [head, ["---"] * len(head), *rows])))
    return "\n\n".join(sections) + "\n"


CORPUS = (
    "Written by `make docs` from `src/httpbed/addons/pages/sites/corpus.toml`: real pages from "
    "packages of"
    " npm and Debian, repaired so that nothing is asked for outside. Requests and bytes of bodies"
    " are those of one cold load by Chromium 156 at 1366x768; of each kind of resource, the"
    " requests."
)


def _row_of(name: str, entry: corpus.CorpusPage, known: corpus.Corpus) -> list[str]:
    shares = [entry.by_type.get(kind) for kind in sites.KINDS]
    kinds = [str(share.requests) if share else "" for share in shares]
    package = str(known.packages[entry.package])
    return [f"`{name}`", str(entry.requests), f"{entry.weight / 1000:.0f}", *kinds, package]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


PATH = {"between": ["client", "server"]}


def help_of(command: click.Command, words: list[str]) -> Iterator[str]:
    """Give a command's section, and those of the commands below it."""
    name = " ".join(words)
    context = click.Context(command, info_name=name, terminal_width=COLUMNS)
    yield f"## {name}"
    yield f"```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if below := command.get_command(context, name):
                yield from help_of(below, [*words, name])


if __name__ == "__main__":
    main()
