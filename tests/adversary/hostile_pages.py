"""Pages whose scripts attack what measures them: the driver, the browser's reports, the machine."""

from __future__ import annotations

from pathlib import Path

HEAD = (
    '<!doctype html><meta charset="utf-8"><title>A page</title><link rel="icon" href="data:,">'
    "<h1>A page</h1>"
)
MARKS = (
    "navigationStart firstPaint firstContentfulPaint largestContentfulPaint::Candidate loadEventEnd"
)
LOCAL = (
    *("http://127.0.0.1:9222/json/version", "http://localhost:443/", "http://[::1]:9222/json"),
    *("file:///etc/passwd", "chrome://version/", "devtools://devtools/bundled/inspector.html"),
    *("http://169.254.169.254/latest/meta-data/", "https://outside.example/"),
)
"""What no page may read: this machine, the browser itself, and other hosts."""
SCRIPTS = {
    "plain": "",
    "early marks": f"""for (const one of '{MARKS}'.split(' '))
        try {{ performance.mark(one, {{startTime: 1}}) }} catch {{}}""",
    "late marks": f"""addEventListener('load', () => {{
        for (const one of '{MARKS}'.split(' '))
            try {{ performance.mark(one, {{startTime: 1e7, detail: {{frame: 'x'}}}}) }} catch {{}}
        }})""",
    "overrides": """
        for (const one of Object.getOwnPropertyNames(Performance.prototype))
            try { Performance.prototype[one] = () => { throw 1 } } catch {}
        Object.defineProperty(window, 'performance', { get() { throw 2 } });
        window.PerformanceObserver = function () { throw 3 };
        JSON.stringify = JSON.parse = () => '{"id": 1, "method": "Page.loadEventFired"}';
        for (const one of ['map', 'push', 'forEach', 'join', 'slice', 'filter', 'concat'])
            Array.prototype[one] = () => { throw 4 };
        Date = function () { return 0 }; Date.now = () => 0; Promise = function () { throw 5 };
        requestAnimationFrame = setTimeout = setInterval = () => 0;
        Object.defineProperty(Object.prototype, 'id', { get() { return 7 }, set() {} });
        for (const one of ['title', 'location', 'navigator', 'onload', 'fetch', 'chrome', 'cdc'])
            try { Object.defineProperty(window, one, { get() { throw 6 } }) } catch {}""",
    "mark flood": "for (let i = 0; i < 40000; i++) performance.mark('x'.repeat(200) + i)",
    "console flood": "for (let i = 0; i < 40000; i++) console.error('x'.repeat(5000) + i)",
    "title": "document.title = 't'.repeat(2 ** 22)",
    "data URLs": """for (let i = 0; i < 3; i++) { const one = new Image();
        one.src = 'data:image/png;base64,' + 'A'.repeat(4e6) + i; document.body.append(one) }""",
    "long URLs": """for (let i = 0; i < 30; i++)
        fetch('/style.css?' + 'a'.repeat(1900000) + i).catch(() => 0)""",
    "requests": "for (let i = 0; i < 20000; i++) fetch('data:,' + i).catch(() => 0)",
    "windows": "for (let i = 0; i < 50; i++) window.open('/plain.html?' + i)",
    "workers": "for (let i = 0; i < 30; i++) new Worker('/worker.js?' + i)",
    "service worker": "navigator.serviceWorker.register('/worker.js')",
    "dialogs": "for (let i = 0; i < 300; i++) alert(i)",
    "before unload": "onbeforeunload = (event) => { event.preventDefault(); return 'stay' }",
    "loop": "for (;;);",
    "late loop": "addEventListener('load', () => setTimeout(() => { for (;;); }, 100))",
    "away": "location = '/plain.html'; for (const end = Date.now() + 300; Date.now() < end;);",
    "late away": "addEventListener('load', () => { location = '/plain.html' })",
    "save": """const one = document.createElement('a'); one.download = 'x';
        one.href = URL.createObjectURL(new Blob(['x'])); one.click()""",
    "states": """let i = 0; const turns = setInterval(() => { try { for (let k = 0; k < 50; k++)
        history.pushState(0, '', '?' + i++ + 'x'.repeat(10000)) } catch {} }, 1);
        setTimeout(() => clearInterval(turns), 2000)""",
    "frames": """for (let i = 0; i < 100; i++) { const one = document.createElement('iframe');
        one.src = '/plain.html?' + i; document.body.append(one) }""",
    "rewritten": """addEventListener('load', () => { document.open();
        document.write('<title>Another</title>gone'); document.close() })""",
    "reach": f"""addEventListener('load', async () => {{ const got = [];
        for (const url of {list(LOCAL)}) {{
            try {{ await fetch(url, {{mode: 'no-cors'}}); got.push(url) }} catch {{}} }}
        const socket = new WebSocket('ws://127.0.0.1:9222/devtools/browser');
        socket.onopen = () => got.push('socket');
        document.title = 'reached: ' + got.join(' ') }})""",
}
"""Every attack is bounded in count, or ends with the load."""


def file_name(attack: str) -> str:
    """Return the file of an attack's page, without its suffix."""
    return attack.replace(" ", "-")


def write(folder: Path) -> Path:
    """Write a site with all pages; return its folder."""
    folder.mkdir()
    (folder / "style.css").write_text("h1 { color: #a30 }")
    (folder / "worker.js").write_text("setInterval(() => postMessage(1), 100)")
    for attack, script in SCRIPTS.items():
        page = f"{HEAD}<script>{script}</script>" if script else HEAD
        (folder / f"{file_name(attack)}.html").write_text(page)
    return folder
