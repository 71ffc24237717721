"""``httpbed compare https://HOST/FILE``: HTTP versions over this machine's own network."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import cast, get_args

import click

from httpbed.addons.field import measurement, target
from httpbed.addons.field.measurement import OWN, Measurement, Wanted
from httpbed.base.errors import Mistake, RejectedValueError, collected, require_none
from httpbed.base.units import format_duration, format_size, parse_duration
from httpbed.cli import options
from httpbed.cli.echo import echo, say
from httpbed.cli.options import PATH
from httpbed.cli.verb import verb
from httpbed.experiment.roles import HttpVersion

MAX_PAUSE_S = 60.0


def _versions(
    context: click.Context, parameter: click.Parameter, text: str
) -> tuple[HttpVersion, ...]:
    del context, parameter
    words = dict.fromkeys(word.strip().removeprefix("h") for word in text.split(","))
    known = get_args(HttpVersion)
    versions = ["1.1" if word == "1" else word for word in words]
    if wrong := [repr(word) for word in versions if word not in known]:
        are = "is no HTTP version" if len(wrong) == 1 else "are no HTTP versions"
        raise RejectedValueError(f"{', '.join(wrong)} {are}", "write for example 1.1,2,3")
    return cast("tuple[HttpVersion, ...]", tuple(dict.fromkeys(versions)))


def _pause(context: click.Context, parameter: click.Parameter, text: str) -> float:
    del context, parameter
    pause_s = parse_duration(text, example="1 s")
    if pause_s > MAX_PAUSE_S:
        raise RejectedValueError(f"{text} is longer than {MAX_PAUSE_S:g} s", "write a shorter one")
    return pause_s


@verb("compare URL")
@click.argument("url", metavar="https://HOST/FILE")
@click.option(
    "--http",
    "versions",
    metavar="VERSIONS",
    default="1.1,2,3",
    show_default=True,
    callback=_versions,
    help="The HTTP versions.",
)
@click.option(
    "--replicates",
    type=options.WholeNumber(1, OWN.requests),
    metavar="N",
    default=6,
    show_default=True,
    help="Number of blocks; each has one request of every version.",
)
@click.option(
    "--seed",
    type=options.WholeNumber(0, 2**63 - 1),
    metavar="N",
    default=1,
    show_default=True,
    help="Seed of the order within blocks.",
)
@click.option(
    "--pause",
    "pause_s",
    metavar="DURATION",
    default="1 s",
    show_default=True,
    callback=_pause,
    help="Pause before each request.",
)
@click.option(
    "--cacert",
    type=PATH,
    metavar="FILE",
    help="Certificates (PEM) of the authorities to trust; default: this machine's.",
)
@click.option(
    "--i-own-this",
    "is_own",
    is_flag=True,
    help=f"The server is yours: permits loopback and private addresses, {OWN.requests} requests,"
    f" {format_size(OWN.total_bytes)} and no pause.",
)
@options.json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    url: str,
    versions: tuple[HttpVersion, ...],
    replicates: int,
    seed: int,
    pause_s: float,
    cacert: Path | None,
    is_own: bool,
    as_json: bool,
) -> None:
    """Compare HTTP versions at an https URL, over this machine's own network.

    curl downloads the URL once to look at it, and then in blocks, one request at a time. There is
    no emulated link: neither the server nor the path is controlled, and the output says so. All
    requests go to one address of the host. Redirects and proxies are not followed.

    Without --i-own-this at most 60 requests and 100 MB are permitted, with a pause of at least
    0.5 s. httpbed never sends anything to link-local addresses or metadata services.

    Exit code 1: a request failed, or got another HTTP version than the one asked for.
    """
    mistakes, trusted = [*target.url_mistakes(url)], ""
    with collected(mistakes):
        trusted = measurement.authorities(cacert)
    wanted = Wanted(versions, replicates, seed, pause_s, is_own, trusted)
    require_none([*mistakes, *_impolite(wanted)])
    aim = target.find(target.read_url(url), is_own=is_own)
    if "https" in urllib.request.getproxies():
        say("the proxy of this machine's environment is not used")
    measured = measurement.measure(aim, wanted, say)
    from httpbed.addons.field import field_report

    if as_json:
        echo(json.dumps(field_report.values(measured), indent=1))
    else:
        from httpbed.report import terminal

        field_report.show(measured, terminal.console())
    context.exit(exit_code(measured))


def _impolite(wanted: Wanted) -> Iterator[Mistake]:
    """Yield each limit that is exceeded; without --i-own-this they protect others' servers."""
    bounds = wanted.bounds
    if wanted.requests > bounds.requests:
        lifted = "" if wanted.is_own else f", or add --i-own-this, which permits {OWN.requests}"
        reason = f"{wanted.requests} requests are more than the {bounds.requests} permitted"
        yield Mistake("--replicates", reason, f"write at most {wanted.most_blocks}{lifted}")
    if wanted.pause_s < bounds.pause_s:
        reason = f"is shorter than {format_duration(bounds.pause_s)}"
        yield Mistake("--pause", reason, "write a longer one, or add --i-own-this")


def exit_code(measured: Measurement) -> int:
    """Return 1 if requests failed or are missing, else 0."""
    asked = [outcome for outcome in measured.outcomes if outcome.block]
    return 1 if measured.ended_early or any(outcome.failure for outcome in asked) else 0
