"""What ``httpbed link``'s options say of the link, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.addons.link import described_link
from httpbed.base.errors import ConfigError
from httpbed.base.units import from_tc
from httpbed.experiment.impairments.loss import GilbertElliott, Replay
from httpbed.experiment.impairments.registry import OPTIONS
from httpbed.experiment.topology import Direction


def ways(**said: str) -> tuple[Direction, Direction]:
    """Return what the options make of the link, up and down."""
    by_flag = {name.replace("_", "-"): value for name, value in said.items()}
    return described_link.describe(by_flag).topology.links[0].directions()


def mistakes(**said: str) -> dict[str, str]:
    """Return the mistakes in the options: flag -> reason."""
    with pytest.raises(ConfigError) as caught:
        ways(**said)
    return {mistake.place: mistake.reason for mistake in caught.value.mistakes}


def test_an_option_holds_in_each_direction() -> None:
    """An option without a direction sets both, as a link of an experiment file does."""
    up, down = ways(rate="10mbit", delay="50ms", loss="4%", queue="64KiB")
    assert up == down
    assert (up.rate, up.delay, up.loss) == (10_000_000, 0.05, 0.04)
    assert up.queue.limit[:2] == (65536, "bytes")


def test_a_direction_keeps_the_options_for_both_directions() -> None:
    """Naming a queue's discipline for one way does not forget its size."""
    up, down = ways(queue="20p", up_discipline="droptail")
    assert up.queue == down.queue
    assert up.queue.limit[0] == 20


@pytest.mark.parametrize(
    ("kind", "shell", "file"),
    [
        ("rate", "10mbit", "10 Mbit/s"),
        ("rate", "1.5Gbit", "1.5 Gbit/s"),
        ("rate", "500kbit/s", "500 kbit/s"),
        ("duration", "250usec", "250 us"),
        ("duration", "1e-3s", "1e-3 s"),
        ("share", "4%", "4 %"),
        ("amount", "2bdp", "2 BDP"),
    ],
)
def test_shells_spellings_become_the_file_s(kind: str, shell: str, file: str) -> None:
    """Both are read alike."""
    assert from_tc(kind, shell) == file
    assert from_tc(kind, file) == file


def test_every_impairment_has_an_option() -> None:
    """The models of an experiment file read the values of all options in the table."""
    up, _ = ways(
        rate="10mbit", burst="32KiB", counted="wire", jitter="5ms", jitter_distribution="normal",
        reorder="1%", reorder_hold="10ms", duplicate="0.1%", corrupt="0.01%",
        discipline="codel", target="10ms", interval="200ms", queue="70ms",
    )  # fmt: skip
    assert (up.rate.bucket, up.rate.burst) == (10_000_000, 32768)  # type: ignore[union-attr]
    assert (up.jitter.distribution, up.jitter.spread) == ("normal", 0.005)  # type: ignore[union-attr]
    assert (up.reordering.share, up.reordering.hold) == (0.01, 0.01)  # type: ignore[union-attr]
    assert (up.duplication, up.corruption, up.counted) == (0.001, 0.0001, "wire")
    assert (up.queue.discipline, up.queue.target, up.queue.interval) == ("codel", 0.01, 0.2)


def test_loss_comes_in_bursts() -> None:
    """Loss in the bad state is all, unless it is said; a way's own is added to what both have."""
    both = {"loss_to_bad": "1%", "loss_to_good": "30%"}
    up, down = ways(**both, down_loss="50%", down_loss_good="0.1%")
    assert up.loss == GilbertElliott.model_construct(to_bad=0.01, to_good=0.3)
    expected = {"to_bad": 0.01, "to_good": 0.3, "bad": 0.5, "good": 0.001}
    assert down.loss.model_dump() == expected  # type: ignore[union-attr]
    assert set(mistakes(loss_to_bad="1%", loss_to_good="0%")) == {"--loss-to-good"}


def test_fq_codel_has_flows_and_a_quantum() -> None:
    """A count is a whole number without a unit."""
    up, _ = ways(discipline="fq_codel", flows="64", quantum="300B")
    assert (up.queue.flows, up.queue.quantum) == (64, 300)
    assert set(mistakes(discipline="fq_codel", flows="64p")) == {"--flows"}


def test_traces_are_the_rate_of_their_ways(tmp_path: Path) -> None:
    """Each file is read, and known by its digest."""
    for name, text in (("up", "5\n10\n"), ("down", "1\n")):
        (tmp_path / name).write_text(text)
    files = (str(tmp_path / "up"), str(tmp_path / "down"))
    described = described_link.describe({}, traces=files)
    assert [file.path for file in described.files] == [tmp_path / "up", tmp_path / "down"]
    up, down = described.topology.links[0].directions()
    assert (up.mean_bit_s(), down.mean_bit_s()) == (2_406_400, 12_032_000)


@pytest.mark.parametrize("content", ["", "2\n1\n", "0\n", "words\n", None])
def test_a_wrong_trace_is_reported_with_the_other_mistakes(
    tmp_path: Path, content: str | None
) -> None:
    """Traces: empty, not ascending, without an end, not a trace, missing."""
    file = tmp_path / "trace"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError) as caught:
        described_link.describe({"loss": "104%"}, traces=(str(file), str(file)))
    assert {mistake.place for mistake in caught.value.mistakes} == {"--trace", "--loss"}


def test_an_option_that_a_file_replaces_is_rejected(tmp_path: Path) -> None:
    """A trace is the rate."""
    (tmp_path / "trace").write_text("1\n")
    file = str(tmp_path / "trace")
    with pytest.raises(ConfigError) as caught:
        described_link.describe({"rate": "1mbit"}, traces=(file, file))
    assert {mistake.place for mistake in caught.value.mistakes} == {"--rate"}
    log = record(tmp_path)
    assert set(mistakes(loss_replay=log, loss="5%")) == {"--loss"}
    bursts = {"loss_to_bad": "1%", "loss_to_good": "3%"}
    assert set(mistakes(loss_replay=log, **bursts)) == {"--loss-to-bad", "--loss-to-good"}
    assert set(mistakes(up_loss_replay=log, up_loss="5%", loss="1%")) == {"--up-loss"}
    assert set(mistakes(loss_replay=str(tmp_path / "absent"), loss="5%")) == {
        "--loss", "--loss-replay"
    }  # fmt: skip


def record(folder: Path) -> str:
    """Write a log without packets."""
    (folder / "log").write_text("in_ns\tout_ns\tbytes\tdirection\tnumber\tfate\n")
    return str(folder / "log")


def test_a_value_or_file_for_one_direction_replaces_that_for_both(tmp_path: Path) -> None:
    """A record of one way stands for all that was said of both ways' loss, and the reverse."""
    log = record(tmp_path)
    bursts = {"loss_to_bad": "1%", "loss_to_good": "3%"}
    up, down = ways(loss="5%", up_loss_replay=log)
    assert isinstance(up.loss, Replay)
    assert down.loss == 0.05
    up, down = ways(**bursts, down_loss_replay=log)
    assert isinstance(up.loss, GilbertElliott)
    assert isinstance(down.loss, Replay)
    up, down = ways(loss_replay=log, up_loss="5%")
    assert up.loss == 0.05
    assert isinstance(down.loss, Replay)


def test_what_is_added_for_both_may_meet_what_one_way_has() -> None:
    """The options together describe an impairment of that direction; the other has none."""
    up, down = ways(jitter_distribution="normal", up_jitter="5ms")
    assert up.jitter.distribution == "normal"  # type: ignore[union-attr]
    assert down.jitter is None
    up, down = ways(queue="10p", up_discipline="codel", target="7ms")
    assert (up.queue.discipline, up.queue.target) == ("codel", 0.007)
    assert (down.queue.discipline, down.queue.limit[0]) == ("droptail", 10)
    up, down = ways(loss_good="0.1%", loss_to_bad="1%", up_loss_to_good="30%")
    assert isinstance(up.loss, GilbertElliott)
    assert down.loss == 0


def test_a_burst_adds_to_a_profile_s_rate() -> None:
    """Each direction keeps its rate in the profile, and gets the burst."""
    up, down = described_link.describe({"burst": "32KiB"}, "dsl").topology.links[0].directions()
    plain = described_link.describe({}, "dsl").topology.links[0].directions()
    assert (up.rate.bucket, down.rate.bucket) == (plain[0].rate, plain[1].rate)  # type: ignore[union-attr]
    assert up.rate.burst == 32768  # type: ignore[union-attr]
    one_way = {"down-burst": "32KiB"}
    up, down = described_link.describe(one_way, "dsl").topology.links[0].directions()
    assert (up.rate, down.rate.burst) == (plain[0].rate, 32768)  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["10mbps", "10MB/s", "64kb", "10", "", "mbit", "0x10mbit"])
def test_what_is_ambiguous_is_not_guessed(text: str) -> None:
    """``mbps`` is megabytes to tc and megabits to others."""
    assert from_tc("rate", text) == text
    assert set(mistakes(rate=text or " ")) == {"--rate"}


def test_a_mistake_in_one_direction_is_not_reported_at_the_other() -> None:
    """The correct option has no mistake."""
    assert set(mistakes(queue="20p", up_discipline="red")) == {"--up-discipline"}


def test_an_option_that_only_adds_needs_the_other() -> None:
    """An option without the option that it refines has no effect, and is a mistake."""
    for option in OPTIONS:
        if option.needs and option.kind != "flag":
            assert set(mistakes(**{option.name.replace("-", "_"): "1ms"})) == {f"--{option.name}"}
    for said in ({"ecn": True}, {"target": "5ms"}, {"up-ecn": True}, {"burst": "32KiB"}):
        with pytest.raises(ConfigError) as caught:
            described_link.describe(said)
        assert len(caught.value.mistakes) == 1


def test_reasons_name_options_and_units() -> None:
    """Messages contain neither field names of the models nor numbers without units."""
    assert mistakes(reorder="1%") == {"--reorder": "needs --reorder-hold"}
    assert mistakes(up_reorder="1%") == {"--up-reorder": "needs --up-reorder-hold"}
    assert mistakes(delay="1h") == {"--delay": "3600 s is longer than 60 s"}
    too_long = {"--target": "90 s is longer than 60 s"}
    assert mistakes(rate="1mbit", discipline="codel", target="90s") == too_long


def test_a_queue_without_a_rate_is_idle() -> None:
    """Queue and ``--counted`` need a rate in the same direction."""

    def idle(**said: str) -> set[str]:
        by_flag = {name.replace("_", "-"): value for name, value in said.items()}
        link = described_link.describe(by_flag).link
        return {mistake.place for mistake in described_link.idle(by_flag, link)}

    assert idle(queue="1bdp", counted="wire") == {"--queue", "--counted"}
    assert idle(queue="1bdp", up_rate="1mbit") == set()
    assert idle(down_queue="1bdp", up_rate="1mbit") == {"--down-queue"}
