"""The verbs ``pages`` and ``mirror``: their output and their errors."""

from __future__ import annotations

import json

import pytest

from command_line import Command
from httpbed.addons.pages.sites import catalog as sites
from httpbed.base.errors import HostError
from httpbed.cli.verb import EXIT_HOST


def test_a_page_that_cannot_be_built_is_named_beside_the_others(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script learns of it by the exit code."""

    def refuse(*_: object) -> None:
        raise HostError("npm does not answer", "try again later")

    monkeypatch.setattr(sites, "ensure", refuse)
    code, out, err = httpbed("pages", "make", "ranjan-small-few", "ranjan-small-many")
    assert (code, out) == (EXIT_HOST, "")
    assert err.splitlines() == [
        "ranjan-small-few is not built: npm does not answer; try again later",
        "ranjan-small-many is not built: npm does not answer; try again later",
    ]


def test_json_lists_pages_with_their_contents(httpbed: Command) -> None:
    """Pages from packages have requests and bytes by type."""
    code, out, _ = httpbed("pages", "--json")
    listed = {one["name"]: one for one in json.loads(out)["pages"]}
    assert code == 0
    assert listed["startbootstrap-agency"]["requests"] == 24
    assert listed["startbootstrap-agency"]["by_type"]["image"]["requests"] == 21
    assert listed["ranjan-small-few"]["requests"] == 17
