"""Changes of a program: fail a pull request, keep results over commits, find the guilty commit.

``gate_verb`` judges two builds or two campaigns, ``gate_report`` writes the verdict,
``benchmark_formats`` a campaign for trackers of benchmarks.
Not here: comparing treatments and its table (``addons.compare.regression``).
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    verbs=(
        Verb(
            "gate",
            "Fail if a campaign is worse than a baseline, or contradicts its claims.",
            "judge",
            "httpbed.addons.gate.gate_verb",
        ),
        Verb(
            "history",
            "Keep results over commits, and say where they changed.",
            "judge",
            "httpbed.addons.gate.history_verb",
        ),
        Verb(
            "bisect",
            "Find the commit that made a program slower.",
            "judge",
            "httpbed.addons.gate.bisect_verb",
        ),
    ),
    absent_options={
        "bisect --slower-than": "use --good and --bad: httpbed drives git bisect in a work tree of"
        " its own",
    },
    provides={"exports": ("httpbed.addons.gate.benchmark_formats:EXPORT",)},
)
