"""Loss: the packets that a direction of a link drops, whatever its queue does."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, Tag

from httpbed.base.units import Share
from httpbed.base.value import TEXT, Value, form_by_key
from httpbed.experiment.impairments.descriptor import (
    Cause,
    Chance,
    Digest,
    Emulated,
    Feature,
    FileName,
    Impairment,
    LinkFigures,
    Option,
    Table,
    chance,
    share_feature,
)

MAX_LISTED = 10_000_000


class GilbertElliott(Value):
    """Loss in bursts: two states, each with its own probability of loss.

    Gilbert, Bell Syst. Tech. J. 39 (1960); Elliott, 42 (1963); the parameters are netem's.
    """

    to_bad: Share
    """Probability, at each packet, to change from the good to the bad state."""
    to_good: Annotated[Share, Field(gt=0)]
    """Probability, at each packet, to change back; a stay in the bad state has 1 over it packets
    on average."""
    bad: Share = 1.0
    """Probability that a packet is lost in the bad state."""
    good: Share = 0.0
    """Probability that a packet is lost in the good state."""

    @property
    def mean(self) -> float:
        """The share of packets that are lost in the long run."""
        in_bad = self.to_bad / (self.to_bad + self.to_good)
        return in_bad * self.bad + (1 - in_bad) * self.good


PacketNumber = Annotated[int, Field(ge=0, lt=2**63, strict=True)]


class Listed(Value):
    """Loss of given packets."""

    packets: list[PacketNumber] = Field(max_length=MAX_LISTED)
    """Numbers of the lost packets in this direction; the first packet since the client's start is
    0."""


class Replay(Value):
    """Loss of the packets that a recorded run lost, by their numbers."""

    replay: FileName
    """The record, relative to the experiment's file: a log of ``httpbed link --log``, or a trial's
    ``link-result.json``."""
    sha256: Digest | None = None
    """SHA-256 of the file; set when the experiment is loaded, and required if given."""


Loss = Annotated[
    Annotated[Share, Tag(TEXT)]
    | Annotated[GilbertElliott, Tag("<Gilbert-Elliott>")]
    | Annotated[Listed, Tag("<listed>")]
    | Annotated[Replay, Tag("<replay>")],
    form_by_key(
        '"2 %"',
        to_bad="<Gilbert-Elliott>",
        to_good="<Gilbert-Elliott>",
        packets="<listed>",
        replay="<replay>",
    ),
]
"""Probability that a packet is lost, independently of all others; or loss in bursts; or given
packets."""


def _emulated(loss: float | GilbertElliott | Listed | Replay, direction: Emulated) -> Table | None:
    if isinstance(loss, GilbertElliott):
        return {
            "model": "gilbert_elliott",
            "to_bad": loss.to_bad,
            "to_good": loss.to_good,
            "loss_good": loss.good,
            "loss_bad": loss.bad,
            "key": direction.key("loss"),
        }
    if isinstance(loss, Listed):
        return {"model": "listed", "numbers": sorted(set(loss.packets))}
    if isinstance(loss, Replay):
        return {"model": "listed", "numbers": direction.replayed(loss.replay, loss.sha256)}
    # A loss that sets in later needs its stream from the start: the stream belongs to the link.
    if loss or direction.loss_may_change:
        return {"model": "bernoulli", "probability": loss, "key": direction.key("loss")}
    return None


def _words(table: Table) -> str:
    if "packets" in table:
        return f"loss of {len(table['packets'])} listed packets"
    if "replay" in table:
        return f"losses as in {table['replay']}"
    if (model := _model(table)) is None:
        return _words_of_levels(table)
    mean, length = _mean(model), f"{1 / model.to_good:.1f}".removesuffix(".0")
    if (model.bad, model.good) == (1, 0):
        return f"{mean} loss in bursts of {length} packets on average"
    return (
        f"{mean} loss: {table.get('bad', '100 %')} in bursts of {length} packets on average,"
        f" {table.get('good', '0 %')} between them"
    )


def _model(table: Table) -> GilbertElliott | None:
    """Read the model's parameters; None if a factor's levels stand for one of them."""
    try:
        return GilbertElliott.model_validate(table)
    except ValueError:
        return None


def _mean(model: GilbertElliott) -> str:
    """Write the mean loss with two digits, or to a tenth of a percent from 10 % on."""
    percent = 100 * model.mean
    digits = 1 - math.floor(math.log10(percent)) if 0 < percent < 10 else 1
    return f"{percent:.{digits}f}".rstrip("0").rstrip(".") + " %"


def _words_of_levels(table: Table) -> str:
    entered, left = table.get("to_bad", "?"), table.get("to_good", "?")
    lost = f", {table['bad']} lost in them" if "bad" in table else ""
    between = f", {table['good']} lost between them" if "good" in table else ""
    return f"loss in bursts (entered at {entered} of packets, left at {left}{lost}{between})"


AnyLoss = float | GilbertElliott | Listed | Replay


def model(loss: AnyLoss, _figures: LinkFigures | None = None) -> str:
    """Name the model of a loss: ``none``, ``independent``, ``bursts``, ``listed`` or ``replay``."""
    match loss:
        case GilbertElliott():
            return "bursts"
        case Listed():
            return "listed"
        case Replay():
            return "replay"
    return "independent" if loss else "none"


def _mean_share(loss: AnyLoss, _figures: LinkFigures) -> float | None:
    if isinstance(loss, GilbertElliott):
        return loss.mean
    return None if isinstance(loss, (Listed, Replay)) else float(loss)


LOSS = Impairment(
    field="loss",
    emulated=_emulated,
    text="{} loss",
    table_words=_words,
    absent="no loss",
    options=(
        Option(
            "loss",
            ("loss", "bad"),
            "share",
            "4%",
            "Probability that a packet is lost; with --loss-to-bad and --loss-to-good, in the bad"
            " state only (by default 100%).",
            ("loss",),
        ),
        Option(
            "loss-to-bad",
            ("loss", "to_bad"),
            "share",
            "1%",
            "Loss in bursts (Gilbert-Elliott): probability, at each packet, to enter the bad"
            " state.",
            needs="loss-to-good",
        ),
        Option(
            "loss-to-good",
            ("loss", "to_good"),
            "share",
            "30%",
            "Probability, at each packet, to leave the bad state.",
            needs="loss-to-bad",
        ),
        Option(
            "loss-good",
            ("loss", "good"),
            "share",
            "0.1%",
            "Probability of loss in the good state (by default none).",
            needs="loss-to-bad",
        ),
        Option(
            "loss-replay",
            ("loss", "replay"),
            "word",
            "FILE",
            "Lose the packets that an earlier --log lost.",
        ),
    ),
    random=True,
    causes=(Cause("lost", "lost", "lost"),),
    loses_packets=True,
    features=(
        Feature(
            "loss",
            "number",
            "1",
            _mean_share,
            along="any",
            addition="Mean share of packets; empty for listed and replayed losses.",
        ),
        Feature(
            "loss_model",
            "string",
            "",
            model,
            addition="`none`, `independent`, `bursts`, `listed` or `replay`.",
        ),
    ),
)


# Corruption and duplication: packets that arrive with one bit flipped, or twice.


CORRUPTION = Impairment(
    field="corruption",
    emulated=chance("corruption"),
    text="{} corrupted",
    options=(
        Option("corrupt", ("corruption",), "share", "0.01%", "Probability of a flipped bit."),
    ),
    random=True,
    chance=Chance("corrupted", "damage", draws=2),
    counters=("corrupted",),
    loses_packets=True,
    is_computed=True,
    changes_bytes=True,
    features=(share_feature("corruption"),),
)
"""Draw ``2 n`` decides about packet ``n``; draw ``2 n + 1`` chooses the bit."""


DUPLICATION = Impairment(
    field="duplication",
    emulated=chance("duplication"),
    text="{} duplicated",
    options=(
        Option(
            "duplicate",
            ("duplication",),
            "share",
            "0.1%",
            "Probability that a packet is duplicated.",
        ),
    ),
    random=True,
    chance=Chance("duplicated", "copies"),
    counters=("duplicated",),
    is_computed=True,
    features=(share_feature("duplication"),),
)
