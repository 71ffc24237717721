"""Running the blocks of a campaign on other machines, through a scheduler of Dask.

::

    httpbed run --cluster                                     httpbed worker, on each machine
    dispatch -> run_block(request) -> (dask scheduler) -> worker -> process of the block
    returned_blocks <- files of attempts <- (dask) <------- run_block

``block`` is the function that a worker runs. ``dispatch`` gives blocks to Dask,
``returned_blocks`` commits what comes back, ``worker`` starts a process for each block.

Only this package imports Dask, which is an extra (``httpbed[cluster]``).
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

_TWO_BUILDS = (
    "write the experiment (httpbed compare --dry-run), run each build on the cluster (httpbed run"
    " FILE --cluster URL --program NAME=PATH), and compare both folders (httpbed gate BASE HEAD)"
)
_CERTIFICATES = "make the cluster's certificates: httpbed worker --init"
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
    absent_options={
        **{f"{verb} --cluster": _TWO_BUILDS for verb in ("compare", "gate")},
        **{f"{verb} --without-tls": _CERTIFICATES for verb in ("run", "worker")},
    },
)
