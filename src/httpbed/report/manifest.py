"""The manifest of a campaign, read leniently: another version's may lack keys."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.base.clock import MEANING
from httpbed.report.phrasing import title
from httpbed.store.layout import SIGNATURE, SOURCES
from httpbed.store.results import Results

Manifest = Mapping[str, Any]

GIB = 2**30


@dataclass(frozen=True)
class UsedProgram:
    """A program that took part, and how to recognise it."""

    name: str
    version: str
    path: str
    sha256: str
    libraries: tuple[tuple[str, str], ...]
    """Path and SHA-256 of each library that it loads."""
    packages: tuple[tuple[str, str], ...]
    """Name, version and SHA-256 of each package of its root filesystem."""


def programs(manifest: Manifest) -> list[UsedProgram]:
    """List all programs: those under test first, then the tools around them."""
    found = [_program(program) for program in manifest.get("programs") or ()]
    tested = manifest.get("recipes") or {}
    return sorted(found, key=lambda program: program.name not in tested)


def under_test(manifest: Manifest) -> list[UsedProgram]:
    """List the programs that a recipe names; all, where the manifest names no recipe."""
    tested = manifest.get("recipes") or {}
    return [program for program in programs(manifest) if not tested or program.name in tested]


def clock(manifest: Manifest) -> str:
    """Return what stands beside results in virtual time; empty in real time."""
    return MEANING if manifest.get("clock") == "virtual" else ""


def certificate(manifest: Manifest) -> str:
    """Name the link certificate, or how to get one."""
    if clock(manifest):
        return "no link certificate covers virtual time"
    cited = manifest.get("link_certificate")
    if not cited:
        return "no link certificate: httpbed doctor calibrate"
    outside = ", which does not cover all of it" if cited.get("outside") else ""
    return f"link certificate of {cited.get('date', '?')}{outside}"


def uncovered(manifest: Manifest) -> list[str]:
    """List what a cited certificate does not cover."""
    return [str(one) for one in (manifest.get("link_certificate") or {}).get("outside") or ()]


def facts(results: Results) -> list[tuple[str, str]]:
    """List version, date, seed and settings of the campaign."""
    manifest = results.manifest
    pairs = [
        ("httpbed", " ".join(str(manifest.get(one) or "") for one in ("httpbed", "commit"))),
        ("started", str(manifest.get("started", ""))),
        (
            "clock",
            "; chosen because ".join(filter(None, (clock(manifest), manifest.get("clock_reason")))),
        ),
        ("seed", ", ".join(map(str, _seeds(results)))),
        ("blocks", str(results.experiment.blocks)),
        ("trials side by side", str(manifest.get("jobs", ""))),
        ("calibration", certificate(manifest)),
        ("installed from an expired package index", ", ".join(_expired(manifest))),
        ("tables", archived_tables(results)),
    ]
    return [(key, text) for key, text in pairs if text]


def _expired(manifest: Manifest) -> list[str]:
    """List the programs for which the user accepted a package index that had expired."""
    known = manifest.get("programs") or ()
    return sorted(str(one.get("name")) for one in known if one.get("index_expired"))


def archived_tables(results: Results) -> str:
    """Say what vouches for the tables of an archive; empty for a campaign with its attempts."""
    if SOURCES not in results.manifest:
        return ""
    if os.path.lexists(results.directory / SIGNATURE):
        return "from an archive, with a signature: httpbed verify says whose"
    return "unsigned tables of an archive, made without the attempts"


def _seeds(results: Results) -> list[int]:
    return sorted({*results.seeds.values()}) or [results.experiment.seed]


def host(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """List the facts of the machine."""
    for key, value in (manifest.get("host") or {}).items():
        text = _value_text(key, value)
        if text:
            yield title(key.removesuffix("_bytes")), text


def digests(manifest: Manifest) -> list[tuple[str, list[tuple[str, str]]]]:
    """List the SHA-256 of recipes, of programs, and of each program's libraries or packages."""
    every = programs(manifest)
    recipes = [(str(name), str(one)) for name, one in (manifest.get("recipes") or {}).items()]
    files = [(program.path or program.name, program.sha256) for program in every if program.sha256]
    lists = [
        (f"{len(recipes)} recipes", recipes),
        (f"{len(files)} programs", files),
        *(
            (f"{len(several)} {kind} of {program.name}", list(several))
            for program in every
            for kind, several in (("libraries", program.libraries), ("packages", program.packages))
        ),
    ]
    return [(name, found) for name, found in lists if found]


def _program(node: Mapping[str, Any]) -> UsedProgram:
    several = {kind: node.get(kind) or {} for kind in ("libraries", "packages")}
    return UsedProgram(
        name=str(node.get("name", "?")),
        version=str(node.get("version", "")),
        path=str(node.get("path", "")),
        sha256=str(node.get("sha256", "")),
        **{
            kind: tuple((str(name), str(digest)) for name, digest in found.items())
            for kind, found in several.items()
        },
    )


def _value_text(key: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key.endswith("_bytes") and isinstance(value, int | float):
        return f"{value / GIB:.1f} GiB"
    if isinstance(value, list | tuple):
        return ", ".join(_value_text("", each) for each in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value_text('', each)}" for name, each in value.items())
    if isinstance(value, float):
        return f"{value:.3g}"
    return "" if value is None else str(value)
