"""``httpbed link``: run any command behind an emulated link."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import click

from httpbed.addons.link import options
from httpbed.base.clock import Clock
from httpbed.bed.machine.backend import Backend
from httpbed.cli.options import OneOf, complete_profiles
from httpbed.cli.verb import verb
from httpbed.experiment.impairments.registry import OPTIONS

_SETTINGS = {"allow_interspersed_args": False, "max_content_width": 100}


def _impairments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option per impairment: for both directions, and hidden ones for each direction."""
    for option in reversed((*OPTIONS, options.STATE)):
        for direction in reversed((options.BOTH, *options.WAYS)):
            is_flag = option.kind == "flag"
            function = click.option(
                option.flag(direction),
                is_flag=is_flag or None,  # with False, click takes "-5ms" for another option
                metavar=None if is_flag else option.example,
                help=option.help,
                hidden=direction != options.BOTH,
            )(function)
    return function


@verb("link", context_settings=_SETTINGS)
@_impairments
@click.option(
    "--change",
    is_flag=True,
    help="Change the link around this command, and end: its new --rate, --delay, --loss and"
    " --state.",
)
@click.option(
    options.OF,
    metavar="PID",
    help="With --change: change the link around this process instead, from outside the link.",
)
@click.option(
    "--profile",
    metavar="NAME",
    shell_complete=complete_profiles,
    help="A known network; options override it.",
)
@click.option(
    "--trace",
    nargs=2,
    metavar="UP DOWN",
    help="Capacity by mahimahi's packet-delivery traces, repeated.",
)
@click.option(
    "--seed", metavar="N", help="Seed of all random streams; default: chosen and printed."
)
@click.option(
    "--pcap", metavar="FILE", help="Keep every packet as pcapng, with dropped ones marked."
)
@click.option(
    "--log", metavar="FILE", help="Write a line per packet: times in and out, size, fate."
)
@click.option(
    "--link-backend",
    type=OneOf(get_args(Backend)),
    envvar="HTTPBED_LINK_BACKEND",
    show_envvar=True,
    help="As for httpbed run, but without the kernel's tbf and netem.",
)
@click.option(
    "--clock",
    type=OneOf(get_args(Clock)),
    default="real",
    show_default=True,
    help="With virtual, COMMAND and link are in a guest in which computing takes no time. COMMAND"
    " is root there and has your files. What it writes below the working folder is kept. It has no"
    " input and no outside network.",
)
@click.option("--isolated", is_flag=True, help="No outside network.")
@click.option(
    "--outside",
    is_flag=True,
    help="Refuse to run without the outside network. Default: use it if possible.",
)
@click.option(
    "--meter/--no-meter",
    "metered",
    default=None,
    help="Show a live line on stderr. Default: on a terminal, unless COMMAND's input and output are"
    " terminals, too, so that it may be interactive.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the counters as one line of JSON, the last on stderr; stdout belongs to COMMAND.",
)
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="[--] [COMMAND]...")
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    argv: tuple[str, ...],
    change: bool,
    isolated: bool,
    outside: bool,
    metered: bool | None,
    clock: Clock,
    as_json: bool,
    **values: Any,
) -> None:
    """Run COMMAND behind an emulated link; by default your shell.

    Use it to see how any program behaves on another network. An option such as --delay 50ms
    applies to both directions, --up-delay only from COMMAND, --down-delay only to it; the same
    holds for all options up to --state. Links nest, and their impairments add up.

    COMMAND has your files, your user and your terminal, and its own network. $HTTPBED_PEER is the
    address of the far end, which answers ping, echo, discard and chargen. At the end, counters are
    printed to stderr. The exit status is COMMAND's, or 128 plus the number of the signal that ended
    it.
    """  # fmt: skip
    from httpbed.addons.link import link_body as body  # noqa: PLC0415 - not for --help

    by_flag = {name.replace("_", "-"): value for name, value in values.items()}
    if change:
        body.change(by_flag, argv, as_json=as_json)
        return
    code = body.run(
        argv,
        by_flag,
        isolated=isolated,
        outside=outside,
        metered=metered,
        clock=clock,
        as_json=as_json,
    )
    context.exit(code)
