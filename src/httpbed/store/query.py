"""Reads a campaign, and joins its tables into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from httpbed.experiment.document import narrowed
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import treatment_key
from httpbed.experiment.trial import Trial
from httpbed.store import campaign as campaigns
from httpbed.store import campaign_design, machine_log, manifest_form, resume, tables
from httpbed.store.attempts import Artifacts
from httpbed.store.campaign import Campaign
from httpbed.store.layout import MACHINE_LINES
from httpbed.store.results import Results

KEYS = ["block", "position"]
"""The order of a design."""


def read(directory: Path) -> Results:
    """Read everything that a campaign contains so far.

    Raises:
        ConfigError: The folder is not a campaign.
    """
    campaign = campaigns.open_existing(directory)
    stated, document = campaign_design.read_experiment(campaign)
    manifest = campaign.manifest
    whole = stated.with_replicates(manifest.get("replicates"))
    design = campaign.design()
    campaign_design.refuse_design(campaign, design, whole.factors)
    experiment = _of_design(whole, design, manifest)
    factors = experiment.factors
    compacted = tables.compact(campaign)
    if campaign.is_archive:
        campaign_design.refuse_strangers(campaign, design, compacted.tables["trials"])
    return Results(
        directory=directory,
        experiment=experiment,
        document=narrowed(document, factors),
        manifest=manifest_form.refreshed_manifest(manifest)
        | {"jobs": _jobs(campaign)}
        | _machines(campaign),
        planned=len(design),
        scenarios={treatment_key(trial.levels, factors): trial.document for trial in design},
        blocks=Counter(treatment_key(trial.levels, factors) for trial in design),
        seeds={trial.block: trial.seed for trial in design},
        damaged=compacted.damaged,
        whole_experiment=stated,
        artifacts=Artifacts(None if campaign.is_archive else directory),
        **compacted.tables,
    )


def _of_design(
    whole: Experiment, design: Sequence[Trial], manifest: Mapping[str, Any]
) -> Experiment:
    """Return the experiment with the treatments and the blocks of a campaign's design."""
    experiment = whole.at_scale(manifest.get("scale"))
    is_part = bool(manifest.get("for_claims"))
    blocks = max((trial.block for trial in design), default=1)
    # An archive of several campaigns has the blocks of all.
    if not is_part and resume.generation(manifest) == 1 and blocks <= experiment.blocks:
        return experiment
    planned = {treatment_key(trial.levels, whole.factors): trial.levels for trial in design}
    if not is_part and planned.keys() == {
        treatment_key(treatment) for treatment in experiment.treatments()
    }:
        return experiment.model_copy(update={"replicates": blocks})
    return (experiment if is_part else whole).reduced_to([*planned.values()], blocks)


def _jobs(campaign: Campaign) -> str:
    """Return how many trials ran side by side in each run, as text."""
    return ", then ".join(run["jobs"] for run in campaign.runs())


def _machines(campaign: Campaign) -> dict[str, Any]:
    """Return the log of a cluster's machines with their certificates; nothing for one machine."""
    lines = machine_log.read(campaign.directory)
    if not lines:
        return {}
    return {MACHINE_LINES: lines, "link_certificate": machine_log.certificate(lines)}


def tidy(results: Results) -> pa.Table:
    """Return one row per observation of a valid attempt, in the order of the design.

    Texts are dictionaries: plain ones of a large campaign take several times the memory.
    """
    observed, trials = results.observations, results.trials
    own = pc.index_in(observed["trial"], value_set=trials["trial"].combine_chunks())
    columns = {name: _compressed(observed[name]) for name in observed.column_names}
    rows = pa.table({**columns, "position": trials["position"].take(own)})
    rows = rows.filter(pc.not_equal(observed["outcome"], "invalid"))
    order = pc.sort_indices(
        rows.select(KEYS), sort_keys=[(name, "ascending") for name in KEYS]
    )  # which is stable
    of_attempt = [*KEYS, "trial", "attempt", "outcome", *results.experiment.factors]
    return rows.select([*of_attempt, "metric", "item", "value", "unit", "source"]).take(order)


def _compressed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.dictionary_encode() if pa.types.is_string(column.type) else column
