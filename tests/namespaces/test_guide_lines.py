"""The lines of the guides, run as they are printed, page after page in one folder.

A line runs in a shell, and must end with status 0. Only the number of blocks is reduced.
:data:`LEFT_OUT` has the lines that no test can run, :data:`OTHER_PAGES` the guides without any line
that it could, each with its reason; so a new guide runs, or somebody says why not.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from itertools import chain
from pathlib import Path

import pytest

from patience import HTTPBED

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs/guides"
BLOCK = re.compile(r"^```(sh|console|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_WORDS = r"(?:[^\\\n]|\\.|\\\n)"
COMMAND = re.compile(rf"{_WORDS}*<<'END'\n.*?^END\n|{_WORDS}+", re.MULTILINE | re.DOTALL)
"""One command: with the document that follows it, or over lines that end with a backslash."""
IN_CI = ("first-comparison",)
SLOW = (
    ("first-comparison", "report", "claims", "figures"),
    ("grow", "watch", "side-by-side"),
    ("link", "traces"),
    ("packets",),
    ("why-slow",),
)
LEFT_OUT = {
    r"^make |^\. \.venv": "the tests have an environment",
    r"-- bash *(#|$)|^httpbed link +#|--watch|--change": "somebody types, or ends it",
    r"8099|^(down|up): ": "a background server, output of a command; test_link_ports.py",
    r"example\.org|\bgh pr|xdg-open|ssh-keygen|signers": "leaves the folder, or needs a key",
    r"wireshark|^(tshark|editcap|nc) |timeout 5 nc|iperf3": "programs that few machines have",
    r"doctor audit|calibrate|toolbox kernel|--clock virtual": "has its own tests",
    r"\bTRIAL\b|\bNAME\b|\./my-|before|after-change|Caddyfile": "names what the user has",
    r"--blocks|first rest": "two machines; tests/store/test_parts.py",
}
OF_SLOW = r"aioquic|envoy"
"""Lines that only the slow walk runs."""
OTHER_PAGES = {
    "arrivals": "virtual time; tests/trial/checks/test_intervals.py",
    "calibration": "an hour",
    "ci": "builds from PyPI, or the user's",
    "compare": "half an hour, and files of the user; tests/addons/compare",
    "conformance": "minutes; has its own tests",
    "dataset": "reads published results; tests/cli/test_export_dataset.py",
    "explain": "files of the user; tests/namespaces/test_explain.py",
    "handovers": "test_guides.py",
    "har": "loads of pages; test_replays.py",
    "images": "images of the user; test_images.py",
    "install": "another machine; tests/install",
    "many-machines": "several machines; test_cluster.py",
    "own-binary": "a program from PyPI",
    "own-implementation": "test_guides.py",
    "pages": "the Internet, and a folder of the user; test_mirror.py",
    "proxies": "virtual time; tests/addons/compare",
    "reproduce": "studies; tests/experiments/test_reproduce.py",
    "uploads": "virtual time; test_uploads.py",
}


def test_every_guide_is_run_or_says_why_not() -> None:
    assert {page.stem for page in GUIDES.glob("*.md")} == {*IN_CI, *chain(*SLOW), *OTHER_PAGES}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with what the pages name, and httpbed in its ``bin``."""
    program = tmp_path / "bin/httpbed"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(HTTPBED)} "$@"\n')
    program.chmod(0o755)
    (tmp_path / "file").write_bytes(bytes(10_000))
    (experiment,) = [
        text for _, text in BLOCK.findall((ROOT / "README.md").read_text()) if "schema = 1" in text
    ]
    short = re.sub(r"replicates = \d+", "replicates = 1", experiment)
    (tmp_path / "loss.toml").write_text(short.replace("1 MB", "100 kB"))
    return tmp_path


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "pages", [IN_CI, *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW)], ids=" ".join
)
def test_the_lines_of_the_guides_run(pages: tuple[str, ...], folder: Path) -> None:
    left_out = [*LEFT_OUT, *([OF_SLOW] if pages is IN_CI else [])]
    for page in pages:
        commands = [one for one in _commands(page, folder) if not _matches(one, left_out)]
        assert commands, f"{page} has no line that runs"
        for command in commands:
            _run(command, folder, page)


def _commands(page: str, folder: Path) -> list[str]:
    """Return the commands of a page, whose experiments are written into the folder."""
    commands = list[str]()
    for language, text in BLOCK.findall((GUIDES / f"{page}.md").read_text()):
        if language == "toml":
            _write_experiment(text, folder)
        else:
            commands += COMMAND.findall(text if language == "sh" else _typed(text))
    return commands


def _matches(command: str, patterns: list[str]) -> bool:
    return any(re.search(pattern, command, re.MULTILINE) for pattern in patterns)


def _typed(text: str) -> str:
    return "".join(line[2:] for line in text.splitlines(keepends=True) if line.startswith("$ "))


def _write_experiment(text: str, folder: Path) -> None:
    """Write a whole experiment under its name, as the pages do."""
    name = re.search(r'^name = "(.*)"', text, re.MULTILINE)
    if name and "schema = 1" in text:
        short = re.sub(r"replicates = \d+", "replicates = 1", text)
        (folder / f"{name[1]}.toml").write_text(short)


def _run(command: str, folder: Path, page: str) -> None:
    """Run one command, with two blocks at most."""
    short = re.sub(r"(--replicates) \d+", r"\1 2", command)
    path = f"PATH={shlex.quote(str(folder / 'bin'))}:$PATH"
    missing = [one for one in ("curl", "ping") if re.search(rf"\b{one}\b", short)]
    if any(shutil.which(one) is None for one in missing):
        return
    ended = subprocess.run(
        ["bash", "-c", f"{path}\n{short}"],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, (
        f"{page}: {command}\n{ended.stdout[-2000:]}\n{ended.stderr[-3000:]}"
    )
