"""What is made for all trials of a campaign before the first one."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.base.clock import Clock
from httpbed.campaign import campaign_setup


@pytest.mark.parametrize(("clock", "start"), [("real", "until-"), ("virtual", "guest-")])
def test_only_trials_in_guests_get_keys_that_anybody_can_compute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock, start: str
) -> None:
    """Those of real trials protect a network that other programs may reach."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path))
    assert campaign_setup._certificates(clock, ()).name.startswith(start)
