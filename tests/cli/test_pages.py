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


def test_mirror_rejects_a_source_that_is_neither_url_nor_folder(
    httpbed: Command, tmp_path: Path
) -> None:
    """Only http and https URLs are accepted."""
    code, _, err = httpbed("pages", "mirror", "ftp://page.test/", "-o", tmp_path / "mine")
    assert code == 2
    assert "neither a folder nor a URL" in err


def test_mirror_never_overwrites_a_folder(httpbed: Command, tmp_path: Path) -> None:
    """An existing folder is rejected, whatever it contains."""
    (tmp_path / "kept").write_text("")
    code, _, err = httpbed("pages", "mirror", tmp_path, "-o", tmp_path)
    assert code == 2
    assert "exists already" in err
    assert (tmp_path / "kept").exists()
