"""A client that acknowledges what it never received is noticed by a sender that skips numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.store import campaign as campaigns
from real_runs import httpbed

pytestmark = [pytest.mark.toolbox, pytest.mark.slow, pytest.mark.timeout(900)]
EXPERIMENT = Path(__file__).parents[2] / "experiments/examples/optimistic-acknowledgements.toml"
RUN_S = 800.0
"""Far more than two trials take on a busy machine."""
PROTOCOL_VIOLATION = "error 0xa"
"""RFC 9000 section 20.1."""


def test_quiche_closes_the_connection_of_such_a_client_alone(tmp_path: Path) -> None:
    """The honest client's download completes over the same link."""
    text = EXPERIMENT.read_text()
    servers = next(line for line in text.splitlines() if line.startswith("server = "))
    own = text.replace(servers, 'server = ["httpbed-quiche"]').replace('"10 MB"', '"500 kB"')
    file = tmp_path / "own.toml"
    file.write_text(own)
    done = httpbed("run", file, "--clock", "virtual", "-o", tmp_path / "kept", within_s=RUN_S)
    assert done.returncode == 0, done.stderr
    attempts = campaigns.open_existing(tmp_path / "kept").attempts().values()
    ends = {attempt.trial.levels["acknowledges"]: attempt.outcome for attempt in attempts}
    assert ends["received"].kind == "completed", ends["received"].reason
    assert ends["all"].kind == "failed"
    assert PROTOCOL_VIOLATION in ends["all"].reason
