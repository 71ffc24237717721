"""Our Speed Index beside speedline-core's, on recorded traces: ``python -m bench.speed_index``.

speedline-core comes from npm into a temporary folder and runs in node. ``--write`` keeps its
figures, which tests compare with where there is neither.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.speed_index import traces

from httpbed.addons.pages.load import speed_index
from httpbed.addons.pages.load.speed_index import ProgressPoint

CHECKOUT = Path(__file__).resolve().parents[2]
RECORDED = CHECKOUT / "tests/recorded/chromium-headless-shell-156.0.8078.79/speed-index"
FIGURES = RECORDED / "speedline.json"
PACKAGE = "speedline-core@1.4.3"
MAX_APART = 0.01


def ours(file: Path) -> tuple[ProgressPoint, ...]:
    """Return the visual progress of a recorded trace."""
    return speed_index.visual_progress(
        (at_s, speed_index.histogram(speed_index.pixels(picture)))
        for at_s, picture in traces.pictures(file)
    )


def speedlines(files: list[Path]) -> dict[str, Any]:
    """Return what speedline-core says of recorded traces."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        install = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", PACKAGE]
        subprocess.run(install, cwd=folder, check=True, capture_output=True, timeout=300)
        asked = []
        for file in files:
            told = traces.events(file)
            plain = folder / file.name.removesuffix(".xz")
            plain.write_text(json.dumps(told))
            asked += [str(plain), str(traces.navigation_us(told))]
        library = folder / "node_modules" / PACKAGE.split("@", maxsplit=1)[0]
        command = ["node", str(Path(__file__).parent / "speedline.js"), str(library), *asked]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def apart(mine: float, theirs: float) -> float:
    """Return how far two figures are apart, as a share of the second."""
    return abs(mine - theirs) / theirs if theirs else float(mine != theirs)


def main() -> int:
    """Print the table; 1 where a figure is too far from speedline's."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--folder", type=Path, default=RECORDED)
    arguments.add_argument("--write", action="store_true")
    said = arguments.parse_args()
    files = sorted(said.folder.glob("*.json.xz"))
    theirs = speedlines(files)
    if said.write:
        kept = {"program": PACKAGE, "command": "python -m bench.speed_index --write"}
        FIGURES.write_text(json.dumps({**kept, "figures": theirs}) + "\n")
    print(
        "| trace | pictures | httpbed | speedline-core | apart |\n| --- | --- | --- | --- | --- |"
    )
    worst = 0.0
    for file in files:
        name, steps = file.name.removesuffix(".json.xz"), ours(file)
        mine, other = speed_index.speed_index(steps), theirs[name]["speed_index_ms"] / 1000
        worst = max(worst, apart(mine, other))
        figures = f"{mine:.4f} s | {other:.4f} s | {apart(mine, other):.2%}"
        print(f"| {name} | {len(steps) - 1} | {figures} |")
    return 1 if worst > MAX_APART else 0


if __name__ == "__main__":
    sys.exit(main())
