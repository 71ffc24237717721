"""Whether a load asked for what its site lists."""

from __future__ import annotations

from httpbed.studies.mirror.browser_load import Asked
from httpbed.web.sites.site import Site


def differences(site: Site, asked: Asked) -> list[str]:
    """Tell in words what a cold load asked for more or less often than is listed."""
    listed = {one.path: one.requested for one in site.resources if one.requested}
    found = [
        f"{path} was asked for {asked.paths.get(path, 0)} times, and not {listed.get(path, 0)}"
        for path in sorted({*listed, *asked.paths})
        if asked.paths.get(path, 0) != listed.get(path, 0)
    ]
    found += [f"{path} was asked for and is not there" for path in asked.missing]
    found += [f"{url} was asked for outside" for url in asked.outside]
    found += [f"{path} was asked for in parts" for path in asked.in_parts]
    return found + ([f"the load ended: {asked.ended}"] if asked.ended else [])
