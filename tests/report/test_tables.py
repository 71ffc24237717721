"""What stands in the terminal, letter by letter.

A goodput above the rate that stands beside it is never printed without a note.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import reports
from campaigns import VERSIONS, Ending, campaign, timed
from httpbed.base import addon
from httpbed.experiment.check import LATENESS, PRESSURE, PROTOCOL
from httpbed.report import notes
from httpbed.report.document import Column, SectionMaker, Table
from httpbed.report.terminal import console
from httpbed.report.terminal_report import GAP, fitted
from httpbed.results.findings import find
from httpbed.store.results import Results

TIMES = {("1.1", "0 %"): 0.98, ("2", "0 %"): 0.98, ("3", "0 %"): 0.95}
TIMES |= {("1.1", "2 %"): 1.9, ("2", "2 %"): 1.8, ("3", "2 %"): 1.4}
NOISE = (-0.08, 0.05, 0.0, 0.11, -0.03)
PROGRAMS = {"programs": [{"name": "nginx", "version": "1.30.6", "sha256": ""}]}
STEADY = """\
question   Does HTTP/3 fetch 1 MB faster than HTTP/2 when the link loses packets?
link       client <-> server: 10 Mbit/s, 25 ms, 0 % | 2 % loss, queue 1000 packets, in each
           direction
programs   nginx 1.30.6

                request time         paired ratio to H2          goodput
 loss  http  n  [93.75 %]            [93.75 %]                   of 10 Mbit/s  done
 0 %   1.1   5  0.98 s [0.97, 0.99]  1.00x (equal) [1.00, 1.00]  8.2            5/5
       2     5  0.98 s [0.97, 0.99]  base                        8.2            5/5
       3     5  0.95 s [0.94, 0.96]  0.97x [0.97, 0.97]          8.4            5/5
 2 %   1.1   5  1.90 s [1.75, 2.11]  1.12x (noise) [0.87, 1.15]  4.2            5/5
       2     5  1.80 s [1.66, 2.00]  base                        4.4            5/5
       3     5  1.40 s [1.29, 1.55]  0.78x [0.68, 0.89]          5.7            5/5

answer     At 0 % loss, HTTP/1.1 needed the same time as HTTP/2, to within 1 %.
answer     At 0 % loss, HTTP/3 needed 0.97x the time of HTTP/2.
answer     At 2 % loss, HTTP/1.1 needed 1.12x the time of HTTP/2, which is within noise.
answer     At 2 % loss, HTTP/3 needed 0.78x the time of HTTP/2.
evidence   30 trials valid, all 3 checks passed; no link certificate: httpbed doctor calibrate
note       1 comparison is within noise; with fewer than 6 blocks an interval runs from the smallest
           to the largest value and covers 93.75 %, not 95 %, which replicates = 6 reaches; about 6
           replicates would settle it
"""


def steady(levels: Mapping[str, str], block: int) -> float:
    """End as on a good day: each version its own noise, more where packets are lost."""
    lossy = levels["loss"] != "0 %"
    shift = {"1.1": 2, "2": 0, "3": 1}[levels["http_version"]] if lossy else 0
    noise = NOISE[(block + shift) % 5] * (1 if lossy else 0.1)
    return TIMES[levels["http_version"], levels["loss"]] * (1 + noise)


def shown(
    results: Results, path: Path | None = None, width: int = 100, metric: str | None = None
) -> str:
    stream = io.StringIO()
    out = console(stream)
    out.width = width
    reports.show(results, find(results, metric), path, out)
    return stream.getvalue()


def test_the_table_of_a_good_day() -> None:
    """Dense, aligned, and without blanks at the ends of lines."""
    assert shown(campaign(steady, manifest=PROGRAMS)) == STEADY


def test_the_path_of_the_report_is_the_last_line_and_never_wrapped() -> None:
    """However long it is."""
    path = Path("/" + "long-folder-name/" * 9) / "report.html"
    assert shown(campaign(steady), path).endswith(f"report     {path}\n")


def test_a_median_past_the_limit_is_printed_as_such() -> None:
    """A note gives the number of trials that timed out."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        if levels["http_version"] == "3" and levels["loss"] == "2 %" and block > 2:
            return Ending({}, "timed out", "still busy")
        return timed(steady(levels, block))

    text = " ".join(shown(campaign(ends)).split())
    assert re.search(r" 3 5 > 600 s \[1\.\d\d, > 600\] > [\d.]+x .* 2/5 ", text)
    assert (
        "HTTP/3 at 2 % loss: 3 of 5 timed out (ranked as longer than 600 s, left out of the mean)"
        in text
    )


def test_each_goodput_has_its_own_ceiling_where_they_differ() -> None:
    """With the unit in the cell."""
    text = VERSIONS.replace('rate = "10 Mbit/s"', 'rate = { factor = "slow" }').replace(
        "[factors]", '[factors]\nslow = ["50 kbit/s", "2 Gbit/s"]'
    )
    times = {"50 kbit/s": 200.0, "2 Gbit/s": 0.008}
    words = shown(campaign(lambda levels, _: times[levels["slow"]], text), width=140)
    assert " 40.0 of 50 kbit/s " in words
    assert " 1.0 of 2 Gbit/s " in words


@pytest.mark.parametrize("width", [100, 80, 60])
def test_an_interval_stays_with_its_value_at_every_width(width: int) -> None:
    """Of what does not fit, only the goodput is left out, and a line names it."""
    text = shown(campaign(steady), width=width)
    table = text.split("\n\n")[1]
    words = " ".join(table.split())
    assert max(map(len, table.splitlines())) <= width
    assert words.count("[1.29, 1.55]") == words.count("[0.68, 0.89]") == 1
    assert words.count("5/5") == 6
    left_out = "goodput of 10 Mbit/s left out" in " ".join(text.split())
    assert left_out == ("goodput" not in table) == (width == 60)


def test_no_level_is_broken_within_a_word() -> None:
    """The levels of all factors share a column before a word would be broken."""
    long = ["every-second-or-so", "every-third-or-so"]
    versions = '["1.1", "2", "3"]'
    text = VERSIONS.replace(
        f"http_version = {versions}", f"http_version = {versions}\nkind = {long}"
    )
    table = shown(campaign(steady, text), width=64).split("\n\n")[1]
    assert all(table.count(word) for word in long)
    assert max(map(len, table.splitlines())) <= 64
    assert re.search(r"loss, \w+, \w+ +n ", table)


def test_a_word_is_whole_wherever_all_words_have_room() -> None:
    """Columns whose cells may be broken between words do not take the room of a name."""
    names, pages = ["aioquic-cubic-h3", "nginx-h1"], ["zhang-13-files"] * 2
    columns = (
        Column.of("page", pages, wraps=True, is_name=True),
        Column.of("stack", names, wraps=True),
        Column.of("loads by band", ["1 fast, 2 slow, 1 moderate"] * 2, wraps=True),
    )
    words = {*pages, *names, "moderate"}
    least = sum(map(len, ("zhang-13-files", "aioquic-cubic-h3", "moderate"))) + 3 * GAP
    for width in (least, least + 5, least + 40):
        out = console(stream := io.StringIO())
        out.width = width
        out.print(fitted(Table("", "", columns), width)[0])
        assert words <= {*stream.getvalue().split()}
        assert max(map(len, stream.getvalue().splitlines())) <= width


def test_few_blocks_settle_nothing_by_rule() -> None:
    """Four blocks are not called noise, and one note is about the number of blocks."""
    text = shown(campaign(steady, VERSIONS.replace("replicates = 5", "replicates = 4")))
    assert "(n < 5)" in text
    assert "noise" not in text
    notes = " ".join(text.split()).split(" note ")[1:]
    assert len([note for note in notes if "blocks" in note]) == 1
    assert "all 4 comparisons are not settled: n = 4, and fewer than 5 blocks" in notes[0]


def test_in_virtual_time_nothing_is_noise() -> None:
    """The machine adds none: the blocks' draws differ, in the table, the note and the answer."""
    text = shown(campaign(steady, manifest={"clock": "virtual"}))
    assert "(open)" in text
    assert "1 comparison is not settled: the blocks differ too much" in " ".join(text.split())
    assert "noise" not in text


def test_trials_left_invalid_have_a_reason_and_a_remedy() -> None:
    """The commonest reason."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        if block == 1:
            late = levels["http_version"] != "3"
            return Ending({}, "invalid", "emulator lateness: p99 3 ms" if late else "clock stepped")
        return timed(steady(levels, block))

    text = " ".join(shown(campaign(ends)).split())
    assert (
        "6 trials without a valid attempt, because the bed failed each time (6 by emulator"
        " lateness). They rank as worst, and settle no comparison. The same command tries again; a"
        " quiet machine, fewer --jobs or a lower rate can help. --clock virtual, in another folder"
        " (-o), is not disturbed by other programs. The validity section"
    ) in text


def test_what_a_time_out_means_depends_on_the_metric() -> None:
    """A handshake is over before; an overhead is of a whole transfer."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        del levels
        seen = {"rtt": 0.05, "wire_overhead": 0.04}
        return Ending(seen, "timed out" if block == 1 else "completed")

    results = campaign(ends)
    text = " ".join(shown(results, metric="rtt").split())
    assert "treatments (RTT ended before the limit and counts where observed)" in text
    text = " ".join(shown(results, metric="wire_overhead").split())
    assert "treatments (left out: wire overhead needs trials that complete)" in text


def test_failures_are_reported_with_their_reason() -> None:
    """One note names every treatment and gives the commonest reason."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        if levels["http_version"] == "3" and block == 1:
            return Ending({}, "failed", "body as served: 12 bytes")
        return timed(steady(levels, block))

    text = " ".join(shown(campaign(ends)).split())
    places = "HTTP/3 at 0 % loss: 1 of 5 failed; HTTP/3 at 2 % loss: 1 of 5 failed"
    assert f"{places}: body as served: 12 bytes" in text


def test_a_campaign_without_a_trial_is_shown() -> None:
    """It has a table of dashes."""
    text = shown(campaign(lambda *_: None))
    assert "0 of 30 trials have run so far" in text
    assert "0/5" in text


def test_nothing_from_a_file_is_read_as_markup() -> None:
    """Square brackets stay."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        del levels, block
        return Ending({}, "failed", "[bold]exit[/bold] :smile:")

    assert "[bold]exit[/bold] :smile:" in shown(campaign(ends))


def test_no_colour_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """No escape sequence; on request there is."""
    assert "\x1b" not in shown(campaign(steady))
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" in shown(campaign(steady))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in shown(campaign(steady))


def test_the_heading_of_unequal_samples_names_the_least_coverage() -> None:
    """Two values cover 50 %, five 93.75 %."""
    few = {"http_version": "3", "loss": "2 %"}
    text = shown(
        campaign(
            lambda levels, block: None if levels == few and block > 2 else steady(levels, block)
        )
    )
    assert text.count("[at least 50 %]") == 2
    assert "95 % " not in text.split("\n\n")[1]


def test_a_goodput_stands_beside_the_highest_rate_of_a_link_that_changes() -> None:
    """The table marks the rate as the highest."""
    change = 'delay = "25 ms"\nschedule = [{ at = "300 ms", rate = "1 Mbit/s" }]'
    text = shown(campaign(steady, VERSIONS.replace('delay = "25 ms"', change)), width=120)
    assert "of at most 10 Mbit/s" in text


ABOVE = "goodput above"


def noted(rate: str, seconds: float) -> list[str]:
    """Return the notes on rates of a campaign in which 1 MB takes so long at a rate."""
    results = campaign(lambda *_: seconds, VERSIONS.replace('"10 Mbit/s"', rate))
    found = reports.notes(results, find(results))
    return [one for one in found if "burst" in one or "goodput of" in one or ABOVE in one]


def bucket(burst: str) -> str:
    """Write a token bucket of 10 Mbit/s."""
    return f'{{ bucket = "10 Mbit/s", burst = "{burst}" }}'


def test_a_transfer_that_the_time_limit_ended_has_no_goodput_above_the_rate() -> None:
    """Its size divided by the limit is only a bound: at 1 kbit/s, 1 MB in 600 s is above it."""
    results = campaign(
        lambda *_: Ending({}, "timed out"), VERSIONS.replace('"10 Mbit/s"', '"1 kbit/s"')
    )
    assert not [note for note in reports.notes(results, find(results)) if ABOVE in note]


@pytest.mark.parametrize("seconds", [0.07, 2.0])
def test_a_bucket_that_holds_a_whole_transfer_is_noted_once(seconds: float) -> None:
    """Of six treatments, and also where something else was slower than the rate."""
    (note,) = noted(bucket("1.25 MB"), seconds)
    assert note == (
        "client-server from server: the bucket of 1.25 MB holds the whole transfer of 1 MB, so the"
        " rate of 10 Mbit/s never limits it; set burst to far less than 1 MB"
    )


def test_a_bucket_that_holds_much_is_noted_at_its_goodput() -> None:
    """One note names two treatments and counts the others."""
    (note,) = noted(bucket("900 kB"), 0.1)
    assert "and 4 more treatments with a goodput above the rate: goodput of 80 Mbit/s" in note
    assert note.endswith(
        "goodput of 80 Mbit/s at 10 Mbit/s, because the bucket of 900 kB passes that much of 1 MB"
        " at line speed; lower burst, or fetch more"
    )
    assert noted(bucket("900 kB"), 1.0) == []


def test_a_rate_that_varies_is_a_mean() -> None:
    """A short transfer may meet its fast part."""
    first, *_ = noted('{ cellular = { mean = "10 Mbit/s" } }', 0.5)
    assert "goodput of 16 Mbit/s at 10 Mbit/s, which is the mean of a rate that varies" in first


def evidence_line(results: Results) -> str:
    """Return the line of evidence, unwrapped."""
    text = " ".join(shown(results).split())
    return text.split(" evidence ")[1].split(" note ")[0]


def test_evidence_is_one_short_line_when_all_is_well() -> None:
    """It counts trials, repeated trials and checks, and names no check."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        again = levels["http_version"] == "3" and block == 2
        return replace(timed(steady(levels, block)), invalid_first=["late"] * 2 * again)

    line = evidence_line(campaign(ends))
    assert re.findall(r"\d+", line) == ["30", "2", "3"]
    assert "lateness" not in line


def test_a_failed_check_is_named_in_the_evidence() -> None:
    """With the number of trials; checks that were never observed do not count as passed."""
    results = campaign(steady)
    rows = results.checks.to_pylist()
    for row in rows:
        if row["check"] == PROTOCOL.id:
            row["passed"] = row["block"] != 1
        elif row["check"] == LATENESS.id:
            row["passed"] = None
    checks = pa.Table.from_pylist(rows, schema=results.checks.schema)
    line = evidence_line(replace(results, checks=checks))
    assert "protocol used (6 of 30)" in line
    assert re.findall(r"\d+", line) == ["30", "6", "30", "1"]
    assert line.index(LATENESS.title(item="")) > line.index("protocol used")


@pytest.mark.parametrize(("clock", "is_named"), [("real", True), ("virtual", False)])
def test_a_wait_for_a_cpu_is_not_missed_in_virtual_time(clock: str, is_named: bool) -> None:
    """Guests have no CPU pressure to observe; what they observe of such checks still counts."""
    results = campaign(steady)
    rows = results.checks.to_pylist()
    rows += [{**row, "check": PRESSURE.id, "name": "CPU pressure", "passed": None} for row in rows]
    checks = pa.Table.from_pylist(rows, schema=results.checks.schema)
    manifest = {**results.manifest, "clock": clock}
    line = evidence_line(replace(results, checks=checks, manifest=manifest))
    assert (PRESSURE.title(item="") in line) == is_named
    assert re.findall(r"\d+", line)[:2] == ["30", "3"]


def test_two_blocks_forecast_nothing() -> None:
    """Their spread says nothing on how many blocks would settle a comparison."""
    text = shown(campaign(steady, VERSIONS.replace("replicates = 5", "replicates = 2")))
    assert "settle it" not in text
    assert "would settle" not in text


@pytest.mark.parametrize(
    ("replicates", "missing", "promised"), [(5, False, True), (5, True, False), (6, True, False)]
)
def test_replicates_are_promised_only_where_they_suffice(
    replicates: int, missing: bool, promised: bool
) -> None:
    """Not where a treatment lacks values in blocks that ran, and not if they were asked for."""

    def ends(levels: Mapping[str, str], block: int) -> Ending | float:
        lost = missing and levels["http_version"] == "3" and block > 3
        return Ending({}, "failed", "refused") if lost else steady(levels, block)

    text = shown(campaign(ends, VERSIONS.replace("replicates = 5", f"replicates = {replicates}")))
    assert ("replicates = 6" in text) == promised


def test_sections_that_need_a_deleted_addon_are_named_as_unread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one note, with the addon that provides them."""
    name = "sections of a test"  # a seam of the core's name would have the core's answers
    needing = addon.Addon(provides={name: ("httpbed.addons.gone.report:SECTION",)})
    installed = {**addon.addons(), "films": needing}
    monkeypatch.setattr(addon, "addons", lambda: installed)
    seam = addon.Seam(name, SectionMaker)
    assert "films" not in {maker.name for maker in seam.provided()}
    monkeypatch.setattr(notes, "SECTIONS", seam)
    (unread,) = [one for one in noted_of(campaign(steady)) if one.startswith("unread")]
    assert f"the {name} of films" in unread


def noted_of(results: Results) -> list[str]:
    """Return the notes of a report."""
    return reports.notes(results, find(results))
