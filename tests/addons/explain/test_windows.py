from __future__ import annotations

import pytest

from httpbed.addons.explain import windows
from httpbed.addons.explain.windows import NamedWindow
from httpbed.experiment.scenario import Scenario
from httpbed.programs import catalog as catalogs
from httpbed.programs.settings import FixedWindow

CATALOG = catalogs.load()


def scenario(
    client: str, server: str, version: str, kind: str = "download", **knobs: dict[str, str]
) -> Scenario:
    """Return a transfer; ``of_client`` and ``of_server`` are knobs."""
    return Scenario.model_validate(
        {
            "topology": {
                "hosts": ["client", "server"],
                "links": [{"between": ["client", "server"]}],
            },
            "roles": {
                "client": {
                    "implementation": client,
                    "http_version": version,
                    "knobs": knobs.get("of_client", {}),
                },
                "server": {"implementation": server, "knobs": knobs.get("of_server", {})},
            },
            "workload": {"kind": kind, "size": "1 MB"},
        }
    )


def named(scene: Scenario, payload: int, full: int = 1350) -> NamedWindow | None:
    version = scene.hops()[0].http_version
    return windows.named(payload, full, version, windows.candidates(scene, CATALOG))


def test_nginx_holds_http3_at_its_stream_buffer() -> None:
    found = named(scenario("curl", "nginx", "3"), 67_930)
    assert found is not None
    assert (found.program, found.name, found.size) == ("nginx", "http3_stream_buffer_size", 65536)
    assert found.window.holds == "sender's buffer"


def test_nginx_grants_its_stream_buffer_to_an_upload() -> None:
    found = named(scenario("curl", "nginx", "3", "upload"), 67_930)
    assert found is not None
    assert (found.part, found.name) == ("server", "http3_stream_buffer_size")
    assert found.window.holds == "receiver's window"


def test_a_receivers_window_does_not_hold_what_its_program_sends() -> None:
    scene = scenario("gtlsclient", "aioquic", "3", "upload")
    parts = {window.part for window in windows.candidates(scene, CATALOG)}
    assert parts == {"server"}


def test_a_download_of_unknown_programs_is_held_by_no_window_of_uploads() -> None:
    found = [*windows.fingerprints(CATALOG, ["3"])]
    assert {(one.program, one.window.holds) for one in found if one.size == 65_536} == {
        ("nginx", "sender's buffer"),
        ("nginx-1.26", "sender's buffer"),
    }


def test_a_knob_that_the_experiment_sets_has_its_own_size() -> None:
    scene = scenario("curl", "nginx", "3", of_server={"http3_stream_buffer_size": "1m"})
    assert named(scene, 67_930) is None
    found = named(scene, 1_080_000)
    assert found is not None
    assert (found.size, found.value) == (1 << 20, "1m")


def test_http2_has_the_default_of_its_standard() -> None:
    found = named(scenario("curl", "nginx", "2"), 65_739, full=1448)
    assert found is not None
    assert found.size == 65_535
    assert "9113" in found.window.source


def test_an_exponent_is_a_size_of_two_to_its_power_less_one() -> None:
    scene = scenario("h2load", "nginx", "2", of_client={"window_bits": "17"})
    found = named(scene, 132_000, full=1448)
    assert found is not None
    assert (found.size, found.name) == (131_071, "window_bits")


@pytest.mark.parametrize("payload", [50_000, 90_000, 600_000])
def test_a_number_that_fits_no_window_is_nobodys(payload: int) -> None:
    assert named(scenario("curl", "nginx", "3"), payload) is None


def test_every_window_of_a_recipe_names_a_knob_that_it_has_and_accepts_what_lifts_it() -> None:
    for recipe in CATALOG.recipes.values():
        for window in recipe.windows:
            if window.knob is not None:
                knob = recipe.knobs[window.knob]
                assert window.size({window.knob: knob.default}), recipe.name
                assert knob.accepts(window.lifted), recipe.name


@pytest.mark.parametrize(
    ("value", "size"), [("64k", 65_536), ("1M", 1 << 20), ("1048576", 1 << 20), ("auto", None)]
)
def test_a_knobs_value_is_a_number_of_bytes(value: str, size: int | None) -> None:
    window = FixedWindow(
        knob="one", holds="sender's buffer", roles=["server"], http_versions=["3"], source="-"
    )
    assert window.size({"one": value}) == size
