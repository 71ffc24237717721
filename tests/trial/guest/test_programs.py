"""What programs under test get in a guest."""

from __future__ import annotations

from httpbed.trial import plan
from httpbed.trial.guest.programs import WITHOUT_RDRAND
from recorded import CATALOG, PROXIED, trial


def test_programs_in_guests_take_no_randomness_from_the_processor() -> None:
    """The environment of each program has the variable, beside what its recipe says."""
    real = trial(PROXIED)
    virtual = real.model_copy(update={"clock": "virtual"})
    before, planned = (plan.plan(one, CATALOG) for one in (real, virtual))
    for name, process in planned.attempt.servers.items():
        recipes_own = before.attempt.servers[name].environment
        assert process.environment == {**WITHOUT_RDRAND, **recipes_own}
        assert not recipes_own.keys() & WITHOUT_RDRAND.keys()
    assert planned.attempt.clients[0].process.environment.keys() >= WITHOUT_RDRAND.keys()


def test_a_guest_neither_polls_nor_measures_waits_for_cpus() -> None:
    """Its clock stands still while anything computes."""
    real = trial(PROXIED)
    virtual = real.model_copy(update={"clock": "virtual"})
    before, planned = (plan.plan(one, CATALOG).attempt for one in (real, virtual))
    assert (before.measures_pressure, planned.measures_pressure) == (True, False)
    assert planned.network.specs() != before.network.specs()
    assert all(not one.environment for one in planned.network.specs())
