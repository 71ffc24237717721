"""A client on niquests: parallel transfers, each of its own file.

After each file it prints one JSON object, with times in seconds since its start.
Run by recipes/niquests.toml, in a root filesystem with Python and niquests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import niquests

START = time.monotonic()


def since_start() -> float:
    """Return the seconds since this program began."""
    return time.monotonic() - START


def session(options: argparse.Namespace) -> niquests.AsyncSession:
    """Return a session that speaks one HTTP version, trusts one CA and asks no name server."""
    name, _, address = options.resolve.split(":", 2)
    client = niquests.AsyncSession(
        # niquests negotiates HTTP/3 at once if it may use nothing else.
        disable_http1=options.http != "1.1",
        disable_http2=options.http != "2",
        disable_http3=options.http != "3",
        pool_maxsize=options.connections,
        resolver=f"in-memory://default/?hosts={name}:{address.strip('[]')}",
        revocation_configuration=None,
        retries=0,
    )
    client.verify = options.ca
    client.trust_env = False
    return client


def content(file: Path) -> bytes:
    """Return what is uploaded."""
    return file.read_bytes()


async def fetch(client: niquests.AsyncSession, method: str, url: str, file: Path) -> bool:
    """Transfer one file and print its line; return whether there was no error."""
    line: dict[str, object] = {"path": urlsplit(url).path, "began_s": since_start()}
    try:
        upload = content(file) if method != "GET" else None
        response = await client.request(method, url, data=upload, stream=True)
        line["first_byte_s"] = since_start()
        body_bytes = 0
        with (file if upload is None else Path(os.devnull)).open("wb") as body:
            async for part in await response.iter_content(65536):
                body_bytes += body.write(part)
    except (niquests.RequestException, OSError) as failure:
        print(json.dumps({"error": f"{type(failure).__name__}: {failure}"}), flush=True)
        return False
    used = response.conn_info
    line |= {
        "http_version": used.http_version.value.removeprefix("HTTP/").removesuffix(".0"),
        "status": response.status_code,
        "body_bytes": body_bytes,
        "cipher": used.cipher,
        "ended_s": since_start(),
    }
    print(json.dumps(line), flush=True)
    return True


async def run(options: argparse.Namespace) -> bool:
    """Transfer all files in each round; return whether there was no error."""
    came = []
    async with session(options) as client:
        for _ in range(options.rounds):
            several = (fetch(client, options.method, url, file) for url, file in options.requests)
            came += await asyncio.gather(*several)
    return all(came)


def request(text: str) -> tuple[str, Path]:
    """Read ``URL=file``."""
    url, _, file = text.partition("=")
    return url, Path(file)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("requests", nargs="+", type=request, metavar="URL=FILE")
    parser.add_argument("--http", choices=("1.1", "2", "3"), required=True)
    parser.add_argument("--resolve", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--method", choices=("GET", "PUT", "POST"), default="GET")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(run(arguments())) else 1)
