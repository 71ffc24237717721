"""What programs under test get in a guest."""

from __future__ import annotations

from httpbed.addons.virtual import virtual_addition
from httpbed.addons.virtual.visible_files import RANDOM_DEVICE
from httpbed.trial import plan
from recorded import CATALOG, PROXIED, trial


def test_programs_in_guests_take_no_randomness_from_the_processor() -> None:
    """The environment of each program has the variables, beside what its recipe says."""
    real = trial(PROXIED)
    virtual = real.model_copy(update={"clock": "virtual"})
    before, planned = (plan.plan(one, CATALOG) for one in (real, virtual))
    for name, process in planned.attempt.servers.items():
        recipes_own = before.attempt.servers[name].environment
        assert process.environment == virtual_addition.environment(RANDOM_DEVICE, recipes_own)
        assert process.environment.keys() > recipes_own.keys()
    client = planned.attempt.clients[0].process
    assert client.environment["LD_PRELOAD"] == RANDOM_DEVICE
    assert before.attempt.clients[0].process.environment.get("LD_PRELOAD") is None


def test_what_a_program_loads_itself_is_loaded_after_the_library() -> None:
    """A user may have an allocator of another library."""
    own = {"LD_PRELOAD": "/usr/lib/jemalloc.so", "HOME": "/root"}
    found = virtual_addition.environment(RANDOM_DEVICE, own)
    assert found["LD_PRELOAD"] == f"{RANDOM_DEVICE}:/usr/lib/jemalloc.so"
    assert found["HOME"] == "/root"


def test_a_guest_neither_polls_nor_measures_waits_for_cpus() -> None:
    """Its clock stands still while anything computes."""
    real = trial(PROXIED)
    virtual = real.model_copy(update={"clock": "virtual"})
    before, planned = (plan.plan(one, CATALOG).attempt for one in (real, virtual))
    assert (before.measures_pressure, planned.measures_pressure) == (True, False)
    assert planned.network.specs() != before.network.specs()
    assert all(not spec.environment for spec in planned.network.specs())
