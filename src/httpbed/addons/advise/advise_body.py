"""What ``httpbed advise`` does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from httpbed.addons.advise import advice_report as advice
from httpbed.addons.advise import answers, conditions
from httpbed.addons.advise.conditions import CampaignConditions
from httpbed.addons.advise.question import AdviceConditions, PageFacts
from httpbed.addons.link.tc_quantities import spelled
from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites import catalog
from httpbed.base import units
from httpbed.base.errors import ConfigError, Mistake, RejectedValueError
from httpbed.cli import campaign_folders
from httpbed.cli.echo import echo
from httpbed.cli.one_of import suggestion
from httpbed.experiment.metric import METRICS
from httpbed.report import terminal

METRIC_OF_FILES, METRIC_OF_PAGES = "request_time", "page_load_time"
_READ: Mapping[str, tuple[str, Callable[..., float], str]] = {
    "rate": ("rate", units.parse_rate, "10mbit"),
    "delay": ("duration", units.parse_duration, "25ms"),
    "loss": ("share", units.parse_share, "2%"),
    "size": ("size", units.parse_size, "1MB"),
}
"""Options with a quantity: its kind, its reader and an example."""


def run(
    *,
    directories: tuple[Path, ...],
    page: str | None,
    metric: str | None,
    as_json: bool,
    **quantities: str | None,
) -> None:
    """Say what was best in the measured conditions of the campaigns in DIR that are nearest."""
    wanted, mistakes = _wanted(quantities, page)
    mistakes += _metric_mistakes(metric)
    try:
        campaigns = campaign_folders.read(directories)
    except ConfigError as error:
        raise ConfigError([*mistakes, *error.mistakes]) from None
    mistakes += campaign_folders.without_valid_trials(campaigns)
    known = [conditions.of_campaign(results) for results in campaigns]
    facts = None
    if page is not None:
        facts = _page_facts(page, known)
        mistakes += [] if facts else [_unknown_page(page, known)]
    if mistakes:
        raise ConfigError(mistakes)
    question = AdviceConditions(
        int(wanted["rate"]), wanted["delay"], wanted["loss"], facts or int(wanted["size"])
    )
    decisive = metric or (METRIC_OF_PAGES if facts else METRIC_OF_FILES)
    found = answers.advise(known, question, decisive)
    if as_json:
        echo(json.dumps(advice.values(found), indent=1))
    else:
        advice.show(found, terminal.console())


def _wanted(
    quantities: Mapping[str, str | None], page: str | None
) -> tuple[dict[str, float], list[Mistake]]:
    """Read the quantities of the question; return all mistakes in them."""
    found, mistakes = dict[str, float](), list[Mistake]()
    for name, (kind, read, example) in _READ.items():
        text, flag = quantities[name], f"--{name}"
        if name == "size" and page is not None:
            if text is not None:
                mistakes.append(Mistake(flag, "does not go with --page", "omit one of the two"))
            continue
        if text is None:
            add = f"add {flag} {example}" + (" or --page NAME" if name == "size" else "")
            mistakes.append(Mistake(flag, "is missing", add))
            continue
        try:
            found[name] = read(spelled(kind, text), example=example)
        except RejectedValueError as error:
            mistakes.append(Mistake(flag, error.reason, error.remedy))
    return found, mistakes


def _metric_mistakes(metric: str | None) -> list[Mistake]:
    judged = [name for name, one in METRICS.items() if one.better != "neither" and not one.per_item]
    if metric is None or metric in judged:
        return []
    if metric in METRICS:
        each = "has a value for each file or resource, and none for a trial"
        reason = each if METRICS[metric].per_item else "is better neither when lower nor higher"
        return [Mistake("--metric", f"{metric} {reason}", "use another one, such as request_time")]
    remedy = suggestion(metric, judged) or f"try {', '.join(judged[:3])}"
    return [Mistake("--metric", f"unknown metric {metric!r}", remedy)]


def _page_facts(page: str, known: Iterable[CampaignConditions]) -> PageFacts | None:
    """Return what a page is compared by: as measured, else as httpbed knows it."""
    measured = _measured_pages(known)
    if page in measured:
        return measured[page]
    if page not in catalog.names():
        return None
    outline = catalog.outline(NamedPage(name=page), Path())
    return PageFacts(page, outline.weight, outline.requests)


def _measured_pages(known: Iterable[CampaignConditions]) -> dict[str, PageFacts]:
    facts = [one.conditions.fetched for campaign in known for one in campaign.measured]
    return {one.name: one for one in facts if isinstance(one, PageFacts)}


def _unknown_page(page: str, known: Iterable[CampaignConditions]) -> Mistake:
    names = [*_measured_pages(known), *catalog.names()]
    remedy = suggestion(page, names) or "httpbed pages lists them"
    return Mistake("--page", f"no page is named {page!r}", remedy)
