"""Content types by file name endings; every server of sites has the same table."""

from __future__ import annotations

from pathlib import PurePosixPath

TYPES = {
    "html": "text/html",
    "htm": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "mjs": "text/javascript",
    "json": "application/json",
    "map": "application/json",
    "xml": "application/xml",
    "svg": "image/svg+xml",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "ico": "image/x-icon",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "ttf": "font/ttf",
    "otf": "font/otf",
    "eot": "application/vnd.ms-fontobject",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mp3": "audio/mpeg",
    "webmanifest": "application/manifest+json",
    "wasm": "application/wasm",
    "pdf": "application/pdf",
}
OTHER = "text/plain"


def of(path: str) -> str:
    """Return the content type of a file."""
    return TYPES.get(PurePosixPath(path).suffix[1:].lower(), OTHER)


KINDS = ("image", "script", "style", "font", "document", "other")


def kind(type_: str) -> str:
    """Return which of the :data:`KINDS` a content type is."""
    known = {"text/html": "document", "text/css": "style", "text/javascript": "script"}
    return known.get(type_, next((one for one in KINDS if type_.startswith(f"{one}/")), "other"))
