"""One page load, as lines, as JSON values and as figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl

from httpbed.addons.pages import loads
from httpbed.addons.pages.load import speed_index, timing
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.loads import PageTrial
from httpbed.addons.pages.report import screens, waterfall
from httpbed.addons.pages.report.screens import PhotoPlot
from httpbed.addons.pages.report.section import waterfall_of
from httpbed.base import units
from httpbed.report.one_trial import TrialPart, TrialView
from httpbed.report.phrasing import brief_duration, shortened, whole_treatment
from httpbed.report.svg import STYLE, Plot
from httpbed.results.attempts import AttemptRow
from httpbed.store.results import Results

MAX_FAILED = 5
MAX_TEXT = 200
"""Characters of a page's own words that are shown."""


def plots(trial: PageTrial) -> list[Plot]:
    """Draw its waterfall, and where it left pictures, its filmstrip and its visual progress."""
    name, load = f"trial-{trial.block}-{trial.trial}", trial.load
    if not load.requests:
        return []
    with mpl.rc_context(STYLE):
        drawn = [waterfall_of(load, f"{name}-waterfall", f"trial {trial.name}")]
        if load.frames:
            text = whole_treatment(trial.levels)
            texts = f"Filmstrip of trial {trial.name}."
            where = f"trial {trial.name}{screens.end(load)}"
            strip = screens.filmstrip({text: (load, where)})
            drawn.append(PhotoPlot(f"{name}-filmstrip", texts, texts, strip))
        if steps := loads.progress(load):
            texts = f"Visual progress of trial {trial.name}."
            curve = screens.progress({whole_treatment(trial.levels): [steps]})
            drawn.append(Plot(f"{name}-progress", texts, texts, curve))
    return drawn


def lines(trial: PageTrial) -> Iterator[tuple[str, str]]:
    """Yield the load's course in lines, each with its key."""
    load = trial.load
    yield "page", _cut(load.url) + (f", titled {_cut(load.title)!r}" if load.title else "")
    yield "load", _ended(load)
    yield "browser", _browser(load)
    yield "seen", ", ".join(_visual_progress(load)) or "no pictures"
    yield "times", ", ".join(_times(load)) or "none told"
    yield "requests", "; ".join(_requests(load)) or "none"
    failed = [request for request in load.requests if request.failed]
    for one in failed[:MAX_FAILED]:
        yield "failed", f"{_cut(one.url)}: {_cut(one.failed)}"
    if len(failed) > MAX_FAILED:
        yield "failed", f"and {len(failed) - MAX_FAILED} more"
    for kind, message in list(load.dialogs)[:MAX_FAILED]:
        yield "dialog", f"{_cut(kind)}: {_cut(message)}"
    for note in (*load.notes, *load.remarks):
        yield "note", _cut(note)


def values(trial: PageTrial) -> dict[str, Any]:
    """Return the same for :func:`json.dumps`, with every request's times and the progress."""
    load, steps = trial.load, loads.progress(trial.load)
    return {
        "page": {
            "url": load.url,
            "title": load.title,
            "ended": load.ended,
            "reason": load.reason,
            "visit": load.visit,
            "page_load_time_s": timing.page_load_time_s(load),
            "onload_s": load.onload_s,
            "first_contentful_paint_s": load.first_contentful_paint_s,
            "largest_contentful_paint_s": load.largest_contentful_paint_s,
            "speed_index_s": speed_index.speed_index(steps) if steps else None,
            "visual_progress": [[round(step.at_s, 6), step.complete] for step in steps],
            "dialogs": [list(dialog) for dialog in load.dialogs],
            "notes": [*load.notes, *load.remarks],
        },
        "requests": [_request(request) for request in load.requests],
    }


def _request(request: PageRequest) -> dict[str, Any]:
    return {
        "url": request.url,
        "http_version": request.http_version,
        "status": request.status,
        "failed": request.failed,
        "kind": request.kind,
        "connection": request.connection,
        "from_cache": request.from_cache,
        "wire_bytes": request.wire_bytes,
        "phases": [
            [p.kind, round(p.begin_s, 6), round(p.end_s, 6)] for p in waterfall.bars(request)
        ],
    }


def _ended(load: BrowserLoad) -> str:
    why = f" ({_cut(load.reason)})" if load.reason else ""
    return f"{load.visit}; ended: {load.ended}{why}"


def _browser(load: BrowserLoad) -> str:
    texts = [load.product or "unknown"]
    if load.browser_ready_s is not None:
        texts.append(f"ready after {brief_duration(load.browser_ready_s)}")
    if load.browser_cpu_s is not None:
        texts.append(f"{brief_duration(load.browser_cpu_s)} of CPU time")
    return ", ".join(texts)


def _visual_progress(load: BrowserLoad) -> Iterator[str]:
    if steps := loads.progress(load):
        seconds = speed_index.speed_index(steps)
        yield f"Speed Index {brief_duration(seconds)} ({speed_index.band(seconds)})"
    if load.frames:
        pictures = len({frame.file for frame in load.frames})
        yield f"{pictures} pictures{screens.end(load)}"


def _times(load: BrowserLoad) -> Iterator[str]:
    names = {"DOM": "document parsed"}
    for name, at_s in waterfall.milestones(load):
        yield f"{names.get(name, name)} {brief_duration(at_s)}"
    if (last := timing.page_load_time_s(load)) is not None:
        yield f"last byte {brief_duration(last)}"


def _requests(load: BrowserLoad) -> Iterator[str]:
    """Sum up what was fetched: by protocol, by kind, from caches."""
    network = load.on_network()
    size = units.format_size(timing.wire_bytes(load), units.SHORT_DIGITS)
    over = {request.connection for request in network if request.connection}
    yield f"{len(network)} over the network, {size} over {len(over)} connection(s)"
    yield _counted(waterfall.protocol(request) for request in network)
    yield _counted(request.kind.lower() or "other" for request in network)
    if cached := sum(request.from_cache for request in load.requests):
        yield f"{cached} from a cache"


def _counted(names: Iterator[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(names).most_common())


def _cut(text: str) -> str:
    return shortened(text, MAX_TEXT)


def _part(results: Results, row: AttemptRow) -> TrialPart | None:
    trial = loads.read(results, row)
    if trial is None:
        return None
    return TrialPart([*lines(trial)], values(trial), lambda: plots(trial), is_all=True)


TRIAL = TrialView("pages", 10, _part)
