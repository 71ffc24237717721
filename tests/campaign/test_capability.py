"""What this machine cannot do is reported before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.base.errors import HostError
from httpbed.campaign import preparation
from httpbed.programs import catalog
from real_runs import SmallExperiment


def test_ipv6_is_needed_only_by_an_experiment_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SmallExperiment().text()
    hosts = 'hosts = ["client", "server"]'
    over_ipv6 = text.replace(hosts, f'{hosts}\nip_version = "6"')
    monkeypatch.setattr(preparation, "IPV6", Path("/absent"))
    preparation.require_machine(preparation.load(text, catalog.load()))
    with pytest.raises(HostError, match="IPv6"):
        preparation.require_machine(preparation.load(over_ipv6, catalog.load()))
