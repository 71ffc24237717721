"""Token buckets on the response path, and the bytes that pass them."""

from __future__ import annotations

from typing import Any

import pytest

from httpbed.experiment import buckets
from httpbed.experiment.buckets import BucketLoad
from httpbed.experiment.scenario import Scenario


def scenario(size: str, *, rate: Any, **more: Any) -> Scenario:
    """Return a download over one link with this rate to the client."""
    link = {"between": ["client", "server"], "delay": "5 ms", "down": {"rate": rate}}
    return Scenario.model_validate(
        {
            "topology": {"hosts": ["client", "server"], "links": [link]},
            "roles": {
                "client": {"implementation": "curl", "http_version": "2"},
                "server": {"implementation": "nginx"},
            },
            "workload": {"kind": "download", "size": size, **more},
        }
    )


BUCKET = {"bucket": "10 Mbit/s", "burst": "1 MB"}


@pytest.mark.parametrize(
    ("size", "holds"), [("100 kB", True), ("1 MB", True), ("1000001 B", False), ("10 MB", False)]
)
def test_a_bucket_holds_a_transfer_up_to_its_own_size(size: str, holds: bool) -> None:
    """A transfer of equal size fits."""
    (load,) = buckets.bucket_loads(scenario(size, rate=BUCKET))
    assert load.holds_all is holds


def test_the_bodies_of_all_files_and_rounds_pass_the_bucket() -> None:
    """Four files in three rounds are twelve bodies."""
    (load,) = buckets.bucket_loads(scenario("100 kB", rate=BUCKET, files=4, rounds=3))
    assert load == BucketLoad("client-server", "server", 10_000_000, 1_000_000, 1_200_000)


def test_a_constant_rate_has_no_bucket() -> None:
    """Buckets in the direction of the requests do not count either."""
    assert buckets.bucket_loads(scenario("100 kB", rate="10 Mbit/s")) == ()
