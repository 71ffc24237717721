"""The taxonomy: what a moment of a transfer was spent on. docs/concepts/explain.md has the theory.

One list serves TCP and QUIC. A :class:`Cause` has a place in the order of reading, and the sentence
that says what would shorten it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Surety = Literal["seen", "inferred"]
"""``seen``: a header, a drop or the link says so. ``inferred``: the packets' times suggest it."""


@dataclass(frozen=True)
class Cause:
    """One cause."""

    name: str
    colour: str
    meaning: str
    lifted_by: str
    """What would shorten the time spent on it; empty: nothing."""


CAUSES = (
    Cause(
        "set-up",
        "#7a5195",
        "round trips of the handshakes before the request leaves",
        "resumption, early data, or an HTTP version with fewer round trips",
    ),
    Cause(
        "processing in the set-up",
        "#a88bb8",
        "nothing is under way before the request: a program computes or waits",
        "a faster client or server, or smaller certificates",
    ),
    Cause(
        "path",
        "#9aa5b1",
        "the way of requests and small answers, of the last data, and of the answer to an upload",
        "a shorter path",
    ),
    Cause(
        "server",
        "#d45087",
        "the server's turn, and it sends nothing: it thinks, reads or waits for another server",
        "a faster server, or a faster upstream",
    ),
    Cause(
        "client",
        "#8a6d3b",
        "the client's turn, and it neither asks, sends nor closes",
        "a client that asks, sends or closes earlier",
    ),
    Cause(
        "client's congestion window",
        "#c49a6c",
        "the client has requests to send, and its congestion window is full",
        "requests in fewer packets, or a larger initial window of the client",
    ),
    Cause(
        "receiver's window",
        "#e67e22",
        "the receiver's flow control allows no further byte",
        "a larger receive buffer, or a receiver that reads faster",
    ),
    Cause(
        "fixed window",
        "#f2b134",
        "bytes in flight stand at a fixed number below what the link holds",
        "a larger window or buffer",
    ),
    Cause(
        "slow start",
        "#2f9e77",
        "the congestion window is still growing from its first value",
        "a larger initial window, a warm connection or a larger transfer",
    ),
    Cause(
        "congestion window",
        "#5fbf9b",
        "the congestion window is below what the link holds, after losses or at an early exit",
        "another congestion control, or fewer losses",
    ),
    Cause(
        "recovery",
        "#c0392b",
        "the window is reduced until the losses of a round trip are repaired",
        "fewer losses, or a congestion control that gives way less",
    ),
    Cause(
        "timeout",
        "#8e1b10",
        "packets are lost, no acknowledgement is left to come, and a timer has to expire",
        "fewer losses at the end of flights, or a probe that comes earlier",
    ),
    Cause(
        "late acknowledgements",
        "#b7950b",
        "the receiver has not sent the acknowledgement, or a queue holds it on its way",
        "a receiver that acknowledges earlier, or a faster way back",
    ),
    Cause(
        "pacing",
        "#17a2b8",
        "the sender has packets and window, and spaces the packets by a timer",
        "a higher pacing rate",
    ),
    Cause(
        "sender's reaction",
        "#6c757d",
        "the CPU of the sender has not yet answered an acknowledgement that has arrived",
        "a faster sender or machine",
    ),
    Cause(
        "others on the link",
        "#34495e",
        "the link carries packets that are not of this connection",
        "a link without competitors",
    ),
    Cause(
        "other responses",
        "#6b7fd7",
        "the link carries other responses before the one that the browser waits for",
        "a server that sends urgent responses first (RFC 9218), or fewer requests beside them",
    ),
    Cause(
        "repeated bytes",
        "#e08283",
        "the link carries bytes that it delivers twice",
        "fewer needless retransmissions",
    ),
    Cause(
        "link",
        "#2c6fbb",
        "the link carries this connection's packets: the least that its bytes need",
        "a faster link",
    ),
    Cause("unknown", "#d0d0d0", "no rule applies", ""),
)
"""In the order in which a table lists them."""
BY_NAME = {cause.name: cause for cause in CAUSES}
