"""Speed Index: as speedline-core computes it on real traces, and on made-up pictures."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from bench.speed_index import __main__ as bench
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from httpbed.addons.pages.load import speed_index
from httpbed.addons.pages.load.speed_index import Histogram, PictureError, ProgressPoint

TRACES = sorted(bench.RECORDED.glob("*.json.xz"))
SPEEDLINE = json.loads(bench.FIGURES.read_text())["figures"]
POINT = 0.011
"""Completeness is rounded down to whole per cent, so decoders may differ by one."""


def picture(colour: str, size: tuple[int, int] = (64, 48), form: str = "JPEG") -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, colour).save(written, form)
    return written.getvalue()


def counted(colour: str) -> Histogram:
    return speed_index.histogram(speed_index.pixels(picture(colour)))


def halves(share: float) -> Histogram:
    """Return the histogram of a screen with a red share on white."""
    pixels = np.full((100, 10, 3), 255, dtype=np.uint8)
    pixels[: round(share * 100)] = (255, 0, 0)
    return speed_index.histogram(pixels)


@pytest.mark.parametrize("file", TRACES, ids=lambda file: file.name.removesuffix(".json.xz"))
def test_a_trace_of_chromium_has_speedlines_figure(file: Path) -> None:
    """Within 1 % of speedline-core 1.4.3, and each step of the curve within one per cent."""
    theirs = SPEEDLINE[file.name.removesuffix(".json.xz")]
    mine = bench.ours(file)
    expected_s = theirs["speed_index_ms"] / 1000
    assert speed_index.speed_index(mine) == pytest.approx(expected_s, rel=0.01)
    by_time = {round(step.at_s * 1000): step.complete for step in mine}
    for at_ms, percent in theirs["progress"]:
        assert by_time[round(at_ms)] == pytest.approx(percent / 100, abs=POINT)


def test_a_page_that_stays_white_is_complete_at_once() -> None:
    """As in speedline-core, this holds even if something was visible in between."""
    seen = [(0.1, counted("white")), (0.5, counted("red")), (0.9, counted("#fafafa"))]
    assert {step.complete for step in speed_index.visual_progress(seen)} == {1.0}
    assert speed_index.speed_index(speed_index.visual_progress(seen)) == 0.0


def test_pictures_from_before_the_navigation_do_not_count() -> None:
    """They show the page before."""
    seen = [(-0.5, counted("red")), (1.0, counted("red"))]
    assert speed_index.visual_progress(seen) == (ProgressPoint(0.0, 0.0), ProgressPoint(1.0, 1.0))


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1)), min_size=1, max_size=20).map(sorted))
def test_the_index_is_an_area_above_a_curve(seen: list[tuple[float, float]]) -> None:
    """It is at most the time of the last picture, at least that of the first paint."""
    progress = speed_index.visual_progress((at_s, halves(share)) for at_s, share in seen)
    assert progress[-1].complete == 1.0
    assert all(0 <= step.complete <= 1 for step in progress)
    first_s = next(step.at_s for step in progress if step.complete > 0)
    reckoned = speed_index.speed_index(progress)
    assert first_s - 1e-9 <= reckoned <= progress[-1].at_s + 1e-9
    assert all(before.at_s <= after.at_s for before, after in pairwise(progress))


@pytest.mark.parametrize(
    ("seconds", "band"),
    [(0.0, "fast"), (3.39, "fast"), (3.4, "moderate"), (5.8, "moderate"), (5.81, "slow")],
)
def test_bands_have_the_papers_limits(seconds: float, band: str) -> None:
    """Liu et al. 2024 section 4.4: 0-3.4 s fast, 3.4-5.8 s moderate, over 5.8 s slow."""
    assert speed_index.band(seconds) == band


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (7, 5), (333, 17)])
def test_decoding_keeps_the_size_of_a_picture(size: tuple[int, int]) -> None:
    """Colour has half the points, rounded up."""
    result = speed_index.pixels(picture("#336699", size))
    assert result.shape == (size[1], size[0], 3)
    assert np.abs(result.astype(int) - (0x33, 0x66, 0x99)).max() <= 3


def test_grey_pictures_are_read() -> None:
    """They have no colour channels to halve."""
    written = io.BytesIO()
    Image.new("L", (20, 10), 77).save(written, "JPEG")
    assert speed_index.pixels(written.getvalue()).tolist() == [[[77] * 3] * 20] * 10


@pytest.mark.parametrize(
    "damaged",
    [b"", b"no picture", picture("red")[:-200], picture("red")[:100], picture("red", form="PNG")],
)
def test_other_files_than_jpegs_are_refused(damaged: bytes) -> None:
    """An incomplete picture and another format are rejected as well."""
    with pytest.raises(PictureError):
        speed_index.pixels(damaged)


def test_a_too_large_picture_is_refused() -> None:
    """Its header decides; it is never decoded."""
    vast = picture("red").replace(bytes([0, 48, 0, 64]), bytes([255, 255, 255, 255]))
    with pytest.raises(PictureError, match="pixels"):
        speed_index.pixels(vast)


@given(st.binary(max_size=60), st.integers(0, 600))
def test_damage_never_raises_anything_else(rubbish: bytes, at: int) -> None:
    """A damaged picture is read or rejected."""
    whole = picture("red", (30, 20))
    damaged = whole[:at] + rubbish + whole[at + len(rubbish) :]
    try:
        speed_index.pixels(damaged)
    except PictureError:
        return
