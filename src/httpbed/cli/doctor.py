"""``httpbed doctor``: test what this machine can do, point by point."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from httpbed.base.errors import HostError
from httpbed.base.units import format_share
from httpbed.bed import doctor
from httpbed.bed.machine import facts
from httpbed.bed.machine.facts import MachineFacts
from httpbed.bed.sandbox import sandbox_spec
from httpbed.bed.toolbox import debian, root_filesystem
from httpbed.cli.echo import echo
from httpbed.cli.options import json_option
from httpbed.cli.verb import EXIT_HOST, verb_group
from httpbed.programs import catalog
from httpbed.trial import program_roots
from httpbed.trial.addition import CLOCKS

_MARKS = {True: "ok  ", None: "less", False: "NO  "}


@verb_group("doctor", invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Test what this machine can do, point by point; nothing is assumed.

    Use it when a run refuses to start, and on every new machine. Trials can run without a point
    marked "less". They cannot run without one marked "NO"; the exit code is then 3.
    """
    if context.invoked_subcommand is not None:
        return
    machine = facts.gather()
    points = [
        *doctor.examine(
            machine,
            executables={name: _executable(name) for name in sandbox_spec.ALL},
            tools=root_filesystem.find(root_filesystem.TOOLS),
            programs={
                name: program_roots.state(recipe)[0]
                for name, recipe in catalog.load().recipes.items()
            },
            pasta=debian.find_pasta(),
        ),
        *(clock.test() for clock in CLOCKS.provided()),
    ]
    if as_json:
        values = {
            "schema": 1,
            "able": doctor.is_able(points),
            "machine": machine.model_dump(),
            "points": [asdict(point) for point in points],
        }
        echo(json.dumps(values, indent=2))
    else:
        echo(_text(machine, points))
    context.exit(0 if doctor.is_able(points) else EXIT_HOST)


def _executable(name: str) -> Path | None:
    try:
        return sandbox_spec.executable(name)
    except HostError:
        return None


def _text(machine: MachineFacts, points: list[doctor.Capability]) -> str:
    lines = [
        f"machine    {machine.distribution}, Linux {machine.kernel}, {machine.architecture}",
        f"           {_size(machine)}",
        f"           {_surroundings(machine)}",
        "",
    ]
    width = max(len(point.name) for point in points)
    for point in points:
        lines.append(f"{_MARKS[point.ok]}  {point.name:{width}}  {point.figure}")
        if point.ok is not True and point.remedy:
            lines.append(f"{'':{width + 8}}-> {point.remedy}")
    met = sum(point.ok is True for point in points)
    verdict = "trials can run here" if doctor.is_able(points) else "trials cannot run here"
    return "\n".join([*lines, "", f"{met} of {len(points)} points met: {verdict}"])


def _size(machine: MachineFacts) -> str:
    cpu = machine.cpu or "an unknown type"
    memory = f"{machine.memory_bytes / 1e9:.1f} GB memory"
    return f"{machine.cores} cores of {cpu}, {memory}, load {machine.load[0]:.2f}"


def _surroundings(machine: MachineFacts) -> str:
    place = "a virtual machine" if machine.hypervisor else "no virtual machine detected"
    inside = f", in a container ({machine.container})" if machine.container else ""
    if machine.steal is None:
        return f"{place}{inside}"
    return f"{place}{inside}, {format_share(machine.steal, 2)} of its time stolen so far"
