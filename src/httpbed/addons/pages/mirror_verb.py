"""``httpbed pages mirror``: record a user's page with all that it loads."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import urlsplit

import click

from httpbed.base.errors import ConfigError, Mistake, collected, require_none
from httpbed.base.units import format_count
from httpbed.cli.echo import echo, say
from httpbed.cli.experiment_argument import catalog
from httpbed.cli.options import PATH, WholeNumber, json_option
from httpbed.cli.verb import verb
from httpbed.store import campaign_folder


def _address(context: click.Context, parameter: click.Parameter, address: str) -> str:
    del context, parameter
    if not address.startswith(("http://", "https://")):
        serve = "serve it with python3 -m http.server, and give http://127.0.0.1:8000/"
        remedy = (
            serve if address and Path(address).is_dir() else "begin it with http:// or https://"
        )
        raise ConfigError([Mistake(address or "URL", "is no address of a page", remedy)])
    if not _has_host(address):
        reason = "names no host, or a port that does not exist"
        raise ConfigError([Mistake(address, reason, "write it as https://HOST/PATH")])
    return address


def _has_host(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number up to 65535, or half an IPv6 address
        return False


def _new_file(context: click.Context, parameter: click.Parameter, output: Path) -> Path:
    """Return where a recording, which may take a minute, is written."""
    del context, parameter
    mistakes = list[Mistake]()
    if output.suffix != ".har":
        remedy = f"write -o {output}.har"
        mistakes.append(Mistake(str(output), "is not the name of a HAR file", remedy))
    elif os.path.lexists(output):
        mistakes.append(Mistake(str(output), "exists already", "choose another with -o"))
    with collected(mistakes):
        campaign_folder.require_writable(output.parent)
    require_none(mistakes)
    return output


@verb("mirror")
@click.argument("address", metavar="URL", callback=_address)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=PATH,
    required=True,
    callback=_new_file,
    help="The new HAR file.",
)
@click.option(
    "--time-limit",
    type=WholeNumber(1, 3600),
    default=60,
    show_default=True,
    help="Longest time of recording, in seconds.",
)
@json_option
def command(
    *,
    address: str,
    output: Path,
    time_limit: float,
    as_json: bool,
) -> None:
    """Record a page with all that it loads, so that experiments can load it.

    A confined Chromium loads the page once and records every response into a HAR file, for
    `page = { har = "..." }`: experiments load the page with all its origins. No request goes to
    your private network; if the page itself is there, only to its own server. For a page in a
    folder, start a server (python3 -m http.server) and give its address.
    """
    from httpbed.addons.pages.mirror import mirrored_page  # not for --help

    site = mirrored_page.mirror(address, output, catalog(()), time_limit, say)
    if as_json:
        about = {
            "name": site.name,
            "entry": site.entry,
            "requests": site.requests(),
            "bytes": site.weight(),
            "sha256": site.digest,
        }
        echo(json.dumps({"schema": 1, "har": str(output), **about}, indent=1))
    else:
        echo(f"{format_count(site.requests(), 'request')}, {site.weight() / 1000:.0f} kB")
        echo(f"page = {{ har = {json.dumps(str(output), ensure_ascii=False)} }}")
