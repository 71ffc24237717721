"""The values of ``httpbed link``'s options as a request, or all their mistakes at once."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from httpbed.addons.link import described_link, far_end, link_output
from httpbed.addons.link.described_link import BOTH, CHANGE, STATE, WAYS, DescribedLink
from httpbed.addons.link.far_end import SERVER
from httpbed.addons.link.link_plan import LinkRequest
from httpbed.addons.link.link_run import HOSTS
from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.bed.machine import backend
from httpbed.bed.network.link_file import READERS
from httpbed.experiment.impairments.registry import OPTIONS

SEED_BITS = 32
"""Size of a seed that httpbed chooses."""
MAX_SEED_DIGITS = 32
MAX_NAME = 253
"""Characters of a host's name (RFC 1035, section 2.3.4)."""
_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*")
"""RFC 1123, section 2.1."""


def read(
    argv: tuple[str, ...], values: Mapping[str, Any], impossible: Sequence[Mistake]
) -> LinkRequest:
    """Read the values of all options, by flag without dashes.

    Raises:
        ConfigError: With every mistake, the ``impossible`` ones too.
    """
    seed, trace, name = values["seed"], values["trace"], values["link-backend"]
    outputs = {f"--{name}": values[name] for name in ("pcap", "log")}
    server, names, ports = _words(values["server"]), values["name"], values["expose"]
    mistakes = [
        *impossible,
        *_seed_mistakes(seed),
        *link_output.file_mistakes(outputs, _inputs(values, trace)),
        *_text_mistakes(argv),
        *_live_mistakes(values),
        *_backend_mistakes(name),
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
    for flag in (STATE.flag(way) for way in (BOTH, *WAYS)):
        if values.get(flag[2:]):
            yield Mistake(flag, "applies to a running link", f"add {CHANGE}, or omit it")


def _backend_mistakes(name: str | None) -> Iterator[Mistake]:
    if name == "tbf":
        reason = f"with {name} the kernel carries the packets; httpbed cannot change or log them"
        yield Mistake("--link-backend", reason, "use af_packet or tun, or omit it")


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
    for direction in (BOTH, *WAYS):
        for option in OPTIONS:
            file = values.get(option.flag(direction)[2:]) if option.path[-1] in READERS else None
            if isinstance(file, str):
                yield option.flag(direction), file
    yield from (("--trace", file) for file in trace or ())


def _text_mistakes(argv: tuple[str, ...]) -> Iterator[Mistake]:
    for word in argv:
        if word != word.encode(errors="replace").decode():  # argv's other bytes are surrogates
            yield Mistake("COMMAND", f"{word!r} is not UTF-8", "wrap it in a script")
