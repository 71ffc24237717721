"""The shipped experiments: each is valid and fits the stated time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest

from httpbed.addons.claims import claim_checking
from httpbed.addons.pages.sites import corpus
from httpbed.campaign import preparation
from httpbed.campaign.settings import DesignOptions
from httpbed.experiment.factorial import ScaleName, treatment_key
from httpbed.experiment.roles import ClientRole, Transport
from httpbed.programs import catalog as catalogs
from httpbed.results.duration import expected_s

FOLDER = Path(__file__).parents[2] / "experiments"
EXAMPLES = sorted([*FOLDER.glob("examples/*.toml"), *FOLDER.glob("matrix/*.toml")])
STUDIES = [path for path in sorted(FOLDER.rglob("*.toml")) if path not in EXAMPLES]
LONGEST_S = {"smoke": 10 * 60, "standard": 140 * 60}
"""Sequential times: minutes, and about two hours. Trials may run side by side."""
LONGEST_OF_18_SITES_S = {"smoke": 10 * 60, "standard": 220 * 60}
"""Liu et al.'s sites: 18 of them, in three conditions, on both paths, over both protocols, with
the five blocks that a significant difference of one site needs."""
LIMITS = {"liu2024/pages": LONGEST_OF_18_SITES_S}
STATED = re.compile(r"^#   httpbed run \S+ --scale (\w+) +([\d.]+) (min|h|days): ", re.MULTILINE)
SECONDS = {"min": 60, "h": 3600, "days": 86_400}
CATALOG = catalogs.load()
BROWSERS = {"chromium-h2", "chromium-h3"}
ONE_WAY, COLD = {"delay_reading": {"one-way"}}, {"visit": {"cold"}}
NGINX = {"stack": {"nginx-h2", "nginx-h3"}}
ROUND_TRIP, ZHANG = {"delay_reading": {"round-trip"}}, {"stack": {"aioquic-h3", "nginx-h1"}}
SITES = {f"biswal-dense-{number:02}" for number in range(1, 16)} | {*corpus.group("biswal2016-few")}
ITS_LEVELS = {
    "liu2024/single-stream": {
        "size": {"0 B", "10 kB", "100 kB", "500 kB", "1 MB", "5 MB", "10 MB"},
        "path": {"direct", "envoy"},
        "congestion_control": {"reno", "bbr"},
        "client": {"curl-h2", "wget-http1", "curl-h3", "quiche-h3", "aioquic-h3", *BROWSERS},
        **ONE_WAY,
    },
    "liu2024/multi-stream": {"path": {"direct", "envoy"}, "congestion_control": {"reno", "bbr"}},
    "liu2024/migration": {
        "client": {"wget-resume", "wget-restart", "curl-restart", "quiche-h3"},
        "path": {"direct", "envoy"},
        **ONE_WAY,
    },
    "liu2024/pages": {"path": {"direct", "envoy"}, **ONE_WAY},
    "biswal2016/grid": {**NGINX, **ROUND_TRIP, **COLD},
    "biswal2016/networks": {**NGINX, **ROUND_TRIP, **COLD},
    "biswal2016/sites": {**NGINX, **COLD, "page": SITES},
    "zhang2023/rates": ZHANG,
    "zhang2023/losses": ZHANG,
    "ranjan2019/pages": ONE_WAY,
}
"""Levels by which a paper's cells are known among those of the paper scale."""
PAPERS = [
    ("liu2024/single-stream", 882, 10),
    ("liu2024/multi-stream", 20, 10),
    ("liu2024/migration", 144, 10),
    ("liu2024/pages", 648, 10),
    ("biswal2016/grid", 720, 5),
    ("biswal2016/networks", 200, 5),
    ("biswal2016/sites", 240, 5),
    ("zhang2023/rates", 28, 10),
    ("zhang2023/losses", 16, 10),
    ("ranjan2019/pages", 64, 50),
]
"""Each study's cells that run here, and its runs of each."""


def control(name: str, transport: Transport, requested: str | None) -> str:
    return CATALOG[name].congestion_control.resolved(transport, requested)


def notices(client: ClientRole, transport: Transport) -> float:
    """Return the seconds after which a client continues by itself."""
    return CATALOG[client.implementation].notices_s(client, transport)


def planned_s(path: Path, scale: ScaleName | None) -> float:
    """Return the approximate duration of all trials, run one after another."""
    loaded = preparation.load(path.read_text(), CATALOG, path.parent, DesignOptions(scale))
    limit_s = loaded.experiment.time_limit_s
    each_s = (
        min(expected_s(scenario, control, notices), limit_s(scenario))
        for scenario in loaded.scenarios()
    )
    return loaded.experiment.blocks * sum(each_s)


@pytest.mark.parametrize(
    "path",
    [*EXAMPLES, *(pytest.param(path, marks=pytest.mark.slow) for path in STUDIES)],
    ids=lambda path: str(path.relative_to(FOLDER)),
)
def test_each_shipped_experiment_loads_and_states_its_duration(path: Path) -> None:
    """It loads with the shipped recipes: every role, version, congestion control and workload."""
    assert planned_s(path, None) > 0


@pytest.mark.slow
@pytest.mark.parametrize("scale", get_args(ScaleName))
@pytest.mark.parametrize("path", STUDIES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_each_scale_of_a_study_fits_its_time(path: Path, scale: ScaleName) -> None:
    """Smoke takes minutes, standard about two hours; paper has its number of runs."""
    study = path.relative_to(FOLDER).with_suffix("").as_posix()
    longest_s = LIMITS.get(study, LONGEST_S).get(scale, float("inf"))
    assert planned_s(path, scale) < longest_s


@pytest.mark.slow
@pytest.mark.parametrize("path", STUDIES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_the_header_of_a_study_states_the_duration_of_each_scale(path: Path) -> None:
    """As ``httpbed plan`` estimates it, to a fifth or a minute."""
    stated = {
        scale: (float(n), SECONDS[unit]) for scale, n, unit in STATED.findall(path.read_text())
    }
    assert set(stated) == set(get_args(ScaleName))
    for scale, (number, unit_s) in stated.items():
        expected = pytest.approx(planned_s(path, scale), rel=0.2, abs=60)
        assert number * unit_s == expected, scale


@pytest.mark.slow
@pytest.mark.parametrize("path", STUDIES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_the_paper_scale_runs_every_cell_of_each_claim(path: Path) -> None:
    """As stated, without arms: no claim of a study stays open because a cell was left out."""
    whole = preparation.load(path.read_text(), CATALOG, path.parent).experiment
    scaled = preparation.load(
        path.read_text(), CATALOG, path.parent, DesignOptions("paper")
    ).experiment
    available = frozenset(map(treatment_key, scaled.treatments()))
    stated = whole.stated(claim_checking.TABLE)
    assert claim_checking.complete(stated, available) == [claim.id for claim in whole.claims]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "cells", "replicates"), PAPERS)
def test_the_paper_scale_has_the_papers_cells_and_runs(
    path: str, cells: int, replicates: int
) -> None:
    """Its own clients, paths and one reading of its delay; what is absent is named."""
    file = FOLDER / f"{path}.toml"
    experiment = preparation.load(
        file.read_text(), CATALOG, file.parent, DesignOptions("paper")
    ).experiment
    scale = experiment.scales["paper"]
    found = [treatment for treatment in experiment.treatments() if _is_the_papers(path, treatment)]
    assert scale.published is not None
    assert (len(found), experiment.blocks) == (cells, replicates)
    named = sum(int(n) for text in scale.absent for n in re.findall(r"(\d+) cells", text))
    assert scale.published.cells == cells + named
    if scale.published.runs:
        assert scale.published.runs == scale.published.cells * replicates


def _is_the_papers(path: str, treatment: Mapping[str, str]) -> bool:
    pair = treatment.get("path"), treatment.get("congestion_control")
    if pair in {("direct", "bbr"), ("envoy", "reno")}:
        return False
    return all(treatment.get(name) in levels for name, levels in ITS_LEVELS[path].items())


@pytest.mark.slow
@pytest.mark.parametrize(("file", "impairments"), [("rates", 7), ("losses", 4)])
def test_zhang_2023_has_both_sites_and_every_rate_and_loss(file: str, impairments: int) -> None:
    """HTTP/1.1 by nginx; HTTP/3 by aioquic with New Reno and Cubic, and by nginx.

    Acknowledgements are unimpaired.
    """
    path = FOLDER / f"zhang2023/{file}.toml"
    loaded = preparation.load(path.read_text(), CATALOG, path.parent, DesignOptions("full"))
    scenarios = loaded.scenarios()
    assert len(scenarios) == 2 * impairments * 4
    assert {scenario.workload.requests() for scenario in scenarios} == {13, 43}
    servers = {
        (scenario.roles.server.implementation, scenario.roles.server.congestion_control)
        for scenario in scenarios
    }
    assert servers == {("aioquic", "reno"), ("aioquic", "cubic"), ("nginx", "cubic")}
    for scenario in scenarios:
        up, _ = scenario.link.directions()
        assert (up.rate, up.loss, up.delay) == (None, 0.0, 0.0)


@pytest.mark.slow
def test_the_grid_of_biswal_2016_is_that_of_tables_2_and_4() -> None:
    """Five runs of 360 combinations over both protocols, with the RTT split equally."""
    path = FOLDER / "biswal2016/grid.toml"
    loaded = preparation.load(path.read_text(), CATALOG, path.parent, DesignOptions("full"))
    assert loaded.experiment.blocks == 5
    selected = [
        treatment
        for treatment in loaded.experiment.treatments()
        if treatment["stack"] in {"nginx-h2", "nginx-h3"}
        and (treatment["delay_reading"], treatment["visit"]) == ("round-trip", "cold")
    ]
    assert len(selected) == 2 * 360
    delays_s = {
        way.delay
        for scenario in loaded.scenarios()
        if scenario.topology.links[0].delay_reading == "round-trip"
        for way in scenario.topology.links[0].directions()
    }
    assert delays_s == {0.005, 0.05, 0.1}


@pytest.mark.slow
def test_delay_and_loss_of_liu_2024_are_on_the_clients_link_only() -> None:
    """Every link has 10 Mbit/s; the network is the same with and without a proxy."""
    path = FOLDER / "liu2024/single-stream.toml"
    loaded = preparation.load(path.read_text(), CATALOG, path.parent, DesignOptions("smoke"))
    for scenario in loaded.scenarios():
        links = [link.directions() for link in scenario.topology.links]
        assert all(way.rate == 10**7 for ways in links for way in ways)
        assert all((way.loss, way.delay) == (0.0, 0.0) for way in links[1])
        assert len(scenario.routers) == (0 if scenario.roles.proxies else 1)
