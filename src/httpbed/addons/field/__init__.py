"""Field mode: ``httpbed compare https://HOST/FILE`` over this machine's own network.

``target`` says which URL and address may be measured, ``request`` is one request of curl,
``measurement`` runs the requests one at a time, and ``field_report`` is the table.
Not here: trials on emulated links (``trial``), whose results are never pooled with these.
Start at ``measurement``.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    verbs=(
        Verb(
            "compare URL",
            "Compare HTTP versions at an https URL, over this machine's own network.",
            "run",
            "httpbed.addons.field.field_verb",
        ),
    ),
)
