"""Pages with a planted reason why they are painted late, as HAR files to replay."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hars import MAIN, Said, har
from real_runs import httpbed
from replays import experiment

KB = 1000
BROWSERS_S = 300.0
"""For a campaign of browsers in guests, beside other programs."""
LINK = {"rate": "4 Mbit/s", "delay": "20 ms", "time_limit": "60 s"}


def explained(folder: Path, page: PlantedPage, clock: str, *options: str) -> list[dict[str, Any]]:
    """Load a page, and return what explain says of each load; ``options`` are of the run."""
    folder.mkdir(exist_ok=True)
    (folder / "site.har").write_text(har(page.entries))
    words = LINK | {"clock": clock, "versions": page.versions}
    (folder / "e.toml").write_text(experiment(**words))
    done = httpbed("run", folder / "e.toml", "-o", folder / "c", *options, within_s=BROWSERS_S)
    assert done.returncode == 0, done.stderr
    told = httpbed("explain", folder / "c", "--json", "--no-run", within_s=BROWSERS_S)
    assert told.returncode == 0, told.stderr
    loads: list[dict[str, Any]] = json.loads(told.stdout)["loads"]
    return loads


def longest(load: dict[str, Any]) -> tuple[str, set[str]]:
    """Return what most of the time was spent on, with its resource and what that waited behind."""
    totals, urls = defaultdict[tuple[str, str], float](float), defaultdict[Any, set[str]](set)
    for step in load["steps"]:
        key = step["what"], step["url"]
        totals[key] += step["end_s"] - step["begin_s"]
        urls[key] |= {step["url"], step["behind"]}
    top = max(totals, key=lambda total: totals[total])
    return top[0], urls[top]


def check(page: PlantedPage, loads: list[dict[str, Any]]) -> None:
    """Require that the longest step of each load is the planted one, and that all add up."""
    for load in loads:
        what, urls = longest(load)
        assert what == page.what, load["sentence"]
        assert any(url.endswith(page.where) for url in urls), load["sentence"]
        assert math.isclose(sum(load["shares"].values()), load["seconds"], abs_tol=1e-4)
        paint = load["largest_contentful_paint"]
        assert paint, load["sentence"]
        assert math.isclose(sum(paint.values()), load["seconds"], abs_tol=1e-4)


@dataclass(frozen=True)
class PlantedPage:
    """A page, and what its critical path has to say."""

    entries: tuple[Said, ...]
    what: str
    """Of the longest step."""
    where: str
    """The end of a URL: of that step's resource, or of what it waited behind."""
    versions: str = '["2", "3"]'
    computes: bool = False
    """Whether the longest step is computing, which takes no time in a guest."""


def hero(path: str = "/hero.svg", size_kb: int = 4, text: str = "") -> Said:
    """Return an image that covers most of the screen."""
    shapes = "".join(
        f'<circle cx="{7 * one % 900}" cy="{13 * one % 500}" r="30" fill="hsl({one},90%,50%)"/>'
        for one in range(40)
    )
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" width="1000" height="600">{shapes}</svg>'
    return image(path, text or f"{picture}<!--{'x' * (size_kb * KB - len(picture))}-->")


def image(path: str, text: str) -> Said:
    """Return an image of a text."""
    return Said(f"{MAIN}{path}", 60, size=len(text), mime="image/svg+xml", text=text)


def document(body: str, head: str = "") -> Said:
    """Return a page."""
    text = f"<!doctype html><html><head><title>p</title><link rel=icon href=data:,>{head}</head>"
    text += f"<body>{body}</body></html>"
    return Said(f"{MAIN}/", size=len(text), kind="document", mime="text/html", text=text)


def script(path: str, text: str, wait: float = 40) -> Said:
    """Return a script."""
    return Said(
        f"{MAIN}{path}", 60, wait + 10, size=len(text), wait=wait, kind="script",
        mime="text/javascript", text=text,
    )  # fmt: skip


IMAGE = "<img src=/hero.svg width=1000 height=600>"
ADDS_IMAGE = "const i = new Image(1000, 600); i.src = '/hero.svg'; document.body.append(i);"
CHAIN = "const s = document.createElement('script'); s.src = '/b.js'; document.body.append(s);"
LOOP = "let x = 0; for (let i = 0; i < 5e8; i++) x += i % 7; document.title = x;"


def _style(wait: float) -> Said:
    text = "body { background: white }"
    return Said(
        f"{MAIN}/slow.css", 60, wait + 10, size=len(text), wait=wait, kind="stylesheet",
        mime="text/css", text=text,
    )  # fmt: skip


def _others(count: int) -> Iterable[Said]:
    return (hero(f"/other-{number}.svg", 60) for number in range(count))


OTHERS = "".join(f"<img src=/other-{number}.svg width=20 height=20>" for number in range(16))
PLANTS = {
    "slow server": PlantedPage(
        (document(IMAGE, "<link rel=stylesheet href=/slow.css>"), _style(1500), hero()),
        "waiting", "/slow.css",
    ),
    "chain": PlantedPage(
        (document("<script src=/a.js></script>"), script("/a.js", CHAIN),
         script("/b.js", ADDS_IMAGE), hero(size_kb=40)),
        "own bytes at the link's rate", "/hero.svg", versions='["3"]',
    ),
    "render-blocking script": PlantedPage(
        (document(IMAGE, "<script src=/big.js></script>"),
         script("/big.js", f"/*{'x' * (600 * KB)}*/"), hero()),
        "own bytes at the link's rate", "/big.js", versions='["3"]',
    ),
    "render-blocking script before an image": PlantedPage(
        (document(IMAGE, "<script src=/big.js></script>"),
         script("/big.js", f"/*{'x' * (600 * KB)}*/"), hero()),
        "behind other responses", "/big.js", versions='["2"]',
    ),
    "low-priority image": PlantedPage(
        (document(OTHERS + IMAGE.replace("<img", "<img fetchpriority=low")),
         *_others(16), hero()),
        "held back by the browser", "/hero.svg", versions='["1.1"]',
    ),
    "behind others": PlantedPage(
        (document(OTHERS + IMAGE.replace("<img", "<img fetchpriority=low")),
         *_others(16), hero()),
        "behind other responses", "/hero.svg", versions='["2"]',
    ),
    "slow CPU": PlantedPage(
        (document("<script src=/busy.js></script>"), script("/busy.js", LOOP + ADDS_IMAGE), hero()),
        "until it asked for the next", "/busy.js", versions='["2"]', computes=True,
    ),
}  # fmt: skip


def _urgent(others: int) -> PlantedPage:
    """Return a page whose script asks for an urgent image when less urgent ones are under way."""
    asks = (
        "addEventListener('DOMContentLoaded', () => { const i = new Image(1000, 600);"
        " i.fetchPriority = 'high'; i.src = '/hero.svg'; document.body.append(i); })"
    )
    images = "".join(
        f"<img src=/other-{number}.svg width=20 height=20>" for number in range(others)
    )
    return PlantedPage(
        (document(images, "<script src=/a.js></script>"), script("/a.js", asks),
         *(hero(f"/other-{number}.svg", 100) for number in range(others)), hero()),
        "behind other responses", "/hero.svg",
    )  # fmt: skip


LESS_URGENT_FIRST, WITHOUT_OTHERS = _urgent(12), _urgent(0)
