"""The doctor says what was found, and the way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from httpbed.experiment.errors import HostError
from httpbed.host import doctor, facts
from httpbed.host.packages import toolbox


def points(findings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, doctor.Point]:
    """Examine with what a probe is pretended to have found."""
    monkeypatch.setattr(doctor, "probe", lambda *_, **__: findings)
    found = doctor.examine(
        facts.gather(),
        executables={"httpbed-link": None},
        tools=None,
        programs={"curl": True, "nginx": False},
    )
    return {point.name: point for point in found}


def test_without_user_namespaces_nothing_else_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """One refusal makes the machine unable; what depends on it is unknown, not broken."""
    found = points({"user": {"error": "Operation not permitted"}}, monkeypatch)
    assert found["user namespaces"].ok is False
    assert found["user namespaces"].remedy
    assert found["veth interfaces"].ok is None
    programs = found["programs under test"]
    assert (programs.ok, programs.figure) == (None, "1 of 2; not yet nginx")
    assert not doctor.is_able(list(found.values()))


@pytest.mark.parametrize(
    ("key", "name", "ok"),
    [("congestion bbr", "TCP bbr", None), ("congestion cubic", "TCP cubic", False)],
)
def test_what_can_be_missed(
    monkeypatch: pytest.MonkeyPatch, key: str, name: str, *, ok: bool | None
) -> None:
    """Every sender's default is necessary, BBR is not."""
    found = points({"user": {"figure": ""}, key: {"error": "Invalid argument"}}, monkeypatch)
    assert found[name].ok is ok
    assert "modprobe" in found[name].remedy


def test_a_missing_executable_is_necessary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the emulator there are no trials."""
    assert points({}, monkeypatch)["httpbed-link"].ok is False


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor"),
        ("kernel/unprivileged_userns_clone", "0", "unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "max_user_namespaces"),
        ("none", "", "container"),
    ],
)
def test_the_remedy_names_what_stands_in_the_way(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, word: str
) -> None:
    """Ubuntu, old Debian, hardened kernels and containers each need another remedy."""
    monkeypatch.setattr(doctor, "_sysctl", lambda asked: value if asked == name else "")
    assert word in doctor.namespace_remedy()


def test_a_refusal_is_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever needs namespaces gets the kernel's word and the remedy."""
    refused = {"user": {"error": "Operation not permitted"}}
    monkeypatch.setattr(doctor, "probe", lambda *_, **__: refused)
    with pytest.raises(HostError, match=r"user namespaces: Operation not permitted"):
        doctor.require_namespaces()


@pytest.mark.namespaces
def test_the_probe_tries_everything_here() -> None:
    """Where namespaces are allowed, all of it works, and nothing is left on the host."""
    before = Path("/proc/net/dev").read_text().count(":")
    findings = doctor.probe(None)
    errors = {name: found["error"] for name, found in findings.items() if "error" in found}
    assert not {name for name in errors if not errors[name].startswith("not tried")} - {
        "congestion bbr",
        "gso",
        "qdisc netem",
        "qdisc netem seed",
    }
    assert Path("/proc/net/dev").read_text().count(":") == before


def test_a_congestion_control_that_is_missing_has_its_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The administrator loads it; a trial would run with another and a wrong label."""
    here = {name: {"figure": ""} for name in ("user", "network", "mount", "pid", "overlay")}
    unknown = {"error": "Error: Unknown tcp congestion algorithm."}
    findings = here | {"congestion reno": {"figure": ""}, "congestion bbr": unknown}
    monkeypatch.setattr(doctor, "probe", lambda *_, **__: findings)
    root = toolbox.Root("sid", Path("/"), frozenset(), {}, "")
    doctor.require_congestion(["reno"], root)
    with pytest.raises(HostError, match="no TCP bbr in this kernel") as caught:
        doctor.require_congestion(["reno", "bbr"], root)
    assert "modprobe tcp_bbr" in caught.value.remedy


def test_a_discipline_that_is_missing_has_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is nobody's need but of who asks for it; and a seed may be missing alone."""
    unknown = {"error": "Error: Specified qdisc kind is unknown."}
    here = {name: {"figure": ""} for name in ("user", "network", "mount", "pid", "overlay")}
    findings = here | {"qdisc tbf": {"figure": ""}, "qdisc netem": unknown}
    found = points(findings, monkeypatch)
    assert (found["kernel's tbf"].ok, found["kernel's netem"].ok) == (True, None)
    root = toolbox.Root("sid", Path("/"), frozenset(), {}, "")
    assert doctor.require_qdisc("tbf", root) is False
    with pytest.raises(HostError, match="modprobe sch_netem"):
        doctor.require_qdisc("netem", root)
    seeded = {"qdisc netem": {"figure": ""}, "qdisc netem seed": {"figure": ""}}
    monkeypatch.setattr(doctor, "probe", lambda *_, **__: findings | seeded)
    assert doctor.require_qdisc("netem", root) is True
