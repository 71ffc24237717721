"""Becomes Traefik, and opens a port once Traefik has its certificate.

Traefik listens before it has read its routes and certificates, and refuses handshakes until then.
A child of this program tries handshakes until one gives the trial's certificate, and then listens
on the port that the recipe waits for. It ends with Traefik.

Usage: traefik_start.py ADDRESS PORT CA SERVER_NAME READY_PORT COMMAND...
"""

import ctypes
import os
import signal
import socket
import ssl
import sys
import time

APART_S = 0.01
PR_SET_PDEATHSIG = 1


def main() -> None:
    """Replace this process by Traefik; the child stays beside it."""
    address, port, ca, server_name, ready_port, *command = sys.argv[1:]
    if os.fork():
        os.execv(command[0], command)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    context = ssl.create_default_context(cafile=ca)
    while not is_served((address, int(port)), context, server_name):
        time.sleep(APART_S)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, int(ready_port)), family=family):
        signal.pause()


def is_served(place: tuple[str, int], context: ssl.SSLContext, server_name: str) -> bool:
    """Return whether a handshake gives a certificate of the CA for the name."""
    try:
        with (
            socket.create_connection(place) as connection,
            context.wrap_socket(connection, server_hostname=server_name),
        ):
            return True
    except OSError:
        return False


main()
