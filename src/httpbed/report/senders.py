"""Notes on a campaign's senders: which of them have not been found to send as their name says."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

OVER = {"tcp": "TCP", "quic": "QUIC"}


def failed(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note for each sender that failed its conformance test.

    Campaigns from before such tests say nothing about their senders, and nothing is said here.
    """
    for said in manifest.get("senders", ()):
        if said.get("passed") is False:
            what = ", ".join(said.get("failed", ())) or "its conformance test"
            who = _named(said["sender"])
            yield f"{who} did not pass: {what}; {_command(said)} -o DIR shows why"


def untested(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note for each sender that never had a conformance test."""
    for said in manifest.get("senders", ()):
        if said.get("passed") is None:
            yield (
                f"{_named(said['sender'])} was never tested for conformance on this machine:"
                f" {_command(said)}"
            )


def _named(sender: Mapping[str, Any]) -> str:
    program = f"{sender['implementation']} {sender['version']}".strip()
    return f"{program} as a sender over {OVER[sender['transport']]} with {_control(sender)}"


def _control(sender: Mapping[str, Any]) -> str:
    return str(sender["congestion_control"])


def _command(said: Mapping[str, Any]) -> str:
    """Write the test that is lacking; knobs at upstream's default need not be said."""
    sender = said["sender"]
    words = ["httpbed", "conformance", sender["implementation"]]
    if sender["transport"] == "tcp":
        words += ["--http-version", "1.1", "--congestion-control", _control(sender)]
    elif said.get("chosen"):
        words += ["--congestion-control", _control(sender)]
    words += [f"--knob={name}={value}" for name, value in said.get("set", {}).items()]
    return shlex.join(words)
