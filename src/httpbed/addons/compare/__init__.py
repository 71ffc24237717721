"""Comparisons of programs, builds and campaigns.

``comparison`` turns the command line of ``httpbed compare`` into an experiment file that the user
can edit. ``campaign_comparison`` compares two campaigns (``diff_verb``), and ``regression`` says
whether a build, or a campaign, is worse than its baseline.
Not here: running an experiment (``campaign``), and comparing its treatments (``results``).
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    verbs=(
        Verb(
            "compare",
            "Compare programs in one line, and keep the experiment file.",
            "run",
            "httpbed.addons.compare.compare_verb",
        ),
        Verb(
            "diff",
            "Compare two campaigns, treatment by treatment.",
            "read",
            "httpbed.addons.compare.diff_verb",
        ),
    ),
    absent_options={
        "compare --cpu-slowdown": "leave it out: the browser's network stack kept its speed, and a"
        " page computes as long over each HTTP version",
        "compare --wait": "begin when the machine is quiet; the same command repeats strained"
        " attempts",
    },
)
