"""GitHub's API for the comments of a pull request, on loopback."""

from __future__ import annotations

import http.server
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

BOT = "github-actions[bot]"


@dataclass
class Api:
    """What a pull request's comments are, as GitHub's API gives and takes them."""

    address: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    may_write: bool = True
    methods: list[str] = field(default_factory=list)


@contextmanager
def serving() -> Iterator[Api]:
    """Serve comments on loopback."""
    state = Api()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name
            del format, arguments

        def answer(self, status: int, values: object) -> None:
            body = json.dumps(values).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            page = int(re.search(r"[?&]page=(\d+)", self.path)[1])  # type: ignore[index]
            self.answer(200, state.comments[100 * (page - 1) : 100 * page])

        def write(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/graphql":
                self.answer(200, {"data": {"viewer": {"login": BOT}}})
            elif not state.may_write:
                self.answer(403, {"message": "Resource not accessible by integration"})
            elif self.command == "POST":
                state.methods.append("POST")
                user = {"login": BOT}
                state.comments.append({"id": len(state.comments) + 1, "user": user, **given})
                self.answer(201, state.comments[-1])
            else:
                state.methods.append("PATCH")
                number = int(self.path.rpartition("/")[2])
                state.comments[number - 1]["body"] = given["body"]
                self.answer(200, state.comments[number - 1])

        do_POST = do_PATCH = write  # noqa: N815 - the library's names

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    state.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
