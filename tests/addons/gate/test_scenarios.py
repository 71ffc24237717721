"""The networks in which a program's CI compares two builds."""

from __future__ import annotations

import pytest

from httpbed.addons.compare import comparison
from httpbed.addons.gate import gate_verb
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.experiment.profiles import all_profiles
from httpbed.experiment.roles import ClientRole, Transport
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import second_build
from httpbed.results.duration import expected_s

CATALOG = catalogs.load()
MAX_S = 10.0


def loaded(program: str) -> LoadedExperiment:
    """Return the experiment of two builds; which executable the second is does not matter."""
    recipes = {**CATALOG.recipes}
    twin = second_build(program)
    recipes[twin] = recipes[program].model_copy(update={"name": twin})
    catalog = catalogs.Catalog(recipes, CATALOG.replaced)
    line = gate_verb._builds_compared((program, "/build"), catalog, ())
    return comparison.comparison(line, catalog).loaded


def control(implementation: str, transport: Transport, stated: str | None) -> str:
    """Return what a sender uses, of both builds."""
    return CATALOG[implementation.removesuffix("-new")].congestion_control.resolved(
        transport, stated
    )


def never(client: ClientRole, transport: Transport) -> float:
    """Nothing is handed over."""
    raise AssertionError(client, transport)


def test_the_standard_set_is_ten_networks_with_sources() -> None:
    """Each has a name that a reader finds in the list of networks."""
    networks = {name: all_profiles()[name] for name in gate_verb.NETWORKS}
    assert len(networks) == len(gate_verb.NETWORKS) == 10
    assert all(network.title and network.source for network in networks.values())


@pytest.mark.parametrize("program", ["curl", "nginx", "haproxy"])
def test_each_trial_of_the_standard_set_is_short(program: str) -> None:
    """A client, a server and a proxy: what a correct stack needs, by the link's arithmetic."""
    experiment = loaded(program)
    networks = {trial.levels["network"] for trial in experiment.trials}
    assert networks == set(gate_verb.NETWORKS)
    for scenario in experiment.scenarios():
        assert expected_s(scenario, control, never) < MAX_S
