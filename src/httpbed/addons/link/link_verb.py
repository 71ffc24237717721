"""``httpbed link``: run any command behind an emulated link."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import click

from httpbed.addons.link import described_link, far_end, link_change, link_output
from httpbed.addons.link.described_link import BOTH, CHANGE, STATE, DescribedLink
from httpbed.addons.link.far_end import SERVER
from httpbed.addons.link.link_plan import LinkRequest
from httpbed.addons.link.link_run import HOSTS, LinkRun
from httpbed.addons.link.link_run import run as run_behind
from httpbed.base.clock import Clock
from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.bed.machine import backend
from httpbed.bed.network.link_file import READERS
from httpbed.cli.echo import echo
from httpbed.cli.main import remove_library_settings
from httpbed.cli.options import OneOf, complete_profiles, link_backend_option
from httpbed.cli.verb import verb
from httpbed.experiment.impairments.descriptor import DIRECTIONS
from httpbed.experiment.impairments.registry import OPTIONS

NOT_FOUND, NOT_RUNNABLE, SIGNALLED = 127, 126, 128
"""Exit codes, as in shells."""
_STDERR = 2
_SETTINGS = {"allow_interspersed_args": False, "max_content_width": 100}
SEED_BITS = 32
"""Size of a seed that httpbed chooses."""
MAX_SEED_DIGITS = 32
MAX_NAME = 253
"""Characters of a host's name (RFC 1035, section 2.3.4)."""
_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*")
"""RFC 1123, section 2.1."""


def _impairments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option per impairment: for both directions, and hidden ones for each direction."""
    for option in reversed((*OPTIONS, STATE)):
        for direction in reversed((BOTH, *DIRECTIONS)):
            is_flag = option.kind == "flag"
            function = click.option(
                option.flag(direction),
                is_flag=is_flag or None,  # with False, click takes "-5ms" for another option
                metavar=None if is_flag else option.example,
                help=option.help,
                hidden=direction != BOTH,
            )(function)
    return function


@verb("link", context_settings=_SETTINGS)
@_impairments
@click.option(
    CHANGE,
    "is_change",
    is_flag=True,
    help="Change the link around this command, and end: its new --rate, --delay, --loss and"
    " --state.",
)
@click.option(
    SERVER,
    metavar="PROGRAM",
    help="Run this program at the far end, at $HTTPBED_PEER; COMMAND begins when it has opened a"
    " port.",
)
@click.option(
    "--name",
    multiple=True,
    metavar="NAME",
    help="A name of the far end for COMMAND and the server, such as the one on its certificate.",
)
@click.option(
    far_end.EXPOSE,
    multiple=True,
    metavar="PORT",
    help="Reach this port of this machine's loopback at $HTTPBED_PEER, and nothing else outside.",
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
@link_backend_option
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
    is_change: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Run COMMAND behind an emulated link; by default your shell.

    Use it to see how any program behaves on another network. An option such as --delay 50ms
    applies to both directions, --up-delay only from COMMAND, --down-delay only to it; the same
    holds for all options up to --state.

    COMMAND has your files, your user and your terminal, and its own network. $HTTPBED_PEER is the
    address of the far end, which answers ping, echo, discard and chargen. At the end, counters are
    printed to stderr. The exit status is COMMAND's, or 128 plus the number of the signal that ended
    it.
    """  # fmt: skip
    by_flag = {name.replace("_", "-"): value for name, value in values.items()}
    _open_streams()
    if is_change:
        _change(by_flag, argv, as_json=as_json)
        return
    context.exit(_run(argv, by_flag, as_json=as_json))


def _run(argv: tuple[str, ...], values: Mapping[str, Any], *, as_json: bool) -> int:
    """Run a command behind the link that ``values`` describe by flag; return its exit code."""
    impossible: Sequence[Mistake] = ()
    if values["clock"] == "virtual":
        from httpbed.addons.link import link_guest

        impossible = link_guest.mistakes(argv, Path.cwd(), values)
        values = {**values, "meter": False}
    argv = argv or (os.environ.get("SHELL", "/bin/sh"),)
    request = _request(argv, values, impossible)
    if not shutil.which(argv[0]):
        return _refuse(argv)
    remove_library_settings()
    if not as_json:
        _say(f"link: {link_output.sentence(request.described)}")
    if request.clock == "virtual":
        outcome = link_guest.run_in_guest(request, _say)
    else:
        outcome = asyncio.run(run_behind(request, _say))
    if as_json and request.meter:
        echo(err=True)  # end the meter's line before the counters
    if crossing := link_output.crossing(outcome.result, outcome.loopback_packets):
        _say(crossing)
    summary = _json(request, outcome) if as_json else _table(request, outcome, values["seed"])
    echo(summary, err=True)
    return _status(outcome)


def _change(values: Mapping[str, Any], argv: tuple[str, ...], *, as_json: bool) -> None:
    """Change the link around this command, and print each change."""
    if argv:
        raise ConfigError([Mistake("COMMAND", "runs behind a new link", f"omit {CHANGE}")])
    beside = {"backend", "clock"}  # the environment may set the one, and each has the other
    wanted = link_change.requested(
        {flag: value for flag, value in values.items() if flag not in beside}
    )
    changed = asyncio.run(link_change.request(wanted, os.environ))
    if as_json:
        echo(json.dumps({"schema": 1, "changed": changed}))
    for each in () if as_json else changed:
        echo(link_change.words(each))


def _refuse(argv: tuple[str, ...]) -> int:
    name = argv[0]
    there = Path(name).exists() and "/" in name
    reason = "is not a program that can be run" if there else "no such command"
    if "--" in argv or name.startswith("-"):
        reason += "; before -- stand options, such as --rate 10mbit, and after it the command"
    echo(f"httpbed: {name}: {reason}", err=True)
    return NOT_RUNNABLE if there else NOT_FOUND


def _open_streams() -> None:
    """Make closed standard streams empty ones, before what is opened next takes their place."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(opened)


def _status(outcome: LinkRun) -> int:
    ended = outcome.exit
    return SIGNALLED + (ended.signal or 0) if ended.status is None else ended.status


def _table(request: LinkRequest, outcome: LinkRun, seed: str | None) -> str:
    chosen = "" if seed else f"\n  seed {request.seed}, chosen: --seed {request.seed} repeats it"
    is_virtual = request.clock == "virtual"
    took = f"\n  command took {outcome.exit.wall_s:.6f} s of virtual time" if is_virtual else ""
    return link_output.table(outcome.result) + took + chosen


def _json(request: LinkRequest, outcome: LinkRun) -> str:
    document = {
        "schema": 1,
        "command": request.argv,
        "exit_status": _status(outcome),
        "seed": request.seed,
        "emulates": dict(zip(DIRECTIONS, request.described.written, strict=True)),
        "peer": outcome.peer,
        "outside": outcome.outside,
        "loopback_packets": outcome.loopback_packets,
        "clock": request.clock,
        "lasted_s": outcome.exit.wall_s,
        "real_time": outcome.real_time,
        "link": outcome.result,
    }
    return json.dumps(document)


def _say(line: str) -> None:
    echo(f"httpbed: {line}", err=True)


def _request(
    argv: tuple[str, ...], values: Mapping[str, Any], impossible: Sequence[Mistake]
) -> LinkRequest:
    """Return the values of all options, by flag without dashes, as a request.

    Raises:
        ConfigError: With every mistake, the ``impossible`` ones too.
    """
    seed, trace, name = values["seed"], values["trace"], values["backend"]
    outputs = {f"--{name}": values[name] for name in ("pcap", "log")}
    server, names, ports = _words(values["server"]), values["name"], values["expose"]
    mistakes = [
        *impossible,
        *_seed_mistakes(seed),
        *link_output.file_mistakes(outputs, _inputs(values, trace)),
        *_text_mistakes(argv),
        *_live_mistakes(values),
        *_server_mistakes(values["server"], server),
        *_name_mistakes(names),
        *far_end.port_mistakes(ports, outside=values["outside"]),
    ]
    isolated, outside = values["isolated"], values["outside"]
    if isolated and outside:
        mistakes.append(Mistake("--isolated", "contradicts --outside", "omit one of the two"))
    stdin, stdout, stderr = map(os.isatty, (0, 1, 2))
    pcap, log = (Path(file) if file else None for file in outputs.values())
    return LinkRequest(
        argv=argv,
        described=_described(values, values["profile"], trace, mistakes),
        seed=int(seed) if seed else secrets.randbits(SEED_BITS),
        backend=backend.choose(name),
        server=server or (),
        names=names,
        exposed=tuple(dict.fromkeys(int(port) for port in ports)),
        outside=outside if isolated or outside else None,
        pcap=pcap,
        log=log,
        meter=link_output.meter_is_shown(
            wanted=values["meter"], stdin=stdin, stdout=stdout, stderr=stderr
        ),
        clock=values["clock"],
    )


def _described(
    values: Mapping[str, str | bool],
    profile: str | None,
    trace: tuple[str, str] | None,
    mistakes: list[Mistake],
) -> DescribedLink:
    """Read the impairments; raise ConfigError with every mistake, those found before too."""
    try:
        described = described_link.describe(values, profile, trace)
    except ConfigError as error:
        raise ConfigError([*error.mistakes, *mistakes]) from None
    mistakes += described_link.idle(values, described.link)
    require_none(mistakes)
    return described


def _live_mistakes(values: Mapping[str, str | bool]) -> Iterator[Mistake]:
    for flag in (STATE.flag(way) for way in (BOTH, *DIRECTIONS)):
        if values.get(flag[2:]):
            yield Mistake(flag, "applies to a running link", f"add {CHANGE}, or omit it")


def _words(text: str | None) -> tuple[str, ...] | None:
    """Split a program and its arguments as a shell does; None if a quotation has no end."""
    try:
        return tuple(shlex.split(text or ""))
    except ValueError:
        return None


def _server_mistakes(text: str | None, server: tuple[str, ...] | None) -> Iterator[Mistake]:
    if server is None:
        yield Mistake(SERVER, f"{text!r} has a quote without its end", "close it")
    elif text is not None and not server:
        yield Mistake(SERVER, f"{text!r} is no command", "write it like 'nginx -g ...'")
    elif server and not shutil.which(server[0]):
        reason = f"{server[0]} is not a program that can be run"
        yield Mistake(SERVER, reason, "name one that is in $PATH, or its file")


def _name_mistakes(names: Sequence[str]) -> Iterator[Mistake]:
    for name in names:
        if len(name) > MAX_NAME or not _NAME.fullmatch(name):
            yield Mistake("--name", f"{name!r} is no host's name", "write for example shop.test")
    if names and not HOSTS.exists():
        yield Mistake("--name", f"there is no {HOSTS} to add it to", "omit it, use $HTTPBED_PEER")


def _seed_mistakes(seed: str | None) -> Iterator[Mistake]:
    if seed is not None and not (
        seed.isascii() and seed.isdigit() and len(seed) <= MAX_SEED_DIGITS
    ):
        reason = f"{seed!r} is not a whole number from 0 on with at most {MAX_SEED_DIGITS} digits"
        yield Mistake("--seed", reason, "write for example 7")


def _inputs(
    values: Mapping[str, str | bool | None], trace: tuple[str, str] | None
) -> Iterator[tuple[str, str]]:
    """Name the files that are read, each with its option."""
    for direction in (BOTH, *DIRECTIONS):
        for option in OPTIONS:
            file = values.get(option.flag(direction)[2:]) if option.path[-1] in READERS else None
            if isinstance(file, str):
                yield option.flag(direction), file
    yield from (("--trace", file) for file in trace or ())


def _text_mistakes(argv: tuple[str, ...]) -> Iterator[Mistake]:
    for word in argv:
        if word != word.encode(errors="replace").decode():  # argv's other bytes are surrogates
            yield Mistake("COMMAND", f"{word!r} is not UTF-8", "wrap it in a script")
