"""Steps of the bench on size that are no verb.

``write FILE TRIALS`` writes an experiment of so many trials. ``synthesise FILE DIR PENDING`` makes
its campaign, in which some trials are pending. ``resume FILE DIR PENDING`` resumes the campaign
until the first of them would start.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/support"))

import synthesised_campaigns
from httpbed.bed.machine import backend
from httpbed.campaign import campaign_setup, run
from httpbed.campaign.preparation import load
from httpbed.campaign.settings import ONE, RunSettings
from httpbed.programs import catalog as catalogs
from httpbed.store import campaign as campaigns


def main(step: str, file: Path, *words: str) -> None:
    """Take one step."""
    if step == "write":
        file.write_text(synthesised_campaigns.text(int(words[0])))
    elif step == "synthesise":
        synthesise(_prepared(file), Path(words[0]), int(words[1]))
    else:
        resume(_prepared(file), Path(words[0]), int(words[1]))


def synthesise(ready: run.Prepared, directory: Path, pending: int) -> None:
    """Make a campaign in which a few trials are pending."""
    loaded = ready.loaded
    with campaigns.opened(directory, loaded.text, loaded.trials, ready.manifest) as campaign:
        synthesised_campaigns.commit(campaign, leave_out=pending)


def resume(ready: run.Prepared, directory: Path, pending: int) -> None:
    """Do what a run does before its first trial; fail unless these trials are pending."""
    run.require_place(ready.loaded, directory)
    with run.opened(ready, directory, jobs=ONE, say=print) as resumed:
        if len(resumed.pending) != pending:
            sys.exit(f"{len(resumed.pending)} trials are pending, not {pending}")


def _prepared(file: Path) -> run.Prepared:
    catalog = catalogs.load()
    options = RunSettings(backend=backend.choose(None), command="httpbed run large.toml")
    return campaign_setup.prepare(load(file.read_text(), catalog), catalog, options, say=print)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
