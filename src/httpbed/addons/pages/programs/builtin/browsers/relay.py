"""Carries connections to a port of loopback on to a Unix socket: ``python3 -m browsers.relay``.

Chromium reaches no proxy by a Unix socket, and its sandbox has no network but loopback.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

CHUNK_BYTES = 2**16


async def relay(port: int, socket: str) -> None:
    """Serve until killed."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            further = await asyncio.open_unix_connection(socket)
            await asyncio.gather(pump(reader, further[1]), pump(further[0], writer))
        writer.close()

    async with await asyncio.start_server(carry, "127.0.0.1", port) as server:
        await server.serve_forever()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the end, and close."""
    with contextlib.suppress(OSError):
        while piece := await reader.read(CHUNK_BYTES):
            writer.write(piece)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    asyncio.run(relay(int(sys.argv[1]), sys.argv[2]))
