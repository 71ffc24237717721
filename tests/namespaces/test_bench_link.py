"""The link's benchmark measures what it says, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.namespaces

CHECKOUT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "bench.link", "--offline", "--quick")


def bench_link(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it without installing peers."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=CHECKOUT,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.alone  # beside other tests packets are lost in full sockets, too
def test_it_measures_and_names_what_is_missing(tmp_path: Path) -> None:
    """Every subject has a value for each quantity, or a reason why not."""
    kept = tmp_path / "figures.json"
    places = [Path("/run/httpbed-bench"), Path("/tmp/rattan")]  # noqa: S108 - their fixed names
    before = [place.exists() for place in places]
    done = bench_link("--only", "loss", "--json", str(kept))
    assert done.returncode == 0, done.stderr
    (section,) = json.loads(kept.read_text())["sections"]
    own = [each for each in section["figures"] if each["subject"].startswith("httpbed-link")]
    losses = {each["what"]: each for each in own if each["unit"] == "%"}
    assert losses["10 %, lost"]["n"] == 1
    # Five standard deviations of 4000 draws: by chance once in two million runs.
    assert losses["10 %, lost"]["median"] == pytest.approx(10, abs=2.4)
    for figure in section["figures"]:
        assert figure["values"] or figure["note"], figure
    assert "1 %, lost, %" in done.stdout
    assert [place.exists() for place in places] == before


def test_no_process_survives_a_killed_benchmark(tmp_path: Path) -> None:
    """Neither the first process of its namespaces nor an emulator survives."""
    kept = tmp_path / "figures.json"
    words = [*COMMAND, "--only", "rate", "--json", str(kept)]
    with subprocess.Popen(words, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert "cores" in running.stdout.readline()
        assert processes_naming(kept)
        running.kill()
    deadline = time.monotonic() + 10
    while processes_naming(kept):
        assert time.monotonic() < deadline, "it lives on"
        time.sleep(0.05)


def processes_naming(path: Path) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(path).encode() in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


def test_an_unknown_section_is_refused_with_the_known_ones() -> None:
    """A usage error exits with 2 before anything is started."""
    done = bench_link("--only", "loss,lost")
    assert done.returncode == 2
    assert "no section lost" in done.stderr
    assert "throughput" in done.stderr
