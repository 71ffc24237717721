"""What ``httpbed pages import`` does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import click

from httpbed.addons.har import har_import
from httpbed.addons.har import har_text_report as har_text
from httpbed.addons.har.har_audit import Claims
from httpbed.addons.har.har_import import ImportedLoad
from httpbed.base import units, whole_file
from httpbed.base.errors import ConfigError, Mistake, RejectedValueError
from httpbed.base.user_file import Kind
from httpbed.cli import output_file, table_files
from httpbed.cli.echo import echo
from httpbed.experiment.roles import HttpVersion

AUDIT, OBSERVATIONS = "audit.json", "observations"
_VISITS = ("cold", "repeat view")


def run(
    context: click.Context,
    *,
    files: tuple[Path, ...],
    claims: tuple[str, ...],
    output: Path | None,
    kind: str,
    as_json: bool,
) -> None:
    """Read HAR FILES of any tool; print the page metrics and the audit of each load."""
    claimed = _pairs(claims)
    if output is not None:
        output_file.require_kinds(output, _kinds(kind))
    imported = har_import.read(files, _claims(claimed))
    if output is not None:
        _write(imported, claimed, output, kind)
    if as_json:
        echo(json.dumps([_as_json(one) for one in imported], indent=1))
    else:
        for line in har_text.lines(imported):
            echo(line)
    context.exit(1 if any(one.is_contradicted for one in imported) else 0)


def _kinds(kind: str) -> dict[str, Kind]:
    """Return what is written, by file name."""
    audit = Kind("an audit that httpbed wrote", re.compile(rb'\[\s*(\]|\{\s*"file": )'))
    return {AUDIT: audit, f"{OBSERVATIONS}.{kind}": table_files.IMPORTED[kind]}


def _one_of(known: Sequence[str]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in known:
            raise RejectedValueError(f"{value!r} is unknown", f"choose from {', '.join(known)}")
        return value

    return check


_CLAIMS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "http_version": ("http_version", _one_of(get_args(HttpVersion))),
    "rate": ("rate_bit_s", units.parse_rate),
    "rtt": ("rtt_s", units.parse_duration),
    "visit": ("visit", _one_of(_VISITS)),
}
"""Name of a claim -> its field in :class:`Claims`, and its parser."""


def _pairs(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    mistakes = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in _CLAIMS:
            remedy = f"write NAME=VALUE; NAME is one of {', '.join(_CLAIMS)}"
            mistakes.append(Mistake("--claim", f"{word!r} is not a known claim", remedy))
        elif name in found:
            mistakes.append(Mistake("--claim", f"{name} is claimed twice", "keep one of them"))
        found[name] = value
    if mistakes:
        raise ConfigError(mistakes)
    return found


def _claims(texts: Mapping[str, str]) -> Claims:
    values: dict[str, Any] = {}
    mistakes = []
    for name, text in texts.items():
        field, parse = _CLAIMS[name]
        try:
            values[field] = parse(text)
        except RejectedValueError as error:
            mistakes.append(Mistake(f"--claim {name}", error.reason, error.remedy))
    if mistakes:
        raise ConfigError(mistakes)
    return Claims(**values)


def _as_json(one: ImportedLoad) -> dict[str, Any]:
    load = one.archived.load
    return {
        "file": str(one.file),
        "page": one.archived.page,
        "url": load.url,
        "product": load.product,
        "visit": load.visit,
        "ended": load.ended,
        "notes": list(load.notes),
        "audit": [asdict(finding) for finding in one.findings],
        "observations": [
            observation.model_dump() | {"unit": observation.unit}
            for observation in one.observations
        ],
    }


def _write(
    imported: Sequence[ImportedLoad], claimed: Mapping[str, str], folder: Path, kind: str
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    made = table_files.content(har_import.table(imported, claimed), kind)
    whole_file.write(folder / f"{OBSERVATIONS}.{kind}", made)
    audits = [_as_json(one) | {"claims": dict(claimed)} for one in imported]
    for audit in audits:
        del audit["observations"]
    whole_file.write(folder / AUDIT, (json.dumps(audits, indent=1) + "\n").encode())
