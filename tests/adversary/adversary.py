"""A program under test that attacks the bed, then does its work as a client or as a server.

    python3 adversary.py ATTACK client ADDRESS NAME CA PATH=FILE
    python3 adversary.py ATTACK server CERTIFICATE KEY CONTENT

Every attack is bounded in count and time.
"""

from __future__ import annotations

import http.server
import json
import os
import re
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attacks
import misuse
import sending
import traffic


def client(attack: str, address: str, name: str, authority: str, request: str) -> None:
    """Fetch a file over HTTP/1.1, and report it as httpbed's own clients do."""
    haste = traffic.HASTES.get(attack, traffic.patient)
    path, _, file = request.partition("=")
    context = ssl.create_default_context(cafile=authority)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    began = time.monotonic()
    with (
        socket.create_connection((address, 443)) as plain,
        context.wrap_socket(plain, server_hostname=name) as connection,
    ):
        version, cipher = connection.version(), connection.cipher()
        asked = f"GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n"
        connection.sendall(asked.encode())
        answer = b""
        haste(connection, 0)
        for chunk in chunks(connection):
            answer += chunk
            haste(connection, len(answer))
    head, _, body = answer.partition(b"\r\n\r\n")
    Path(file).write_bytes(body)
    told = {
        "http_version": "1.1",
        "status": int(re.split(rb"\s", head, maxsplit=2)[1]),
        "body_bytes": len(body),
        "tls_version": version,
        "cipher": cipher[0] if cipher else "",
        "resumed": False,
        "path": path,
        "began_s": 0.0,
        "ended_s": time.monotonic() - began,
    }
    print(json.dumps(told), flush=True)


def chunks(connection: ssl.SSLSocket) -> Iterator[bytes]:
    """Read a connection to its end."""
    while chunk := connection.recv(65536):
        yield chunk


def server(certificate: str, key: str, content: str) -> None:
    """Serve the files over HTTP/1.1."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_request(self, *_: object) -> None:
            length = os.path.getsize(content + self.path)
            told = {"protocol": "HTTP/1.1", "status": 200, "body_bytes": length, "path": self.path}
            print(json.dumps(told), flush=True)

    listening = http.server.ThreadingHTTPServer(
        ("", 443), lambda *words: Handler(*words, directory=content)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    listening.socket = context.wrap_socket(listening.socket, server_side=True)
    listening.serve_forever()


def main() -> None:
    """Attack, then work as the client or the server."""
    attack, role, *words = sys.argv[1:]
    os.chdir(Path(__file__).parent)
    tried = {**attacks.ATTACKS, **sending.SENDING, **traffic.REPORTED}
    if attack in tried:
        tried[attack](attacks.Report(attack))
    elif attack in misuse.MISUSE:
        misuse.MISUSE[attack]()
    elif attack in traffic.SENDERS:
        traffic.SENDERS[attack](words[0])
    if role == "client":
        client(attack, *words)
    else:
        server(*words)


if __name__ == "__main__":
    main()
