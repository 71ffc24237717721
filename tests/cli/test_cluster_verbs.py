"""Verbs of a cluster where the machine cannot: without Dask, namespaces or disk."""

from __future__ import annotations

import importlib.util
import shutil
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

import stored_campaigns
from command_line import Command
from httpbed.addons.cluster import certificates
from httpbed.bed import doctor


@pytest.fixture
def without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python find no Dask."""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *words: None if name == "distributed" else found(name, *words),
    )


@pytest.fixture(autouse=True)
def _members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this machine the certificates of a cluster."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    certificates.make(certificates.default_folder(), datetime.now(UTC))


@pytest.mark.usefixtures("without_dask")
def test_without_dask_the_verbs_say_how_to_install_it(httpbed: Command, tmp_path: Path) -> None:
    """The machine cannot: exit code 3, before anything is built or read."""
    file = tmp_path / "loss.toml"
    file.write_text(stored_campaigns.SMALL)
    for words in (
        ("run", file, "-o", tmp_path / "campaign", "--cluster", "tls://10.0.0.1:8786"),
        ("worker", "tls://10.0.0.1:8786"),
    ):
        code, out, err = httpbed(*words)
        assert (code, out) == (3, "")
        assert "Dask distributed, which runs clusters, is not installed" in err
        assert "pip install 'httpbed[cluster]'" in err
    assert not (tmp_path / "campaign").exists()


def test_a_worker_on_a_machine_without_namespaces_ends_with_the_remedy(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not register, so no campaign gives it a block."""
    findings = {"user": {"error": "Operation not permitted"}}
    monkeypatch.setattr(doctor, "run_capability_tests", lambda _: findings)
    code, out, err = httpbed("worker", "tls://127.0.0.1:9")
    assert (code, out) == (3, "")
    assert "this machine refuses user namespaces: Operation not permitted" in err
    assert "remedy: " in err


def test_a_worker_on_a_full_disk_ends_with_the_remedy(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remedy names the variable of the cache's folder."""
    monkeypatch.setattr(doctor, "run_capability_tests", lambda _: {})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**6))
    code, out, err = httpbed("worker", "tls://127.0.0.1:9")
    assert (code, out) == (3, "")
    assert "free disk for the cache: 0.0 GB" in err
    assert "HTTPBED_CACHE" in err
