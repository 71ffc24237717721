"""A client on curl_cffi's libcurl: parallel transfers, each of its own file.

It prints what ``curl --write-out`` prints for several transfers: one JSON object for each file,
with times in seconds. So the parser of curl reads it.

Run by recipes/curl-cffi.toml, in a root filesystem with Python and curl_cffi.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from curl_cffi import AsyncCurl, Curl, CurlError, CurlInfo, CurlMOpt, CurlOpt, ffi, lib
from curl_cffi.const import CurlHttpVersion, CurlSslVersion
from curl_cffi.requests.impersonate import REAL_TARGET_MAP

REQUESTED = {
    "1.1": CurlHttpVersion.V1_1,
    "2": CurlHttpVersion.V2TLS,
    "3": CurlHttpVersion.V3ONLY,
}
USED = {CurlHttpVersion.V1_1: "1.1", CurlHttpVersion.V2_0: "2", CurlHttpVersion.V3: "3"}
TIMES = {
    "time_total": CurlInfo.TOTAL_TIME,
    "time_connect": CurlInfo.CONNECT_TIME,
    "time_appconnect": CurlInfo.APPCONNECT_TIME,
    "time_starttransfer": CurlInfo.STARTTRANSFER_TIME,
}


def transfer(options: argparse.Namespace, url: str) -> Curl:
    """Return a transfer with curl's own defaults, or a browser's settings."""
    curl = Curl(cacert=options.ca)
    if options.impersonate != "none":
        curl.impersonate(REAL_TARGET_MAP[options.impersonate])
    curl.setopt(CurlOpt.URL, url.encode())
    curl.setopt(CurlOpt.HTTP_VERSION, REQUESTED[options.http])
    curl.setopt(CurlOpt.SSLVERSION, CurlSslVersion.TLSv1_3)
    curl.setopt(CurlOpt.RESOLVE, [options.resolve])
    curl.setopt(CurlOpt.PIPEWAIT, 1)
    return curl


def account(curl: Curl, url: str, number: int, error: str) -> dict[str, object]:
    """Return a transfer's figures by the names of curl(1), ``--write-out``."""
    version = int(curl.getinfo(CurlInfo.HTTP_VERSION) or 0)
    return {
        **{name: float(curl.getinfo(info) or 0.0) for name, info in TIMES.items()},
        "conn_id": int(curl.getinfo(CurlInfo.CONN_ID) or 0),
        "errormsg": error or None,
        "http_version": USED.get(CurlHttpVersion(version), "0"),
        "response_code": int(curl.getinfo(CurlInfo.RESPONSE_CODE) or 0),
        "size_download": int(curl.getinfo(CurlInfo.SIZE_DOWNLOAD_T) or 0),
        "url": url,
        "url.path": urlsplit(url).path,
        "urlnum": number,
    }


async def fetch(
    options: argparse.Namespace, multi: AsyncCurl, number: int, request: tuple[str, Path]
) -> bool:
    """Transfer one file and print its line; return whether there was no error."""
    url, file = request
    curl, error = transfer(options, url), ""
    is_upload = options.method != "GET"
    with contextlib.ExitStack() as files:
        body = files.enter_context((Path(os.devnull) if is_upload else file).open("wb"))
        curl.setopt(CurlOpt.WRITEDATA, body)
        if is_upload:
            upload = files.enter_context(file.open("rb"))
            curl.setopt(CurlOpt.UPLOAD, 1)
            curl.setopt(CurlOpt.CUSTOMREQUEST, options.method.encode())
            curl.setopt(CurlOpt.INFILESIZE_LARGE, file.stat().st_size)
            curl.setopt(CurlOpt.READDATA, upload)
        try:
            await multi.add_handle(curl)
        except CurlError as failure:
            error = str(failure).partition(". See https://")[0]
    line = {"ended_at": time.time(), "transfer": account(curl, url, number, error)}
    print(json.dumps(line), flush=True)
    return not error


async def run(options: argparse.Namespace) -> bool:
    """Transfer all files in each round; return whether there was no error."""
    multi = AsyncCurl(cacert=options.ca)
    # Its setopt (0.17.0) sets these options to the address of a number, not to the number.
    number = ffi.cast("void *", options.connections)
    lib.curl_multi_setopt(multi._curlm, CurlMOpt.MAX_HOST_CONNECTIONS, number)  # noqa: SLF001
    files = list(enumerate(options.requests))
    came = []
    for first in range(0, options.rounds * len(files), len(files)):
        several = (fetch(options, multi, first + at, request) for at, request in files)
        came += await asyncio.gather(*several)
    with contextlib.suppress(CurlError):
        await multi.close()
    return all(came)


def request(text: str) -> tuple[str, Path]:
    """Read ``URL=file``."""
    url, _, file = text.partition("=")
    return url, Path(file)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("requests", nargs="+", type=request, metavar="URL=FILE")
    parser.add_argument("--http", choices=tuple(REQUESTED), required=True)
    parser.add_argument("--resolve", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--method", choices=("GET", "PUT", "POST"), default="GET")
    parser.add_argument("--impersonate", choices=("none", *REAL_TARGET_MAP), default="none")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(run(arguments())) else 1)
