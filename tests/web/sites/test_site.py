"""The list of a site."""

from __future__ import annotations

from httpbed.web.sites.site import Resource, Site

SITE = Site(
    name="x",
    source="y",
    entry="/",
    origins=["server.httpbed.test"],
    resources=[
        Resource(
            origin=0, path="/", file="0/index.html", bytes=1, sha256="0" * 64, type="text/html"
        )
    ],
)


def test_digests_stay_what_they_are() -> None:
    """Pages are pinned by them, in the corpus and in folders of users."""
    pinned = "d284b32e9727acc3e30956e52b72bacd04493ed114bb3a84594b73c51df13cb1"
    assert SITE.digest == pinned
    assert SITE.model_copy(update={"name": "z", "source": ""}).digest == pinned
    assert SITE.model_copy(update={"skeleton": True}).digest != pinned
