"""Parsing an experiment: every mistake at once, each where the author can correct it.

``tests/cli/mistakes`` has those of users' first hours, with their whole messages.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toml_documents
from httpbed.experiment import parser
from httpbed.experiment.document import factor_references, network_factors, scenario_document
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.scenario import Scenario
from recorded import DEMO, FOLDER

ROOT = FOLDER.parents[1]
EXAMPLES = sorted((ROOT / "experiments").rglob("*.toml"))
SHIPPED = [ROOT / "src/httpbed/cli/demo.toml", *EXAMPLES]


def mistakes_by_place(text: str) -> dict[str, str]:
    """Return the mistakes in an experiment's text: place -> reason."""
    return {mistake.place: mistake.reason for mistake in parser.read(text).mistakes}


def with_line(old: str, new: str) -> str:
    assert old in DEMO
    return DEMO.replace(old, new, 1)


@pytest.mark.parametrize("text", [path.read_text() for path in SHIPPED], ids=map(str, SHIPPED))
def test_shipped_experiments_are_valid_for_parser_and_schema(text: str) -> None:
    """Editors validate against the published schema."""
    read = parser.read(text)
    assert read.mistakes == ()
    assert read.treatments
    assert toml_documents.schema_errors(read.document) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('rate = "10 Mbit/s"', "rate = 10"),
        ('delay = "25 ms"', 'dealy = "25 ms"'),
        ('kind = "download"', 'kind = "copy"'),
        ("schema = 1", "schema = 2"),
        ('loss = ["0 %", "2 %"]', "loss = [0, 2]"),
        ('implementation = "nginx"', ""),
        ("replicates = 5", "replicates = 0"),
        ('{ factor = "loss" }', '{ factors = "loss" }'),
    ],
)
def test_the_schema_rejects_what_the_parser_rejects(old: str, new: str) -> None:
    """An editor with the schema shows such a mistake while the user types."""
    text = with_line(old, new)
    assert parser.read(text).mistakes
    assert toml_documents.schema_errors(parser.read(text).document)


@pytest.mark.parametrize(
    ("old", "new", "place", "reason"),
    [
        ("replicates = 5", "replicates = inf", "replicates", "number"),
        ("replicates = 5", "replicates = true", "replicates", "number"),
        ("seed = 20261121", "seed = 1\nclaim = true", "claim", "not true"),
        ("seed = 20261121", "seed = nan", "seed", "number"),
        ("seed = 20261121", 'seed = 1\ntime_limit = "0 s"', "time_limit", "must be more than 0"),
        ("seed = 20261121", 'seed = 1\ntime_limit = "99999 h"', "time_limit", " s or less"),
        ('"25 ms"', '"2 min"', "topology.links[0].delay", "60"),
        ('"1000 packets"', '"0 packets"', "topology.links[0].queue.limit", "holds no packet"),
        (
            'implementation = "nginx"',
            'implementation = "nginx"\ntcp_initial_window = true',
            "roles.server.tcp_initial_window",
            "must be a whole number",
        ),
        ('size = "1 MB"', 'size = "1 TB"', "workload.size", "unknown unit"),
        ('size = "1 MB"', 'size = "100 GB"', "workload.size", "10 GB"),
        ('metric = "request_time"', 'rows = "los"', "report.rows[0]", "unknown factor 'los'"),
        (
            'metric = "request_time"',
            'rows = ["loss"]\npages = ["loss"]',
            "report.pages[0]",
            "'loss' is also in report.rows[0]",
        ),
    ],
)
def test_each_mistake_is_reported_at_its_place(old: str, new: str, place: str, reason: str) -> None:
    """If a factor provides the value, the place is the factor's level, else the key."""
    mistakes = mistakes_by_place(with_line(old, new))
    assert place in mistakes
    assert reason in mistakes[place]


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("replicate", "did you mean 'replicates'?"),
        ("bogus", "delete it"),
        ("a", "delete it"),
    ],
)
def test_a_known_key_is_proposed_only_if_it_is_similar(key: str, remedy: str) -> None:
    """A key with a letter too many or too few, but no other word."""
    mistakes = parser.read(with_line("seed = 20261121", f"seed = 1\n{key} = 1")).mistakes
    assert [mistake.remedy for mistake in mistakes if mistake.place == key] == [remedy]


@pytest.mark.parametrize("level", ["[bold]2[/] %", "2\n%0", "\x1b[31m2 %", "2 %" * 1000, "{loss}"])
def test_a_hostile_level_is_quoted_on_one_line(level: str) -> None:
    """Markup and control characters of a file do not reach the terminal."""
    mistakes = mistakes_by_place(with_line('"2 %"]', f"{json.dumps(level)}]"))
    assert "factors.loss[1]" in mistakes
    assert all(text.isprintable() for text in mistakes.values())


@pytest.mark.parametrize("key", ["a\nb", "\x1b[31m", "a.b", "[bold]"])
def test_a_hostile_key_is_quoted_on_one_line(key: str) -> None:
    """This holds for a key in any table."""
    for table in ("[factors]", "[workload]", "[roles.server]"):
        text = with_line(table, f"{table}\n{json.dumps(key)} = [[1]]")
        mistakes = parser.read(text).mistakes
        assert mistakes
        assert all(str(mistake).isprintable() for mistake in mistakes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "schema",
        "\x00",
        "schema = 1\nschema = 1",
        "seed = " + "9" * 5000,
        "a = " + "[" * 100_000,
        "a = " + "{a=" * 100_000,
        ".".join("a" * 4000) + " = 1",
        "topology." + ".".join("a" * 3000) + " = 1",
        "[factors]\nloss = " + "[" * 200 + "]" * 200,
        "factors = 3\ntopology = 3\nroles = 3\nworkload = 3\nreport = 3",
        "factors = []\ntopology = []\nroles = []\nworkload = []\nreport = []",
        "[[factors]]\n[[topology]]\n[[roles]]\n[[workload]]\n[[report]]",
        "topology = { factor = 'x' }\nroles = { factor = 'x' }\n[factors]\nx = ['1']",
        "[factors]\n" + "\n".join(f"f{n} = ['1', '2', '3']" for n in range(40)),
        "seed = 1979-05-27T07:32:00Z\nreplicates = 1e400",
    ],
    ids=lambda text: repr(text[:25]),
)
def test_malformed_files_are_rejected_with_mistakes(text: str) -> None:
    """No file causes a traceback."""
    assert parser.read(text).mistakes


toml_values = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["factor", "hosts", "links", "client", "size"]), inner)
    ),
    max_leaves=8,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(toml_documents.PARTS, toml_values)))
def test_documents_of_any_shape_are_rejected_with_mistakes(document: dict[str, Any]) -> None:
    """No check relies on another check having passed."""
    assert parser.read(toml_documents.as_toml(document)).mistakes


def test_the_condition_consists_of_the_factors_of_the_topology() -> None:
    """The report groups by loss, not by HTTP version."""
    document = parser.read(DEMO).document
    assert network_factors(document) == ("loss",)
    assert {name for _, name in factor_references(document)} == {"http_version", "loss"}


def test_the_time_limit_is_twenty_ideal_times_but_at_least_ten_minutes() -> None:
    """``time_limit`` overrides it."""

    def limit(size: str, line: str = "") -> float:
        read = parser.read(with_line('1 MB"', f'{size}"').replace("seed =", f"{line}\nseed =", 1))
        assert isinstance(read.experiment, Experiment)
        document = scenario_document(read.document, read.treatments[0])
        return read.experiment.time_limit_s(Scenario.model_validate(document))

    assert limit("1 MB") == 600
    assert limit("100 MB") == pytest.approx(20 * 80)
    assert limit("100 MB", 'time_limit = "90 s"') == 90


def test_a_mistake_in_the_header_does_not_hide_one_in_the_base() -> None:
    """The base is read from the document, whatever else is wrong."""
    text = """
        schema = 1
        name = "x"
        replicates = 0
        [factors]
        loss = ["0 %"]
        [report]
        metric = "foo"
        base = { loss = "9 %", colour = "red" }
        """
    places = {mistake.place for mistake in parser.read(text).mistakes}
    assert {"report.metric", "report.base.loss", "report.base.colour", "replicates"} <= places


def test_nothing_follows_from_a_factor_with_a_mistake() -> None:
    """Groups, figures, claims and the report name it rightly; only its own levels are wrong."""
    groups = '[[groups]]\nname = "g"\nlevels = { http_version = ["2"] }\n'
    figure = (
        '[[figure]]\nid = "f"\ntitle = "F"\nkind = "bars"\nmetric = "request_time"\n'
        'x = "http_version"\n'
    )
    text = DEMO.replace('["1.1", "2", "3"]', "[1, 2]") + groups + figure
    assert [mistake.place for mistake in parser.read(text).mistakes] == [
        "factors.http_version[0]",
        "factors.http_version[1]",
    ]


@pytest.mark.parametrize(
    ("text", "table", "column"),
    [("a = { x = 1 }\na.y = 2\n", "[a]", 8), ("[a.b]\n[a.b]\n", "[a.b]", 5)],
)
def test_a_table_that_is_given_twice_is_named(text: str, table: str, column: int) -> None:
    """The parser of the standard library has other words for each form of it."""
    (mistake,) = parser.read(text).mistakes
    where = f"(at line 2, column {column}): {text.splitlines()[1]}"
    words = f"{table} is given twice; write its keys in one place"
    assert mistake.reason == f"is not valid TOML: {words} {where}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = [1,\n", "a list or a table in braces is not closed"),
        ('a = """\n', "a text has no closing quotes"),
        ("a = 'b\n", "a text has no closing quote"),
        ("\ufeffa = 1\n", "it begins with a byte order mark; save it as UTF-8 without one"),
    ],
)
def test_a_mistake_without_a_line_is_named(text: str, words: str) -> None:
    """The parser finds it at the end of the file, or in a character that is not shown."""
    (mistake,) = parser.read(text).mistakes
    assert mistake.reason == f"is not valid TOML: {words}"


def test_a_long_line_is_cut() -> None:
    """A file of JSON is one line."""
    (mistake,) = parser.read("{" * 5000).mistakes
    assert mistake.reason.endswith(" ...")
    assert len(mistake.reason) < 200


def test_a_campaigns_workload_may_have_a_key_that_was_taken_out() -> None:
    text = (ROOT / "experiments/zhang2023/losses.toml").read_text()
    earlier = text.replace('kind = "page"', 'kind = "page"\ncpu_slowdown = 4')
    assert any("cpu_slowdown" in mistake.place for mistake in parser.read(earlier).mistakes)
    assert not parser.read_stored(earlier).mistakes
