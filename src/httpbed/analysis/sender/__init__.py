"""What a sender's congestion control does, read from the wire alone.

Theory. The emulator stamps every packet of both directions: when it came in, when it went out, or
that it was dropped. Nothing is decrypted, so this works for TCP and for QUIC of any program.

*Bytes in flight.* A packet is in flight from the moment it enters the emulator until its sender can
know what became of it. Of a delivered packet the sender learns by the first packet of the receiver
that enters the emulator at or after the delivery and is itself delivered: its **echo**. So the
receiver's delayed acknowledgements are part of what is measured, not an assumption. A dropped
packet is in flight until the third packet sent after it and delivered has its echo (three duplicate
acknowledgements, RFC 5681 section 3.2; kPacketThreshold, RFC 9002 section 6.1.1); when there are
fewer, for three round trips, about a probe time-out.

*Window.* A sender that has enough to send keeps its congestion window full. So the bytes in flight
just after each packet was sent never exceed the window, and reach it once per round trip. The
**window** of a round is the most that was in flight in it; a **round** lasts from a packet's
entry to its echo. A window that something else holds down (flow control, a buffer of the program)
is seen as well: it stays where it is while nothing is lost and the pipe is not full.

*Units.* Windows are in packets: bytes of IP packets over the size of a full one, the size that most
packets have. Times are in seconds since the sender's first packet.

What is then asked of the windows is in :mod:`behaviour`, what the literature says of long
transfers in :mod:`models`, several flows on one bottleneck in :mod:`split`.
"""
