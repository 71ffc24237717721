"""A network namespace that plays the Internet, in which httpbed runs as on a user's machine.

It has only the loopback, so nothing leaves the machine, and on it public addresses. nginx of the
toolbox speaks all versions, a second host misbehaves, and names come from a hosts file.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from httpbed.programs import catalog
from httpbed.programs.part import AUTHORITY, CERTIFICATE, KEY
from httpbed.trial import program_roots, tls_signing
from patience import HTTPBED

ADDRESSES = {
    "good.field.example": "20.1.0.1",
    "no-udp.field.example": "20.1.0.2",
    "odd.field.example": "20.1.0.3",
    "moved.field.example": "20.1.0.3",
    "metadata.field.example": "169.254.169.254",
    "ipv6.field.example": "2600:1::1",
    "own.field.example": "127.0.0.1",
}
GOOD, NO_UDP, ODD, MOVED, METADATA, IPV6, OWN = ADDRESSES
OTHER_ADDRESS = "20.1.0.9"
SIZE = 100_000
"""Length of the file on the good host."""
SEEN = "/tmp"  # noqa: S108 - nginx sees a folder of the test there
CONFIGURATION = """
user root; worker_processes 1; error_log /tmp/error.log; pid /tmp/nginx.pid; daemon off;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path /tmp/a; proxy_temp_path /tmp/b; fastcgi_temp_path /tmp/c;
  uwsgi_temp_path /tmp/d; scgi_temp_path /tmp/e;
  ssl_certificate /tmp/certificate.pem; ssl_certificate_key /tmp/key.pem;
  server {{
    listen {good}:443 ssl; listen {good}:443 quic reuseport;
    listen [{ipv6}]:443 ssl; listen [{ipv6}]:443 quic reuseport;
    listen {no_udp}:443 ssl; listen {own}:443 ssl;
    http2 on; root /tmp/content;
    add_header Alt-Svc 'h3=":443"; ma=86400';
    location /old {{ return 301 https://{name}/file; }}
    location /busy {{ return 429; }}
  }}
}}
"""
_START_S, _COMMAND_S = 20.0, 120.0


class Internet:
    """The namespace; its process takes commands."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self.authority = folder / AUTHORITY

    def compare(self, *words: str, trusting: bool = True) -> tuple[int, str, str]:
        """Run ``httpbed compare`` in it; return the exit code, stdout and stderr."""
        if trusting:
            words = (*words, "--cacert", str(self.authority))
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(words), file=self._process.stdin, flush=True)
        code, out, err = json.loads(self._process.stdout.readline())
        return code, out, err

    def compared(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Run it with ``--json``; return the exit code and what was printed."""
        code, out, err = self.compare(*words, "--json")
        assert out, err
        return code, json.loads(out)


@contextmanager
def internet(folder: Path) -> Iterator[Internet]:
    """Make the namespace, and end it with everything in it."""
    now = datetime.now(UTC)
    span = (now - timedelta(days=1), now + timedelta(days=1))
    tls_signing.write(folder, span, "*.field.example", ())
    programs = program_roots.ensure(catalog.load(), ["nginx", "curl"], say=print)
    root = programs.places["nginx"].root
    assert root
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    spaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    words = ["unshare", *user, *spaces, sys.executable, __file__, str(folder), str(root.path)]
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            yield Internet(process, folder)
        finally:
            process.kill()


def _play(folder: Path, root: Path) -> None:
    """Be the first process of the namespace."""
    hosts = folder / "hosts"
    _run("ip", "link", "set", "lo", "up")
    for address in sorted({*ADDRESSES.values()} - {ADDRESSES[OWN]}):
        # An IPv6 address could not be bound while the kernel looks for duplicates.
        length = ("/128", "nodad") if ":" in address else ("/32",)
        _run("ip", "address", "add", f"{address}{length[0]}", "dev", "lo", *length[1:])
    hosts.write_text("".join(f"{address} {name}\n" for name, address in ADDRESSES.items()))
    _run("mount", "--bind", str(hosts), "/etc/hosts")
    _start_nginx(folder, root)
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind((ADDRESSES[NO_UDP], 443))  # a path that drops UDP: nothing comes back
    threading.Thread(target=_misbehave, args=(folder, hosts), daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        ended = subprocess.run(
            [*HTTPBED, "compare", *json.loads(line)],
            check=False,
            capture_output=True,
            text=True,
            timeout=_COMMAND_S,
            stdin=subprocess.DEVNULL,
        )
        answer = json.dumps([ended.returncode, ended.stdout, ended.stderr])
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def _run(*words: str) -> None:
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


def _start_nginx(folder: Path, root: Path) -> None:
    """Start it in its root filesystem, with a folder of its own in the place of /tmp."""
    seen = folder / "nginx"
    (seen / "content").mkdir(parents=True)
    seen.chmod(0o755)
    (seen / "content/file").write_bytes(bytes(SIZE))
    with (seen / "content/large").open("wb") as large:
        large.truncate(10**9)
    shutil.copy(folder / CERTIFICATE, seen / "certificate.pem")
    shutil.copy(folder / KEY, seen / "key.pem")
    text = CONFIGURATION.format(
        good=ADDRESSES[GOOD],
        own=ADDRESSES[OWN],
        ipv6=ADDRESSES[IPV6],
        no_udp=ADDRESSES[NO_UDP],
        name=GOOD,
    )
    (seen / "nginx.conf").write_text(text)
    _run("mount", "--bind", str(seen), str(root / "tmp"))
    _run("mount", "--rbind", "/dev", str(root / "dev"))
    words = ("chroot", str(root), "nginx", "-e", f"{SEEN}/error.log", "-c", f"{SEEN}/nginx.conf")
    subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex((ADDRESSES[GOOD], 443)) == 0:
                return
        threading.Event().wait(_START_S / 200)
    raise TimeoutError((seen / "error.log").read_text())


def _misbehave(folder: Path, hosts: Path) -> None:
    """Serve HTTP/1.1 on the odd host: a body without end, and a name that moves."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    with socket.create_server((ADDRESSES[ODD], 443)) as server:
        while True:
            connection, _ = server.accept()
            try:
                with context.wrap_socket(connection, server_side=True) as stream:
                    _answer(stream, hosts)
            except OSError:
                pass


def _answer(stream: ssl.SSLSocket, hosts: Path) -> None:
    path = stream.recv(65536).split()[1]
    if path == b"/endless":
        stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        block = bytes(2**20)
        while True:
            stream.sendall(b"%x\r\n%s\r\n" % (len(block), block))
    if path == b"/reset":
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(stream.detach())
        return
    if path == b"/moving":
        lines = hosts.read_text().splitlines(keepends=True)
        kept = (line for line in lines if MOVED not in line)
        hosts.write_text("".join([*kept, f"{OTHER_ADDRESS} {MOVED}\n"]))
    stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")


if __name__ == "__main__":
    _play(Path(sys.argv[1]), Path(sys.argv[2]))
