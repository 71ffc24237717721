"""A program under test that attacks the bed, then does its work as a client or as a server.

    python3 adversary.py ATTACK client HTTP_VERSION ADDRESS NAME CA PATH=FILE ...
    python3 adversary.py ATTACK server CERTIFICATE KEY CONTENT

Every attack is bounded in count and time.
"""

from __future__ import annotations

import http.server
import json
import os
import socket
import ssl
import sys
import time
from pathlib import Path

import attacks
import http1
import http2
import misuse
import pairs
import sending
import traffic


def client(
    attack: str, version: str, address: str, name: str, authority: str, *requests: str
) -> None:
    """Fetch files over one connection, and report them as httpbed's own clients do."""
    haste = {**traffic.HASTES, **pairs.HASTES}.get(attack, traffic.patient)
    read = pairs.READERS.get(attack, lambda: pairs.whole)()
    paths, files = zip(*(request.split("=") for request in requests), strict=True)
    context = ssl.create_default_context(cafile=authority)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2" if version == "2" else "http/1.1"])
    source = traffic.source(attack, address)
    began = time.monotonic()
    with (
        socket.create_connection((address, 443), None, source) as plain,
        context.wrap_socket(plain, server_hostname=name) as connection,
    ):
        used, cipher = connection.version(), connection.cipher()
        connection.settimeout(pairs.PATIENCE_S.get(attack))
        answers = (http2 if version == "2" else http1).fetch(connection, name, paths, haste)
    for path, file, (status, sent) in zip(paths, files, answers, strict=True):
        body = read(sent)
        Path(file).write_bytes(body)
        told = {
            "http_version": version,
            "status": status,
            "body_bytes": len(body),
            "tls_version": used,
            "cipher": cipher[0] if cipher else "",
            "resumed": False,
            "path": path,
            "began_s": 0.0,
            "ended_s": time.monotonic() - began,
        }
        print(json.dumps(told), flush=True)


def server(attack: str, certificate: str, key: str, content: str) -> None:
    """Serve the files over HTTP/1.1."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if not (answer := pairs.ANSWERS.get(attack)):
                return super().do_GET()
            self.log_request()
            body = Path(content + self.path).read_bytes()
            self.close_connection = True
            return answer(self.wfile, body, self.client_address[0])

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
        traffic.SENDERS[attack](words[1])
    if role == "client":
        client(attack, *words)
    else:
        server(attack, *words)


if __name__ == "__main__":
    main()
