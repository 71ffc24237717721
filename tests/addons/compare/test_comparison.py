"""`httpbed compare`: from a line to an experiment that loads, and back from its mistakes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from command_line import Command
from httpbed.addons.compare import comparison
from httpbed.addons.compare.comparison import Comparison
from httpbed.addons.compare.options import CommandLine
from httpbed.addons.pages.page import PageLoad
from httpbed.base.errors import ConfigError
from httpbed.experiment.document import scenario_document
from httpbed.experiment.scenario import Scenario
from httpbed.programs import catalog as catalogs

CATALOG = catalogs.load()


def compare(*clients: str, knobs: tuple[str, ...] = (), **said: str) -> Comparison:
    """Ask for a comparison; options with underscores."""
    options = {name.replace("_", "-"): value for name, value in said.items()}
    replicates, seed = options.pop("replicates", "2"), options.pop("seed", "1")
    return comparison.comparison(CommandLine(clients, options, knobs, replicates, seed), CATALOG)


def mistakes_of(*clients: str, knobs: tuple[str, ...] = (), **said: str) -> list[tuple[str, str]]:
    with pytest.raises(ConfigError) as caught:
        compare(*clients, knobs=knobs, **said)
    return [(mistake.place, mistake.reason) for mistake in caught.value.mistakes]


def treatments(made: Comparison) -> list[dict[str, str]]:
    return [*made.loaded.experiment.treatments()]


def test_a_line_with_more_blocks_names_the_same_experiment() -> None:
    """So it extends the campaign instead of asking for another folder."""
    few, many, other = (
        compare("curl:h2", replicates=number, seed=seed).loaded.experiment.name
        for number, seed in (("2", "1"), ("47", "1"), ("2", "5"))
    )
    assert few == many != other


def test_a_line_takes_the_name_of_the_comparison_in_its_folder(
    httpbed: Command, tmp_path: Path
) -> None:
    """Then only what really differs keeps it from extending that campaign."""
    (tmp_path / "experiment.toml").write_text('name = "compare-abc123"')
    _, out, _ = httpbed("compare", "curl:h2", "--loss", "1%", "-o", tmp_path, "--dry-run")
    assert tomllib.loads(out)["name"] == "compare-abc123"
    (tmp_path / "experiment.toml").write_text('name = "mine"')
    _, out, _ = httpbed("compare", "curl:h2", "--loss", "1%", "-o", tmp_path, "--dry-run")
    assert tomllib.loads(out)["name"] not in {"mine", "compare-abc123"}


def test_the_line_of_the_manual() -> None:
    """Three clients, two ways, two controls, two losses: a sender without a choice runs once."""
    made = compare(
        *("curl:h2", "curl:h3", "quiche:h3"),
        server="nginx",
        proxy="none,envoy",
        cc="cubic,bbr",
        rate="10mbit",
        delay="50ms",
        loss="0%,4%",
        size="1MB",
        replicates="10",
    )
    found = treatments(made)
    assert len(found) == (2 * 2 + 2 * (1 + 2)) * 2
    assert len(made.loaded.trials) == 10 * len(found)
    once = [one for one in found if one["congestion_control"] == "fixed"]
    assert {(one["client"], one["proxy"]) for one in once} == {
        ("curl:h3", "none"),
        ("quiche:h3", "none"),
    }
    assert len(made.skipped) == 2
    why = ", because the congestion control of "
    assert all(why in line and ":" not in line.split(why)[1] for line in made.skipped)
    assert all(f"# Not run: {line}\n" in made.loaded.text for line in made.skipped)


def test_an_option_with_one_value_is_no_factor() -> None:
    """The smallest comparison is one treatment on one link."""
    made = compare("curl:h3", size="10kB", loss="4%", delay="50ms", ip="6", queue="1bdp")
    assert treatments(made) == [{}]
    (scenario,) = made.loaded.scenarios()
    assert [link.between for link in scenario.topology.links] == [("client", "server")]
    assert (scenario.workload.body_bytes(), scenario.link.loss, scenario.link.delay) == (
        10**4,
        0.04,
        0.05,
    )
    assert scenario.topology.ip_version == "6"


def test_every_option_may_be_varied() -> None:
    """Each becomes a factor, and all are crossed."""
    made = compare(
        *("curl:h2", "curl:h3"),
        knobs=("server.http3_stream_buffer_size=64k,1m",),
        server="nginx,nginx-1.26",
        rate="1mbit,10mbit",
        delay="0ms,25ms",
        delay_reading="one-way,round-trip",
        loss="0%,1%",
        queue="1bdp,100packets",
        ip="4,6",
        size="0B,1MB",
        files="1,2",
    )
    assert len(treatments(made)) == 2**11


def test_two_servers_a_proxy_that_asks_over_http_2_and_the_clients_own_knob() -> None:
    """What is said of a role reaches every program that has it."""
    made = compare("h2load:h2", knobs=("client.window_bits=16,20",), proxy="envoy:h2",
                 server="nginx,nginx-1.26", cc="bbr")  # fmt: skip
    levels = {"server": "nginx-1.26", "window_bits": "20"}
    said = Scenario.model_validate(scenario_document(made.loaded.document, levels))
    assert said.roles.client.knobs == {"window_bits": "20"}
    assert said.roles.server.implementation == "nginx-1.26"
    assert (said.roles.proxies[0].http_version, said.roles.proxies[0].congestion_control) == (
        "2",
        "bbr",
    )


def test_a_client_without_a_version_is_each_that_is_answered() -> None:
    """The programs' recipes know."""
    assert [treatment["client"] for treatment in treatments(compare("curl"))] == [
        "curl:h1",
        "curl:h2",
        "curl:h3",
    ]


def test_the_file_is_read_again_as_it_was() -> None:
    """It stands for itself, with comments for people, and names the line that made it."""
    made = compare("curl:h2", "curl:h3", loss="0%,4%")
    assert tomllib.loads(made.loaded.text) == made.loaded.document
    line = "# Written by: httpbed compare curl:h2 curl:h3 --loss 0%,4% --replicates 2 --seed 1"
    assert made.loaded.text.splitlines()[0] == line


def test_equal_lines_have_equal_folders_and_others_have_others() -> None:
    """So the same line resumes, and another one does not collide."""
    first, same, other = compare("curl:h2"), compare("curl:h2"), compare("curl:h3")
    assert first.loaded.text == same.loaded.text
    assert first.loaded.experiment.name != other.loaded.experiment.name


@pytest.mark.parametrize(
    ("clients", "said", "option", "reason"),
    [
        ("wget", {"server": "gtlsserver"}, "CLIENT wget", "none of these"),
        ("curl:h2", {"proxy": "none,curl"}, "--proxy", "cannot be a proxy"),
        ("curl:h2", {"proxy": "envoy:h9"}, "--proxy", "'1.1', '2' or '3'"),
        ("curl:h3", {"server": "aioquic", "cc": "bbr"}, "--cc", "aioquic offers reno, cubic"),
        ("curl:h2", {"loss": "0%,4"}, "--loss", "unit is missing"),
        ("curl:h2", {"loss": "4%,4%"}, "--loss", "is given twice"),
        ("curl:h2", {"delay_reading": "both"}, "--delay-reading", "'one-way' or 'round-trip'"),
        ("curl:h2", {"files": "many"}, "--files", "whole number"),
        ("curl:h2", {"seed": "x"}, "--seed", "whole number"),
        ("curl:h1", {"connections": "6"}, "--connections", "6 connections for 1 file"),
        ("wget:h1", {"files": "6"}, "--files", "cannot do 'parallel'"),
    ],
)
def test_each_mistake_in_the_experiment_is_reported_at_its_option(
    clients: str, said: dict[str, str], option: str, reason: str
) -> None:
    """Loading the written experiment finds the mistake; the message names the option."""
    found = mistakes_of(*clients.split(), knobs=(), **said)
    assert any(place.startswith(option) and reason in why for place, why in found), found


@pytest.mark.parametrize(
    ("clients", "options", "place"),
    [
        ("", {}, "CLIENT"),
        ("curl:h2,,curl:h3", {}, "CLIENT"),
        ("curl:h2", {"loss": ""}, "--loss"),
        ("curl:h2", {"loss": "0%,,4%"}, "--loss"),
        ("curl:h2", {"proxy": ""}, "--proxy"),
        ("curl:h2", {"files": ","}, "--files"),
    ],
)
def test_an_empty_value_is_one_mistake(clients: str, options: dict[str, str], place: str) -> None:
    """The experiment is then checked without the empty value, which would be a second mistake."""
    assert mistakes_of(clients, knobs=(), **options) == [(place, "one of its values is empty")]


@pytest.mark.parametrize(
    ("knob", "option", "reason"),
    [
        ("origin.x=1", "--knob", "ROLE.KNOB=VALUE"),
        ("server.http3_stream_buffer_size=1q,2", "--knob server.http3_stream_buffer_size", "1q"),
    ],
)
def test_mistakes_in_knobs_are_reported_with_the_knob(knob: str, option: str, reason: str) -> None:
    """The place is the knob as the user typed it."""
    ((place, why),) = mistakes_of("curl:h3", knobs=(knob,))
    assert place == option
    assert reason in why


def test_all_mistakes_of_a_line_are_reported_at_once() -> None:
    """Mistakes in words, programs and quantities come together."""
    found = mistakes_of("kurl:h2", "curl:h9", server="ngnx", rate="10mbps", cc="veno", loss="4")
    places = {place for place, _ in found}
    assert places >= {"CLIENT kurl:h2", "CLIENT curl:h9", "--server", "--rate", "--cc", "--loss"}


def test_other_options_are_checked_where_no_client_is_usable() -> None:
    wrong = mistakes_of("curl:h9", loss="200 %")
    assert [place for place, _ in wrong] == ["CLIENT curl:h9", "--loss"]
    wrong = mistakes_of("curl:h9", page="nope")
    assert [place for place, _ in wrong] == ["CLIENT curl:h9", "--page"]


@pytest.mark.parametrize("word", ["curl:h2x", "curl:h20"])
def test_a_client_is_a_mistake_even_if_it_begins_like_another(word: str) -> None:
    """No other client runs in its place."""
    assert [place for place, _ in mistakes_of(word)] == [f"CLIENT {word}"]


def test_nothing_that_was_typed_is_swallowed() -> None:
    """An empty value, and a knob of a proxy where there is none."""
    assert ("--loss", "one of its values is empty") in mistakes_of("curl:h2", loss="")
    ((place, reason),) = mistakes_of("curl:h2", knobs=("proxy.nope=1",))
    assert place == "--knob proxy.nope"
    assert "no proxy" in reason


@pytest.mark.parametrize("cc", [{}, {"cc": "cubic,bbr"}])
def test_settings_of_a_proxy_are_varied_behind_it_only(cc: dict[str, str]) -> None:
    """Without one they mean nothing: the same would run twice."""
    made = compare("curl:h2", "curl:h3", proxy="none,envoy", knobs=("proxy.udp_gso=on,off",), **cc)
    found = treatments(made)
    direct = [one for one in found if one["proxy"] == "none"]
    assert {one["udp_gso"] for one in direct} == {"on"}
    assert {one["udp_gso"] for one in found if one["proxy"] == "envoy"} == {"on", "off"}
    assert len(found) == (3 * 2 if not cc else 2 + 1 + 2 * 2 * 2)


def test_words_that_are_not_utf_8_are_refused() -> None:
    """Other bytes of a command line arrive as lone surrogates."""
    assert mistakes_of("curl:h2", "curl\udcff", rate="1\udcff", knobs=()) == [
        ("curl\udcff", "is not UTF-8"),
        ("1\udcff", "is not UTF-8"),
    ]


def builds(*clients: str, of: str = "curl", **said: str) -> Comparison:
    """Compare two builds of a program; options with underscores."""
    options = {name.replace("_", "-"): value for name, value in said.items()}
    line = CommandLine(clients, options, (), "2", "1", clock="virtual", against=(of, "/bin/true"))
    return comparison.comparison(line, CATALOG.with_second_build(of, "/bin/true"))


@pytest.mark.parametrize(
    ("of", "clients", "said"),
    [
        ("curl", ("curl:h2", "curl:h3"), {"server": "nginx,caddy"}),
        ("caddy", ("curl:h2", "curl:h3"), {"server": "caddy", "loss": "0%,4%"}),
        ("httpbed-quiche", ("quiche:h3",), {"server": "quiche", "cc": "cubic,bbr"}),
        ("envoy", ("curl:h2",), {"proxy": "envoy,envoy:h2"}),
    ],
)
def test_each_treatment_has_both_builds_and_the_old_one_as_its_base(
    of: str, clients: tuple[str, ...], said: dict[str, str]
) -> None:
    """The build is a factor of its own, so every other level is compared with itself."""
    made = builds(*clients, of=of, **said)
    found = treatments(made)
    assert [one["build"] for one in found].count("new") == len(found) / 2
    assert made.loaded.experiment.report.base == {"build": "old"}
    for trial in made.loaded.trials:
        names = set(trial.scenario().implementations.values())
        assert (f"{of}-new" in names) == (trial.levels["build"] == "new") != (of in names)


def test_both_builds_meet_the_same_randomness() -> None:
    """The seed of a guest and of its link depends on the block, and on no treatment."""
    trials = builds("curl:h3").loaded.trials
    assert {(trial.clock, trial.seed) for trial in trials} == {("virtual", 1)}
    assert sorted(trial.block for trial in trials) == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("clients", "said"), [(("quiche:h3",), {}), (("curl:h2", "h2load:h2"), {})]
)
def test_a_treatment_without_the_program_cannot_have_both_builds(
    clients: tuple[str, ...], said: dict[str, str]
) -> None:
    """Else it would run twice, for nothing."""
    with pytest.raises(ConfigError, match="some of the treatments do not use curl"):
        builds(*clients, **said)


def test_the_file_says_how_its_second_build_becomes_a_recipe() -> None:
    """Else ``httpbed run`` of a copy would not know it."""
    text = builds("curl:h3").loaded.text
    assert '# schema = 1, name = "curl-new", like = "curl", and in [install]' in text
    assert '# binary = "/bin/true"; --recipes DIR names its folder.' in text


BROWSER = "chromium-headless-shell:h2"


def test_named_networks_are_levels_of_one_factor() -> None:
    """Not a product of rates and delays, and without the defaults of what they replace."""
    made = compare(BROWSER, network="lte,3g-india", page="zhang-13-files")
    assert treatments(made) == [{"network": "lte"}, {"network": "3g-india"}]
    document = tomllib.loads(made.loaded.text)
    assert document["topology"]["links"][0] == {
        "between": ["client", "server"],
        "profile": {"factor": "network"},
    }
    fast, slow = (
        Scenario.model_validate(scenario_document(made.loaded.document, levels))
        for levels in treatments(made)
    )
    assert fast.topology.links[0] != slow.topology.links[0]


def test_a_page_replaces_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiment names a file by its whole path, so it runs from anywhere."""
    monkeypatch.chdir(tmp_path)
    found = mistakes_of(BROWSER, page="shop.har,zhang-13-files", device="ipad")
    assert {place for place, _ in found} == {"--page"}  # there is no such file
    assert str(tmp_path / "shop.har") in found[0][1]
    made = compare(BROWSER, page="zhang-13-files", device="ipad,iphone-se")
    assert treatments(made) == [{"device": "ipad"}, {"device": "iphone-se"}]
    pages = [one for one in made.loaded.workloads() if isinstance(one, PageLoad)]
    assert {page.screen for page in pages} == {"810x1080", "320x568"}
    assert tomllib.loads(made.loaded.text)["report"]["metric"] == "page_load_time"


def test_a_devices_figures_are_part_of_the_trial() -> None:
    """A later table with other figures makes other trials."""
    made = compare(BROWSER, page="zhang-13-files", device="ipad,iphone-se")
    devices = {
        trial.levels["device"]: trial.document["workload"]["device"] for trial in made.loaded.trials
    }
    assert devices["ipad"]["viewport"] == "810x1080"
    assert devices["iphone-se"]["pixel_ratio"] == 2
