"""Whether a load asked for what its site lists."""

from __future__ import annotations

from httpbed.mirror.loading import Asked
from httpbed.sites.site import Site


def differences(site: Site, asked: Asked) -> list[str]:
    """Tell in words what a cold load asked for more or less often than is listed."""
    listed = {one.path: one.requested for one in site.resources if one.requested}
    found = [f"the load ended: {asked.ended}"] if asked.ended else []
    for path in sorted({*listed, *asked.paths}):
        if (times := asked.paths.get(path, 0)) != (expected := listed.get(path, 0)):
            found.append(f"{path} was asked for {times} times, and not {expected}")
    found += [f"{path} was asked for and is not there" for path in asked.missing]
    return found + [f"{url} was asked for outside" for url in asked.outside]
