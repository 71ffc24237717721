"""How httpbed uses Dask: without what would disturb a measurement, and with few words."""

from __future__ import annotations

import logging

import dask

from httpbed.addons.cluster.certificates import Scheduler

CONNECT_S = "10s"


def apply(scheduler: Scheduler | None = None) -> None:
    """Set Dask's options in this process, before a client or a worker starts.

    With a scheduler, its certificates are among them; Dask's own configuration has no say there.
    """
    dask.config.set(
        {
            **(scheduler.settings() if scheduler else {}),
            "distributed.worker.http.routes": [],  # what it says of itself, to who reaches a port
            "distributed.comm.timeouts.connect": CONNECT_S,
            "distributed.worker.profile.enabled": False,  # samples the worker's threads
            "distributed.admin.tick.interval": "1s",
            "distributed.admin.tick.limit": "1h",
        }
    )
    import distributed  # noqa: F401 - sets up loggers, which follow

    for name in [one for one in logging.root.manager.loggerDict if one.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
