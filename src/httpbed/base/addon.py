"""Addons: features in folders of their own, found by their folder.

# Theory of operation

The core imports no addon. A package below ``httpbed.addons`` has one object, ``ADDON``, that names
its verbs and what it provides at the core's **seams**. A seam is a place where the core asks "what
else is there?": for metrics, checks, sections of a report. The core declares it with the type that
it wants, an addon names an object of that type as ``module:attribute``::

    # the core
    SECTIONS = Seam("report sections", Section)
    for section in SECTIONS.provided(): ...

    # addons/claims/__init__.py
    ADDON = Addon(provides={"report sections": ("httpbed.addons.claims.section:SECTION",)})

Objects are named, not imported: reading the registrations takes milliseconds, and the module of a
verb or a section is imported when it is used. An addon may name a **word** that every
experiment has which it is about, such as the table ``handover``. Where the core asks about an
experiment, it gives the words of that one, and no module of the other addons is imported or run.

Whoever deletes the folder deletes the feature; what its tables and files in a campaign say is then
unread, never wrong.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from httpbed.base.errors import ConfigError, Mistake

PACKAGE = "httpbed.addons"

Group = Literal["run", "read", "judge", "look inside", "set up"]
"""What a person wants to do with a verb."""
T = TypeVar("T")


class RegistrationError(ConfigError):
    """An addon registers nothing, or something of a name that is taken."""

    def __init__(self, reason: str) -> None:
        super().__init__([Mistake("addons", reason, "remove or mend one of them")])


class MissingAddonError(ConfigError):
    """An addon needs another one that is not installed."""


@dataclass(frozen=True)
class Verb:
    """A verb of the command line; its module has the ``command``."""

    name: str
    purpose: str
    group: Group
    module: str


@dataclass(frozen=True)
class Addon:
    """What one folder registers."""

    verbs: tuple[Verb, ...] = ()
    provides: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By the name of a seam: objects as ``module:attribute``."""
    word: str = ""
    """A key or value that every experiment has which it is about; empty: it may be about any."""
    absent_options: Mapping[str, str] = field(default_factory=dict)
    """Options as ``VERB --OPTION`` that a verb does not have, or not any more, and what to do
    instead."""


@dataclass(frozen=True)
class Seam(Generic[T]):
    """A place where the core asks the addons for objects of one type."""

    name: str
    kind: type[T]

    def provided(self, words: Container[str] | None = None) -> tuple[T, ...]:
        """Return what the addons provide, in the order of their names.

        What needs an addon that is not installed is left out, and :meth:`lacking` names it.
        ``words`` are those of an experiment: addons whose word is not among them are left out.

        :raises RegistrationError: when two objects have the same ``name``.
        """
        return self._objects(_about(words))[0]

    def lacking(self, words: Container[str]) -> tuple[str, ...]:
        """Return the addons from which an object is left out, because it needs another addon.

        ``words`` are those of an experiment, as in :meth:`provided`.
        """
        return self._objects(_about(words))[1]

    @cache  # noqa: B019 - seams are constants
    def _objects(self, names: tuple[str, ...]) -> tuple[tuple[T, ...], tuple[str, ...]]:
        """Return what these addons provide, and those of them that need another one."""
        provided, lacking = list[T](), dict[str, None]()
        for name in names:
            for place in addons()[name].provides.get(self.name, ()):
                try:
                    provided.append(self._load(place))
                except MissingAddonError:
                    lacking[name] = None
        refuse_duplicates(self.name, [one.name for one in provided if hasattr(one, "name")])
        return tuple(provided), tuple(lacking)

    def _load(self, place: str) -> T:
        provided = load(place)
        if not isinstance(provided, self.kind):
            raise RegistrationError(f"{place} is no {self.kind.__name__}, as {self.name} are")
        loaded: T = provided
        return loaded


@cache
def addons() -> Mapping[str, Addon]:
    """Return the installed addons by the names of their folders."""
    try:
        package = importlib.import_module(PACKAGE)
    except ModuleNotFoundError:
        return {}
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return {name: _registered(name) for name in names}


def _about(words: Container[str] | None) -> tuple[str, ...]:
    """Return the addons that an experiment with these words may be about; without words, all."""
    return tuple(
        name
        for name, addon in addons().items()
        if words is None or not addon.word or addon.word in words
    )


def _registered(name: str) -> Addon:
    registered = getattr(importlib.import_module(f"{PACKAGE}.{name}"), "ADDON", None)
    if not isinstance(registered, Addon):
        raise RegistrationError(f"{PACKAGE}.{name} registers no ADDON")
    return registered


def load(place: str) -> Any:
    """Return the object of an addon at ``module:attribute``.

    :raises MissingAddonError: when it needs an addon that is not installed.
    """
    module, _, attribute = place.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if missing := missing_addon(error, module.rpartition(".")[2].removesuffix("_verb")):
            raise missing from None
        raise


def missing_addon(error: ModuleNotFoundError, needed_by: str) -> MissingAddonError | None:
    """Return the error of importing an addon that is not installed; None for other modules."""
    name = (error.name or "").partition(f"{PACKAGE}.")[2].partition(".")[0]
    if not name or name in addons():
        return None
    reason = f"needs the addon {name!r}, which is not installed"
    return MissingAddonError([Mistake(needed_by, reason, "install httpbed again")])


def refuse_duplicates(what: str, names: list[str]) -> None:
    """Refuse a name that is registered twice.

    :raises RegistrationError: naming each.
    """
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise RegistrationError(f"{what} registered twice: {', '.join(twice)}")
