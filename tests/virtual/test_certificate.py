"""The certificate of a conformance test: a repetition has the same packets, byte by byte."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from httpbed.addons.conformance.certificate import DIGESTS, MARKDOWN, PAGE, RECORD
from real_runs import httpbed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
TEST_S = 600.0
"""Far more than five trials take on a busy machine."""
SENDER = ("nginx", "--http-version", "1.1", "--congestion-control", "cubic")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep records in the test's own folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_a_repetition_has_the_digests_of_the_certificate(tmp_path: Path) -> None:
    """The second time with other parallelism; ``sha256sum`` is the judge."""
    for name, jobs in (("certificate", "2"), ("again", "1")):
        words = ("--scale", "smoke", "--clock", "virtual", "--jobs", jobs, "-o", tmp_path / name)
        done = httpbed("conformance", *SENDER, *words, within_s=TEST_S)
        assert done.returncode == 0, done.stderr
    digests = tmp_path / "certificate" / DIGESTS
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", digests],
        cwd=tmp_path / "again",
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
    record = json.loads((tmp_path / "certificate" / RECORD).read_text())
    logs = {one["file"]: one["sha256"] for one in record["packets"]}
    listed = {file: sha256 for sha256, file in map(str.split, digests.read_text().splitlines())}
    assert len(logs) == 5
    assert logs.items() <= listed.items()
    for page in (PAGE, MARKDOWN):
        assert DIGESTS in (tmp_path / "certificate" / page).read_text()
    assert httpbed("verify", tmp_path / "certificate").returncode == 0
