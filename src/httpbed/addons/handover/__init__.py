"""Hand-overs of a trial: steps, execution, evidence, outcome, metrics and checks.

Not here: their description (``experiment.handover``).
Start at ``steps``; ``metrics.ObservedHandovers`` gathers what was observed.
"""

from __future__ import annotations

from httpbed.base.addon import Addon

ADDON = Addon(
    provides={"additions to trials": ("httpbed.addons.handover.handover_addition:ADDITION",)}
)
