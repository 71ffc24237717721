"""Trials in guests: what they leave, clients that run a script, and the guests of a process."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import process_tree
from httpbed.experiment.kept import LINK_RESULT
from httpbed.experiment.trial import Record
from httpbed.store import campaign as campaigns
from real_runs import SmallExperiment, Stage, stage

CLIENT = """
schema = 1
name = "planted-client"
roles = ["client"]
http_versions = ["1.1"]
workloads = ["download"]
install = {{ suite = "trixie", packages = ["ngtcp2-client", "python3"] }}
version = {{ argv = ["python3", "--version"], pattern = 'Python (?P<version>\\S+)' }}
parse = {{ parser = "curl-json", file = "said.jsonl" }}

[run]
argv = ["python3", "-c", {script}]
stdout = "said.jsonl"
stderr = "errors.txt"
"""
LOSSY = SmallExperiment(
    versions=("2", "3"), delay="25 ms", loss="4 %", size="1 MB", clock="virtual", time_limit="600 s"
)


def planted(folder: Path, script: str) -> Stage:
    """Prepare a download by a client that runs a Python script."""
    (folder / "recipes").mkdir()
    (folder / "recipes/planted-client.toml").write_text(CLIENT.format(script=json.dumps(script)))
    settings = replace(LOSSY, versions=("1.1",), client="planted-client", time_limit="60 s")
    return stage(settings, [folder / "recipes"])


def evidence(directory: Path) -> dict[str, tuple[bytes, bytes]]:
    """Return the observations and the emulator's result of every completed trial, as bytes."""
    campaign = campaigns.open_existing(directory)
    found = {}
    for record in campaign.records():
        artifacts = campaign.artifacts(record.attempt)
        observed = (artifacts.parent / "observations.jsonl").read_bytes()
        if record.attempt.outcome.kind == "completed":
            found[record.attempt.id] = (observed, (artifacts / LINK_RESULT).read_bytes())
    return found


def said(directory: Path, record: Record) -> str:
    """Return what the client of an attempt printed."""
    artifacts = campaigns.open_existing(directory).artifacts(record.attempt)
    return (artifacts / "client/said.jsonl").read_text()


def printed(client: Stage, directory: Path) -> str:
    """Make the only attempt of a client; return what it printed."""
    (record,) = client.run(directory)
    return said(directory, record)


def kernels(ancestor: int, kernel: Path) -> list[int]:
    """List the guests' kernels among the descendants of a process."""
    found = []
    for process in process_tree.descendants(ancestor):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{process.pid}/exe").samefile(kernel):  # its path there is another
                found.append(process.pid)
    return found
