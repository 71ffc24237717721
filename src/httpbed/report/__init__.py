"""Reports: findings as one document, rendered on a terminal, as HTML, as Markdown and as JSON.

Not here: what a campaign shows (``results``), what is on disk (``store``), the sections of addons.
Start at ``publish``, which the verbs call; ``document`` has the parts of a report and the seams,
``sections`` builds it. No module needs Linux.
"""

import logging

# Matplotlib warns of a cache that it cannot write to, which costs a second and is no mistake.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
