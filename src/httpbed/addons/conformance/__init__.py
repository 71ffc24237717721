"""Does a sender's congestion control behave as its name promises?

``networks`` writes the experiments, ``flight`` reads windows from packets, ``behaviour`` measures
them, ``competition`` measures how flows share a link; ``properties``, ``bbr_cases`` and ``bcp133``
judge them with tolerances, ``sender`` keeps the records. ``fingerprint`` and ``identification``
name the congestion control of an unknown sender. Start at ``suites``, and at
``conformance_session``, which runs the tests.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    verbs=(
        Verb(
            "conformance",
            "Test whether a sender's congestion control behaves as its name says.",
            "judge",
            "httpbed.addons.conformance.conformance_verb",
        ),
    ),
    absent_options={
        "conformance --against": "write [[competitors]] into an experiment file: its reports have"
        " each share and Jain's index",
    },
    provides={
        "additions to campaigns": ("httpbed.addons.conformance.senders:ADDITION",),
        "records of manifests": ("httpbed.addons.conformance.sender:RECORDS",),
        "report notes": (
            "httpbed.addons.conformance.senders_report:FAILED",
            "httpbed.addons.conformance.senders_report:UNTESTED",
        ),
    },
)
