"""The web as values: page loads (``load``), HTTP archives (``har``), pages to load (``sites``).

Not here: the browser's driver and the servers' programs (``programs``).
Start at ``load/browser_load`` for what a page load is, at ``sites/catalog`` for what can be loaded.
"""

from __future__ import annotations

from pathlib import Path

from httpbed.base.addon import Addon, Verb

METRICS = Path(__file__).with_name("page_metrics.toml")

ADDON = Addon(
    word="page",
    verbs=(
        Verb(
            "pages",
            "List or build the pages that experiments can name.",
            "set up",
            "httpbed.addons.pages.pages_verb",
        ),
        Verb(
            "pages mirror",
            "Record your own page, so that experiments can load it.",
            "set up",
            "httpbed.addons.pages.mirror_verb",
        ),
        Verb(
            "pages import",
            "Turn HAR files into observations, and audit claims on them.",
            "read",
            "httpbed.addons.pages.import_verb",
        ),
    ),
    absent_options={
        "export --no-bodies": "jq 'del(.log.entries[].response.content.text)' leaves them out",
        "pages import -o": "write --json > FILE; it has every observation and the audit",
        "pages import --format": "write --json > FILE; it has every observation and the audit",
        "pages mirror --browser": "leave it out: chromium-headless-shell records; your own build of"
        " it is --program chromium-headless-shell=PATH",
        "pages mirror --server": "leave it out: nginx serves the replay that is tried",
        "pages mirror --files": "leave it out: a recording has at most 90 MiB of bodies",
        "pages mirror --entry": "serve the folder, and give the address of the file",
        "pages mirror --strip": "leave it out: a recording keeps what other origins answered",
        "pages mirror --bytes": "leave it out: a recording has at most 90 MiB of bodies",
    },
    provides={
        "programs": ("httpbed.addons.pages.programs:PROGRAMS",),
        "exports": ("httpbed.addons.pages.import_verb:EXPORT",),
        "files of metrics": ("httpbed.addons.pages:METRICS",),
        "checks": ("httpbed.addons.pages.page_check_table:CHECKS",),
        "kinds of workload": ("httpbed.addons.pages.page:PageLoad",),
        "additions to campaigns": ("httpbed.addons.pages.campaign_addition:ADDITION",),
        "additions to trials": ("httpbed.addons.pages.page_addition:ADDITION",),
        "findings": ("httpbed.addons.pages.loads:EXTENSION",),
        "report sections": ("httpbed.addons.pages.report.section:SECTION",),
        "report notes": ("httpbed.addons.pages.report.section:NOTES",),
        "report columns": ("httpbed.addons.pages.report.metrics_table:COLUMNS",),
        "views of a trial": ("httpbed.addons.pages.report.one_load:TRIAL",),
    },
)
