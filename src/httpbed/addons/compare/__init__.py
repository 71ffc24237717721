"""``httpbed compare``: turns one command line into an experiment file that the user can edit.

Not here: running it (``campaign``) and comparing its treatments (``analysis``).
Start at ``comparison``.
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
    ),
    absent_options={
        "compare --wait": "begin when the machine is quiet; the same command repeats strained"
        " attempts"
    },
)
