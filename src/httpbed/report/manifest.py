"""The manifest of a campaign, read leniently: another version's may lack keys."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from httpbed.base.clock import MEANING
from httpbed.report.phrasing import title
from httpbed.store.layout import SIGNATURE, SOURCES
from httpbed.store.results import Results

Manifest = Mapping[str, Any]

GIB = 2**30


def programs(manifest: Manifest) -> list[Mapping[str, Any]]:
    """List all programs: those under test first, then the tools around them."""
    tested = manifest.get("recipes", ())
    return sorted(manifest.get("programs", ()), key=lambda program: program["name"] not in tested)


def under_test(manifest: Manifest) -> list[Mapping[str, Any]]:
    """List the programs that a recipe names; all, where the manifest names no recipe."""
    tested = manifest.get("recipes")
    return [each for each in programs(manifest) if not tested or each["name"] in tested]


def versions(manifest: Manifest) -> tuple[str, ...]:
    """Name the programs under test, each with its version."""
    return tuple(f"{each['name']} {each['version']}".strip() for each in under_test(manifest))


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
    known = manifest.get("programs", ())
    return sorted(program["name"] for program in known if program.get("index_expired"))


def archived_tables(results: Results) -> str:
    """Say what vouches for the tables of an archive; empty for a campaign with its attempts."""
    if SOURCES not in results.manifest:
        return ""
    if os.path.lexists(results.directory / SIGNATURE):
        return "from an archive, with a signature: ssh-keygen -Y verify says whose"
    return "unsigned tables of an archive, made without the attempts"


def _seeds(results: Results) -> list[int]:
    return sorted({*results.seeds.values()}) or [results.experiment.seed]


def host(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """List the facts of the machine."""
    for key, value in (manifest.get("host") or {}).items():
        text = _value_text(key, value)
        if text:
            yield title(key.removesuffix("_bytes")), text


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
