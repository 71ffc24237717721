"""The HTTP/3 client's benchmark measures both clients over both links."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from httpbed.bed.toolbox import compiled

pytestmark = [pytest.mark.namespaces, pytest.mark.slow]

CHECKOUT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "bench.quiche_client", "--rounds", "1", "--size", "1")


def test_both_clients_are_measured(tmp_path: Path) -> None:
    """Both clients have a value for each quantity, and their bytes crossed the link."""
    program = compiled.QUICHE.ensure(print)
    kept = tmp_path / "figures.json"
    done = subprocess.run(
        [*COMMAND, "--json", str(kept)],
        cwd=CHECKOUT,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    bridge, emulator = json.loads(kept.read_text())["sections"]
    assert (bridge["name"], emulator["name"]) == ("kernel bridge", "httpbed-link")
    for section in (bridge, emulator):
        values = {(one["subject"], one["what"]): one["values"] for one in section["figures"]}
        for client in (program.name, "curl"):
            assert values[client, "CPU time"][0] > 0
            assert values[client, "goodput"][0] > 0
            # 1 MB in packets of at most 1500 bytes.
            assert values[client, "packets to the client"][0] >= 10**6 / 1500
