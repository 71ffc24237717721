"""httpbed's client on aioquic, which sends nothing after some bytes of the answer.

python3 silent_quic.py BYTES OPTIONS OF AIOQUIC_CLIENT
"""

from __future__ import annotations

import sys

import aioquic_client


class Silent(aioquic_client.Http3Client):
    """Sends nothing, not even that it closes, after ``most`` bytes of bodies."""

    most = 0
    has_asked = False

    def _send(self) -> None:
        got = sum(fetch.body_bytes for fetch in self.fetches.values())
        if self.has_asked and (got >= self.most or not self.fetches):
            return
        self.has_asked = bool(self.fetches)
        super()._send()


def main() -> None:
    """Take the bytes from the command line; the rest is that of the client."""
    Silent.most = int(sys.argv.pop(1))
    aioquic_client.Http3Client = Silent  # type: ignore[misc]
    aioquic_client.main()


if __name__ == "__main__":
    main()
