"""Container images as root filesystems: ``httpbed toolbox import`` unpacks an archive of one.

Not here: roots and their folders (``bed/toolbox``), recipes' keys for images (``programs``).
Start at ``image``, which reads what an archive contains, and unpacks it.
"""

from __future__ import annotations

from httpbed.base.addon import Addon, Verb

ADDON = Addon(
    provides={"programs": ("httpbed.addons.images.programs:PROGRAMS",)},
    verbs=(
        Verb(
            "toolbox import",
            "Import a container image, and write a recipe for its program.",
            "set up",
            "httpbed.addons.images.import_verb",
        ),
    ),
)
