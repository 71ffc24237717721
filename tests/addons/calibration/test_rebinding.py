"""Source ports after rebindings of a NAT, right and wrong: computed, nothing is run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import computed_passages
from httpbed.addons.calibration.cell import DOWN, UP, Finding
from httpbed.addons.calibration.claims import ResetByRebinding, SourcePorts
from httpbed.addons.calibration.evidence import STREAM, CellEvidence

OWN = 40_000
COUNT = 300
"""One packet a millisecond from 1 s on, so 100 between two rebindings."""
REMARKS = {"failures": 0, "rebindings_ns": [[1_099_800_000, 1_100_200_000], [10**9 * 6 // 5] * 2]}
SENT = np.asarray(1.0 + np.arange(COUNT) * 1e-3)


def seen(*ports: int) -> CellEvidence:
    """Packets with one of these source ports before, between and after two rebindings."""
    passage = computed_passages.passage(SENT, [200] * COUNT, SENT, range(COUNT))
    passage = dataclasses.replace(passage, ports=np.repeat(ports, COUNT // len(ports)))
    return dataclasses.replace(computed_passages.seen({UP: passage}), remarks=REMARKS)


def failures(findings: list[Finding]) -> list[int]:
    return [place for place, finding in enumerate(findings) if not finding.passed]


@pytest.mark.parametrize(
    ("ports", "failed"),
    [
        ((OWN, 1024, 1025), []),
        ((OWN, 2000, 1999), []),
        ((1023, 1024, 1025), [0]),
        ((OWN, OWN, OWN), [1, 2]),
        ((OWN, 1024, 1024), [2]),
        ((OWN, 1024, OWN), [2]),
        ((OWN, OWN + 1, 1024), [1]),
        ((OWN, OWN, 1024, 1024, 1025, 1025, 1026, 1026, 1026, 1026), [0, 1]),
    ],
)
def test_each_rebinding_gives_a_port_that_the_flow_never_had(
    ports: tuple[int, ...], failed: list[int]
) -> None:
    """The last has ports that change without a rebinding."""
    assert failures(SourcePorts(UP, OWN).judge(seen(*ports))) == failed


def test_a_packet_sent_around_a_rebinding_may_have_either_port() -> None:
    """One further away may not."""
    right = np.repeat((OWN, 1024, 1025), COUNT // 3)
    for number, failed in ((99, []), (100, []), (97, [0]), (103, [1])):
        found = seen(OWN, 1024, 1025)
        ports = right.copy()
        ports[number] = 1024 if number < 100 else OWN
        passage = dataclasses.replace(found.passages[UP], ports=ports)
        found = dataclasses.replace(found, passages={UP: passage})
        assert failures(SourcePorts(UP, OWN).judge(found)) == failed


def test_a_flow_that_sent_nothing_after_a_rebinding_is_not_measured() -> None:
    """It neither passes nor fails."""
    found = seen(OWN, 1024, 1025)
    passage = dataclasses.replace(found.passages[UP], number=found.passages[UP].number[:150])
    passage = dataclasses.replace(passage, ports=passage.ports[:150])
    found = dataclasses.replace(found, passages={UP: passage})
    assert [one.achieved for one in SourcePorts(UP, OWN).judge(found)] == [0.0, 0.0, None]


@pytest.mark.parametrize(
    ("last_s", "passes"), [(1.15, True), (1.05, True), (1.0, False), (1.9, False)]
)
def test_a_stream_ends_soon_after_a_rebinding(last_s: float, passes: bool) -> None:
    """Neither long before it nor long after."""
    samples = np.array([(10**9, 1), (round(last_s * 1e9), 2)], STREAM)
    found = dataclasses.replace(computed_passages.seen({}), stream=samples, remarks=REMARKS)
    (finding,) = ResetByRebinding(DOWN, 0.06).judge(found)
    assert finding.passed == passes


def test_a_stream_of_which_nothing_arrived_is_not_measured() -> None:
    """It may have been the client's fault."""
    found = dataclasses.replace(
        computed_passages.seen({}), stream=np.array([], STREAM), remarks=REMARKS
    )
    (finding,) = ResetByRebinding(DOWN, 0.06).judge(found)
    assert finding.achieved is None
