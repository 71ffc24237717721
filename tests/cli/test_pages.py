"""The verbs ``pages`` and ``mirror``: their output and their errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import Command


def test_json_lists_pages_with_their_contents(httpbed: Command) -> None:
    """Pages from packages have requests and bytes by type."""
    code, out, _ = httpbed("pages", "--json")
    listed = {one["name"]: one for one in json.loads(out)["pages"]}
    assert code == 0
    assert listed["startbootstrap-agency"]["requests"] == 24
    assert listed["startbootstrap-agency"]["by_type"]["image"]["requests"] == 21
    assert listed["ranjan-small-few"]["requests"] == 17


@pytest.mark.parametrize("verb", ["make", "check"])
def test_every_unknown_page_is_reported(httpbed: Command, verb: str) -> None:
    """The verb stops before it fetches anything."""
    code, _, err = httpbed("pages", verb, "nobody", "startbootstrap-agency", "nothing")
    assert code == 2
    assert err.count("no page has this name") == 2


def test_mirror_never_overwrites_a_file(httpbed: Command, tmp_path: Path) -> None:
    """An existing file is rejected, whatever it contains."""
    (tmp_path / "kept.har").write_text("kept")
    code, _, err = httpbed("pages", "mirror", "http://a.test", "-o", tmp_path / "kept.har")
    assert (code, "exists already" in err) == (2, True)
    assert (tmp_path / "kept.har").read_text() == "kept"
