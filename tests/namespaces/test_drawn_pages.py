"""Pages drawn from a seed, loaded by the real browser: all that is listed, and nothing else."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from browsing import Setting, place
from httpbed.addons.pages.page import Page
from httpbed.addons.pages.sites import catalog
from httpbed.addons.pages.sites import site as sites

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

PAGES: TypeAdapter[Any] = TypeAdapter(Page)
WITNESS = """<!DOCTYPE html><title>Witness</title><link rel="icon" href="data:,">
<iframe src="{entry}" width="1366" height="768"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.onload = async () => {{
    const page = frame.contentDocument;
    const images = [...page.images];
    const decoded = await Promise.allSettled(images.map((image) => image.decode()));
    const shown = images.filter((image, at) =>
        decoded[at].status === "fulfilled" && image.naturalWidth > 0);
    const fonts = [...(await page.fonts.ready)].filter((font) => font.status === "loaded");
    fetch(`/saw?images=${{shown.length}}&fonts=${{fonts.length}}`);
}};
</script>
"""
"""Shows the page, decodes what is in it, and tells the server."""


@pytest.mark.parametrize(
    ("said", "images", "fonts"),
    [
        ({"objects": 128, "size": "100 B"}, 128, 0),
        ({"objects": 8, "size": "10 kB"}, 8, 0),
        ("ranjan-small-few", 5, 4),
        ("ranjan-small-many", 50, 4),
        ("ranjan-large-few", 5, 4),
        ("ranjan-large-many", 50, 4),
    ],
    ids=str,
)
def test_a_browser_asks_for_what_is_listed(
    said: object, images: int, fonts: int, tmp_path: Path
) -> None:
    """The browser requests each resource once, and decodes every image and font."""
    stored = catalog.ensure(PAGES.validate_python(said), 1, tmp_path, print)
    served = tmp_path / "served"
    shutil.copytree(sites.served(stored.folder), served)
    (served / "witness.html").write_text(WITNESS.format(entry=stored.site.entry))
    (served / "saw").touch()
    load, requests = asyncio.run(_loaded(tmp_path / "run", served))
    assert load["ended"] == "loaded"
    asked = Counter(request["path"] for request in requests)
    saw = f"/saw?images={images}&fonts={fonts}"
    assert asked == Counter(
        [path for _, path, _ in stored.site.expected()] + ["/witness.html", saw]
    )
    assert {request["status"] for request in requests} == {200}


async def _loaded(folder: Path, served: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    setting = Setting(served, ["load"], rate="1 Gbit/s", delay="1 ms")
    async with place(folder, setting) as made:
        load = await made.load("load", made.driver("load", "/witness.html"))
    return load, made.requests("2")
