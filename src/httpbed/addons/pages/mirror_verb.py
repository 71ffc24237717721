"""``httpbed pages mirror``: make a user's page self-contained."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from httpbed.base.errors import ConfigError, Mistake
from httpbed.cli.echo import echo, say
from httpbed.cli.experiment_argument import catalog, recipes_option
from httpbed.cli.options import WholeNumber, json_option
from httpbed.cli.verb import verb


@verb("mirror")
@click.argument("source", metavar="URL|DIR")
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=click.Path(path_type=Path),
    required=True,
    help="The new HAR file of a URL; the new folder of a folder.",
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
    help="Remove references to external or missing resources from a folder's texts.",
)
@click.option(
    "--time-limit",
    type=WholeNumber(1, 3600),
    default=60,
    show_default=True,
    help="Longest time of recording a URL, in seconds.",
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
    time_limit: float,
    browser: str,
    server: str,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Make a page self-contained, so that experiments can load it.

    A URL is loaded once by a confined browser, which records every response. The recording becomes
    a HAR file, for `page = { har = "..." }`: experiments load the page with all its origins. No
    request goes to your private network; if the page itself is there, only to its own server.

    A folder is copied, for `page = { folder = "..." }`. A browser loads the page from a local
    server and its requests are recorded. A page with external requests, or requests for missing
    files, is rejected with the list of them.
    """
    from httpbed.addons.pages.mirror import folder, loader, recorder, url  # not for --help

    is_url = source.startswith(("http://", "https://"))
    if not is_url and not Path(source).is_dir():
        remedy = "give a folder, or a URL that begins with http:// or https://"
        raise ConfigError([Mistake(source, "is neither a folder nor a URL", remedy)])
    _refuse_existing(output, is_url=is_url)
    known = catalog(recipe_folders)
    loader.require(known, browser=browser, server=server)
    loads = loader.BrowserLoader(known, browser, server, say)
    if is_url:
        by = recorder.Recorder(known, browser, time_limit, say)
        by.require()
        site, named = url.mirror(source, output, by, loads), {"har": str(output)}
    else:
        site = folder.mirror(folder.read(Path(source), entry, strip=strip), output, loads, say)
        named = {"folder": str(output)}
    if as_json:
        about = {
            "name": site.name,
            "entry": site.entry,
            "requests": site.requests(),
            "bytes": site.weight(),
            "sha256": site.digest,
        }
        echo(json.dumps({"schema": 1, **named, **about}, indent=1))
    else:
        echo(f"{site.requests()} requests, {site.weight() / 1000:.0f} kB")
        echo(f"page = {{ {_table(named)} }}")


def _table(values: Mapping[str, str]) -> str:
    return ", ".join(
        f"{key} = {json.dumps(text, ensure_ascii=False)}" for key, text in values.items()
    )


def _refuse_existing(target: Path, *, is_url: bool) -> None:
    """Refuse to write over anything but an empty folder.

    Raises:
        ConfigError: Something is there.
    """
    if is_url and target.suffix != ".har":
        remedy = f"write -o {target}.har"
        raise ConfigError([Mistake(str(target), "is not the name of a HAR file", remedy)])
    if target.is_dir() and not is_url and not any(target.iterdir()):
        target.rmdir()
    elif target.exists():
        raise ConfigError([Mistake(str(target), "exists already", "choose another with -o")])
