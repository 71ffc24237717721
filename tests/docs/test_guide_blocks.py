"""Every block of code in README, guides and concepts is accepted as it is printed.

TOML: a whole experiment or recipe is loaded as ``validate`` and ``toolbox check`` do; a fragment is
loaded within an experiment or recipe that lacks it. Lines of ``sh``, ``console`` and ``yaml``: each
``httpbed`` has options that exist, with values that they take. What no test can load carries a
comment in the line above its block, ``<!-- not loaded: REASON -->``. ``<!-- in a claim -->`` and
the like mark what ``test_guides`` loads; ``<!-- with hosts: A, B -->`` names a fragment's hosts.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest
import tomlkit
import yaml  # type: ignore[import-untyped]

import campaigns
from httpbed.campaign import preparation
from httpbed.cli.main import cli
from httpbed.cli.verb import command_of, of_url
from httpbed.experiment import parser
from httpbed.experiment.document import factor_references
from httpbed.experiment.experiment import experiment_model
from httpbed.experiment.scenario import Scenario
from httpbed.programs import catalog as catalogs
from httpbed.programs.recipe import Recipe

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", *ROOT.glob("docs/guides/*.md"), *ROOT.glob("docs/concepts/*.md")]
)
BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
ELSEWHERE = re.compile(r"not loaded: \w.*|in an? \w+|in the experiment of both blocks")
HOSTS = re.compile(r"with hosts: (.*)")
RECIPE_KEYS = {
    field.alias or name for name, field in Recipe.model_fields.items() if field.alias != "schema"
} - {*Scenario.model_fields, *experiment_model().model_fields} | {"like"}
"""Keys that only recipes have."""
BASE = tomllib.loads(campaigns.VERSIONS)
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@dataclass(frozen=True)
class Block:
    page: Path
    language: str
    text: str
    mark: str
    line: int

    def __str__(self) -> str:
        return f"{self.page.stem}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    """Return the blocks of these languages."""
    return [
        Block(
            page,
            found["language"],
            found["text"],
            found["mark"] or "",
            text.count("\n", 0, found.start()) + 1,
        )
        for page in PAGES
        for text in [page.read_text()]
        for found in BLOCK.finditer(text)
        if found["language"] in languages
    ]


def test_every_block_has_a_language_that_is_tested() -> None:
    """Output is ``text``; a block within a list belongs to its sentence."""
    known = {"toml", "sh", "console", "yaml", "python", "text", ""}
    fences = re.findall(r"^```(.*)$", "".join(page.read_text() for page in PAGES), re.MULTILINE)
    assert {*fences} <= known
    assert len(fences) == 2 * len(blocks(*known))


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_a_block_of_toml_is_loaded(block: Block, tmp_path: Path) -> None:
    """Alone, or within what surrounds it."""
    if ELSEWHERE.fullmatch(block.mark):
        return
    table = tomllib.loads(block.text)
    if isinstance(table.get("roles"), list) or RECIPE_KEYS & table.keys():
        whole = block.text if "schema" in table else tomlkit.dumps(_merged(_recipe(table), table))
        (tmp_path / "own.toml").write_text(whole)
        catalogs.load((tmp_path,))
    elif "schema" in table:
        assert parser.read(block.text).mistakes == ()
        if "trace =" not in block.text:  # a file beside it
            preparation.load(block.text, catalogs.load())
    else:
        hosts = HOSTS.fullmatch(block.mark)
        around = _surroundings(table, hosts[1].split(", ") if hosts else [])
        assert parser.read(tomlkit.dumps(around)).mistakes == ()


def _recipe(fragment: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the recipe of the guide, without the tables of a fragment."""
    (first, *_) = (
        block.text for block in blocks("toml") if block.page.stem == "own-implementation"
    )
    recipe = tomllib.loads(first)
    return {key: part for key, part in recipe.items() if key not in {"install"} & fragment.keys()}


def _surroundings(fragment: Mapping[str, Any], hosts: Sequence[str]) -> Mapping[str, Any]:
    """Return a fragment within an experiment, on a chain of these hosts if any are given."""
    base = {key: part for key, part in BASE.items() if key not in {"workload"} & fragment.keys()}
    if hosts:
        links = [{"between": list(ends)} for ends in pairwise(hosts)]
        base["topology"] = {"hosts": list(hosts), "links": links}
    whole = _merged(base, fragment)
    used = {name for _, name in factor_references(whole)} | {*fragment.get("factors", {})}
    return {
        **whole,
        "factors": {name: whole["factors"][name] for name in whole["factors"] if name in used},
    }


def _merged(base: Any, more: Any) -> Any:
    """Return tables merged; other values of the second one replace those of the first."""
    if not isinstance(base, Mapping) or not isinstance(more, Mapping):
        return deepcopy(more)
    keys = [*base, *(key for key in more if key not in base)]
    return {
        key: _merged(base[key], more[key])
        if key in base and key in more
        else deepcopy({**base, **more}[key])
        for key in keys
    }


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_a_block_of_python_compiles(block: Block) -> None:
    """Notebooks and ``test_guides`` run some of them."""
    compile(block.text, str(block), "exec")


@pytest.mark.parametrize("block", blocks("sh", "console", "yaml"), ids=str)
def test_the_lines_of_a_block_are_accepted(block: Block) -> None:
    """Each option of httpbed and each target of make exist; other programs are not ours."""
    if ELSEWHERE.fullmatch(block.mark):
        return
    for words in _commands(block):
        program = Path(words[0]).name
        if program == "httpbed":
            _require_accepted(words[1:])
        elif program == "make" and block.language == "sh":
            assert {word for word in words[1:] if "=" not in word} <= TARGETS, words


def _commands(block: Block) -> Iterator[list[str]]:
    """Yield the words of each command, without redirections."""
    for script in _scripts(block):
        for line in script.replace("\\\n", " ").splitlines():
            lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
            lexer.commenters, lexer.whitespace_split = "#", True
            words, is_target = list[str](), False
            for word in [*lexer, ";"]:
                if set(word) <= set("();<>|&"):
                    is_target = word in {"<", ">", ">>"}
                    if words and not is_target:
                        yield words
                        words = []
                elif not is_target:
                    words.append(word)
                else:
                    is_target = False


def _scripts(block: Block) -> Iterator[str]:
    if block.language == "yaml":
        read = yaml.safe_load(block.text)
        for job in (read.get("jobs") or {}).values():
            yield from (step["run"] for step in job["steps"] if "run" in step)
    elif block.language == "console":
        yield from (line[2:] for line in block.text.splitlines() if line.startswith("$ "))
    else:
        yield block.text


def _require_accepted(words: list[str]) -> None:
    """Read a command line as click does, but no file that it names."""
    command: click.Command = cli
    context = click.Context(cli, info_name="httpbed")
    while isinstance(command, click.Group):
        if not words:  # which prints the help
            return
        name, words = words[0], words[1:]
        at_a_url = of_url(name, words)
        found = command_of(at_a_url) if at_a_url else command.get_command(context, name)
        assert found is not None, f"no verb {name}"
        command, context = found, click.Context(found, parent=context, info_name=name)
    given, left, _ = command.make_parser(context).parse_args(list(words))
    assert not left or context.allow_extra_args, left
    for parameter in command.params:
        value = given.get(parameter.name)
        assert value or not parameter.required, parameter.name
        if isinstance(value, str | tuple | int) and not isinstance(parameter.type, click.Path):
            parameter.type_cast_value(context, value)
