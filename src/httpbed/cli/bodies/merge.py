"""What ``httpbed merge`` does."""

from __future__ import annotations

import json
from pathlib import Path

from httpbed.base.errors import ConfigError
from httpbed.cli import campaign_folders
from httpbed.cli.echo import echo
from httpbed.report.phrasing import listed
from httpbed.store import archive
from httpbed.store.archive import Merged


def run(*, directories: tuple[Path, ...], output: Path, as_json: bool) -> None:
    """Write the tables of the campaigns in DIR, without artifacts, as one archive."""
    twice = campaign_folders.named_twice(directories)
    if twice:
        raise ConfigError(twice)
    merged = archive.merge(directories, output)
    if as_json:
        echo(json.dumps(_values(merged, output)))
        return
    echo(
        f"{output}: {merged.finished} of {len(merged.design)} trials in"
        f" {len(merged.blocks)} block{'s' * (len(merged.blocks) != 1)}"
    )
    for directory in directories:
        own = [str(ours) for ours, (one, _) in merged.blocks.items() if one.place == str(directory)]
        blocks = f"block{'s' * (len(own) != 1)} {listed(own)}" if own else "nothing"
        echo(f"  {directory}: {blocks}")


def _values(merged: Merged, output: Path) -> dict[str, object]:
    return {
        "schema": 1,
        "archive": str(output),
        "planned": len(merged.design),
        "finished": merged.finished,
        "blocks": {
            str(ours): {"campaign": one.place, "block": theirs}
            for ours, (one, theirs) in merged.blocks.items()
        },
    }
