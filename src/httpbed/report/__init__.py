"""Reports: findings as tables, sentences and figures, on a terminal and in one HTML file.

Not here: what a campaign shows (``analysis``), what is on disk (``store``). No module needs Linux.
Start at ``publish``, which the verbs call; ``pages`` draws page loads.
"""

import logging

# Matplotlib warns of a cache that it cannot write to, which costs a second and is no mistake.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
