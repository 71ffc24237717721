"""``httpbed mirror``: make a user's page self-contained."""

from __future__ import annotations

import json
from pathlib import Path

import click

from httpbed.addons.pages import page_programs
from httpbed.addons.pages.mirror import curl, session, ssrf_guard
from httpbed.addons.pages.mirror.browser_load import BrowserLoader
from httpbed.addons.pages.mirror.crawler import MirrorLimits
from httpbed.base.errors import ConfigError, Mistake
from httpbed.cli.echo import echo, say
from httpbed.cli.experiment_argument import catalog, json_option, recipes_option
from httpbed.cli.verb import verb
from httpbed.cli.whole_number import WholeNumber


@verb("mirror")
@click.argument("source", metavar="URL|DIR")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    required=True,
    help="The new folder.",
)
@click.option(
    "--entry",
    metavar="FILE",
    default="index.html",
    show_default=True,
    help="The page's file within a folder.",
)
@click.option(
    "--strip",
    is_flag=True,
    help="Remove references to external or missing resources from the page's text.",
)
@click.option(
    "--bytes",
    "most_bytes",
    type=WholeNumber(1, 10**9),
    default=100_000_000,
    show_default=True,
    help="Largest total size in bytes.",
)
@click.option(
    "--files",
    "most_files",
    type=WholeNumber(1, 10_000),
    default=3000,
    show_default=True,
    help="Largest number of files.",
)
@click.option(
    "--time-limit",
    type=WholeNumber(1, 3600),
    default=300,
    show_default=True,
    help="Longest time of fetching, in seconds.",
)
@click.option(
    "--browser",
    metavar="NAME",
    default="chromium-headless-shell",
    show_default=True,
    help="The implementation that loads the page.",
)
@click.option(
    "--server",
    metavar="NAME",
    default="nginx",
    show_default=True,
    help="The implementation that serves the page.",
)
@recipes_option
@json_option
def command(
    *,
    source: str,
    output: Path,
    entry: str,
    strip: bool,
    most_bytes: int,
    most_files: int,
    time_limit: float,
    browser: str,
    server: str,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Make your own page self-contained, so that experiments can load it.

    Use it before an experiment with `page = { folder = "..." }`. A URL is fetched with all
    resources of the page. Other verbs download nothing but packages. httpbed sends no request to
    your private network; if the page itself is there, only to its own server. A folder is copied.
    Then a browser loads the page twice from a local server, and its requests are recorded. A page
    with external requests, or requests for missing files, is rejected with the list of them.
    """
    session.refuse_existing(output)
    known = catalog(recipe_folders)
    page_programs.require(known, browser=browser, server=server)
    bounds = MirrorLimits(most_bytes, most_files, time_limit)
    origin = _origin(source, entry, bounds, strip=strip)
    made = session.mirror(origin, output, BrowserLoader(known, browser, server, say), say)
    values = {
        "schema": 1,
        "folder": str(output),
        "name": made.name,
        "entry": made.entry,
        "requests": made.requests(),
        "bytes": made.weight(),
        "sha256": made.digest,
    }
    if as_json:
        echo(json.dumps(values, indent=1))
        return
    echo(f"{made.requests()} requests, {made.weight() / 1000:.0f} kB")
    echo(f"page = {{ folder = {json.dumps(str(output), ensure_ascii=False)} }}")


def _origin(
    source: str, entry: str, bounds: MirrorLimits, *, strip: bool
) -> session.UrlSource | session.FolderSource:
    if source.startswith(("http://", "https://")):
        program, permission = curl.command(say), ssrf_guard.permission_of(source)
        return session.from_url(
            source,
            lambda urls, most, left: curl.fetch(
                program, urls, most_bytes=most, time_limit_s=left, permission=permission
            ),
            bounds,
            strip=strip,
        )
    if not Path(source).is_dir():
        remedy = "give a folder, or a URL that begins with http:// or https://"
        raise ConfigError([Mistake(source, "is neither a folder nor a URL", remedy)])
    return session.from_folder(Path(source), entry, bounds, strip=strip)
