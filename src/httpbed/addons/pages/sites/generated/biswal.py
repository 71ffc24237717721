"""Dense sites with the published weight: Biswal and Gnawali (GLOBECOM 2016), section 3.5.

Their 15 dense sites have 80 to 100 objects each, on average 2.5 MB and 25.39 KB an object, and are
not named. The quotient, 98 objects, is near the upper end. Pages of packages with as many objects
weigh 4.1 MB on average and few have scripts, so these sites are generated: 96 to 100 objects, sizes
with the published mean, and scripts that ask for a part of the images. The paper explains the
smaller ratios of complete sites by such scripts: "the objects to be fetched are computed by the
script".

The paper gives no distribution of sizes and no shares of object types. Here sizes have log-normal
quantiles (:data:`SPREAD`), and the counts of :data:`SCRIPTS` and :data:`STYLES` are assumptions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from pathlib import Path
from statistics import NormalDist

from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites.generated import images
from httpbed.addons.pages.sites.generated.files import (
    GeneratedFile,
    document,
    script,
    style,
    write_site,
)
from httpbed.addons.pages.sites.site import Outline, Say, Site

MEAN_BYTES = 25_390
"""Average object size; the paper's KB is taken as 1000 bytes."""
COUNTS = (96, 97, 98, 99, 100)
SITES = {f"biswal-dense-{number:02d}": COUNTS[number % 5] for number in range(1, 16)}
"""Objects of each site, the page among them: 98 on average."""
NAMES: Collection[str] = SITES.keys()
SCRIPTS, STYLES = 20, 6
SPREAD = 1.3
"""Standard deviation of the logarithm of an object's size: most objects are small."""
MIN_BYTES = 1000

_PROGRAM = """addEventListener("DOMContentLoaded", () => {{
for (let number = {first}; number <= {last}; number++) {{
const image = new Image();
image.src = `/image/${{String(number).padStart(3, "0")}}.jpeg`;
document.querySelector("main").append(image);
}}
}});"""


def outline(page: NamedPage, _folder: Path) -> Outline:
    """Return what is known of a site, which is all but its bytes."""
    sizes = _sizes(page.name)
    weight = sum(sizes) + len(_own(page.name).body)
    return Outline(page.name, images.ENCODER, len(sizes) + 1, weight)


def make(page: NamedPage, seed: int, _folder: Path, into: Path, _say: Say) -> Site:
    """Write a site."""
    source = f"after Biswal and Gnawali (2016), seed {seed}, {images.ENCODER}"
    return write_site(files(page.name, seed), into, page.name, source)


def files(name: str, seed: int) -> Iterator[GeneratedFile]:
    """Yield the page, its styles, scripts and images."""
    sizes = _sizes(name)
    yield _own(name)
    for number, size in enumerate(sizes[:STYLES], 1):
        yield style(f"/style/{number:02d}.css", _THEME, seed, size)
    for number, size in enumerate(sizes[STYLES : STYLES + SCRIPTS], 1):
        yield script(f"/script/{number:02d}.js", seed, size)
    for number, size in enumerate(sizes[STYLES + SCRIPTS :], 1):
        yield GeneratedFile(f"/image/{number:03d}.jpeg", images.jpeg(seed, number, size))


def _sizes(name: str) -> list[int]:
    """Return the sizes of a site's objects but its page: styles, scripts, images.

    The quantiles of a log-normal distribution, scaled to the published mean and taken in the order
    of multiples of the golden ratio, so that each type and each part of the page has all sizes.
    """
    count = SITES[name] - 1
    quantiles = [
        math.exp(SPREAD * NormalDist().inv_cdf((rank + 0.5) / count)) for rank in range(count)
    ]
    scale = (MEAN_BYTES * SITES[name] - len(_own(name).body)) / sum(quantiles)
    turn = [*NAMES].index(name) * math.sqrt(2)
    order = sorted(range(count), key=lambda at: (turn + at * (math.sqrt(5) - 1) / 2) % 1)
    return [max(MIN_BYTES, round(scale * quantiles[rank])) for rank in order]


def _own(name: str) -> GeneratedFile:
    """Return the page: it embeds half of the images, and its program asks for the others."""
    last = SITES[name] - 1 - STYLES - SCRIPTS
    head = [f'<link rel="stylesheet" href="/style/{at:02d}.css">' for at in range(1, STYLES + 1)]
    head += [f'<script src="/script/{at:02d}.js" defer></script>' for at in range(1, SCRIPTS + 1)]
    head += ["<script>", _PROGRAM.format(first=last // 2 + 1, last=last), "</script>"]
    gallery = [f'<img src="/image/{at:03d}.jpeg">' for at in range(1, last // 2 + 1)]
    return document(name, "\n".join(head), "\n".join(["<main>", *gallery, "</main>"]))


_THEME = """body { margin: 0; }
main { display: grid; grid-template-columns: repeat(10, 1fr); gap: 4px; }
img { width: 100%; height: 70px; object-fit: cover; }
"""
