"""Archives: campaigns as tables alone, small enough to publish, from one campaign or several.

An archive is a campaign's folder without attempts: the experiment, the design, the manifest, the
log of runs and the three tables. Every reader of campaigns reads it; figures that need artifacts
are left out.

Several campaigns of one experiment become one archive, such as runs on several days or machines. A
block is never mixed: comparisons are made within blocks, so what differs between machines and days
cancels out. A block is known by its seed and by its number in the campaign that ran it. If several
sources hold the same block, it comes from the one that finished most of its trials. Blocks are
numbered in the order of the sources.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.experiment.trial import Trial
from httpbed.store import campaign as campaigns
from httpbed.store import (
    campaign_design,
    campaign_folder,
    machine_log,
    manifest_form,
    resume,
    tables,
)
from httpbed.store.campaign import Campaign
from httpbed.store.layout import INDEX, MACHINE_LINES, RUNS, SOURCES
from httpbed.store.tables import TABLES, CampaignTables

_ABSOLUTE = re.compile(r"(?<![^\s=])/\S*/")
"""The folders of an absolute path in a command line."""


class BlockIdentity(NamedTuple):
    """What stays of a block in every archive: it decides all that is drawn at random."""

    seed: int
    number: int
    """In the campaign that ran it."""


@dataclass(frozen=True)
class Source:
    """A campaign from which an archive is made."""

    campaign: Campaign
    manifest: Mapping[str, Any]
    design: Sequence[Trial]
    made: CampaignTables

    @property
    def place(self) -> str:
        """The campaign's folder."""
        return str(self.campaign.directory)

    def blocks(self) -> dict[int, BlockIdentity]:
        """Return what its blocks are, by their numbers here, in order."""
        seeds = {trial.block: trial.seed for trial in self.design}
        return {
            block: BlockIdentity(seeds[block], _first_number(self.manifest, block))
            for block in sorted(seeds)
        }

    def finished(self) -> Counter[int]:
        """Return how many trials of each block have a valid attempt."""
        trials = self.made.tables["trials"]
        valid = trials.filter(pc.not_equal(trials["outcome"], "invalid"))
        pairs = set(zip(valid["block"].to_pylist(), valid["trial"].to_pylist(), strict=True))
        return Counter(block for block, _ in pairs)


@dataclass
class Merged:
    """The content of an archive."""

    design: list[Trial] = field(default_factory=list)
    tables: dict[str, list[pa.Table]] = field(default_factory=lambda: {name: [] for name in TABLES})
    blocks: dict[int, tuple[Source, int]] = field(default_factory=dict)
    """Each block's source, and the block's number there."""
    finished: int = 0
    """Trials with a valid attempt."""


def merge(directories: Sequence[Path], output: Path) -> Merged:
    """Write the archive of one campaign or several to a new or empty folder.

    Raises:
        ConfigError: They are no campaigns, of different experiments, of different programs, or
            damaged; or the folder holds files.
    """
    sources = _sources(directories, output)
    require_none([*_not_alike(sources), *_damages(sources)])
    merged = _merged(sources)
    first = sources[0].campaign
    provenance = [_provenance(source, merged) for source in sources]
    generation = max(resume.generation(source.manifest) for source in sources)
    grown = {"generation": generation} if generation > 1 else {}
    manifest = manifest_form.refreshed_manifest(sources[0].manifest)
    lines = [line for source in sources for line in _machine_lines(source, merged)]
    machines = {MACHINE_LINES: lines} if lines else {}
    public = _public({**manifest, **grown, SOURCES: provenance, **machines})
    files = {Path(name).name: first.directory / name for name in first.link_names()}
    with campaigns.made(output, first.experiment_text, merged.design, public, files) as archive:
        for source in sources:
            archive.note_runs(_public(source.campaign.runs()))
        joined = {name: pa.concat_tables(parts) for name, parts in merged.tables.items()}
        tables.archive(archive.directory, joined)
        archive.list_files([INDEX, *([RUNS] if archive.runs() else [])])
    return merged


def _sources(directories: Sequence[Path], output: Path) -> list[Source]:
    sources, mistakes = list[Source](), campaign_folder.not_new(output)
    for directory in directories:
        try:
            sources.append(_source(directory))
        except ConfigError as error:
            mistakes += error.mistakes
    require_none(mistakes)
    return sources


def _source(directory: Path) -> Source:
    campaign = campaigns.open_existing(directory)
    experiment, _ = campaign_design.read_experiment(campaign)
    design, made = campaign.design(), tables.compact(campaign)
    campaign_design.refuse_design(campaign, design, experiment.factors)
    campaign_design.refuse_strangers(campaign, design, made.tables["trials"])
    return Source(campaign, campaign.manifest, design, made)


def _not_alike(sources: Sequence[Source]) -> Iterator[Mistake]:
    """Yield how campaigns differ from the first in more than seed and machine."""
    first, *others = sources
    apart, text = "export it on its own", first.campaign.experiment_text
    for other in others:
        if not resume.has_same_treatments(text, other.campaign.experiment_text):
            remedy = f"{apart}; httpbed diff {first.place} {other.place} says what differs"
            yield Mistake(other.place, f"is of another experiment than {first.place}", remedy)
            continue  # its programs and scale differ for that reason
        if not resume.is_same_selection(first.manifest, other.manifest):
            held = [resume.selection_words(source.manifest) for source in (first, other)]
            reason = f"was run with {held[1]}, and {first.place} with {held[0]}"
            yield Mistake(other.place, reason, apart)
        for name, before, now in resume.program_conflicts(first.manifest, other.manifest):
            reason = f"{name} is {now or 'absent'}, and {before or 'absent'} in {first.place}"
            yield Mistake(other.place, reason, apart)


def _damages(sources: Sequence[Source]) -> Iterator[Mistake]:
    for source in sources:
        for damage in source.made.damaged:
            remedy = "restore its files from a copy, or run the trial again with httpbed run"
            yield Mistake(source.place, str(damage), remedy)


def _merged(sources: Sequence[Source]) -> Merged:
    holders: dict[BlockIdentity, list[tuple[Source, int]]] = {}
    for source in sources:
        for number, identity in source.blocks().items():
            holders.setdefault(identity, []).append((source, number))
    finished = {id(source): source.finished() for source in sources}
    merged = Merged()
    for held in holders.values():
        # Of equals, max returns the first.
        best, number = max(held, key=lambda one: finished[id(one[0])][one[1]])
        merged.finished += finished[id(best)][number]
        _add(merged, best, number)
    return merged


def _machine_lines(source: Source, merged: Merged) -> Iterator[dict[str, Any]]:
    """Yield the lines on the machines of a cluster, with the archive's numbers of blocks."""
    ours = {theirs: ours for ours, (one, theirs) in merged.blocks.items() if one is source}
    earlier = source.manifest.get(MACHINE_LINES, ())
    for line in machine_log.read(source.campaign.directory) or earlier:
        if line["block"] in ours:
            yield {**line, "block": ours[line["block"]]}


def _first_number(manifest: Mapping[str, Any], block: int) -> int:
    """Follow a block through the archives that it was in to the campaign that ran it."""
    for source in manifest.get(SOURCES, ()):
        if (theirs := source["blocks"].get(str(block))) is not None:
            return _first_number(source, theirs)
    return block


def _add(merged: Merged, source: Source, block: int) -> None:
    """Add a block under the number after the last one."""
    number = len(merged.blocks) + 1
    merged.blocks[number] = (source, block)
    trials = [trial for trial in source.design if trial.block == block]
    renamed = {trial.id: trial.model_copy(update={"block": number}) for trial in trials}
    merged.design += renamed.values()
    for name, parts in merged.tables.items():
        rows = source.made.tables[name]
        rows = rows.filter(pc.equal(rows["block"], block))
        parts.append(_renumbered(rows, number, {old: new.id for old, new in renamed.items()}))


def _renumbered(rows: pa.Table, number: int, ids: Mapping[str, str]) -> pa.Table:
    values = {
        "block": [number] * len(rows),
        "trial": [ids[one] for one in rows["trial"].to_pylist()],
    }
    for name, column in values.items():
        place = rows.schema.get_field_index(name)
        kind = rows.schema.field(name)
        rows = rows.set_column(place, kind, pa.array(column, kind.type))
    return rows


def _public(value: Any) -> Any:
    """Shorten this user's paths in a JSON value: an archive is made to be published."""
    if isinstance(value, dict):
        return {
            name: _ABSOLUTE.sub("", member) if name == "command" else _public(member)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [_public(member) for member in value]
    return value.replace(str(Path.home()), "~") if isinstance(value, str) else value


def _provenance(source: Source, merged: Merged) -> dict[str, Any]:
    """Return which blocks come from a campaign, and from which machine and digest."""
    blocks = {str(ours): theirs for ours, (one, theirs) in merged.blocks.items() if one is source}
    kept = ("started", "command", "httpbed", "commit", "host", "link_certificate", SOURCES)
    return {
        "blocks": blocks,
        "made_from": source.made.made_from,
        **{name: source.manifest[name] for name in kept if name in source.manifest},
    }
