from __future__ import annotations

from window_sender import WindowSender


def test_data_waits_from_the_first_packet_behind_a_hole_until_the_hole_is_filled() -> None:
    lost = 50
    transfer = WindowSender(300, lambda _: 10, lost=(lost,)).transfer()
    data = transfer.content
    (again,) = (
        place for place in range(lost + 1, len(data)) if data.first[place] == data.first[lost]
    )
    assert transfer.held_back_ns == data.arrived[again] - data.arrived[lost + 1]


def test_nothing_waits_without_losses() -> None:
    assert WindowSender(300, lambda _: 10).transfer().held_back_ns == 0


def test_quic_does_not_show_what_waits() -> None:
    assert WindowSender(300, lambda _: 10, "quic", lost=(50,)).transfer().held_back_ns is None
