"""Throughput of a long transfer by the literature: packets per second by loss and round-trip time.

``loss`` is the probability of independent losses; ``rtt_s`` is in seconds. Today's senders count
acknowledged bytes (RFC 3465, RFC 9002 appendix B): one acknowledgement of two packets grows the
window as much as two acknowledgements. So the models' ``b`` is 1.
"""

from __future__ import annotations

import math

B = 1
"""Packets per acknowledgement, for the growth of the window."""
CUBIC_C = 0.4
CUBIC_BETA = 0.7
"""RFC 9438, sections 4.1 and 4.6."""
PROBE_ROUND_TRIPS, ACK_DELAY_S = 2.0, 0.025
"""With too few duplicate acknowledgements to detect a loss, a sender probes after two round trips
and the receiver's delay (tail loss probe, RFC 8985 section 7.2; probe timeout, RFC 9002 section
6.2.1). With a retransmission timeout of 200 ms in their place, the kernel's Reno exceeded PFTK by a
factor of 1.3 at 4 % and 50 ms, and of 1.7 at 20 ms."""


def mathis(loss: float, rtt_s: float) -> float:
    """Packets per second of Reno without timeouts; used for estimates, not for verdicts.

    Mathis, Semke, Mahdavi, Ott: The macroscopic behavior of the TCP congestion avoidance
    algorithm, CCR 27(3), 1997.
    """
    return _reno_window(loss) / rtt_s


def pftk(loss: float, rtt_s: float) -> float:
    """Packets per second of Reno with timeouts.

    Padhye, Firoiu, Towsley, Kurose: Modeling TCP throughput, SIGCOMM 1998, equation 30. The
    timeout ``T0`` differs: today's senders probe sooner, after two round trips and 25 ms.
    """
    return _with_timeouts(_reno_window(loss), loss, rtt_s)


def cubic(loss: float, rtt_s: float) -> float:
    """Packets per second of CUBIC: RFC 9438, section 5.1, never below Reno's, with timeouts.

    In the Reno-friendly region (section 4.3) its average window is Reno's.
    """
    factor = (CUBIC_C * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA))) ** 0.25
    own = factor * (rtt_s / loss) ** 0.75
    return _with_timeouts(max(own, _reno_window(loss)), loss, rtt_s)


def cubic_window(
    since_s: float, before: float, after: float, rtt_s: float, *, faster: bool = False
) -> float:
    """Window in packets, ``since_s`` after a loss that reduced it from ``before`` to ``after``.

    RFC 9438, equation 1 and, in the Reno-friendly region, equation 4 with the alpha that gives
    Reno's average. With ``faster``, alpha is 1 as soon as that window has reached ``before``
    (section 4.3); RFC 8312 has no such step.
    """
    k_s = math.cbrt(max(before - after, 0.0) / CUBIC_C)
    cubic = CUBIC_C * (since_s - k_s) ** 3 + before
    alpha = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)
    friendly = after + alpha * since_s / rtt_s
    if faster and friendly > before:
        friendly = before + (friendly - before) / alpha
    return max(cubic, friendly)


def _reno_window(loss: float) -> float:
    """Average window in packets."""
    return math.sqrt(3 / (2 * B * loss))


def _with_timeouts(window: float, loss: float, rtt_s: float) -> float:
    timeout_s = PROBE_ROUND_TRIPS * rtt_s + ACK_DELAY_S
    share = min(1.0, 3 * math.sqrt(3 * B * loss / 8)) * loss * (1 + 32 * loss**2)
    return 1 / (rtt_s / window + timeout_s * share)
