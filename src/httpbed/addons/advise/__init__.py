"""Advice: which programs were best in the measured conditions that are nearest to a question.

Not here: words and numbers for readers (:mod:`httpbed.addons.advise.advice_report`). Start in
answers.py.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    verbs=(
        Verb(
            "advise",
            "Say what was best in the measured conditions nearest to yours.",
            "read",
            "httpbed.addons.advise.advise_verb",
        ),
    ),
)
