"""From the command line's description of a sender to a sender that can be tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from httpbed.addons.conformance import sender
from httpbed.addons.conformance.sender import CONTROLS, Control, Sender, family
from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.experiment.roles import HttpVersion, transport_below
from httpbed.programs.catalog import Catalog, unknown
from httpbed.programs.recipe import Recipe


@dataclass(frozen=True)
class SenderOptions:
    """A sender as the user describes it on the command line."""

    implementation: str
    control: str | None = None
    http_version: HttpVersion | None = None
    knobs: Mapping[str, str] = field(default_factory=dict)
    judged_as: Control | None = None
    unknown_as: Control | None = None
    """As which a control is judged that httpbed does not know; None if it cannot be."""
    client: str = "curl"


def choose(catalog: Catalog, options: SenderOptions) -> Sender:
    """Return the sender that the options describe.

    Raises:
        ConfigError: It cannot be tested; with every mistake.
    """
    recipe = catalog.recipes.get(options.implementation)
    mistakes = [*_unknown(catalog, options)]
    if recipe is None:
        raise ConfigError(mistakes)
    version = options.http_version or max(recipe.http_versions)
    transport = transport_below(version)
    mistakes += _client_mistakes(catalog.recipes.get(options.client), version)
    mistakes += _mistakes(recipe, options, version, catalog.tunnel_ends())
    resolved = recipe.congestion_control.resolved(transport, options.control)
    judged_as = options.judged_as or family(resolved) or options.unknown_as
    if judged_as is None and not mistakes:
        control = resolved or "its congestion control"
        reason = f"httpbed does not know how {control} should behave"
        remedy = f"choose a control to judge it as: --judged-as {', '.join(CONTROLS)}"
        mistakes.append(Mistake("--judged-as", reason, remedy))
    if mistakes or judged_as is None:
        raise ConfigError(mistakes)
    return Sender(
        implementation=recipe.name,
        http_version=version,
        congestion_control=options.control,
        algorithm=resolved or "unknown",
        judged_as=judged_as,
        role="server" if "server" in recipe.roles else "proxy",
        upstream_http_version=min(recipe.upstream_http_versions, default="1.1"),
        client=options.client,
        knobs=dict(options.knobs),
    )


def untested(manifest: Mapping[str, Any], client: str) -> list[SenderOptions]:
    """Return the senders of a campaign that have no conformance test yet and can have one."""
    lacking = [
        node
        for node in sender.refreshed(manifest).get("senders", ())
        if node.get("passed") is None and node.get("testable", True)
    ]
    return [_sender_options(node, client) for node in lacking]


def _sender_options(node: Mapping[str, Any], client: str) -> SenderOptions:
    sender = node["sender"]
    chosen = sender["transport"] == "tcp" or node.get("chosen")
    return SenderOptions(
        implementation=sender["implementation"],
        control=sender["congestion_control"] if chosen else None,
        http_version=sender["http_version"],
        knobs=node.get("set", {}),
        client=client,
    )


def pairs(words: tuple[str, ...]) -> dict[str, str]:
    """Split words of the form ``name=value``.

    Raises:
        ConfigError: With every word of another form, and every name that has several values.
    """
    mistakes = [
        Mistake("--knob", f"{word!r} is not of the form NAME=VALUE", "write --knob NAME=VALUE")
        for word in words
        if "=" not in word
    ]
    named = Counter(word.partition("=")[0] for word in dict.fromkeys(words) if "=" in word)
    mistakes += [
        Mistake("--knob", f"{name} has {number} values, and a test has one", "keep one of them")
        for name, number in named.items()
        if number > 1
    ]
    require_none(mistakes)
    return dict(word.split("=", 1) for word in words)


def _unknown(catalog: Catalog, options: SenderOptions) -> Iterator[Mistake]:
    for place, name, role in (
        ("IMPLEMENTATION", options.implementation, "server"),
        ("--client", options.client, "client"),
    ):
        recipe = catalog.recipes.get(name)
        if recipe is None:
            yield Mistake(place, *unknown(name, catalog.recipes))
        elif role == "client" and role not in recipe.roles:
            yield Mistake(place, f"{name} cannot be a client")


def _client_mistakes(client: Recipe | None, version: HttpVersion) -> Iterator[Mistake]:
    if client and "client" in client.roles and version not in client.http_versions:
        speaks = ", ".join(client.http_versions)
        reason = f"{client.name} speaks {speaks}, and the test is over HTTP/{version}"
        yield Mistake("--client", reason, "choose another, or another --http-version")


def _mistakes(
    recipe: Recipe, options: SenderOptions, version: HttpVersion, ends: Collection[str]
) -> Iterator[Mistake]:
    transport = transport_below(version)
    if not {"server", "proxy"} & set(recipe.roles):
        reason = f"{recipe.name} is a client; the networks of a test download"
        yield Mistake("IMPLEMENTATION", reason, "test the server or proxy that responds to it")
    if recipe.name in ends:
        reason = f"{recipe.name} is an end of a tunnel, which forwards what others send"
        yield Mistake("IMPLEMENTATION", reason, "test the server behind it")
    if version not in recipe.http_versions:
        speaks = ", ".join(recipe.http_versions)
        yield Mistake("--http-version", f"{recipe.name} speaks {speaks}, not {version}")
    control = options.control
    if control is not None and (reason := recipe.refuses_control(transport, control)):
        yield Mistake("--congestion-control", reason)
    for name, value in options.knobs.items():
        if reason := recipe.refuses_knob(name, value):
            yield Mistake("--knob", reason)
