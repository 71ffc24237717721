"""Calibration: cells that measure the emulated link against arithmetic, and the certificate.

Not here: the checks of a trial (``trial.checks``).
Start at ``session``, which runs the ``cells``; ``claims`` judges each by arithmetic.
``certificate`` keeps the result, and ``envelope`` has what it covers.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    provides={
        "additions to campaigns": ("httpbed.addons.calibration.certificate:ADDITION",),
    },
    absent_options={
        "doctor calibrate --only": "--scale smoke measures a few conditions in 17 s; --keep DIR"
        " leaves the evidence of every cell",
    },
    verbs=(
        Verb(
            "doctor calibrate",
            "Compare the emulated link with arithmetic, and certify it.",
            "set up",
            "httpbed.addons.calibration.calibrate_verb",
        ),
    ),
)
