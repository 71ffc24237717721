"""A report of designs that are no full crossing of texts."""

from __future__ import annotations

import io

from campaigns import VERSIONS, campaign
from httpbed.analysis.findings import find
from httpbed.model.experiment import network_factors
from httpbed.report import html, levels, network, tables
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
    assert html.render(results, findings, [])
    printed = io.StringIO()
    tables.show(results, findings, None, tables.console(printed))
    assert "client <-> proxy: access slow | fast" in printed.getvalue()
    told = [levels.line(legend) for legend in levels.legends(results.document)]
    assert "rate 1 Mbit/s" in "".join(told)
    hosts = {host.name: host.roles for host in network.hosts(results.document)}
    assert hosts["client"] == ("client: curl-h2 | curl-h3",)
    assert "none or proxy: envoy" in hosts["proxy"][0]


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
    tables.show(results, findings, None, tables.console(printed))
    assert sum("5/5" in line for line in printed.getvalue().splitlines()) == 5


def test_a_delay_that_is_read_as_round_trip_is_not_called_one_way() -> None:
    """A condition says which reading it is."""
    text = VERSIONS.replace('delay = "25 ms"', 'delay = { factor = "delay" }\n'
                            'delay_reading = { factor = "reading" }')  # fmt: skip
    text = text.replace("[factors]", '[factors]\ndelay = ["25 ms"]\nreading = ["round-trip"]')
    results = campaign(lambda _levels, _block: 1.0, text)
    told = network.condition(results.document, {"delay": "25 ms", "reading": "round-trip"})
    assert told == "25 ms delay, round-trip"
