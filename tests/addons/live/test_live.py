"""A campaign under way: its document, on a terminal, and watched to the end of the run."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import stored_campaigns
from campaigns import Ending, campaign, timed
from httpbed.addons.live import status
from httpbed.base.errors import visible_lines
from httpbed.report import terminal as consoles
from httpbed.store import campaign as campaigns

HOSTILE = "\x1b[31m\u202e</script><svg onload=a>"
TRIALS = stored_campaigns.loaded().trials


def made(*, running: bool = True) -> dict[str, Any]:
    """Return the document of a campaign in which a program's words are hostile."""

    def ends(levels: dict[str, str], block: int) -> Ending | None:
        if block > 3:
            return None
        if levels["http_version"] == "3" and block == 1:
            return Ending({}, "failed", HOSTILE, invalid_first=[HOSTILE])
        return timed(1.0 + block / 50)

    return status.document(campaign(ends), "request_time", running=running)  # type: ignore[arg-type]


def printed(shown: Any, width: int = 100) -> str:
    out = consoles.console(io.StringIO())
    out.width = width
    consoles.show(out, [shown])
    return out.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_the_document_is_json_with_the_words_of_every_view() -> None:
    """Numbers for scripts, and the same numbers as text."""
    found = json.loads(json.dumps(made()))
    assert (found["progress"], found["state"]) == ("18 of 30 trials ended", "a run is in progress")
    assert found["counts"] == "16 completed, 2 failed; 2 invalid attempts kept aside"
    one = found["treatments"][0]
    assert (one["treatment"], one["median"], one["interval"]) == (
        "HTTP/1.1, loss 0 %",
        "1.04 s",
        "[1.02, 1.06]",
    )
    assert one["estimate"]["median"] == {"value": 1.04, "beyond": ""}
    assert (one["n"], one["completed"], one["planned"]) == (3, 3, 5)
    assert found["note"]
    assert not made(running=False)["note"]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_terminal_of_any_width_shows_all_of_it(width: int) -> None:
    """Every treatment, every reason, and nothing of a reason reaches the terminal as a command."""
    text = printed(status.whole(made(), 50), width)
    assert visible_lines(text) == text
    assert max(map(len, text.splitlines())) <= width
    joined = "".join(text.split())
    for words in ("curl,nginx:", r"\x1b[31m", r"\u202e", "1.04s", "[1.02,1.06]", "3/5"):
        assert words in joined
    assert joined.count("1.04s") == 4


def test_a_low_terminal_counts_the_treatments_that_have_no_row() -> None:
    """The heading and the reasons keep their place."""
    text = printed(status.whole(made(), 14))
    assert "16 completed, 2 failed" in text
    assert "and 3 more treatments" in text


def test_a_watch_ends_with_the_run(tmp_path: Path) -> None:
    """One document for each change, the last one after the run, and none without a change."""
    folder, found = tmp_path / "campaign", list[dict[str, Any]]()
    text, manifest = stored_campaigns.SMALL, stored_campaigns.manifest()
    waiting = list(TRIALS)
    opened = campaigns.opened(folder, text, TRIALS, manifest)
    campaign = opened.__enter__()
    slept = list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) % 3:  # some rests bring nothing new
            return
        if waiting:
            stored_campaigns.keep(campaign, stored_campaigns.record(waiting.pop(0)))
        else:
            opened.__exit__(None, None, None)

    found += status.documents(folder, sleep=sleep)
    assert [one["ended"] for one in found] == [*range(13), 12]
    assert [one["running"] for one in found] == [True] * 13 + [False]


def test_a_watch_without_a_run_is_one_document(tmp_path: Path) -> None:
    """It does not wait for a run."""
    made = stored_campaigns.make(tmp_path / "campaign", [stored_campaigns.record(TRIALS[0])])
    (only,) = status.documents(made.directory, sleep=pytest.fail)  # type: ignore[arg-type]
    assert (only["ended"], only["running"]) == (1, False)


def test_a_watch_rests_by_the_cpu_time_of_its_process(tmp_path: Path) -> None:
    """Each reading takes three seconds here, and each rest three hundred."""
    folder, clock = tmp_path / "campaign", [0.0]
    opened = campaigns.opened(folder, stored_campaigns.SMALL, TRIALS, stored_campaigns.manifest())
    opened.__enter__()
    slept = list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if sum(slept) >= 602:
            opened.__exit__(None, None, None)

    def cpu_s() -> float:
        clock[0] += 3.0
        return clock[0]

    assert len([*status.documents(folder, sleep=sleep, cpu_s=cpu_s)]) == 2
    assert sum(slept) == 602
