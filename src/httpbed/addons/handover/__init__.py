"""Hand-overs of a trial: steps, execution, evidence, outcome, metrics and checks.

Not here: what one trial did, as a campaign keeps it (``experiment.trial``).
Their table in an experiment is ``handover_model``.
Start at ``handover_steps``; ``handover_metrics.ObservedHandovers`` gathers what was observed.
"""

from __future__ import annotations

from pathlib import Path

from httpbed.base.addon import Addon

METRICS = Path(__file__).with_name("handover_metrics.toml")

ADDON = Addon(
    word="handover",
    provides={
        "files of metrics": ("httpbed.addons.handover:METRICS",),
        "model of hand-overs": ("httpbed.addons.handover.handover_model:Handover",),
        "checks": ("httpbed.addons.handover.handover_check_table:CHECKS",),
        "additions to trials": ("httpbed.addons.handover.handover_addition:ADDITION",),
        "findings": ("httpbed.addons.handover.handover_samples:EXTENSION",),
        "report sections": ("httpbed.addons.handover.handover_timelines_report:SECTION",),
        "report columns": ("httpbed.addons.handover.handovers_report:COLUMNS",),
        "report notes": ("httpbed.addons.handover.handovers_report:NOTES",),
        "views of a trial": ("httpbed.addons.handover.handover_timelines_report:TRIAL",),
    },
)
