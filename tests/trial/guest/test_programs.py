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
    assert (before.attempt.measures_pressure, planned.attempt.measures_pressure) == (True, False)
    assert planned.attempt.network.specs() != before.attempt.network.specs()  # it does not poll
    assert all(not one.environment for one in planned.attempt.network.specs())
