from __future__ import annotations

from httpbed.addons.explain.explanation import MS, KernelAccount, kernel_account

RECORDED = """\
ESTAB 0      1885   10.77.0.2:443 10.77.0.1:39282
\t cubic wscale:8,8 rto:301 rtt:100.09/50.045 cwnd:10 app_limited unacked:2 minrtt:100.09
ESTAB 0      152595 10.77.0.2:443 10.77.0.1:42516
\t cubic cwnd:1936 app_limited busy:575ms rwnd_limited:250ms(43.5%) unacked:106 rcv_rtt:50
ESTAB 0      0      10.77.0.2:443 10.77.0.1:42518
\t cubic cwnd:10 busy:20ms rwnd_limited:4ms(20.0%) sndbuf_limited:8ms(40.0%) rcv_rtt:50
"""


def test_the_busiest_socket_is_the_one_that_is_explained() -> None:
    assert kernel_account(RECORDED) == KernelAccount(575 * MS, 250 * MS, 0)


def test_each_count_is_read() -> None:
    assert kernel_account(RECORDED.split("42516", maxsplit=1)[0] + RECORDED.split("42518")[1]) == (
        KernelAccount(20 * MS, 4 * MS, 8 * MS)
    )


def test_a_kernel_that_counts_nothing_has_no_account() -> None:
    assert kernel_account(RECORDED.splitlines()[1]) is None
    assert kernel_account("") is None
