"""A dataset has one row per trial, and a description for every column."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import campaigns
from campaigns import Ending
from httpbed.addons.dataset import dataset_table, trial_columns
from httpbed.addons.dataset.trial_columns import ARROW_TYPES
from httpbed.experiment.roles import HttpVersion, ServerRole
from httpbed.experiment.scenario import Scenario

CHAIN = {
    "roles": {
        "client": {"implementation": "curl", "http_version": "3"},
        "proxies": [{"implementation": "envoy"}],
        "server": {"implementation": "nginx"},
    },
    "workload": {"kind": "download", "size": "1 MB"},
}
MANIFEST = {
    "httpbed": "0.1.0",
    "host": {"kernel": "6.1", "cores": 2, "hypervisor": True},
    "programs": [
        {"name": "curl", "version": "8.23.0"},
        {"name": "nginx", "version": "1.30.6"},
    ],
}


def chain(*links: Mapping[str, Any]) -> Scenario:
    """Return a scenario in which the client reaches the server by a proxy, over two links."""
    document = {**CHAIN, "topology": {"hosts": ["client", "proxy", "server"], "links": [*links]}}
    return Scenario.model_validate(document)


def ends(levels: Mapping[str, str], block: int) -> Ending | float | None:
    """Fail, time out, repeat or complete a trial; the last block lacks one treatment."""
    match levels["http_version"], levels["loss"], block:
        case "1.1", "2 %", 5:
            return None
        case "2", "2 %", 1:
            return Ending(outcome="timed out", reason="600 s are over")
        case "3", "2 %", 1:
            return Ending({"request_time": 9.0}, outcome="invalid", reason="late emulator")
        case "3", "2 %", 2:
            return Ending({"request_time": 3.0}, invalid_first=["late emulator"])
    return 1.0 + block / 10


@functools.cache
def planted() -> dataset_table.TrialDataset:
    return dataset_table.make([campaigns.campaign(ends, manifest=MANIFEST)])


def rows(**chosen: Any) -> list[dict[str, Any]]:
    """Return the rows of the planted campaign with these values."""
    found: list[dict[str, Any]] = planted().table.to_pylist()
    return [row for row in found if all(row[name] == value for name, value in chosen.items())]


def test_every_trial_with_an_attempt_has_one_row() -> None:
    """Thirty trials, of which one did not run; the last of two attempts counts."""
    assert len(rows()) == 29
    assert len({row["trial"] for row in rows()}) == 29
    (repeated,) = rows(block=2, http_version="3", path_to_client_loss=0.02)
    assert (repeated["attempt"], repeated["outcome"], repeated["request_time"]) == (
        2,
        "completed",
        3.0,
    )


def test_a_trial_without_a_result_has_no_metrics() -> None:
    """Neither a time-out nor an invalid attempt has a time, and the outcome says why."""
    (late,) = rows(outcome="timed out")
    assert (late["request_time"], late["time_limit_s"]) == (None, 600.0)
    assert late["reason"] == "600 s are over"
    (invalid,) = rows(outcome="invalid")
    assert invalid["request_time"] is None
    assert invalid["check_emulator_lateness"] is False
    assert invalid["check_protocol_used"] is True


def test_a_row_has_network_workload_programs_and_machine() -> None:
    """The features of one trial."""
    (row,) = rows(block=1, factor_http_version="1.1", factor_loss="2 %")
    assert row["path_to_client_rate_bit_s"] == 10**7
    assert row["path_rtt_s"] == 0.05
    assert row["link_1_to_server_loss"] == row["path_to_server_loss"] == 0.02
    assert row["link_1_to_client_queue_bytes"] == 1_500_000
    assert (row["workload_kind"], row["workload_size_bytes"]) == ("download", 10**6)
    assert (row["client"], row["client_version"], row["http_version"]) == ("curl", "8.23.0", "1.1")
    assert (row["proxies"], row["server_congestion_control"]) == (0, "cubic")
    assert (row["machine_kernel"], row["machine_cores"]) == ("6.1", 2)


def test_columns_are_those_of_all_campaigns() -> None:
    """A column that one campaign lacks is empty in its rows; equal names have one description."""
    other = campaigns.VERSIONS.replace('loss = ["0 %", "2 %"]', 'rate = ["5 Mbit/s"]')
    other = other.replace('"10 Mbit/s"', '{ factor = "rate" }').replace(
        'loss = { factor = "loss" }', ""
    )
    both = [
        campaigns.campaign(lambda *_: 1.0, directory=Path("one")),
        campaigns.campaign(lambda *_: 2.0, other, Path("two")),
    ]
    made = dataset_table.make(both)
    names = [column.name for column in made.columns]
    assert len(names) == len(set(names))
    assert {"factor_loss", "factor_rate"} <= set(names)
    assert {row["campaign"] for row in made.rows} == {"one", "two"}
    (version,) = (column for column in made.columns if column.name == "factor_http_version")
    assert version.source.count("experiment file of") == 1
    assert all(row["factor_rate"] is None for row in made.table.to_pylist()[:30])


def test_campaigns_of_one_name_are_told_apart_by_the_folders_above() -> None:
    """As few folders as needed, for all of them."""
    assert dataset_table.campaign_names([Path("/a/x"), Path("/a/y")]) == ["x", "y"]
    assert dataset_table.campaign_names([Path("/a/x"), Path("/b/x"), Path("/b/y")]) == [
        "a/x",
        "b/x",
        "b/y",
    ]


def test_every_column_has_a_type_and_a_description() -> None:
    """In the table too, as metadata of its fields."""
    made = planted()
    for column, field in zip(made.columns, made.table.schema, strict=True):
        assert field.name == column.name
        assert field.type == ARROW_TYPES[column.kind]
        assert field.metadata[b"description"].decode() == column.description
        assert column.source
        assert len(column.description) > 10
        is_number = column.kind in {"integer", "number"}
        assert bool(column.unit) == is_number, column.name
        assert pc.count(made.table[column.name]).as_py() > 0, "a column without any value"


LINK = st.fixed_dictionaries(
    {
        "rate": st.sampled_from(["1 Mbit/s", "5 Mbit/s", "100 Mbit/s"]),
        "delay": st.integers(0, 500).map("{} ms".format),
        "loss": st.integers(0, 100).map("{} %".format),
        "is_turned": st.booleans(),
    }
)


def turned(link: Mapping[str, Any], one: str, other: str) -> dict[str, Any]:
    """Return a link between two hosts, which the file names in either order."""
    between = [other, one] if link["is_turned"] else [one, other]
    return {**{k: v for k, v in link.items() if k != "is_turned"}, "between": between}


@given(first=LINK, second=LINK, is_reversed=st.booleans())
def test_the_path_combines_its_links(
    first: Mapping[str, Any], second: Mapping[str, Any], is_reversed: bool
) -> None:
    """Whatever the order of links and of their hosts in the experiment file is."""
    links = [turned(first, "client", "proxy"), turned(second, "proxy", "server")]
    scenario = chain(*(reversed(links) if is_reversed else links))
    given_ = {c.name: v for c, v in dataset_table.cells(scenario).items()}
    for way in ("to_client", "to_server"):
        own = [{k: given_[f"link_{n}_{way}_{k}"] for k in ("rate_bit_s", "loss")} for n in (1, 2)]
        assert given_[f"path_{way}_rate_bit_s"] == min(float(one["rate_bit_s"] or 0) for one in own)
        survives = math.prod(1 - float(one["loss"] or 0) for one in own)
        assert given_[f"path_{way}_loss"] == pytest.approx(1 - survives, abs=1e-12)
    delays = [int(one["delay"].split()[0]) / 1e3 for one in (first, second)]
    assert given_["path_rtt_s"] == pytest.approx(2 * sum(delays))
    assert given_["link_1_name"] in {"client-proxy", "proxy-client"}


def test_each_direction_of_a_link_has_its_own_columns() -> None:
    """``up`` and ``down`` of the file become the directions of requests and responses."""
    client = {
        "between": ["client", "proxy"],
        "up": {"rate": "1 Mbit/s"},
        "down": {"rate": "8 Mbit/s", "loss": {"to_bad": "1 %", "to_good": "1 %"}},
    }
    server = {"between": ["server", "proxy"], "up": {"delay": "30 ms"}, "jitter": "2 ms"}
    values = {c.name: v for c, v in dataset_table.cells(chain(client, server)).items()}
    assert values["link_1_to_client_rate_bit_s"] == 8 * 10**6
    assert values["link_1_to_server_rate_bit_s"] == 10**6
    assert values["link_1_to_client_loss"] == 0.5
    assert values["link_1_to_client_loss_model"] == "bursts"
    assert (values["link_2_to_client_delay_s"], values["link_2_to_server_delay_s"]) == (0.03, 0.0)
    assert values["link_2_to_client_jitter_s"] == 0.002
    assert values["link_2_to_client_queue_bytes"] is None, "nothing waits without a rate"
    assert values["path_to_client_queue_bytes"] == 1_500_000


def sender(control: str, version: str = "3") -> dict[str, Any]:
    return {
        "sender": {
            "implementation": "nginx",
            "http_version": version,
            "congestion_control": control,
        }
    }


@pytest.mark.parametrize(
    ("stated", "version", "listed", "expected"),
    [
        (None, "2", [], "cubic"),
        ("bbr", "2", [], "bbr"),
        (None, "3", ["cubic"], "cubic"),
        ("fixed", "3", ["new reno"], "new reno"),
        ("bbr", "3", ["cubic", "bbr"], "bbr"),
        (None, "3", ["cubic", "bbr"], "cubic"),
        ("cubic", "3", ["new reno"], "new reno"),
        (None, "3", ["reno", "bbr"], None),
        (None, "3", [], None),
    ],
)
def test_the_congestion_control_is_the_one_in_use(
    stated: str | None, version: HttpVersion, listed: list[str], expected: str | None
) -> None:
    """A program without a choice has its own over QUIC, whatever the experiment states."""
    role = ServerRole(implementation="nginx", congestion_control=stated)
    manifest = {"senders": [sender(control) for control in listed]}
    assert trial_columns.congestion_control(role, version, manifest) == expected
