"""httpbed-quiche, the real executable, while the addresses of its host change."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from httpbed.bed.toolbox import compiled
from httpbed.trial import tls_certificates

pytestmark = [
    pytest.mark.namespaces,
    pytest.mark.toolbox,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("ip") is None, reason="needs ip"),
]

LIMIT_S = 60
BODY_BYTES = 3_000_000
DELETED = "addr del 10.1.0.1/24 dev a0"
PREFERRED = "route add 10.9.0.1 via 10.2.0.2 dev b0 metric 50"

SCRIPT = """
program=$1 keys=$2 folder=$3 serving=$4 change=$5
shift 5
mount -t tmpfs tmpfs /run && mkdir /run/netns && ip netns add server
ip -n server link set lo up && ip -n server addr add 10.9.0.1/32 dev lo
for link in a:1 b:2; do
    name=${link%:*} number=${link#*:}
    ip link add ${name}0 type veth peer name ${name}3 netns server
    ip -n server addr add 10.$number.0.2/24 dev ${name}3 && ip -n server link set ${name}3 up
    ip -n server addr add fd0$number::2/64 dev ${name}3 nodad
    # Slow enough for a change to come while the body is on its way.
    tc -n server qdisc add dev ${name}3 root tbf rate 20mbit burst 20kb limit 60kb
    ip addr add 10.$number.0.1/24 dev ${name}0 && ip link set ${name}0 up
    ip route add 10.9.0.1 via 10.$number.0.2 dev ${name}0 metric ${number}00
done
mkfifo $folder/ready
ip netns exec server $program serve --listen 10.9.0.1:443 --root $folder/www \
    --cert $keys/server.pem --key $keys/server.key --access-log $folder/log $serving \
    >$folder/ready & server=$!
read -r line <$folder/ready
: >$folder/body
$program --connect-to ::10.9.0.1:443 --cacert $keys/ca.pem --output $folder/body "$@" \
    https://server.httpbed.test/body >$folder/report & client=$!
# Until the first third has come.
tail -f -c +1000000 $folder/body | head -c 1 >$folder/trigger
printf '%s\\n' "$change" | ip -batch -
wait $client
code=$?
kill $server
exit $code
"""


@dataclass(frozen=True)
class Moved:
    """What became of a fetch."""

    code: int
    report: dict[str, Any]
    stderr: str
    connections: set[int]
    is_whole: bool

    @property
    def events(self) -> list[str]:
        """Name what happened to its paths."""
        return [event["event"] for event in self.report["path_events"]]


def move(folder: Path, change: str, *words: str, serving: str = "") -> Moved:
    """Fetch over the first of two links; change the addresses when a third is there."""
    (folder / "www").mkdir()
    body = bytes(n % 251 for n in range(BODY_BYTES))
    (folder / "www/body").write_bytes(body)
    keys = tls_certificates.ensure(datetime.now(UTC))
    program = compiled.QUICHE.ensure(print)
    shell = ("unshare", "-Urnm", "sh", "-c", SCRIPT, "sh")
    done = subprocess.run(
        [*shell, program, keys, folder, serving, change, *words],
        check=False, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    report = json.loads((folder / "report").read_text())
    log = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    return Moved(
        code=done.returncode,
        report=report,
        stderr=done.stderr,
        connections={entry["connection"] for entry in log},
        is_whole=(folder / "body").read_bytes() == body,
    )


@pytest.mark.parametrize(
    ("policy", "change", "events"),
    [
        ("probe", DELETED, ["network changed", "migrated", "validated"]),
        ("probe", PREFERRED, ["network changed", "probed", "validated", "migrated"]),
        ("immediate", PREFERRED, ["network changed", "migrated", "validated"]),
        ("rebind", DELETED, ["network changed", "rebound", "validated"]),
    ],
)
def test_a_body_goes_on_from_another_address(
    tmp_path: Path, policy: str, change: str, events: list[str]
) -> None:
    """The connection stays the same, and the report has the migration's time."""
    moved = move(tmp_path, change, "--migration", policy)
    assert (moved.code, moved.is_whole, moved.connections) == (0, True, {1}), moved.stderr
    # A busy machine may make it wait in between, or try once more.
    rest = iter(moved.events)
    assert all(event in rest for event in events), moved.events
    counts = moved.report["migrations"]
    assert counts["succeeded"] >= 1
    assert counts["tried"] == counts["succeeded"] + counts["failed"]
    assert moved.report["path_events"][-1]["local"].startswith("10.2.0.1:")
    # Packets are padded until the path is validated, and not for good.
    new = moved.report["paths"][-1]
    assert new["bytes_sent"] < new["bytes_received"] / 5
    assert moved.report["clock_ns"] > 0


@dataclass(frozen=True)
class Stuck:
    """Why a client cannot go on, and what it says of that."""

    change: str
    event: str
    said: str
    words: tuple[str, ...] = ()
    serving: str = ""


NO_ROUTE = "no address of this machine"
FORBIDDEN = "the server forbids migration"
ONLY_IPV6 = f"{DELETED}\naddr replace fd02::1/64 dev b0 nodad\naddr del 10.2.0.1/24 dev b0"
STUCK = [
    Stuck(DELETED, "stayed", "--migration none", words=("--migration", "none")),
    Stuck(DELETED, "refused", FORBIDDEN, serving="--no-migration"),
    Stuck(f"{DELETED}\nlink set b0 down", "unreachable", NO_ROUTE),
    Stuck(ONLY_IPV6, "unreachable", NO_ROUTE),
]


@pytest.mark.parametrize("stuck", STUCK, ids=["none", "refused", "no link", "only IPv6"])
def test_a_client_without_a_path_reports_the_reason(tmp_path: Path, stuck: Stuck) -> None:
    """It gives up at its time limit and not before, since an address may return."""
    moved = move(tmp_path, stuck.change, "--max-time", "3", *stuck.words, serving=stuck.serving)
    assert moved.code == moved.report["exit_code"] == 28
    assert stuck.event in moved.events
    assert stuck.said in moved.stderr
    assert stuck.said in moved.report["error"]
    assert "10.1.0.1" in str(moved.report["path_events"])


def test_silence_ends_a_connection_that_has_no_address(tmp_path: Path) -> None:
    """The message names the last change of the network."""
    moved = move(tmp_path, f"{DELETED}\nlink set b0 down", "--idle-timeout", "1")
    assert moved.code == 56
    assert "fell silent" in moved.stderr
    assert "no address of this machine" in moved.stderr


def test_a_change_without_consequence_is_none(tmp_path: Path) -> None:
    """A route to another network does not count."""
    moved = move(tmp_path, "route add 10.77.0.0/16 dev a0")
    assert (moved.code, moved.is_whole, moved.events) == (0, True, [])
