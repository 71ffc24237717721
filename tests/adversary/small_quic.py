"""httpbed's server on aioquic, whose answers are in datagrams as small as an acknowledgement."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

SMALL_BYTES = 120
UNBOUNDED = 10**9


def main() -> None:
    """Run the server; it waits for no acknowledgement."""
    server = importlib.import_module("aioquic_server")  # beside this file, in a trial
    answer = server.Http3Connection._answer

    def small(self: Any, *words: Any) -> None:
        self._quic._max_datagram_size = SMALL_BYTES
        recovery = self._quic._loss
        recovery._cc.congestion_window = UNBOUNDED
        recovery._pacer.packet_time = None
        answer(self, *words)

    server.Http3Connection._answer = small
    asyncio.run(server.run(server.arguments()))


if __name__ == "__main__":
    main()
