"""Notes on senders that failed their conformance test or never had one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from httpbed.report.document import NoteMaker, ReportInput
from httpbed.report.phrasing import Remark, few, in_one_line


def failed(manifest: Mapping[str, Any]) -> Iterator[Remark]:
    """Name each sender that did not pass its conformance test.

    Manifests of verbs without such tests have no senders, and give no remarks.
    """
    for test, command in _tests(manifest):
        if test.get("passed") is False:
            text = f"did not pass: {_reasons(test)}"
            yield Remark(named(test["sender"]), text, f"{command} shows why")


def untested(manifest: Mapping[str, Any], directory: Path) -> Iterator[str]:
    """Name the senders that never had a conformance test, with the command that tests them."""
    lacking = [(test, command) for test, command in _tests(manifest) if test.get("passed") is None]
    testable = [(named(s["sender"]), command) for s, command in lacking if s.get("testable", True)]
    if len(testable) == 1:
        ((who, command),) = testable
        yield f"{who} was never tested for conformance on this machine: {command}"
    elif testable:
        words = ["httpbed", "conformance", "--campaign", str(directory), *_sources(manifest, {})]
        yield (
            f"{len(testable)} senders were never tested for conformance on this machine:"
            f" {shlex.join(words)} tests them"
        )
    ends = [named(test["sender"]) for test, _ in lacking if not test.get("testable", True)]
    if ends:
        have = "has" if len(ends) == 1 else "have"
        yield (
            f"{', '.join(few(ends, 'senders'))} {have} no conformance test: httpbed tests neither"
            " clients that upload nor ends of a tunnel"
        )


def _tests(manifest: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield what is known of each sender, with the command that tests it."""
    for test in manifest.get("senders", ()):
        name = test["sender"]["implementation"]
        build = manifest.get("second_builds", {}).get(name)
        second = {build["of"]: build["path"]} if build else {}
        yield test, _command(build["of"] if build else name, test, _sources(manifest, second))


def _sources(manifest: Mapping[str, Any], second: Mapping[str, str]) -> list[str]:
    """Return the options that name the campaign's clock and its own recipes and programs.

    A ``second`` build, by the name of its program, takes that program's place.
    """
    options = ["--clock=virtual"] if manifest.get("clock") == "virtual" else []
    options += [f"--recipes={folder}" for folder in manifest.get("recipe_folders", ())]
    programs = {**manifest.get("own_programs", {}), **second}
    return options + [f"--program={name}={path}" for name, path in programs.items()]


def _reasons(node: Mapping[str, Any]) -> str:
    failed, unseen = (
        ", ".join(few(node.get(kind, ()), "properties")) for kind in ("failed", "unseen")
    )
    texts = [failed] if failed else []
    texts += [f"not seen: {unseen}"] if unseen else []
    return "; ".join(texts) or "its conformance test"


def named(sender: Mapping[str, Any]) -> str:
    """Name a sender with its program, HTTP version, transport and congestion control."""
    program = f"{sender['implementation']} {sender['version']}".strip()
    over = sender["transport"].upper()
    if version := sender.get("http_version"):
        over = f"HTTP/{version} over {over}"
    return f"{program} as a sender of {over} with {sender['congestion_control']}"


def _command(name: str, node: Mapping[str, Any], options: Sequence[str]) -> str:
    """Write the command of the missing test; knobs at upstream's default are left out."""
    sender = node["sender"]
    version = sender.get("http_version", "3" if sender["transport"] == "quic" else "1.1")
    words = ["httpbed", "conformance", name, "--http-version", version]
    if sender["transport"] == "tcp" or node.get("chosen"):
        words += ["--congestion-control", sender["congestion_control"]]
    words += [f"--knob={name}={value}" for name, value in node.get("set", {}).items()]
    return shlex.join([*words, *options])


def _failed_notes(source: ReportInput) -> Iterator[str]:
    return in_one_line(failed(source.results.manifest), "senders")


def _untested_notes(source: ReportInput) -> Iterator[str]:
    return untested(source.results.manifest, source.results.directory)


FAILED = NoteMaker("failed senders", 110, _failed_notes)
UNTESTED = NoteMaker("untested senders", 140, _untested_notes)
