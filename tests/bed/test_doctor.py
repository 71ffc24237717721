"""``doctor`` reports each capability with its test result and, if it is missing, a remedy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from httpbed.base.errors import HostError
from httpbed.bed import doctor
from httpbed.bed.machine import capability_tests, facts
from httpbed.bed.toolbox import root_filesystem


def capabilities(
    findings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> dict[str, doctor.Capability]:
    """Examine the machine with given results of the capability tests."""
    monkeypatch.setattr(doctor, "run_capability_tests", lambda *_, **__: findings)
    examined = doctor.examine(
        facts.gather(),
        executables={"httpbed-link": None},
        tools=None,
        programs={"curl": True, "nginx": False},
        pasta=None,
    )
    return {capability.name: capability for capability in examined}


def test_without_user_namespaces_dependent_capabilities_are_untested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A machine without user namespaces is unable; dependent capabilities are unknown."""
    examined = capabilities({"user": {"error": "Operation not permitted"}}, monkeypatch)
    assert examined["user namespaces"].ok is False
    assert examined["user namespaces"].remedy
    assert examined["veth interfaces"].ok is None
    programs = examined["programs under test"]
    assert (programs.ok, programs.figure) == (None, "1 of 2; missing nginx")
    assert not doctor.is_able(list(examined.values()))


@pytest.mark.parametrize(
    ("key", "name", "ok"),
    [("congestion bbr", "TCP bbr", None), ("congestion cubic", "TCP cubic", False)],
)
def test_cubic_is_necessary_and_bbr_is_optional(
    monkeypatch: pytest.MonkeyPatch, key: str, name: str, *, ok: bool | None
) -> None:
    """Cubic is the default of every sender."""
    examined = capabilities(
        {"user": {"figure": ""}, key: {"error": "Invalid argument"}}, monkeypatch
    )
    assert examined[name].ok is ok
    assert "modprobe" in examined[name].remedy


def test_a_missing_executable_of_httpbed_makes_the_machine_unable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the emulator there are no trials."""
    assert capabilities({}, monkeypatch)["httpbed-link"].ok is False


def test_links_without_an_outside_network_have_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials do not need it, so the machine stays able."""
    point = capabilities({}, monkeypatch)["outside network of links"]
    assert (point.ok, point.figure) == (None, "pasta is missing")
    assert "apt install passt" in point.remedy


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor"),
        ("kernel/unprivileged_userns_clone", "0", "unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "max_user_namespaces"),
        ("none", "", "container"),
    ],
)
def test_the_remedy_names_the_setting_that_forbids_namespaces(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, word: str
) -> None:
    """Ubuntu, old Debian, hardened kernels and containers need different remedies."""
    monkeypatch.setattr(doctor, "_sysctl", lambda setting: value if setting == name else "")
    assert word in doctor.namespace_remedy()


def test_refused_namespaces_raise_a_host_error() -> None:
    """The error contains the kernel's reason."""
    refused = {"user": {"error": "Operation not permitted"}}
    with pytest.raises(HostError, match=r"user namespaces: Operation not permitted"):
        doctor.require_namespaces(refused)


@pytest.mark.namespaces
def test_all_capability_tests_pass_on_this_machine() -> None:
    """All but optional tests pass, and no network interface remains on the host."""
    before = Path("/proc/net/dev").read_text().count(":")
    findings = doctor.run_capability_tests(None)
    errors = {name: one["error"] for name, one in findings.items() if "error" in one}
    assert not {name for name in errors if not errors[name].startswith("not tested")} - {
        "congestion bbr",
        "gso",
    }
    assert Path("/proc/net/dev").read_text().count(":") == before


def test_a_missing_congestion_control_is_reported_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise a trial would use another algorithm than its label says."""
    here = {name: {"figure": ""} for name in ("user", "network", "mount", "pid", "overlay")}
    unknown = {"error": "Error: Unknown tcp congestion algorithm."}
    findings = here | {"congestion reno": {"figure": ""}, "congestion bbr": unknown}
    monkeypatch.setattr(doctor, "run_capability_tests", lambda *_, **__: findings)
    root = root_filesystem.Root("sid", Path("/"), frozenset(), {}, "")
    doctor.require_congestion(["reno"], root)
    with pytest.raises(HostError, match="this kernel has no TCP bbr") as caught:
        doctor.require_congestion(["reno", "bbr"], root)
    assert "modprobe tcp_bbr" in caught.value.remedy


def test_a_cache_that_cannot_be_written_makes_the_machine_unable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """However much of its disk is free; the folder itself need not exist yet."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "below" / "cache"))
    monkeypatch.setattr(os, "access", lambda place, _: place != tmp_path)
    found = capabilities({}, monkeypatch)["free disk for the cache"]
    assert (found.ok, found.figure) == (False, f"this user cannot write to {tmp_path}")
    assert found.remedy == "set HTTPBED_CACHE to a folder of yours"


def test_without_ip_no_interface_is_tested() -> None:
    """A fresh machine without iproute2 has the toolbox's ip later; no module is missing."""
    for step in (capability_tests._stamps, capability_tests._gso):
        with pytest.raises(OSError, match="not tested: no ip program"):
            step(None)
