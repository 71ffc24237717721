"""How a recipe starts its program, and what follows for one part of a trial."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Annotated

from pydantic import Field

from httpbed.base import spellings
from httpbed.base.value import Value
from httpbed.experiment.kept import ProgramRecord
from httpbed.experiment.roles import HttpVersion
from httpbed.programs.part import Part
from httpbed.programs.shipped_programs import shipped_programs

# Templates of recipes: ``{name}`` stands for a variable, ``{{`` and ``}}`` for a brace.
#
# A brace that opens no name, as in a server's configuration, stands for itself. A word of a command
# that consists of one variable may become any number of words.


Words = str | Sequence[str]
"""Value of a variable: a text or, where the variable is a whole word, several words."""

_TOKEN = re.compile(r"\{\{|\}\}|\{(?P<name>[a-z][a-z0-9_]*)\}")


def names(text: str) -> Iterator[str]:
    """Yield the variables in a template."""
    return (match["name"] for match in _TOKEN.finditer(text) if match["name"])


def alone(text: str) -> str | None:
    """Return the variable if the template is nothing else; otherwise None."""
    match = _TOKEN.fullmatch(text)
    return match["name"] if match else None


def fill(text: str, variables: Mapping[str, Words]) -> str:
    """Replace every variable by its text.

    Raises:
        KeyError: A variable is unknown.
        TypeError: A variable has several words, but the template is more than that variable.
    """
    return _TOKEN.sub(lambda match: _replacement(match, variables), text)


def fill_words(words: Iterable[str], variables: Mapping[str, Words]) -> Iterator[str]:
    """Fill the words of a command; a variable of several words becomes that many words."""
    for word in words:
        name = alone(word)
        value = variables[name] if name else None
        if value is None or isinstance(value, str):
            yield fill(word, variables)
        else:
            yield from value


def _replacement(match: re.Match[str], variables: Mapping[str, Words]) -> str:
    if not match["name"]:
        return match[0][0]
    value = variables[match["name"]]
    if not isinstance(value, str):
        msg = f"{{{match['name']}}} stands for several words"
        raise TypeError(msg)
    return value


LISTS = frozenset({"requests", "upstreams", "origins"})
"""Variables that repeat a template for each request, upstream or origin."""


class Choice(Value):
    """A variable whose value depends on the trial."""

    by: str
    """The deciding variable, such as ``http_version``, ``role`` or ``visit``, or a knob."""
    values: dict[str, str | list[str]]
    """Value of the deciding variable -> a template, or the templates of several words."""


class Recording(Value):
    """How the program is asked for records that it writes on request only."""

    environment: dict[str, str] = Field(default_factory=dict)
    """Variable of the environment -> template."""
    text: str | list[str] = ""
    """Template of a text, or of several words, for ``{qlog}`` or ``{keylog}`` in the command and
    the files; without the request, the variable is empty."""
    http_versions: list[HttpVersion] | None = None
    """Versions of its own connections that it records, as client or server. Default: all."""
    upstream_http_versions: list[HttpVersion] | None = None
    """As a proxy, versions of its connections to the next hop that it records. Default: all."""


_Port = Annotated[int, Field(ge=1, le=65535)]


class Ready(Value):
    """Ports that are open once a server has started."""

    tcp: list[_Port] = Field(default_factory=list)
    udp: list[_Port] = Field(default_factory=list)


class Run(Value):
    """How the program is started in a role."""

    argv: list[str] = Field(min_length=1)
    """Command and arguments; no shell interprets them. ``{name}`` stands for a variable."""
    program: str | None = Field(default=None, pattern=spellings.URL_PATH)
    """Path of the executable under test if the command only drives it; campaigns cite this program.

    ``{program}`` stands for the path."""
    files: dict[str, str] = Field(default_factory=dict)
    """Files that are written into the part's folder before the start: name -> template."""
    programs: list[str] = Field(default_factory=list)
    """Programs that come with httpbed (``builtin``) and are copied into the part's folder.

    A program of several modules is a folder."""
    stdout: str | None = None
    """File in the part's folder for standard output."""
    stderr: str | None = None
    environment: dict[str, str] = Field(default_factory=dict)
    """Variable of the environment -> template."""
    ready: Ready = Ready()
    keep: dict[ProgramRecord, Recording] = Field(default_factory=dict)
    """What it writes on request: the TLS secrets go to ``{keylog_file}``, events of QUIC
    connections to the part's folder as ``*.sqlog`` or ``*.qlog``."""
    choose: dict[str, Choice] = Field(default_factory=dict)
    """Variables that only this recipe has."""
    each_request: list[str] = Field(default_factory=list)
    """Words for each file to fetch; together they are ``{requests}``."""
    each_upload: list[str] = Field(default_factory=list)
    """Words for each file to upload, in place of ``each_request``; ``{file}`` is what is sent."""
    each_upstream: str = ""
    """Text for each upstream; together they are ``{upstreams}``."""
    each_origin: str = ""
    """Text for each origin of a replayed site; together they are ``{origins}``."""

    def templates(self) -> Iterator[tuple[str, str]]:
        """Yield place and text of every template that is filled once."""
        yield from ((f"argv[{index}]", word) for index, word in enumerate(self.argv))
        yield from ((f"files.{name}", text) for name, text in self.files.items())
        yield from ((f"environment.{name}", text) for name, text in self.environment.items())
        for name, choice in self.choose.items():
            for key, value in choice.values.items():
                yield from ((f"choose.{name}.values.{key}", word) for word in _words(value))
        for kind, record in self.keep.items():
            yield from ((f"keep.{kind}.text", word) for word in _words(record.text))
            for name, text in record.environment.items():
                yield f"keep.{kind}.environment.{name}", text

    def input_files(self, variables: Mapping[str, Words]) -> dict[str, str]:
        """Return name and content of every file that the part's folder needs before the start."""
        shipped = dict(file for name in self.programs for file in _shipped(name))
        return shipped | {name: fill(text, variables) for name, text in self.files.items()}

    def variables(self, part: Part, own: Mapping[str, str]) -> dict[str, Words]:
        """Return the variables of this run's templates; ``own`` are those of the whole recipe."""
        driven = {"program": self.program} if self.program else {}
        base = {**part.variables(), **own, **driven}
        deciding = base | {
            "role": part.role,
            "resumption": part.resumption,
            "visit": part.visit,
            "retry": part.retry,
            "transfers": part.transfers,
        }
        variables: dict[str, Words] = dict(base)
        for kind, record in self.keep.items():
            absent: str | list[str] = "" if isinstance(record.text, str) else []
            variables[kind] = _chosen(record.text if kind in part.kept else absent, variables)
        for name, choice in self.choose.items():
            variables[name] = _chosen(choice.values[deciding[choice.by]], variables)
        words = self.each_request if part.sender == "server" else self.each_upload
        variables["requests"] = [
            filled for each in part.each_request() for filled in fill_words(words, variables | each)
        ]
        variables["upstreams"] = "".join(
            fill(self.each_upstream, variables | each) for each in part.each_upstream()
        )
        variables["origins"] = "".join(
            fill(self.each_origin, variables | each) for each in part.each_origin()
        )
        return variables

    def environment_of(self, part: Part) -> dict[str, str]:
        """Return the environment's templates, with those of the records that a part keeps."""
        kept = (record.environment for kind, record in self.keep.items() if kind in part.kept)
        return {name: text for one in (self.environment, *kept) for name, text in one.items()}


def _words(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _shipped(name: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each file of a builtin program."""
    program = shipped_programs()[name]
    if program.is_file():
        yield name, program.read_text("utf-8")
        return
    for module in program.iterdir():
        if module.name.endswith(".py"):
            yield f"{name}/{module.name}", module.read_text("utf-8")


def _chosen(value: str | list[str], known: Mapping[str, Words]) -> Words:
    if isinstance(value, str):
        return fill(value, known)
    return list(fill_words(value, known))


def in_folder(part: Part, name: str | None) -> str | None:
    """Return the path of a recipe's file in the folder of a part."""
    return None if name is None else str(PurePath(part.name, name))
