"""The verbs ``pages`` and ``mirror``: their output and their errors."""

from __future__ import annotations

import json

from command_line import Command


def test_json_lists_pages_with_their_contents(httpbed: Command) -> None:
    """Pages from packages have requests and bytes by type."""
    code, out, _ = httpbed("pages", "--json")
    listed = {one["name"]: one for one in json.loads(out)["pages"]}
    assert code == 0
    assert listed["startbootstrap-agency"]["requests"] == 24
    assert listed["startbootstrap-agency"]["by_type"]["image"]["requests"] == 21
    assert listed["ranjan-small-few"]["requests"] == 17
