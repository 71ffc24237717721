"""``--keep``: the recorded keys decrypt the recorded packets, and qlogs are whole."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from httpbed.bed.toolbox import root_filesystem
from httpbed.bed.toolbox.root_filesystem import Contents
from httpbed.experiment.kept import CAPTURE, KEYS
from real_runs import SmallExperiment, httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

TSHARK = Contents("trixie", frozenset({"tshark"}))
STATUS = {
    "1.1": "http.response.code",
    "2": "http2.headers.status",
    "3": "http3.headers.status",
}
"""Wireshark's name of the status in a response, by the HTTP version."""
RECORD_SEPARATOR = "\x1e"
"""Before each JSON text of a sequence (RFC 7464)."""


def statuses(http_version: str, capture: Path, keys: Path) -> list[str]:
    """Decrypt a capture with Wireshark's dissectors; return the statuses of responses."""
    argv = root_filesystem.tool_command(root_filesystem.ensure(TSHARK, say=print), "tshark")
    assert argv
    field = STATUS[http_version]
    words = ["-r", str(capture), "-o", f"tls.keylog_file:{keys}", "-Y", field, "-T", "fields"]
    done = subprocess.run(
        [*argv, *words, "-e", field], check=True, capture_output=True, text=True, timeout=60
    )
    return str(done.stdout).split()


def kept(folder: Path, settings: SmallExperiment, kinds: str) -> dict[str, Path]:
    """Run an experiment; return the artifacts of its completed trials by HTTP version."""
    (folder / "e.toml").write_text(settings.text())
    done = httpbed("run", folder / "e.toml", "-o", folder / "c", "--keep", kinds)
    assert done.returncode == 0, done.stderr
    found = {}
    for file in folder.glob("c/trials/*/*/*/trial.json"):
        attempt = json.loads(file.read_text())
        if attempt["outcome"]["kind"] == "completed":
            found[attempt["trial"]["levels"]["http_version"]] = file.parent / "artifacts"
    assert set(found) == set(settings.versions), done.stderr
    return found


def events(artifacts: Path) -> Iterator[list[dict[str, Any]]]:
    """Read each qlog as qvis does, without a last event that the end of the program cut off."""
    for file in artifacts.glob("*/*.sqlog"):
        _, *texts = file.read_text().split(RECORD_SEPARATOR)
        yield [json.loads(text) for text in texts[:-1]]
    for file in artifacts.glob("*/*.qlog"):
        for trace in json.loads(file.read_text())["traces"]:
            yield trace["events"]


def test_the_recorded_keys_decrypt_the_recorded_packets(tmp_path: Path) -> None:
    """In every HTTP version; the keys of another trial decrypt nothing."""
    found = kept(tmp_path, SmallExperiment(size="20 kB"), "keylog, pcap")
    for version, artifacts in found.items():
        assert statuses(version, artifacts / CAPTURE, artifacts / KEYS) == ["200"], version
    assert statuses("3", found["3"] / CAPTURE, found["2"] / KEYS) == []
    assert not list(tmp_path.glob("c/trials/*/*/*/artifacts/*/*.sqlog"))


def test_one_key_log_decrypts_every_hop(tmp_path: Path) -> None:
    """Envoy and curl each have the keys of connections that the other does not take part in."""
    behind = SmallExperiment(
        versions=("3",),
        size="20 kB",
        way=("client", "proxy", "server"),
        roles='proxies = [{ implementation = "envoy", http_version = "2" }]',
    )
    (artifacts,) = kept(tmp_path, behind, "keylog,pcap").values()
    for version in ("2", "3"):
        assert statuses(version, artifacts / CAPTURE, artifacts / KEYS) == ["200"], version
    assert statuses("2", artifacts / CAPTURE, artifacts / "client" / KEYS) == []


@pytest.mark.parametrize(
    ("client", "server"),
    [
        ("curl", "caddy"),
        pytest.param("gtlsclient", "gtlsserver", marks=pytest.mark.slow),
        pytest.param("aioquic", "aioquic", marks=pytest.mark.slow),
    ],
)
def test_both_ends_of_a_quic_connection_record_its_events(
    client: str, server: str, tmp_path: Path
) -> None:
    """A program that says that it writes a qlog does so, and packets were sent and received."""
    settings = SmallExperiment(
        versions=("3",), size="50 kB", client=client, server=server, congestion_control="reno"
    )
    (artifacts,) = kept(tmp_path, settings, "qlog").values()
    found = [{one.get("name", "") for one in qlog} for qlog in events(artifacts)]
    assert len(found) == 2
    for names in found:
        assert {"packet_sent", "packet_received"} <= {name.split(":")[-1] for name in names}
    assert not (artifacts / CAPTURE).exists()


def test_a_campaign_has_qlogs_in_all_trials_or_in_none(tmp_path: Path) -> None:
    """Writing them costs the programs time. Keys and packets may be kept for later trials only."""
    (tmp_path / "e.toml").write_text(SmallExperiment(versions=("3",), size="5 kB").text())
    words = ("run", tmp_path / "e.toml", "-o", tmp_path / "c")
    assert httpbed(*words).returncode == 0
    again = httpbed(*words, "--keep", "keylog,pcap", "--replicates", "2")
    assert again.returncode == 0, again.stderr
    assert "kept: pcap of 1 of 2 attempts" in again.stderr
    refused = httpbed(*words, "--keep", "qlog", "--replicates", "3")
    assert refused.returncode == 2
    assert "was nothing and is now qlog" in refused.stderr
