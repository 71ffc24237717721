"""The programs' page of the reference manual, from their recipes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import results_senders
from httpbed.bed.toolbox import compiled
from httpbed.experiment.kept import ProgramRecord
from httpbed.experiment.workload import UPLOADS_BY
from httpbed.programs import catalog
from httpbed.programs.recipe import Recipe
from httpbed.programs.settings import Knob, QuicControl
from httpbed.programs.shipped_programs import shipped_folders, shipped_programs
from markdown_table import table

INTRODUCTION = (
    "Written by `make docs` from `src/httpbed/programs/recipes/`. A knob is a setting that an"
    " experiment may vary, as `knobs` of a role or as `--knob ROLE.NAME=VALUE` of"
    " `httpbed compare`; a knob that is not set keeps the program's default. `httpbed toolbox`"
    " lists what is installed. [Add an implementation](../guides/own-implementation.md) explains"
    " recipes."
)


STACKS = (
    "Every program in one line. Resumption is that of TLS sessions between two runs; migration is"
    " what a client does when its address changes, as its knob `migration` says; conformance is how"
    " many properties of its congestion control are within tolerance, as [`httpbed"
    " conformance`](../guides/conformance.md) tests them, and whole suites have [a page of their"
    " own](../../results/senders/README.md); the first surprise is what users least expect of the"
    " program. Lines are those of the recipe, and of the sources that httpbed has for it, with"
    " their tests; sources that two programs share count for both."
)
SURPRISES = {
    "bun": "refuses about every second HTTP/3 handshake of curl 8.23 that names a server",
    "curl-cffi": "as Firefox, its HTTP/3 reaches no server, and its HTTP/2 has a window of 128 kB",
    "niquests": "in virtual time its HTTP/3 library aborts (signal 6), so httpbed refuses it there",
    "picoquic": "CUBIC keeps its window after a loss, and gets 6 to 40 times what CUBIC allows",
    "quic-go": "Reno begins with 28 packets in flight, and keeps 0.7 of its window after a loss",
    "traefik": "over HTTP/2 to Envoy it passes requests of HTTP/3 on, which Envoy answers with 400",
    "wget2": "of an upload over HTTP/1.1 it sends 16 kB, and ends with status 0",
    "quinn": "resumes no session of an earlier run: tickets stay in memory",
    "msquic": "curl never connects if a packet of its ClientHello is lost; CUBIC keeps its window",
    "tquic": "sends parallel responses one after another, in the order of the requests",
}
"""Program -> its first surprise, where one is known."""
ABSENT = """These were looked for, and have no recipe, for these reasons:

| stack | reason |
| --- | --- |
| Kestrel (.NET), xquic, h2o with quicly | in no registry of the toolbox |
| Apache Traffic Server with quiche, LiteSpeed | in no registry of the toolbox |
| mvfst and Proxygen | in no registry of the toolbox; the recipe `hq` runs your own build |
| OpenLiteSpeed | in no registry of the toolbox; the recipe `openlitespeed` runs your own build |
| pingora, Varnish, Apache httpd, nghttpx and h2load of Debian | no HTTP/3 |
| WebKit (Debian's webkit2gtk-driver) | its network library, libsoup, has no HTTP/3 |
| tokio-quiche | its transport is quiche, which `httpbed-quiche` runs; 335 packages to build |
| noq | a fork of quinn, which `quinn` runs |
| s2n-quic | the registry of crates has no glue between it and an HTTP/3 library |
| Node.js | the stock executable has no `node:quic` |"""
PUBLISHED = Path(__file__).resolve().parent.parent / "results"


def tested() -> dict[str, list[str]]:
    """Return each program -> its published tests of conformance over QUIC, in words."""
    words = defaultdict[str, list[str]](list)
    for file in sorted(PUBLISHED.glob("s*/*.json")):
        if file.parent.name not in {"senders", "stacks"}:
            continue
        test: Mapping[str, Any] = json.loads(file.read_text())
        sender = test["sender"]
        if sender["transport"] == "quic":
            passed = f"{sender['congestion_control']}: {results_senders.within(test)}"
            words[sender["implementation"]].append(passed)
    return words


def stacks(recipes: Iterable[Recipe], tests: Mapping[str, list[str]]) -> str:
    """Return the table of programs."""
    head = ["program", "roles", "HTTP", "tried from version", "congestion control over QUIC"]
    head += [
        "resumption",
        "migration",
        "uploads",
        "conformance over QUIC",
        "lines",
        "first surprise",
    ]
    rows = []
    for recipe in sorted(recipes, key=lambda one: one.name):
        migration = recipe.knobs.get("migration")
        rows.append(
            [
                f"`{recipe.name}`",
                ", ".join(recipe.roles),
                ", ".join(recipe.http_versions),
                (recipe.version and recipe.version.least) or "",
                over_quic(recipe.congestion_control.quic),
                ", ".join(
                    literal for literal in ("resumed", "early data") if literal in recipe.workloads
                ),
                ", ".join(level for level in migration.levels if level != "none")
                if migration
                else "",
                ", ".join(m for m, need in UPLOADS_BY.items() if need in recipe.workloads),
                "; ".join(tests.get(recipe.name, ())),
                lines(recipe),
                SURPRISES.get(recipe.name, ""),
            ]
        )
    return table(head, rows)


def lines(recipe: Recipe) -> str:
    """Return how many lines the recipe has, and the sources of httpbed's that it starts."""
    files = (folder / f"{recipe.name}.toml" for folder in shipped_folders("recipes"))
    (text,) = (file.read_text() for file in files if file.is_file())
    started = {name for role in recipe.roles for name in recipe.run_in(role).programs}
    sources = [Path(str(shipped_programs()[name])) for name in started]
    if own := recipe.install.own:
        sources += compiled.PROGRAMS[own].digested()
    every = (file for source in sources for file in (source, *source.rglob("*")))
    code = (file for file in every if file.suffix in {".py", ".js", ".sh", ".rs", ".go"})
    counts = [len(text.splitlines()), sum(len(file.read_text().splitlines()) for file in code)]
    return " + ".join(str(count) for count in counts if count)


def page() -> str:
    """Return the page: a section for each recipe, by name."""
    recipes = catalog.load().recipes
    sections = ["# Programs", INTRODUCTION, "## Stacks", STACKS, stacks(recipes.values(), tested())]
    sections += ["## What is not here", ABSENT]
    for name in sorted(recipes):
        sections += [f"## `{name}`", *about(recipes[name])]
    return "\n\n".join(sections) + "\n"


def about(recipe: Recipe) -> Iterator[str]:
    """Give a recipe's paragraphs: note, abilities, knobs."""
    if recipe.note:
        yield sentence(recipe.note)
    abilities = {
        "Roles": ", ".join(recipe.roles),
        "HTTP versions": ", ".join(recipe.http_versions),
        "As a proxy, to the server": ", ".join(recipe.upstream_http_versions),
        "Workloads": ", ".join(recipe.workloads),
        "Congestion control over QUIC": over_quic(recipe.congestion_control.quic),
        "Writes on request": records(recipe),
        "Homepage": f"<{recipe.homepage}>" if recipe.homepage else "",
    }
    yield "\n".join(f"- {name}: {value}" for name, value in abilities.items() if value)
    if recipe.knobs:
        rows = [row(name, knob) for name, knob in sorted(recipe.knobs.items())]
        yield "\n".join(
            ["| knob | default | values | meaning |", "| --- | --- | --- | --- |", *rows]
        )


def sentence(note: str) -> str:
    """Return a note with a capital at its start and a full stop at its end."""
    return f"{note[0].upper()}{note[1:].rstrip('.')}."


def over_quic(control: QuicControl | None) -> str:
    """Return the algorithms of a sender over QUIC; empty for a program that sends none."""
    if control is None:
        return ""
    if control.fixed:
        return f"{control.fixed}, without a choice"
    return f"{', '.join(control.choices)}; default {control.default}"


def records(recipe: Recipe) -> str:
    """Return what a program writes for `--keep`, and in which roles if not in all."""
    found = []
    for kind in get_args(ProgramRecord):
        roles = [role for role in recipe.roles if kind in recipe.run_in(role).keep]
        if roles:
            found.append(kind + ("" if roles == recipe.roles else f" as a {' or '.join(roles)}"))
    return ", ".join(found)


def row(name: str, knob: Knob) -> str:
    """Return a knob's line of the table."""
    values = ", ".join(f"`{level}`" for level in knob.levels) or f"`{knob.pattern}`"
    return f"| `{name}` | `{knob.default}` | {escaped(values)} | {escaped(knob.meaning)} |"


def escaped(text: str) -> str:
    """Return text whose bars do not end a cell."""
    return text.replace("|", "\\|")
