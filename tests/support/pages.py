"""Pages to load: an ordinary page, and pages that could trap a browser."""

from __future__ import annotations

from pathlib import Path

from httpbed.addons.pages.sites.generated import images

IMAGES = 10
IMAGE_BYTES = 12_000
REQUESTS = IMAGES + 3
"""Requests of the ordinary page, with the document, its style and its script."""
_HEAD = '<!doctype html><meta charset="utf-8"><title>A page</title><link rel="icon" href="data:,">'
_AFTER_LOAD = "addEventListener('load', () => setTimeout(() => {{ {} }}, 10))"

ENDINGS = {
    "dialogs": "<script>alert('<b>&'); confirm('sure?'); prompt('what?')</script>",
    "outside": "<script>location = 'https://outside.example/x'</script>",
    "elsewhere": f"<script>{_AFTER_LOAD.format('location = `/index.html`')}</script>",
    "refresh": '<meta http-equiv="refresh" content="0;url=https://outside.example/">',
    "download": "<script>location = '/file.bin'</script>",
    "never": "<script>setInterval(() => fetch('/style.css?' + Math.random()), 100)</script>",
    "name": "<img src='https://outside.example/a.png'>",
    "frame": "<iframe src='/index.html'></iframe><script>new Worker('/worker.js')</script>",
    "animation": "<style>@keyframes a { to { margin-left: 90% } } i { display: block; width: 9%;"
    " animation: a 1s infinite alternate } </style><i>.</i>",
    "memory": "<script>for (const a = [];;) a.push(new Array(1e7).fill(Math.random()))</script>",
}


def write(folder: Path) -> Path:
    """Write a site with all pages; return its folder."""
    (folder / "i").mkdir(parents=True)
    for number in range(1, IMAGES + 1):
        body, _ = images.make(5, number, IMAGE_BYTES)
        (folder / f"i/{number} a.jpeg").write_bytes(body)
    shown = "".join(f'<img src="/i/{number}%20a.jpeg">' for number in range(1, IMAGES + 1))
    linked = '<link rel="stylesheet" href="/style.css"><script src="/app.js" defer></script>'
    (folder / "index.html").write_text(f"{_HEAD}{linked}<h1>A page</h1><p>{shown}")
    (folder / "style.css").write_text("h1 { color: #a30 } img { width: 18% }")
    (folder / "app.js").write_text("document.querySelector('h1').textContent = 'By a script'")
    (folder / "worker.js").write_text("fetch('/style.css')")
    (folder / "plain.html").write_text(_HEAD.partition("<link")[0])
    (folder / "file.bin").write_bytes(bytes(50_000))
    for name, rest in ENDINGS.items():
        (folder / f"{name}.html").write_text(_HEAD + rest)
    return folder
