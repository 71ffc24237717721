"""Where programs are: what of the user's own cannot be run is told before anything is."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.experiment.errors import ConfigError, HostError
from httpbed.host.packages import toolbox
from httpbed.host.packages.toolbox import Contents, Root
from httpbed.programs import catalog
from httpbed.programs.catalog import Catalog
from httpbed.programs.install import Install
from httpbed.trial import program_roots

ELSEWHERE = b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + b"\xff\x00" + bytes(44)
"""The header of a program for a processor that nobody has."""


def with_program(path: str) -> Catalog:
    """Put an executable in the place of curl."""
    return catalog.load().with_programs({"curl": path})


@pytest.mark.parametrize(
    ("content", "mode", "word"),
    [
        (b"\x7fELF", 0o644, "may not be executed"),
        (b"#!/bin/sh\n", 0o755, "is a script"),
        (b"", 0o755, "is a script, or no program"),
        (ELSEWHERE, 0o755, "is for another processor"),
    ],
)
def test_what_cannot_be_run_is_told_with_the_remedy(
    tmp_path: Path, content: bytes, mode: int, word: str
) -> None:
    """Its place is the recipe's, whose program it stands for."""
    program = tmp_path / "mine"
    program.write_bytes(content)
    program.chmod(mode)
    with pytest.raises(ConfigError, match=word) as caught:
        program_roots.ensure(with_program(str(program)), ["curl"], say=print)
    (mistake,) = caught.value.mistakes
    assert mistake.place == "curl: install.binary"
    assert mistake.remedy


@pytest.mark.parametrize(
    ("name", "word"),
    [("/no/such/program", "not there"), ("no-such-program", "not on the PATH"), ("/", "no file")],
)
def test_what_is_missing_can_be_named_on_the_command_line(name: str, word: str) -> None:
    """A bare name is looked up as a shell does, a path is not."""
    with pytest.raises(ConfigError, match=word) as caught:
        program_roots.ensure(with_program(name), ["curl"], say=print)
    assert "--program curl=PATH" in str(caught.value)


def test_a_program_replaces_a_recipe_s_everywhere() -> None:
    """Its version is asked of the same program that is measured."""
    recipe = with_program("/my/curl-9")["curl"]
    asking = recipe.identify()
    assert asking
    assert recipe.command("client") == asking.argv[0] == "/programs/curl/curl-9"
    assert asking.environment == {"LD_LIBRARY_PATH": "/programs/curl"}
    assert with_program("/my/curl-9").installs(["curl"]) == {}
    with pytest.raises(ConfigError, match="no recipe 'kurl'"):
        catalog.load().with_programs({"kurl": "/my/curl"})


def test_who_is_asked_through_another_program_has_no_version() -> None:
    """A library of a package's tells nothing of the user's build, whose digest is known."""
    recipe = catalog.load().with_programs({"gtlsserver": "/my/gtlsserver"})["gtlsserver"]
    assert recipe.command("server") == "/programs/gtlsserver/gtlsserver"
    assert recipe.identify() is None


def test_no_program_takes_the_place_of_a_script() -> None:
    """It would be started as the interpreter, with the script for its first word."""
    with pytest.raises(ConfigError, match="aioquic is a script for python3"):
        catalog.load().with_programs({"aioquic": "/my/aioquic"})


def test_a_relative_path_is_the_recipe_s_own() -> None:
    """Wherever the command is started; and a bare name stays one."""
    install = Install(binary="build/hq").beside(Path("/recipes"))
    assert install.binary == "/recipes/build/hq"
    assert Install(binary="hq").beside(Path("/recipes")).binary == "hq"


def test_what_cannot_be_had_today_keeps_nobody_from_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One root fails, the others are built; who needs the failed one is told so."""
    there = Root("sid", Path("/"), frozenset(), {}, "")

    def some(contents: Contents, *, say: program_roots.Say) -> Root:
        say(contents.suite)
        if contents == Contents("sid", frozenset({"nginx"})):
            raise HostError("nginx is held back", "try again")
        return there

    monkeypatch.setattr(toolbox, "ensure", some)
    known = catalog.load()
    roots, failures = program_roots.build(known.installs(), say=print)
    assert [known.installs()[contents] for contents in failures] == [["nginx"]]
    assert len(roots) == len(known.installs()) - 1
    assert program_roots.ensure(known, ["curl"], say=print).roots() == dict.fromkeys(
        ("curl", "tools"), Path("/")
    )
    with pytest.raises(HostError, match="nginx cannot be had: nginx is held back") as caught:
        program_roots.ensure(known, ["curl", "nginx"], say=print)
    assert "leave nginx out" in caught.value.remedy
