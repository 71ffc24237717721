"""What ``--keep`` asks for and no program writes is said before the first trial."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from httpbed.addons.compare import compare_verb as compare
from httpbed.base.errors import ConfigError
from httpbed.campaign import preparation
from httpbed.programs import catalog
from real_runs import SmallExperiment

CATALOG = catalog.load()
BESIDE_PROXY = SmallExperiment(
    versions=("2",),
    way=("client", "proxy", "server"),
    roles='proxies = [{ implementation = "haproxy", http_version = "1.1" }]',
)


def notes(settings: SmallExperiment, *kept: str) -> list[str]:
    return preparation.keep_notes(
        preparation.load(settings.text(), CATALOG), CATALOG, frozenset(kept)
    )


def refused(settings: SmallExperiment, *kept: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        notes(settings, *kept)
    return [str(mistake) for mistake in caught.value.mistakes]


def test_nothing_is_said_where_everything_is_written() -> None:
    """The client's keys decrypt every connection with a server that writes none."""
    assert notes(SmallExperiment(), "keylog", "pcap") == []
    quic = SmallExperiment(server="caddy", congestion_control="reno")
    assert notes(quic, "qlog", "keylog", "pcap") == []
    assert notes(SmallExperiment()) == []


def test_a_program_without_a_qlog_is_named() -> None:
    """The other end of its connections writes one, so the request is not void."""
    assert notes(SmallExperiment(), "qlog") == ["--keep qlog: not written by nginx as a server"]


def test_a_connection_without_keys_is_named() -> None:
    """Neither HAProxy nor nginx writes secrets, but curl does for its own connection."""
    assert notes(BESIDE_PROXY, "keylog", "pcap") == [
        "--keep keylog: not written by either of haproxy and nginx over HTTP/1.1"
    ]


@pytest.mark.parametrize(("upstream", "gaps"), [("2", 0), ("3", 1)])
def test_a_proxy_may_write_the_keys_of_one_transport_only(upstream: str, gaps: int) -> None:
    """Envoy does so over TCP."""
    proxies = f'proxies = [{{ implementation = "envoy", http_version = "{upstream}" }}]'
    behind = SmallExperiment(way=("client", "proxy", "server"), roles=proxies)
    assert len(notes(behind, "keylog", "pcap")) == gaps


@pytest.mark.parametrize(("spoken", "gaps"), [("2", 0), ("3", 1)])
def test_the_far_end_of_a_tunnel_needs_no_keys(spoken: str, gaps: int) -> None:
    """Its packets are those of the client's own connection; the tunnel itself has keys over TCP."""
    proxies = [
        f'{{ implementation = "envoy-tunnel", http_version = "{spoken}", host = "near" }}',
        '{ implementation = "envoy-masque", http_version = "3", host = "far" }',
    ]
    way = ("client", "near", "far", "server")
    tunnel = SmallExperiment(versions=("3",), way=way, roles=f"proxies = [{', '.join(proxies)}]")
    found = notes(tunnel, "keylog", "pcap")
    assert found == ["--keep keylog: not written " + GAP] * gaps


GAP = "by either of envoy-tunnel and envoy-masque over HTTP/3"


def test_keys_without_packets_are_noted() -> None:
    """A key log is no mistake: its file may be wanted for its own sake."""
    (note,) = notes(SmallExperiment(), "keylog")
    assert note.endswith("add pcap")


def test_what_no_program_writes_is_a_mistake_of_each_kind() -> None:
    """Each names what can: the campaign would have nothing of what was asked for."""
    without = SmallExperiment(versions=("3",), client="chromium-headless-shell")
    (mistake,) = refused(without, "qlog", "keylog")
    assert "by chromium-headless-shell as a client, by nginx as a server" in mistake
    assert "omit it, or use a program that writes it: aioquic, caddy, curl" in mistake


def test_a_qlog_needs_quic() -> None:
    """HTTP/1.1 and 2 have no such events."""
    (mistake,) = refused(SmallExperiment(versions=("1.1", "2")), "qlog")
    assert "no trial has a connection over it; omit qlog, or add HTTP/3" in mistake


def dry(*words: str) -> Result:
    """Call ``httpbed compare`` without running a trial."""
    return CliRunner().invoke(compare.command, [*words, "--dry-run"])


def test_a_dry_run_says_what_is_not_written() -> None:
    """The experiment file on stdout is the same as without the option."""
    result = dry("curl:h3", "--keep", "qlog, pcap")
    assert result.stderr == "note: --keep qlog: not written by nginx as a server\n"
    assert result.stdout == dry("curl:h3").stdout
    assert dry("curl:h3", "--keep", "pcap", "--keep", "qlog").stderr == result.stderr
