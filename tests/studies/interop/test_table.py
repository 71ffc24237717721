"""A check of recipes as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from httpbed.campaign.manifest import Version
from httpbed.programs import catalog
from httpbed.studies.interop import table
from httpbed.studies.interop.pairings import Promise, Through, Way
from httpbed.studies.interop.refusals import UNTRUSTED, Refusal
from httpbed.studies.interop.session import Download, Member, Outcome, Tried

CURL = catalog.load()["curl"]
DIRECT = Tried(Way("curl", "2", "nginx"), (Download(1000, ()), Download(10**6, ())))
PROXIED = Tried(
    Way("curl", "3", "nginx", (Through("haproxy", "1.1"),)),
    (Download(1000, ()), Download(10**6, ("body as served: the client stored nothing",))),
)
KNOWN = Member(CURL, Version("8.23.0", "curl 8.23.0"))
REFUSED = Refusal("curl", UNTRUSTED, ("client ended well: exit status 60",))
GOOD = Outcome((KNOWN,), (DIRECT,), (REFUSED,), (), {"hq": "hq is not on the PATH"})
BAD = Outcome((KNOWN,), (DIRECT, PROXIED), (REFUSED,), (), {})


def test_what_did_as_promised_is_short() -> None:
    """Members, who is not here, the matrix and the sum."""
    assert GOOD.passed
    assert list(table.lines(GOOD)) == [
        "  curl  8.23.0  client  HTTP 1.1, 2, 3",
        "not here: hq, hq is not on the PATH",
        "",
        "direct",
        "  client  HTTP  nginx",
        "  curl    2     ok",
        "",
        "1 of 1 ways, 1 of 1 refusals, 1 implementations",
    ]


def test_what_did_not_is_told_with_its_reason() -> None:
    """And where on which way."""
    said = "\n".join(table.lines(BAD))
    assert not BAD.passed
    assert "through haproxy asking in HTTP/1.1" in said
    assert "curl    3     FAILED" in said
    assert (
        "curl -> HTTP/3 -> haproxy -> HTTP/1.1 -> nginx, 1000000 bytes: body as served:"
        " the client stored nothing"
    ) in said
    assert "1 of 2 ways" in said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"members": (Member(CURL, Version(None, "no such file")),)}, "'no such file'"),
        ({"refusals": (replace(REFUSED, wrong=()),)}, "untrusted certificate: all went well"),
        ({"refusals": (replace(REFUSED, wrong=("server ran: no",)),)}, "certificate: server ran"),
        (
            {"untried": (Promise("wget", "client", "1.1"),)},
            "untried: wget as a client in HTTP/1.1: nobody is here to try it with",
        ),
    ],
)
def test_fine_ways_are_not_all(change: dict[str, Any], words: str) -> None:
    """A version is told, what must be refused is, and no promise goes unsaid."""
    outcome = replace(GOOD, **change)
    assert not outcome.passed
    assert words in "\n".join(table.lines(outcome))


def test_a_binary_of_the_user_s_may_tell_no_version() -> None:
    """Its digest tells it apart."""
    assert Member(CURL.with_program("/my/curl"), Version(None, "")).passed


def test_scripts_get_all_of_it() -> None:
    """As JSON."""
    said = json.loads(json.dumps(table.as_json(BAD)))
    assert said["passed"] is False
    assert said["ways"][1]["through"] == [{"proxy": "haproxy", "asks_in": "1.1"}]
    assert said["ways"][1]["downloads"][1]["wrong"]
    assert said["implementations"][0]["version"] == "8.23.0"
