"""What must be equal in a run that resumes a campaign."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

MACHINE = ("kernel", "architecture", "cpu", "cores", "memory_bytes")
"""Facts of the machine; comparisons stay within one machine."""
NOT_RUN = ("claim", "figure")
"""Tables of an experiment file that change nothing that runs."""


def is_same_experiment(text: str, other: str) -> bool:
    """Whether two valid experiment files run the same, whatever they claim and draw."""
    if text == other:
        return True
    documents = [tomllib.loads(one) for one in (text, other)]
    return any(name in one for one in documents for name in NOT_RUN) and (
        _what_runs(documents[0]) == _what_runs(documents[1])
    )


def _what_runs(document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in NOT_RUN}


def is_same_but_for_seed(text: str, other: str) -> bool:
    """Whether two valid experiment files run the same treatments, on whatever seeds."""
    return _what_runs(_seedless(text)) == _what_runs(_seedless(other))


def _seedless(text: str) -> dict[str, Any]:
    return {key: value for key, value in tomllib.loads(text).items() if key != "seed"}


def other_parts(
    made_by: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield which part of its design a campaign holds, and its options, if a run wants another."""
    scale, needed = made_by.get("scale"), bool(made_by.get("for_claims"))
    if scale != manifest.get("scale"):
        holds = f"at scale {scale}" if scale else "of all of it"
        yield holds, f"--scale {scale}" if scale else "no --scale"
    elif needed != bool(manifest.get("for_claims")):
        yield (
            "of what claims need" if needed else "of more than claims need",
            ("--for-claims" if needed else "no --for-claims"),
        )


def differences(
    made_by: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield what differs from the campaign's manifest: name, old value and new value."""
    yield from program_differences(made_by, manifest)
    yield from _differences(_machine(made_by), _machine(manifest))


def program_differences(
    made_by: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield what differs except the machine: name, old value and new value."""
    for identities in (_programs, _recipes, _sites, _link):
        yield from _differences(identities(made_by), identities(manifest))


def _differences(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for name in sorted(set(old) | set(new)):
        if old.get(name) != new.get(name):
            yield name, old.get(name, "")[:40], new.get(name, "")[:40]


def _programs(manifest: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for program in manifest.get("programs", ()):
        name, libraries = program["name"], program.get("libraries", {})
        found |= {f"{path} of {name}": digest for path, digest in libraries.items()}
        found[f"program {name}"] = f"{program['version']} ({program['sha256'][:12]})"
    return found


def _recipes(manifest: Mapping[str, Any]) -> dict[str, str]:
    return {f"recipe {name}": digest for name, digest in manifest.get("recipes", {}).items()}


def _sites(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of the served sites by name; several sites may share a name."""
    found: dict[str, str] = {}
    for site in manifest.get("sites", ()):
        name = f"site {site['name']}"
        found[name] = " ".join(filter(None, (found.get(name), site["sha256"])))
    return found


def _machine(manifest: Mapping[str, Any]) -> dict[str, str]:
    host = manifest.get("host", {})
    return {f"machine's {name}": str(host.get(name)) for name in MACHINE}


def _link(manifest: Mapping[str, Any]) -> dict[str, str]:
    backend = manifest.get("link", {}).get("backend", "af_packet")  # the first had no other
    return {"link's backend": backend}
