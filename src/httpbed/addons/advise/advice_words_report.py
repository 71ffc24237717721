"""The words of an advice: names of treatments, differences of conditions, standings, verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from httpbed.addons.advise.answers import ConditionsAnswer, ConditionsDistance
from httpbed.addons.advise.conditions import MeasuredConditions
from httpbed.addons.advise.question import AdviceDifference, AdviceFactor
from httpbed.addons.advise.ranking import RankedTreatment, RatioToBest
from httpbed.addons.dataset import program_columns
from httpbed.base import units
from httpbed.experiment.metric import METRICS
from httpbed.experiment.treatment import TreatmentKey
from httpbed.report import phrasing
from httpbed.report.phrasing import NumberFormat, listed, ratio_number
from httpbed.report.remark import few

_FORMS: Mapping[AdviceFactor, Callable[[float], str]] = {
    "rate": units.format_rate,
    "delay": units.format_duration,
    "loss": units.format_share,
    "size": units.format_size,
    "page weight": lambda size: units.format_size(size, units.SHORT_DIGITS),
    "page requests": lambda count: f"{count:.0f}",
}
OWN_CONTROL = "its own congestion control"


def differences(at: ConditionsDistance) -> str:
    """Write how far conditions are from the question, factor by factor."""
    equal = [one.factor for one in at.differences if one.wanted == one.measured]
    texts = [_difference(one) for one in at.differences if one.wanted != one.measured]
    if equal:
        texts.append(f"{listed(equal)} as in the question")
    whole = f"{at.doublings:.2g} doublings" if math.isfinite(at.doublings) else "not comparable"
    return f"{whole}: {'; '.join(texts)}"


def _difference(one: AdviceDifference) -> str:
    write = _FORMS[one.factor]
    text = f"{one.factor} {write(one.measured)} instead of {write(one.wanted)}"
    if one.factor == "loss":
        points = 100 * (one.measured - one.wanted)
        number = f"{abs(points):.3g}"
        how = f"{number} point{'s' * (number != '1')} {'more' if points > 0 else 'less'}"
    elif one.wanted > 0 and one.measured > 0:
        how = f"{one.measured / one.wanted:.3g} times"
    else:
        how = "not comparable" if math.isinf(one.doublings) else "from or to zero"
    return f"{text} ({how}{'' if one.is_near else ', too far'})"


def names(measured: MeasuredConditions) -> dict[TreatmentKey, str]:
    """Name each treatment so that no two have one name.

    A name has the HTTP version, the congestion controls, the proxies, the programs and the knobs;
    where these are equal, the levels too.
    """
    found = {key: _name(measured, key) for key in measured.treatments}
    counts = Counter(found.values())
    factors = tuple(measured.results.experiment.factors)
    return {
        key: name
        if counts[name] == 1
        else f"{name} [{phrasing.treatment(dict(zip(factors, key, strict=True)), factors)}]"
        for key, name in found.items()
    }


def _name(measured: MeasuredConditions, key: TreatmentKey) -> str:
    roles = measured.scenario(key).roles
    client, *rest = program_columns.programs_in_words(roles, measured.results.manifest)
    proxies, server = rest[:-1], rest[-1]
    via = f"by {listed(proxies)}" if proxies else "no proxy"
    knobs = [
        f"{part}.{name}={value}"
        for part, role, _ in roles.parts()
        for name, value in sorted(role.knobs.items())
    ]
    control = _controls_in_words(controls(measured, key))
    settings = f", {', '.join(knobs)}" if knobs else ""
    version = roles.client.http_version
    return f"HTTP/{version}, {control}, {via} ({client} from {server}{settings})"


def controls(measured: MeasuredConditions, key: TreatmentKey) -> dict[str, str | None]:
    """Return the congestion control of each sender of a treatment, by part."""
    scenario = measured.scenario(key)
    return program_columns.senders(scenario.roles, measured.results.manifest)


def _controls_in_words(found: Mapping[str, str | None]) -> str:
    if len(found) == 1 or len(set(found.values())) == 1:
        return next(iter(found.values())) or OWN_CONTROL
    return listed(f"{control or OWN_CONTROL} at the {part}" for part, control in found.items())


def standing(found: RankedTreatment, form: NumberFormat) -> str:
    """Write a treatment's value, its interval, its completed trials, and its ratio to the best."""
    tally = found.sample.tally
    done = f"{tally.completed}/{tally.planned} completed"
    if found.estimate is None:
        return f"no value, {done}"
    value = f"{form.bounded(found.estimate.median)} ({_interval(found, form)}, {done})"
    return "; ".join([value, *_ratio_in_words(found.ratio)])


def _interval(found: RankedTreatment, form: NumberFormat) -> str:
    interval = found.estimate.interval if found.estimate else None
    n = f"n = {found.sample.n}"
    if interval is None:
        return n
    return f"{phrasing.covering([interval])} {form.interval(interval)}, {n}"


def _ratio_in_words(ratio: RatioToBest) -> Iterator[str]:
    if found := ratio.estimate:
        low, high = (
            ratio_number(end) if math.isfinite(end) else "?" for end in (found.low, found.high)
        )
        interval = f"{100 * found.coverage:.3g} % interval {low} .. {high}"
        yield f"{phrasing.ratio_text(found.value)} the best ({interval})"
    if ratio.reason:
        yield ratio.reason
    if ratio.blocks_to_settle is not None:
        yield f"about {ratio.blocks_to_settle} blocks would settle it"


def verdict(one: ConditionsAnswer) -> str:
    """Write the verdict of one condition in a sentence."""
    ranked = one.ranking.treatments
    named = names(one.at.measured)
    title = METRICS[one.ranking.metric].title
    by = {
        kind: [named[found.key] for found in ranked if found.standing == kind]
        for kind in ("best", "equal", "open")
    }
    match one.ranking.verdict:
        case "no value":
            return f"no value: no trial in these conditions has a {title}"
        case "not compared":
            return f"not compared: only {by['best'][0]} has a {title}"
        case "not settled":
            candidates = [*by["best"], *by["equal"], *by["open"]]
            return f"not settled between {'; '.join(few(candidates, 'treatments'))}"
    if by["equal"]:
        equal = [*by["best"], *by["equal"]]
        better = ", and better than all others" if len(equal) < len(ranked) else ""
        return f"equal to within 1 %{better}: {'; '.join(equal)}"
    tally = ranked[0].sample.tally
    lost = tally.planned - tally.completed
    but = f"; {lost} of its {tally.planned} trials did not complete" if lost else ""
    return f"best: {by['best'][0]}{but}"
