"""What must be equal in a run that resumes a campaign, and its manifest after it grew."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from httpbed.experiment import kept
from httpbed.store.layout import CLUSTER

MACHINE = ("kernel", "architecture", "cpu", "cores", "memory_bytes")
"""Facts of the machine; comparisons stay within one machine."""
NOT_TREATMENTS = ("seed", "replicates", "question", "citation", "report", "claim", "figure")
"""Keys of an experiment file that change no treatment."""
SELECTION = ("scale", "for_claims")
"""Which treatments of an experiment's design a campaign holds."""
FEW_FILES = 3
"""So many differing libraries or packages of a program are listed."""
CONTENTS = ("libraries", "packages")
"""What a program consists of: a program of the user's, or one of a root filesystem. Before httpbed
listed packages, it listed the libraries of the latter, too."""
ITSELF = "itself"

Texts = dict[str, str]
OF_THE_FIRST_RUN = ("started", "httpbed", "commit", "host", "link", "clock", "clock_reason")
"""What a manifest says about the campaign's first run, also after it grew."""
KEPT = "what --keep asks of programs"


def has_same_treatments(text: str, other: str) -> bool:
    """Whether two valid experiment files run the same treatments, in whatever blocks."""
    return _treatments(text) == _treatments(other)


def _treatments(text: str) -> dict[str, Any]:
    return {key: value for key, value in tomllib.loads(text).items() if key not in NOT_TREATMENTS}


def is_same_part(made_by: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Whether two manifests hold the same part of an experiment's design."""
    names = (*SELECTION, "replicates", "blocks", "until")
    return all((made_by.get(name) or None) == (manifest.get(name) or None) for name in names)


def is_same_selection(made_by: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Whether two manifests hold the same treatments of an experiment's design."""
    return selection_words(made_by) == selection_words(manifest)


def selection_words(manifest: Mapping[str, Any]) -> str:
    """Return the options of ``httpbed run`` that selected a campaign's treatments."""
    scale, for_claims = (manifest.get(one) for one in SELECTION)
    words = [f"--scale {scale}" if scale else "", "--for-claims" if for_claims else ""]
    return " ".join(filter(None, words)) or "neither --scale nor --for-claims"


def generation(manifest: Mapping[str, Any]) -> int:
    """Return 1 for a campaign that never grew, and one more for each time that it did."""
    return int(manifest.get("generation", 1))


def grown_manifest(made_by: Mapping[str, Any], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of a campaign that grows: programs, recipes and sites of all its runs."""
    first = {name: made_by[name] for name in OF_THE_FIRST_RUN if name in made_by}
    joined: dict[str, Any] = {}
    if "sites" in made_by and "sites" in manifest:
        others = (one for one in manifest["sites"] if one not in made_by["sites"])
        joined["sites"] = [*made_by["sites"], *others]
    if "programs" in made_by and "programs" in manifest:
        joined["programs"] = _programs([*made_by["programs"], *manifest["programs"]])
    recipes = {**made_by.get("recipes", {}), **manifest.get("recipes", {})}
    grown = {**manifest, **first, **joined, "recipes": recipes}
    if senders := _senders(made_by, manifest):
        grown["senders"] = senders
    return {**grown, "generation": generation(made_by) + 1}


def _programs(several: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each program once, with all that manifests of several versions say about it."""
    programs: dict[tuple[str, ...], dict[str, Any]] = {}
    for program in several:
        key = (program["name"], program["version"], program["sha256"], program.get("path", ""))
        known = programs.get(key, {})
        contents = {kind: {**known.get(kind, {}), **program.get(kind, {})} for kind in CONTENTS}
        listed = {kind: them for kind, them in contents.items() if them or kind in program}
        programs[key] = {**known, **program, **listed}
    return [*programs.values()]


def _senders(made_by: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[Any]:
    """Return the senders of both manifests, each with its latest verdict."""
    now = list(manifest.get("senders", ()))
    known = [one["sender"] for one in now]
    return [*now, *(one for one in made_by.get("senders", ()) if one["sender"] not in known)]


def differences(
    made_by: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield what differs between two manifests: name, old value and new value."""
    before, now = _subjects(made_by), _subjects(manifest)
    for subject in dict.fromkeys([*before, *now]):
        yield from _of_subject(subject, before.get(subject, {}), now.get(subject, {}))
    yield from _differences(_sites(made_by), _sites(manifest))
    yield from _machine_differences(made_by, manifest)


def conflicts(
    made_by: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield what keeps a run out of a campaign: name, old value and new value."""
    yield from program_conflicts(made_by, manifest)
    yield from _machine_differences(made_by, manifest)


def program_conflicts(
    made_by: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield which programs, recipes, sites or links conflict: name, old value and new value.

    A program that only one of them has is no conflict: other treatments need other programs. Sites
    of one name conflict if each manifest has one that the other lacks.
    """
    before, now = _subjects(made_by), _subjects(manifest)
    for subject in before:
        if subject in now:
            yield from _of_subject(subject, before[subject], now[subject])
    sites = _sites(made_by), _sites(manifest)
    for name, old, new in _differences(*sites):
        of_each = [set(site.get(name, "").split()) for site in sites]
        if of_each[0] - of_each[1] and of_each[1] - of_each[0]:
            yield name, old, new


def _of_subject(
    subject: str, old: Mapping[str, Texts], new: Mapping[str, Texts]
) -> Iterator[tuple[str, str, str]]:
    """Yield what differs in a subject; more than a few of its files are one difference.

    After an upgrade of the distribution, all libraries of a program differ. Contents of which only
    one manifest has a list are not compared: an earlier httpbed listed others.
    """
    yield from _differences(old.get(ITSELF, {}), new.get(ITSELF, {}))
    for kind in CONTENTS:
        before, now = old.get(kind), new.get(kind)
        if not before or not now:
            continue
        found = [*_differences(before, now)]
        if len(found) <= FEW_FILES:
            yield from found
        else:
            yield f"the set of {kind} of {subject}", _summary(before), _summary(now)


def _summary(contents: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(sorted(contents.items())).encode()).hexdigest()
    return f"{len(contents)} files ({digest[:12]})"


def _machine_differences(
    made_by: Mapping[str, Any], manifest: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield how machines differ; those of a cluster may, because each block stays on one."""
    if made_by.get(CLUSTER) or manifest.get(CLUSTER):
        yield from _differences(_place_of_run(made_by), _place_of_run(manifest))
    else:
        yield from _differences(_machine(made_by), _machine(manifest))


def _place_of_run(manifest: Mapping[str, Any]) -> dict[str, str]:
    return {"place of its trials": "a cluster" if manifest.get(CLUSTER) else "this machine"}


def _differences(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for name in sorted(set(old) | set(new)):
        if old.get(name) != new.get(name):
            yield name, old.get(name, "")[:40], new.get(name, "")[:40]


def _subjects(manifest: Mapping[str, Any]) -> dict[str, dict[str, Texts]]:
    """Return what identifies each program, recipe and kind of link, by the subject's name.

    A program is identified by itself and by each kind of :data:`CONTENTS`.
    """
    subjects: dict[str, dict[str, Texts]] = {}
    for program in manifest.get("programs", ()):
        name = program["name"]
        subject = subjects.setdefault(f"program {name}", {})
        subject[ITSELF] = {f"program {name}": f"{program['version']} ({program['sha256'][:12]})"}
        for kind in CONTENTS:
            listed = {f"{one} of {name}": how for one, how in program.get(kind, {}).items()}
            subject[kind] = {**subject.get(kind, {}), **listed}
    for name, digest in manifest.get("recipes", {}).items():
        subjects[f"recipe {name}"] = {ITSELF: {f"recipe {name}": digest}}
    backend = manifest.get("link", {}).get("backend", "af_packet")  # the first had no other
    others = {
        "link": {"link's backend": backend},
        "clock": {"clock": manifest.get("clock", "real")},
        "kept": _kept(manifest),
    }
    return {**subjects, **{name: {ITSELF: texts} for name, texts in others.items()}}


def _kept(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return which records of programs are kept (``--keep``), if that costs the programs time."""
    names = frozenset(manifest.get("kept", ()))
    return {KEPT: ", ".join(kept.disturbing(names)) or "nothing"}


def _sites(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of the served sites by name; several sites may share a name."""
    digests: dict[str, str] = {}
    for site in manifest.get("sites", ()):
        name = f"site {site['name']}"
        digests[name] = " ".join(filter(None, (digests.get(name), site["sha256"])))
    return digests


def _machine(manifest: Mapping[str, Any]) -> dict[str, str]:
    host = manifest.get("host", {})
    return {f"machine's {name}": str(host.get(name)) for name in MACHINE}
