"""What the literature expects of a long transfer: packets per second against loss and round trip.

``loss`` is the share of packets lost, independently; ``rtt_s`` in seconds. Senders of today count
acknowledged bytes (RFC 3465, RFC 9002 appendix B), so an acknowledgement of two packets opens the
window as far as two acknowledgements: ``b`` is 1.
"""

from __future__ import annotations

import math

B = 1
"""Packets per acknowledgement, as far as the window's growth goes."""
CUBIC_C = 0.4
CUBIC_BETA = 0.7
"""RFC 9438, sections 4.1 and 4.6."""
PROBE_ROUND_TRIPS, ACK_DELAY_S = 2.0, 0.025
"""A sender with too few duplicates to see a loss by them asks after two round trips and the
receiver's delay (tail loss probe, RFC 8985 section 7.2; probe time-out, RFC 9002 section 6.2.1).
With a retransmission time-out of 200 ms instead, which both avoid, the kernel's Reno exceeded PFTK
by 1.3 at 4 % and 50 ms, and by 1.7 at 20 ms."""


def mathis(loss: float, rtt_s: float) -> float:
    """Packets per second of Reno, without time-outs; for estimates, no sender is judged by it.

    Mathis, Semke, Mahdavi, Ott: The macroscopic behavior of the TCP congestion avoidance
    algorithm, CCR 27(3), 1997.
    """
    return _reno_window(loss) / rtt_s


def pftk(loss: float, rtt_s: float) -> float:
    """Packets per second of Reno, with time-outs.

    Padhye, Firoiu, Towsley, Kurose: Modeling TCP throughput, SIGCOMM 1998, equation 30, but for
    its time-out ``T0``: today's senders probe sooner, after two round trips and 25 ms.
    """
    return _with_timeouts(_reno_window(loss), loss, rtt_s)


def cubic(loss: float, rtt_s: float) -> float:
    """Packets per second of CUBIC: RFC 9438, section 5.1, never below Reno's, with time-outs.

    In the Reno-friendly region (section 4.3) its average window is Reno's.
    """
    factor = (CUBIC_C * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA))) ** 0.25
    own = factor * (rtt_s / loss) ** 0.75
    return _with_timeouts(max(own, _reno_window(loss)), loss, rtt_s)


def cubic_window(
    since_s: float, before: float, after: float, rtt_s: float, *, faster: bool = False
) -> float:
    """Window in packets some time after a loss that reduced it from ``before`` to ``after``.

    RFC 9438, equation 1 and, in the Reno-friendly region, equation 4 with the alpha that gives
    Reno's average. ``faster``: with an alpha of 1 once that window is where it was before, as
    section 4.3 says; RFC 8312 did not.
    """
    k_s = math.cbrt(max(before - after, 0.0) / CUBIC_C)
    own = CUBIC_C * (since_s - k_s) ** 3 + before
    alpha = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)
    friendly = after + alpha * since_s / rtt_s
    if faster and friendly > before:
        friendly = before + (friendly - before) / alpha
    return max(own, friendly)


def _reno_window(loss: float) -> float:
    """Average window in packets."""
    return math.sqrt(3 / (2 * B * loss))


def _with_timeouts(window: float, loss: float, rtt_s: float) -> float:
    timeout_s = PROBE_ROUND_TRIPS * rtt_s + ACK_DELAY_S
    share = min(1.0, 3 * math.sqrt(3 * B * loss / 8)) * loss * (1 + 32 * loss**2)
    return 1 / (rtt_s / window + timeout_s * share)
