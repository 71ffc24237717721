"""A check of recipes as text and as JSON."""

from __future__ import annotations

import json

from httpbed.implementations import catalog
from httpbed.matrix import table
from httpbed.matrix.check import Download, Member, Outcome, Tried
from httpbed.matrix.refusals import Refusal
from httpbed.matrix.ways import Through, Way
from httpbed.trial.manifest import Version

CURL = catalog.load()["curl"]
DIRECT = Tried(Way("curl", "2", "nginx"), (Download(1000, ()), Download(10**6, ())))
PROXIED = Tried(
    Way("curl", "3", "nginx", (Through("haproxy", "1.1"),)),
    (Download(1000, ()), Download(10**6, ("body as served: the client stored nothing",))),
)
KNOWN = Member(CURL, Version("8.23.0", "curl 8.23.0"), (Refusal("client", "rounds", "it cannot"),))
GOOD = Outcome((KNOWN,), (DIRECT,), {"hq": "hq is not on the PATH"})
BAD = Outcome((KNOWN,), (DIRECT, PROXIED), {})


def test_what_did_as_promised_is_short() -> None:
    """Members, who is not here, the matrix and the sum."""
    assert GOOD.passed
    assert list(table.lines(GOOD)) == [
        "  curl  8.23.0  client  HTTP 1.1, 2, 3  refuses rounds",
        "not tried: hq, hq is not on the PATH",
        "",
        "direct",
        "  client  HTTP  nginx",
        "  curl    2     ok",
        "",
        "1 of 1 ways, 1 refusals, 1 implementations",
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


def test_a_member_fails_for_its_version_or_what_it_accepts() -> None:
    """Although every way is fine."""
    mute = Member(CURL, Version(None, "no such file"), ())
    careless = Member(CURL, Version("1", ""), (Refusal("client", "rounds", ""),))
    for member, words in ((mute, "'no such file'"), (careless, "accepts rounds, undeclared")):
        outcome = Outcome((member,), (DIRECT,), {})
        assert not outcome.passed
        assert words in "\n".join(table.lines(outcome))


def test_scripts_get_all_of_it() -> None:
    """As JSON."""
    said = json.loads(json.dumps(table.as_json(BAD)))
    assert said["passed"] is False
    assert said["ways"][1]["through"] == [{"proxy": "haproxy", "asks_in": "1.1"}]
    assert said["ways"][1]["downloads"][1]["wrong"]
    assert said["implementations"][0]["version"] == "8.23.0"
