"""A check of recipes as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from command_line import Command
from httpbed.addons.interop import check_verb, interop_session
from httpbed.addons.interop.interop_session import (
    UNTRUSTED,
    CheckedProgram,
    Failure,
    InteropResult,
    PairingResult,
    RefusalResult,
    TransferResult,
)
from httpbed.addons.interop.pairings import Pairing, Promise, ProxyHop
from httpbed.campaign.program_versions import ReportedVersion
from httpbed.programs import catalog

CURL = catalog.load()["curl"]
DIRECT = PairingResult(
    Pairing("curl", "2", "nginx"), (TransferResult(1000, ()), TransferResult(10**6, ()))
)
NOTHING_STORED = Failure("body as served", "the client stored nothing")
PROXIED = PairingResult(
    Pairing("curl", "3", "nginx", (ProxyHop("haproxy", "1.1"),)),
    (TransferResult(1000, ()), TransferResult(10**6, (NOTHING_STORED,))),
)
KNOWN = CheckedProgram(CURL, ReportedVersion("8.23.0", "curl 8.23.0\nFeatures: HTTP2 HTTP3"))
REFUSED = RefusalResult(
    "curl", UNTRUSTED, (Failure("client ended well", "exit status 60", is_refusal=True),)
)
DEAD_SERVER = Failure("server ran", "no")
GOOD = InteropResult((KNOWN,), (DIRECT,), (REFUSED,), (), {"hq": "hq is not on the PATH"})
BAD = InteropResult((KNOWN,), (DIRECT, PROXIED), (REFUSED,), (), {})


def test_a_result_without_failures_is_short() -> None:
    """It lists programs, absent implementations, the matrix and the sums."""
    assert GOOD.passed
    assert list(check_verb.lines(GOOD)) == [
        "  curl  8.23.0  client  HTTP 1.1, 2, 3",
        "not installed: hq, hq is not on the PATH",
        "",
        "direct",
        "  client  HTTP  nginx",
        "  curl    2     ok",
        "",
        "1 of 1 pairings, 1 of 1 refusals, 1 implementation",
    ]


def test_a_failed_pairing_is_shown_with_its_reason() -> None:
    """The line names the pairing, the size and the failed check."""
    text = "\n".join(check_verb.lines(BAD))
    assert not BAD.passed
    assert "through haproxy, HTTP/1.1 upstream" in text
    assert "curl    3     FAILED" in text
    assert (
        "curl -> HTTP/3 -> haproxy -> HTTP/1.1 -> nginx, GET of 1000000 bytes: body as"
        " served: the client stored nothing"
    ) in text
    assert "1 of 2 pairings" in text


def test_a_program_that_fails_everywhere_has_one_line_for_each_failure() -> None:
    """A broken build failed in 364 downloads of five checks each; the JSON has them all."""
    broken = PairingResult(DIRECT.pairing, (TransferResult(1000, (NOTHING_STORED,)),) * 50)
    lines = list(check_verb.lines(replace(GOOD, pairings=(broken, PROXIED))))
    assert sum("the client stored nothing" in line for line in lines) == 1
    assert any("and 50 more" in line for line in lines)


def test_a_failed_workload_is_named_by_its_word_in_recipes() -> None:
    several = TransferResult(1000, (NOTHING_STORED,), workload="parallel rounds")
    failed = replace(GOOD, pairings=(replace(DIRECT, downloads=(several,)),))
    assert not failed.passed
    text = "\n".join(check_verb.lines(failed))
    assert "nginx, GET of 1000 bytes (parallel rounds): body as served: the client" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"programs": (CheckedProgram(CURL, ReportedVersion(None, "no such file")),)},
            "'no such file'",
        ),
        ({"refusals": (replace(REFUSED, failures=()),)}, "certificate: everything passed"),
        ({"refusals": (replace(REFUSED, failures=(DEAD_SERVER,)),)}, "certificate: server ran"),
        (
            {"unchecked": (Promise("wget", "client", "1.1"),)},
            "unchecked: wget as a client in HTTP/1.1: no counterpart is installed",
        ),
    ],
)
def test_working_pairings_are_not_enough_to_pass(change: dict[str, Any], words: str) -> None:
    """Each program has a version, each client refuses, and each promise is checked."""
    result = replace(GOOD, **change)
    assert not result.passed
    assert words in "\n".join(check_verb.lines(result))


def test_a_users_own_binary_may_report_no_version() -> None:
    """Its digest identifies it."""
    assert CheckedProgram(CURL.with_program("/my/curl"), ReportedVersion(None, "")).passed


def test_the_json_has_every_pairing_with_its_failures() -> None:
    """Scripts need no other output."""
    document = json.loads(json.dumps(check_verb.values(BAD)))
    assert document["passed"] is False
    _, proxied = document["pairings"]
    assert proxied["proxies"] == [{"proxy": "haproxy", "upstream_http_version": "1.1"}]
    assert proxied["downloads"][1]["failures"] == [
        {
            "check": "body as served",
            "reason": "the client stored nothing",
            "is_refusal": False,
        }
    ]
    assert document["implementations"][0]["version"] == "8.23.0"


def test_the_remedy_for_a_missing_program_names_the_users_recipes(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without them, the command that it names knows no such program."""
    monkeypatch.setattr(interop_session, "here", lambda _: ([], {"mine": "not built yet"}))
    folder = tmp_path / "my recipes"
    folder.mkdir()
    text = (resources.files("httpbed.programs") / "recipes/wget.toml").read_text()
    (folder / "mine.toml").write_text(text.replace('name = "wget"', 'name = "mine"', 1))
    code, _, err = httpbed("toolbox", "check", "mine", "--recipes", folder)
    assert code == 3
    assert f"httpbed toolbox build mine --recipes '{folder}'" in err
