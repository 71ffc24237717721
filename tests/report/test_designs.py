"""A report of designs that are no full crossing of texts."""

from __future__ import annotations

import io
from collections.abc import Mapping

import reports
from campaigns import VERSIONS, Ending, campaign
from httpbed.experiment.document import network_factors
from httpbed.report import experiment_words, terminal
from httpbed.results.findings import find
from nested import NESTED

GROUPED = (
    VERSIONS
    + """
[[groups]]
name = "clean"
levels = { loss = ["0 %"] }

[[groups]]
name = "lossy"
levels = { loss = ["2 %"], http_version = ["1.1", "3"] }
"""
)


def test_levels_that_are_tables_are_explained() -> None:
    """Table, page and drawing have them, whatever a factor stands for: a link, or all roles."""
    results = campaign(lambda _levels, _block: 1.0, NESTED)
    findings = find(results)
    assert network_factors(results.document) == ("access", "delay")
    assert len(findings.conditions) == 4
    assert reports.page(results, findings)
    printed = io.StringIO()
    reports.show(results, findings, None, terminal.console(printed))
    assert "client <-> proxy: access slow | fast" in printed.getvalue()
    texts = [experiment_words.line(one) for one in experiment_words.legends(results.document)]
    assert "rate 1 Mbit/s" in "".join(texts)
    assert dict(experiment_words.roles(results.document)) == {"roles": "direct | envoy"}


def test_where_no_group_has_the_base_nothing_is_compared() -> None:
    """HTTP/2 is not run at 2 % loss: the others are told as they are, without a ratio."""
    findings = find(campaign(lambda _levels, _block: 1.0, GROUPED))
    rows = {(row.levels["loss"], row.levels["http_version"]): row for _, row in findings.rows()}
    assert len(rows) == 5
    assert rows["0 %", "3"].ratio is not None
    assert rows["2 %", "3"].ratio is None
    assert not rows["2 %", "3"].is_base
    printed = io.StringIO()
    results = campaign(lambda _levels, _block: 1.0, GROUPED)
    reports.show(results, findings, None, terminal.console(printed))
    assert sum("5/5" in line for line in printed.getvalue().splitlines()) == 5


def test_a_delay_that_is_read_as_round_trip_is_not_called_one_way() -> None:
    """A condition says which reading it is."""
    text = VERSIONS.replace('delay = "25 ms"', 'delay = { factor = "delay" }\n'
                            'delay_reading = { factor = "reading" }')  # fmt: skip
    text = text.replace("[factors]", '[factors]\ndelay = ["25 ms"]\nreading = ["round-trip"]')
    results = campaign(lambda _levels, _block: 1.0, text)
    texts = experiment_words.condition(
        results.document, {"delay": "25 ms", "reading": "round-trip"}
    )
    assert texts == "25 ms delay, round-trip"


def test_a_left_out_base_is_reported_and_another_one_is_chosen() -> None:
    """The first is excluded in a condition: what is there in all of them becomes the base."""
    text = (
        VERSIONS.replace('http_version = ["1.1", "2", "3"]', 'cc = ["bbr", "cubic"]')
        .replace('http_version = { factor = "http_version" }', 'http_version = "2"')
        .replace(
            'implementation = "nginx"',
            'implementation = "nginx"\ncongestion_control = { factor = "cc" }',
        )
        + """
[[exclude]]
levels = { cc = ["bbr"], loss = ["0 %"] }
reason = "known\\u001b[31m"
"""
    )
    results = campaign(lambda _levels, _block: 1.0, text)
    findings = find(results)
    assert findings.base == {"cc": "cubic"}
    assert sum(row.ratio is not None for _, row in findings.rows()) == 1
    printed = io.StringIO()
    reports.show(results, findings, None, terminal.console(printed))
    assert "left out   cc bbr, loss 0 %: known\\x1b[31m" in printed.getvalue()
    page = reports.page(results, findings)
    assert "known\\x1b[31m" in page
    assert "\x1b" not in page
    lacking = reports.notes(results, find(results, base={"cc": "bbr"}))
    assert any(words.startswith("cubic at 0 % loss is compared with nothing") for words in lacking)


COMPETING = """
[[competitors]]
client = { implementation = "curl", http_version = "1.1", host = "other" }
server = { implementation = "nginx", congestion_control = "bbr", host = "another" }
workload = { kind = "download", size = "2 MB" }
after = "100 ms"
"""


def test_competitors_are_listed_with_the_client_s_share() -> None:
    """Who, where, what and when, and both figures, beside any metric."""
    shared = {"request_time": 1.0, "share": 0.4, "jain_index": 0.7116}

    def ends(levels: Mapping[str, str], _block: int) -> Ending:
        return Ending(shared if levels["loss"] == "0 %" else {"request_time": 1.0})

    hosts = '"client", "server"'
    text = VERSIONS.replace(f"hosts = [{hosts}]", f'hosts = [{hosts}, "other", "another"]')
    link = '[[topology.links]]\nbetween = ["other", "another"]\n'
    text = text.replace("[roles.client]", f"{link}\n[roles.client]") + COMPETING
    results = campaign(ends, text)
    findings = find(results)
    printed = io.StringIO()
    reports.show(results, findings, None, terminal.console(printed))
    texts = " ".join(printed.getvalue().split())
    assert "competes client (curl, HTTP/1.1, host other), server" in texts
    assert "workload (kind download, size 2 MB), after 100 ms" in texts
    assert "40.00 % 0.712" in texts
    assert "HTTP/3 at 2 % loss on client-server: nothing was shared" in texts
    assert "Jain&#39;s index" in reports.page(results, findings)
