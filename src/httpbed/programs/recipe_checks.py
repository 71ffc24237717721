"""Checks of a recipe that involve several fields."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import get_args

from httpbed.base.errors import Mistake
from httpbed.experiment.kept import ProgramRecord
from httpbed.experiment.workload import (
    UPLOADS_BY,
    DownloadCapability,
    PageCapability,
    PageVisit,
    UploadCapability,
)
from httpbed.programs import invocation, parsers
from httpbed.programs.invocation import LISTS, Run
from httpbed.programs.part import NO_PAGE, FileToFetch, Part, Upstream
from httpbed.programs.recipe import Recipe
from httpbed.programs.shipped_programs import shipped_programs

_CAPABILITIES = {"download": DownloadCapability, "upload": UploadCapability, "page": PageCapability}
"""Kind of workload -> the capabilities that it may need."""
_SUFFICIENT: Mapping[str, frozenset[str]] = {
    "download": frozenset({"download"}),
    "upload": frozenset(UPLOADS_BY.values()),
    "page": frozenset({"page"}),
}
"""Kind of workload -> capabilities; a program that has the kind declares one of them."""
SHELLS = frozenset({"sh", "bash", "dash"})
_SHELL_SYNTAX = re.compile(r"[|&;<>]+|[0-9]?>&[0-9]|.*(\$\(|`|\$\{).*", re.DOTALL)
PROGRAM = "program"
"""A variable with the program's path; only if no root has the program, or another drives it."""
_SAMPLE = Part(
    name="", role="client", host="", http_version="", server_name="", server_address="", port=0,
    fetches=(FileToFetch("", ""),), certificates="", content="", time_limit_s=0, file_bytes=0,
    upstreams=(Upstream("", 0),), page=replace(NO_PAGE, replayed=True),
)  # fmt: skip
VARIABLES = frozenset(_SAMPLE.variables()) | {"congestion_control"}
"""Variables that every template may use."""
REQUEST_VARIABLES = frozenset(_SAMPLE.each_request()[0])
"""Further variables of ``each_request``."""
UPSTREAM_VARIABLES = frozenset(_SAMPLE.each_upstream()[0])
"""Further variables of ``each_upstream``."""
ORIGIN_VARIABLES = frozenset(_SAMPLE.each_origin()[0])
"""Further variables of ``each_origin``."""
RESERVED = (
    VARIABLES
    | LISTS
    | set(get_args(ProgramRecord))
    | REQUEST_VARIABLES
    | UPSTREAM_VARIABLES
    | ORIGIN_VARIABLES
    | {PROGRAM}
)


def mistakes(recipe: Recipe) -> Iterator[Mistake]:
    """Yield each mistake between the fields of a recipe."""
    for role in sorted((set(recipe.run_as) | set(recipe.parse_as)) - set(recipe.roles)):
        yield Mistake(f"run_as.{role}", f"{role} is not among its roles")
    if ("proxy" in recipe.roles) != bool(recipe.upstream_http_versions):
        yield Mistake("upstream_http_versions", "belongs to a proxy, and a proxy needs it")
    for name in sorted(set(recipe.knobs) & RESERVED):
        yield Mistake(f"knobs.{name}", "is a variable that every recipe has", "choose another name")
    if recipe.version is None and not recipe.install.is_users_own:
        yield Mistake("version", "is missing", "add a command that reports the version")
    yield from _retrying_mistakes(recipe)
    yield from _workload_mistakes(recipe)
    yield from _parser_mistakes(recipe)
    runs = {"run": recipe.run, **{f"run_as.{role}": run for role, run in recipe.run_as.items()}}
    for place, run in runs.items():
        in_run = (
            *_words(run),
            *_unseen(recipe, run),
            *_programs(run),
            *_variables(recipe, run),
            *_choices(recipe, run),
        )
        for mistake in in_run:
            yield Mistake(f"{place}.{mistake.place}", mistake.reason, mistake.remedy)


def _retrying_mistakes(recipe: Recipe) -> Iterator[Mistake]:
    if recipe.retrying.able() and "client" not in recipe.roles:
        yield Mistake("retrying", "belongs to a client", "delete it")
    for retry in sorted(set(recipe.retrying.itself) & set(recipe.retrying.started_again)):
        reason = f"{retry} is done either by the program itself or by httpbed"
        yield Mistake("retrying.started_again", reason, "delete it from one of them")


def _workload_mistakes(recipe: Recipe) -> Iterator[Mistake]:
    """Yield a mistake for an option of a workload that the program does not support at all."""
    for kind, capabilities in _CAPABILITIES.items():
        beyond = sorted(set(recipe.workloads) & set(get_args(capabilities)) - _SUFFICIENT[kind])
        if beyond and not _can(recipe, kind):
            reason = f"{' and '.join(map(repr, beyond))} needs {kind!r}, which is missing"
            yield Mistake("workloads", reason, f"add {kind!r}")


def _can(recipe: Recipe, kind: str) -> bool:
    return not _SUFFICIENT[kind].isdisjoint(recipe.workloads)


def _parser_mistakes(recipe: Recipe) -> Iterator[Mistake]:
    in_roles = {f"parse_as.{role}": parse for role, parse in recipe.parse_as.items()}
    for place, parse in {"parse": recipe.parse_, **in_roles}.items():
        if parse.parser not in parsers.known():
            known = ", ".join(sorted(parsers.known()))
            yield Mistake(f"{place}.parser", f"no parser {parse.parser!r}; known: {known}")


def _words(run: Run) -> Iterator[Mistake]:
    if set(invocation.names(run.argv[0])) - {PROGRAM}:
        yield Mistake("argv[0]", "has a variable other than {program}", "write the program's name")
    if _is_command_line(run.argv[0]):
        reason = f"{run.argv[0]!r} is a command line, not a single word"
        yield Mistake(
            "argv[0]", reason, f"write each word by itself: {json.dumps(run.argv[0].split())}"
        )
    if run.argv[0] in SHELLS:
        return
    for index, word in enumerate(run.argv):
        if _SHELL_SYNTAX.fullmatch(word):
            reason = f"{word!r} is shell syntax, but no shell interprets the command"
            remedy = "name files in stdout and stderr, or start sh -c yourself"
            yield Mistake(f"argv[{index}]", reason, remedy)


def _unseen(recipe: Recipe, run: Run) -> Iterator[Mistake]:
    """Yield a mistake if a binary's recipe starts a program that the sandbox does not show."""
    program, needs = run.argv[0], recipe.install.needs
    if recipe.install.binary and PROGRAM not in invocation.names(program) and program not in needs:
        reason = f"{program!r} is not visible to this recipe, whose binary sees no other program"
        yield Mistake(
            "argv[0]", reason, f"add it to install.needs: {json.dumps([*needs, program])}"
        )


def _is_command_line(word: str) -> bool:
    """Return whether a word is a whole command line; a path may have spaces in its folder names."""
    return " -" in word or (" " in word and "/" not in word)


def _programs(run: Run) -> Iterator[Mistake]:
    known = sorted(shipped_programs())
    for name in sorted(set(run.programs) - set(known)):
        yield Mistake("programs", f"no program {name!r}; known: {', '.join(known)}")


def _variables(recipe: Recipe, run: Run) -> Iterator[Mistake]:
    always = VARIABLES | set(recipe.knobs)
    always |= set() if recipe.install.has_root and not run.program else {PROGRAM}
    variables = always | set(run.keep) | set(run.choose)
    usable = {"keep": always, "choose": variables}
    for place, text in run.templates():
        yield from _unknown(place, text, usable.get(place.split(".")[0], variables | LISTS))
    for name in ("each_request", "each_upload"):
        for index, word in enumerate(getattr(run, name)):
            yield from _unknown(f"{name}[{index}]", word, variables | REQUEST_VARIABLES)
    yield from _unknown("each_upstream", run.each_upstream, variables | UPSTREAM_VARIABLES)
    yield from _unknown("each_origin", run.each_origin, variables | ORIGIN_VARIABLES)
    several = {"requests"} | {
        name
        for name, choice in run.choose.items()
        if any(isinstance(value, list) for value in choice.values.values())
    }
    several |= {kind for kind, record in run.keep.items() if isinstance(record.text, list)}
    for place, text in run.templates():
        word_alone = place.startswith("argv") and invocation.alone(text)
        for name in sorted(several & set(invocation.names(text))):
            if not word_alone and not place.startswith("choose."):
                reason = f"{{{name}}} stands for several words"
                yield Mistake(place, reason, "make it a word of argv by itself")


def _unknown(place: str, text: str, known: Collection[str]) -> Iterator[Mistake]:
    for name in sorted(set(invocation.names(text)) - set(known)):
        close = difflib.get_close_matches(name, known, n=1)
        remedy = f"did you mean {{{close[0]}}}?" if close else "write {{ for a brace"
        listed = ", ".join(sorted(known))
        yield Mistake(place, f"unknown variable {{{name}}}; known: {listed}", remedy)


def _choices(recipe: Recipe, run: Run) -> Iterator[Mistake]:
    for name, choice in run.choose.items():
        place = f"choose.{name}"
        if name in RESERVED or name in recipe.knobs:
            yield Mistake(place, "is already a variable", "choose another name")
        domains = _domains(recipe)
        if choice.by not in domains:
            known = ", ".join(sorted(domains))
            yield Mistake(f"{place}.by", f"{choice.by!r} cannot decide a choice; known: {known}")
            continue
        for value in sorted(set(domains[choice.by]) - set(choice.values)):
            yield Mistake(f"{place}.values", f"has no value for {choice.by} {value!r}")


def _domains(recipe: Recipe) -> dict[str, Collection[str]]:
    """Return the variables that can decide a choice, each with all its values."""
    resumptions = {"none"} | ({"resumed", "early data"} & set(recipe.workloads))
    fetches = ["GET"] if _can(recipe, "download") or _can(recipe, "page") else []
    uploads = [method for method, need in UPLOADS_BY.items() if need in recipe.workloads]
    quic = recipe.congestion_control.quic
    return {
        "role": recipe.roles,
        "http_version": recipe.http_versions,
        "upstream_http_version": recipe.upstream_http_versions,
        "ip_version": ("4", "6"),
        "resumption": resumptions,
        "visit": ("prior", "measured"),
        "workload": [kind for kind in _SUFFICIENT if _can(recipe, kind)],
        "method": [*fetches, *uploads],
        "announces": ("nothing", "HTTP/3"),
        "site": ["static", *(["recorded"] if "recorded page" in recipe.workloads else [])],
        "net_log": ("on", "off"),
        "page_icon": ("its-own", "unasked"),
        "page_screen": ("desktop", "touch"),
        "page_visit": get_args(PageVisit),
        "retry": ("none", *recipe.retrying.able()),
        "transfers": ("one", "several"),
        "congestion_control": quic.choices if quic else (),
        **{name: knob.levels for name, knob in recipe.knobs.items() if knob.levels},
    }
