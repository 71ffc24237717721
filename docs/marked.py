"""The parts of a page that `make docs` writes: what stands between two comments."""

from __future__ import annotations


def replaced(page: str, name: str, end: str, text: str) -> str:
    """Return a page with a text between ``<!-- name -->`` and the next ``<!-- end of end -->``."""
    first, last = f"<!-- {name} -->", f"<!-- end of {end} -->"
    before, found, rest = page.partition(first)
    _, closed, after = rest.partition(last)
    if not (found and closed):
        raise ValueError(f"{first} ... {last} is not in the page; add both lines")
    return f"{before}{first}\n{text}\n{last}{after}"
