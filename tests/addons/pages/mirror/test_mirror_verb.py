"""What ``httpbed pages mirror`` prints."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from command_line import Command
from httpbed.addons.pages.mirror import mirrored_page


@pytest.mark.parametrize(("requests", "told"), [(1, "1 request, "), (2, "2 requests, ")])
def test_requests_are_counted_in_singular_and_plural(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, requests: int, told: str
) -> None:
    site = SimpleNamespace(requests=lambda: requests, weight=lambda: 1000)
    monkeypatch.setattr(mirrored_page, "mirror", lambda *_: site)
    code, out, _ = httpbed("pages", "mirror", "http://a.test/", "-o", tmp_path / "new.har")
    assert code == 0
    assert out.startswith(told)
