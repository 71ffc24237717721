"""Writes finished campaigns of the studies as published results.

    python experiments/publish.py reproduced/standard/liu2024/*    # then: make docs
    python experiments/publish.py results/*/*/ results/*/*/*/    # judge and report again
    python experiments/publish.py --join paper/liu2024/pages    # further blocks of it

For each campaign, ``results/<study>/<experiment>/`` gets the archive of its tables, the verdicts on
the claims that the experiment file makes today, the report, the declared figures, and in ``loads``
one page load as HAR and as CDP JSON. Campaigns in virtual time go to ``results/virtual``, those
with another seed to ``results/repeated``. A claim that refers to another experiment of the study is
judged with that one's published campaign. ``results/senders/`` gets the conformance tests of the
campaign's senders that were tested here.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from reproduce import PUBLISHED, STUDIES, judged, referred

from httpbed.addons.conformance import sender
from httpbed.addons.conformance.sender import SenderKey
from httpbed.addons.pages import loads_export
from httpbed.cli.exports import ExportChoice
from httpbed.cli.report import read_stated
from httpbed.results import attempts
from httpbed.store import query

SUMS, MANIFEST, LOADS = "SHA256SUMS", "manifest.json", "loads"
SENDERS = PUBLISHED / "senders"


def main(words: Sequence[str] | None = None) -> int:
    """Publish each campaign; the names of its two last folders are study and experiment."""
    options = argparse.ArgumentParser(prog="publish.py", description=__doc__)
    options.add_argument("campaigns", nargs="+", type=Path)
    options.add_argument("--join", action="store_true", help="keep the blocks that are published")
    chosen = options.parse_args(words)
    for campaign in chosen.campaigns:
        if (campaign / MANIFEST).exists():  # results/virtual is no study
            publish(campaign.resolve(), joins=chosen.join)
    return 0


def publish(campaign: Path, *, joins: bool = False) -> None:
    """Replace the published results of one experiment, or add blocks to them."""
    study, name = campaign.parts[-2:]
    experiment = STUDIES / study / f"{name}.toml"
    place = place_of(campaign, experiment)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / name
        if campaign == place:
            shutil.copytree(campaign, made, ignore=shutil.ignore_patterns("figures"))
        else:
            published = [place] if joins and place.exists() else []
            _httpbed("export", "--archive", *published, campaign, "-o", made)
            _export_one_load(campaign, made / LOADS)
        claims = judged(made, experiment, place.parent)
        (made / "claims.json").write_text(_compact({"claims": claims}))
        beside = [word for one in referred(experiment, place.parent) for word in ("--with", one)]
        stated = read_stated(experiment)
        today = ("--experiment", experiment, *beside) if stated.claims or stated.figures else ()
        _httpbed("report", made, "--json", *today)
        report = made / "report.html"  # its commands name the folder, which readers have elsewhere
        address = str(place.relative_to(PUBLISHED.parent))
        report.write_text(report.read_text().replace(str(made), address))
        for path in (made / "lock", *_undeclared(made)):
            path.unlink(missing_ok=True)
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(made, place)
    _write_digests(place)
    publish_senders(json.loads((place / MANIFEST).read_text()))
    print(f"{place.relative_to(PUBLISHED.parent)}: {_kib(place)} KiB")


def place_of(campaign: Path, experiment: Path) -> Path:
    """Return where a campaign is published: by its clock, or as a repetition with another seed."""
    study, name = campaign.parts[-2:]
    ran = query.read(campaign)
    if {*ran.seeds.values()} - {read_stated(experiment).seed}:
        return PUBLISHED / "repeated" / study / name
    is_virtual = ran.manifest.get("clock") == "virtual"
    return (PUBLISHED / "virtual" if is_virtual else PUBLISHED) / study / name


def publish_senders(manifest: Mapping[str, Any]) -> None:
    """Write the conformance test of each sender of a campaign that was tested on this machine."""
    SENDERS.mkdir(parents=True, exist_ok=True)
    for one in manifest.get("senders", ()):
        key = SenderKey.from_json(one["sender"])
        record = sender.read(key)
        if record:
            # The command has paths of this machine.
            public = {name: value for name, value in record.items() if name != "command"}
            file = SENDERS / f"{key.implementation}-{key.digest}.json"
            file.write_text(json.dumps(public, indent=1) + "\n")


def _export_one_load(campaign: Path, loads: Path) -> None:
    """Write the first load of a campaign of pages in each form that other tools read."""
    results = query.read(campaign)
    if any(one["workload"]["kind"] != "page" for one in results.scenarios.values()):
        return
    valid = attempts.valid(results)
    first = min(valid, key=lambda row: (row["block"], row["trial"]))["trial"]
    trials = results.trials.filter(pc.field("trial") == first)
    for form in (loads_export.HAR, loads_export.CDP_JSON):
        with tempfile.TemporaryDirectory() as folder:
            choice = ExportChoice(form, Path(folder))
            for line in loads_export.write(replace(results, trials=trials), choice):
                print(line)
            loads.mkdir(exist_ok=True)
            file = min(Path(folder).iterdir())
            document = json.loads(file.read_text())
            if form == loads_export.HAR:  # the site that is in the cache has the bodies
                for entry in document["log"]["entries"]:
                    for name in ("text", "encoding"):
                        entry["response"]["content"].pop(name, None)
            (loads / file.name).write_text(_compact(document))


def _compact(document: Mapping[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n"


def _write_digests(place: Path) -> None:
    """List the digests of an archive's files, in the form of ``sha256sum``."""
    files = [path for path in sorted(place.rglob("*")) if path.is_file() and path.name != SUMS]
    lines = [
        f"{sha256(file.read_bytes()).hexdigest()}  {file.relative_to(place)}" for file in files
    ]
    (place / SUMS).write_text("\n".join(lines) + "\n")


def _undeclared(made: Path) -> list[Path]:
    """Return the figures that are only in the report, and those for print."""
    return [path for path in (made / "figures").iterdir() if not path.match("declared-*.svg")]


def _httpbed(*words: str | Path) -> str:
    line = ["httpbed", *map(str, words)]
    return subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout


def _kib(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) // 1024


if __name__ == "__main__":
    sys.exit(main())
