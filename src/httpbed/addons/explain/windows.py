"""Names a fixed window: whose it is, and which knob sets it.

Bytes in flight are counted in payloads of IP packets, and a window counts bytes of a stream. What
lies between them is known within limits: TLS records and frames over TCP add up to 2 %, QUIC's
headers and tags add up to 6 % to full packets, and the last packet may be any part of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from httpbed.experiment.roles import HttpVersion, Role
from httpbed.experiment.scenario import Scenario
from httpbed.programs.catalog import Catalog
from httpbed.programs.recipe import Recipe
from httpbed.programs.settings import FixedWindow, settings

MAX_OVERHEAD: Mapping[str, float] = {"1.1": 1.02, "2": 1.02, "3": 1.06}
"""Payload in flight per byte of a stream, at most."""
HTTP2_BYTES = 65_535
HTTP2_DEFAULT = FixedWindow(
    bytes=HTTP2_BYTES,
    name="HTTP/2's initial window",
    holds="receiver's window",
    roles=["client"],
    http_versions=["2"],
    source="RFC 9113, 6.5.2: SETTINGS_INITIAL_WINDOW_SIZE",
)
"""Holds for every receiver that says nothing else."""


@dataclass(frozen=True)
class NamedWindow:
    """A window of a program under test with the size that it has in a trial."""

    part: str
    """The client, proxy or server that has it."""
    program: str
    size: int
    value: str
    """Of the knob; empty without one."""
    window: FixedWindow
    is_guess: bool = False
    """Whether only its size speaks for it: the evidence does not name the programs."""

    @property
    def name(self) -> str:
        """The knob, or what upstream calls it."""
        return str(self.window.knob or self.window.name)

    def __str__(self) -> str:
        value = f" = {self.value}" if self.value else ""
        is_of_all = self.window is HTTP2_DEFAULT
        text = self.name if is_of_all else f"{self.program}'s {self.name}{value}"
        return f"the size of {text}" if self.is_guess else text


def candidates(scenario: Scenario, catalog: Catalog) -> Iterator[NamedWindow]:
    """Yield the windows that hold the bodies on the client's hop: the sender's and receiver's."""
    hop = scenario.hops()[0]
    receiver = hop.server if scenario.workload.sender == "client" else hop.client
    roles: dict[str, Role] = {name: role for name, role, _ in scenario.parts()}
    for part in (hop.server, hop.client):
        role = roles[part]
        if role.implementation not in catalog.recipes:
            continue
        kind = type(role).__name__.removesuffix("Role").lower()
        for named_window in _of_recipe(catalog.recipes[role.implementation], role.knobs, part):
            window = named_window.window
            is_its = (window.holds == "receiver's window") == (part == receiver)
            if is_its and kind in window.roles and hop.http_version in window.http_versions:
                yield named_window
    if hop.http_version == "2":
        program = roles[receiver].implementation
        yield NamedWindow(receiver, program, HTTP2_BYTES, "", HTTP2_DEFAULT)


def fingerprints(catalog: Catalog, versions: Sequence[HttpVersion]) -> Iterator[NamedWindow]:
    """Yield every window of a recipe that may hold a download, for one of unknown programs."""
    for recipe in catalog.recipes.values():
        for named_window in _of_recipe(recipe, {}, "", is_guess=True):
            window = named_window.window
            is_receivers = window.holds == "receiver's window"
            is_its = "client" in window.roles if is_receivers else window.roles != ["client"]
            if is_its and set(versions) & set(window.http_versions):
                yield named_window
    if "2" in versions:
        yield NamedWindow("client", "", HTTP2_BYTES, "", HTTP2_DEFAULT, is_guess=True)


def _of_recipe(
    recipe: Recipe, knobs: Mapping[str, str], part: str, *, is_guess: bool = False
) -> Iterator[NamedWindow]:
    """Yield the windows of a program that have a size with these knobs."""
    values = settings(recipe.knobs, knobs)
    for window in recipe.windows:
        if size := window.size(values):
            value = values.get(str(window.knob), "")
            yield NamedWindow(part, recipe.name, size, value, window, is_guess)


def named(
    payload: int, full: int, version: HttpVersion, known: Iterator[NamedWindow]
) -> NamedWindow | None:
    """Return the window that explains a payload in flight best; None if none can."""
    most = MAX_OVERHEAD[version]
    fitting = [
        window for window in known if window.size - 2 * full <= payload <= window.size * most + full
    ]
    return min(fitting, key=lambda window: abs(window.size - payload), default=None)
