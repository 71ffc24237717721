"""Running the blocks of a campaign on other machines, through a scheduler of Dask.

::

    httpbed run --cluster                 scheduler          httpbed worker, on each machine
    dispatch -> run_block(request) -> (dask scheduler) -> worker -> block_process
    returned_blocks <- end, archives <- (dask) <-------- worker <- ordinary executor

``dispatch`` gives blocks to Dask, ``returned_blocks`` commits what comes back. ``worker`` is the
side of a machine: it starts one ``block_process`` for each block. ``messages`` has what both
exchange.

Only this package imports Dask, which is an extra (``httpbed[cluster]``).
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

_TWO_BUILDS = (
    "write the experiment (httpbed compare --dry-run), run each build on the cluster (httpbed run"
    " FILE --cluster URL --program NAME=PATH), and compare both folders (httpbed gate BASE HEAD)"
)
ADDON = Addon(
    verbs=(
        Verb(
            "worker",
            "Run blocks of campaigns on this machine, as one of several.",
            "set up",
            "httpbed.addons.cluster.worker_verb",
        ),
    ),
    provides={
        "additions to campaigns": ("httpbed.addons.cluster.cluster_option:ADDITION",),
        "report sections": ("httpbed.addons.cluster.machines_report:SECTION",),
        "report notes": ("httpbed.addons.cluster.machines_report:NOTES",),
    },
    absent_options={f"{verb} --cluster": _TWO_BUILDS for verb in ("compare", "gate")},
)
