"""A server of ours over TCP that crashes, is silent at first, or closes at its first loss."""

from __future__ import annotations

import json
from pathlib import Path

SERVER = """
import os, socket, ssl, struct, threading, time

TOTAL_RETRANSMISSIONS = 100  # in struct tcp_info

def serve(plain):
    with tls.wrap_socket(plain, server_side=True) as client:
        while b"\\r\\n\\r\\n" not in client.recv(65536):
            pass
        if MODE == "is silent":
            time.sleep(5)
        client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 100000000\\r\\n\\r\\n")
        begin = time.monotonic()
        while True:
            client.sendall(bytes(16384))
            if MODE == "crashes" and time.monotonic() - begin > 3:
                os._exit(3)
            facts = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
            if MODE == "closes" and struct.unpack_from("I", facts, TOTAL_RETRANSMISSIONS)[0]:
                return

tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain("{certificate}", "{certificate_key}")
tls.set_alpn_protocols(["http/1.1"])
bound = socket.create_server(("::", 443), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    threading.Thread(target=serve, args=(bound.accept()[0],), daemon=True).start()
"""

RECIPE = """
schema = 1
name = "stranger"
roles = ["server"]
http_versions = ["1.1"]
workloads = ["download"]

[install]
suite = "trixie"
packages = ["ngtcp2-client", "python3"]

[version]
argv = ["python3", "--version"]
pattern = 'Python (?P<version>[0-9.]+)'

[congestion_control]
tcp = "kernel"

[run]
argv = ["python3", "-c", {code}]
stdout = "stranger.txt"
stderr = "stranger.txt"
ready = { tcp = [443] }
"""


def recipe(folder: Path, mode: str) -> Path:
    """Write the recipe of a server that ``crashes``, ``is silent`` or ``closes``, into a folder."""
    folder.mkdir()
    code = json.dumps(f'MODE = "{mode}"\n{SERVER}')
    (folder / "stranger.toml").write_text(RECIPE.replace("{code}", code))
    return folder
