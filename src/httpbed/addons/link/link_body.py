"""What ``httpbed link`` does."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from httpbed.addons.link import counters, description, live, meter, options, output_files
from httpbed.addons.link.options import DescribedLink
from httpbed.addons.link.run import LinkRequest, LinkRun
from httpbed.addons.link.run import run as run_behind
from httpbed.base.clock import Clock
from httpbed.base.errors import ConfigError, Mistake
from httpbed.bed.machine import backend
from httpbed.bed.network import kernel
from httpbed.bed.network.link_file import READERS
from httpbed.cli import library_settings
from httpbed.cli.echo import echo
from httpbed.experiment.impairments.registry import OPTIONS

NOT_FOUND, NOT_RUNNABLE, SIGNALLED = 127, 126, 128
"""Exit codes, as in shells."""
SEED_BITS = 32
"""Size of a seed that httpbed chooses."""
MOST_SEED_DIGITS = 32
_STDERR = 2


def run(
    argv: tuple[str, ...],
    values: Mapping[str, Any],
    *,
    isolated: bool,
    outside: bool,
    metered: bool | None,
    clock: Clock,
    as_json: bool,
) -> int:
    """Run a command behind the link that ``values`` describe by flag; return its exit code."""
    _open_streams()
    impossible: Sequence[Mistake] = ()
    if clock == "virtual":
        from httpbed.addons.link import link_in_a_guest_body as link_in_a_guest  # noqa: PLC0415 - a real link needs none

        impossible = link_in_a_guest.mistakes(
            argv, isolated=isolated, outside=outside, metered=bool(metered)
        )
        metered = False
    argv = argv or (os.environ.get("SHELL", "/bin/sh"),)
    request = _request(
        argv, values, impossible, clock=clock, isolated=isolated, outside=outside, metered=metered
    )
    if not shutil.which(argv[0]):
        return _refuse(argv)
    library_settings.remove()
    if not as_json:
        _say(f"link: {description.sentence(request.described)}")
    if clock == "virtual":
        outcome = link_in_a_guest.run(request, _say)
    else:
        outcome = asyncio.run(run_behind(request, _say))
    if as_json and request.meter:
        echo(err=True)  # end the meter's line before the counters
    summary = _json(request, outcome) if as_json else _table(request, outcome, values["seed"])
    echo(summary, err=True)
    return _status(outcome)


def change(values: Mapping[str, Any], argv: tuple[str, ...], *, as_json: bool) -> None:
    """Change the link around this command, and print each change."""
    _open_streams()
    if argv:
        raise ConfigError([Mistake("COMMAND", "runs behind a new link", f"omit {options.CHANGE}")])
    beside = {"of", "link-backend"}  # the latter may well stand in the environment
    requested = live.requested(
        {flag: value for flag, value in values.items() if flag not in beside}
    )
    target = live.Target.of(values["of"]) if values["of"] else live.Target(os.environ)
    changed = asyncio.run(live.change(requested, target))
    if as_json:
        echo(json.dumps({"schema": 1, "changed": changed}))
    for each in () if as_json else changed:
        echo(live.words(each))


def _request(
    argv: tuple[str, ...],
    values: Mapping[str, Any],
    impossible: Sequence[Mistake],
    *,
    clock: Clock,
    isolated: bool,
    outside: bool,
    metered: bool | None,
) -> LinkRequest:
    """Read the values of all options, by name without dashes.

    Raises:
        ConfigError: With every mistake, the ``impossible`` ones too.
    """
    seed, trace, name = values["seed"], values["trace"], values["link-backend"]
    outputs = {f"--{name}": values[name] for name in ("pcap", "log")}
    mistakes = [
        *impossible,
        *_seed_mistakes(seed),
        *output_files.mistakes(outputs, _inputs(values, trace)),
        *_text_mistakes(argv),
        *_live_mistakes(values),
        *_backend_mistakes(name),
    ]
    if isolated and outside:
        mistakes.append(Mistake("--isolated", "contradicts --outside", "omit one of the two"))
    pcap, log = (Path(file) if file else None for file in outputs.values())
    return LinkRequest(
        argv=argv,
        described=_described(values, values["profile"], trace, mistakes),
        seed=int(seed) if seed else secrets.randbits(SEED_BITS),
        backend=backend.choose(name),
        outside=outside if isolated or outside else None,
        pcap=pcap,
        log=log,
        meter=_meter_is_shown(metered),
        clock=clock,
    )


def _meter_is_shown(wanted: bool | None) -> bool:
    stdin, stdout, stderr = map(os.isatty, (0, 1, 2))
    return meter.is_shown(wanted=wanted, stdin=stdin, stdout=stdout, stderr=stderr)


def _described(
    values: Mapping[str, str | bool],
    profile: str | None,
    trace: tuple[str, str] | None,
    mistakes: list[Mistake],
) -> DescribedLink:
    """Read the impairments; raise ConfigError with every mistake, those found before too."""
    try:
        described = options.describe(values, profile, trace)
    except ConfigError as error:
        raise ConfigError([*error.mistakes, *mistakes]) from None
    mistakes += options.idle(values, described.link)
    if mistakes:
        raise ConfigError(mistakes)
    return described


def _live_mistakes(values: Mapping[str, str | bool]) -> Iterator[Mistake]:
    for flag in (*(options.STATE.flag(one) for one in (options.BOTH, *options.WAYS)), options.OF):
        if values.get(flag[2:]):
            yield Mistake(flag, "applies to a running link", f"add {options.CHANGE}, or omit it")


def _backend_mistakes(name: str | None) -> Iterator[Mistake]:
    if name in kernel.KINDS:
        reason = f"with {name} the kernel carries the packets; httpbed cannot change or log them"
        yield Mistake("--link-backend", reason, "use af_packet or tun, or omit it")


def _seed_mistakes(seed: str | None) -> Iterator[Mistake]:
    if seed is not None and not (
        seed.isascii() and seed.isdigit() and len(seed) <= MOST_SEED_DIGITS
    ):
        reason = f"{seed!r} is not a whole number from 0 on with at most {MOST_SEED_DIGITS} digits"
        yield Mistake("--seed", reason, "write for example 7")


def _inputs(
    values: Mapping[str, str | bool | None], trace: tuple[str, str] | None
) -> Iterator[tuple[str, str]]:
    """Name the files that are read, each with its option."""
    for direction in (options.BOTH, *options.WAYS):
        for option in OPTIONS:
            file = values.get(option.flag(direction)[2:]) if option.path[-1] in READERS else None
            if isinstance(file, str):
                yield option.flag(direction), file
    yield from (("--trace", file) for file in trace or ())


def _text_mistakes(argv: tuple[str, ...]) -> Iterator[Mistake]:
    for word in argv:
        if word != word.encode(errors="replace").decode():  # argv's other bytes are surrogates
            yield Mistake("COMMAND", f"{word!r} is not UTF-8", "wrap it in a script")


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
    return counters.table(outcome.result) + took + chosen


def _json(request: LinkRequest, outcome: LinkRun) -> str:
    document = {
        "schema": 1,
        "command": request.argv,
        "exit_status": _status(outcome),
        "seed": request.seed,
        "emulates": dict(zip(options.WAYS, request.described.written, strict=True)),
        "peer": outcome.peer,
        "outside": outcome.outside,
        "clock": request.clock,
        "lasted_s": outcome.exit.wall_s,
        "real_time": outcome.real_time,
        "link": outcome.result,
    }
    return json.dumps(document)


def _say(line: str) -> None:
    echo(f"httpbed: {line}", err=True)
