"""Finding programs: every reason why the user's own cannot run is reported first."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pydantic import ValidationError

import linking
from httpbed.base.errors import ConfigError, HostError
from httpbed.bed.toolbox import root_filesystem
from httpbed.bed.toolbox.root_filesystem import Contents, Root
from httpbed.programs import catalog
from httpbed.programs.catalog import Catalog, require_user_programs
from httpbed.programs.install import Install
from httpbed.trial import program_roots
from httpbed.trial.program_roots import Programs

ELSEWHERE = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + b"\x02\0" + b"\xff\x00" + bytes(44)
"""The header of a program for a processor that nobody has."""


def program(path: Path) -> str:
    shutil.copy(str(shutil.which("true")), path)
    return str(path)


def with_program(path: str) -> Catalog:
    """Replace curl with an executable."""
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
def test_an_unusable_program_is_reported_with_the_remedy(
    tmp_path: Path, content: bytes, mode: int, word: str
) -> None:
    """The catalog rejects it, so validate, plan and compare do so too."""
    own = tmp_path / "mine"
    own.write_bytes(content)
    own.chmod(mode)
    with pytest.raises(ConfigError, match=word) as caught:
        with_program(str(own))
    (mistake,) = caught.value.mistakes
    assert mistake.place == "curl: install.binary"
    assert mistake.remedy


@pytest.mark.parametrize(
    ("name", "word"),
    [("/no/such/program", "not there"), ("no-such-program", "not on the PATH"), ("/", "no file")],
)
def test_a_missing_program_can_be_named_on_the_command_line(name: str, word: str) -> None:
    """A bare name is searched on the PATH."""
    with pytest.raises(ConfigError, match=word) as caught:
        with_program(name)
    assert "--program curl=PATH" in str(caught.value)
    assert ("./no-such-program" in str(caught.value)) == ("/" not in name)


def test_a_program_replaces_a_recipe_s_everywhere(tmp_path: Path) -> None:
    """Its version comes from the program that is measured."""
    own = program(tmp_path / "curl-9")
    recipe = with_program(own)["curl"]
    asking = recipe.identify()
    assert asking
    assert recipe.command("client") == asking.argv[0] == "/programs/user/program"
    assert asking.environment == {"LD_LIBRARY_PATH": "/programs/user"}
    assert with_program(own).installs(["curl"]) == {}
    with pytest.raises(ConfigError, match="no recipe 'kurl'"):
        catalog.load().with_programs({"kurl": own})


def test_a_library_behind_a_script_has_no_version(tmp_path: Path) -> None:
    """Its digest is known."""
    own = program(tmp_path / "gtlsserver")
    recipe = catalog.load().with_programs({"gtlsserver": own})["gtlsserver"]
    assert recipe.command("server") == "/programs/user/program"
    assert recipe.identify() is None


def test_no_program_replaces_a_script() -> None:
    """It would be started as the interpreter."""
    with pytest.raises(ConfigError, match="aioquic is a script for python3"):
        catalog.load().with_programs({"aioquic": "/my/aioquic"})


def test_a_relative_path_is_relative_to_its_recipe() -> None:
    """A bare name stays one."""
    install = Install(binary="build/hq").beside(Path("/recipes"))
    assert install.binary == "/recipes/build/hq"
    assert Install(binary="hq").beside(Path("/recipes")).binary == "hq"


@pytest.mark.parametrize("way", ["loader", "audit", "depaudit"])
def test_a_program_with_a_loader_of_its_own_is_refused(tmp_path: Path, way: str) -> None:
    """So is one that a recipe needs besides. Every one is reported, with the way out."""
    hostile = linking.hostile(tmp_path, way, tmp_path / "mark")
    with pytest.raises(ConfigError, match="loader") as caught:
        with_program(str(hostile))
    assert "statically" in str(caught.value)
    recipe = with_program(program(tmp_path / "mine"))["curl"]
    changed = recipe.install.model_copy(update={"needs": [str(hostile), str(hostile)]})
    with pytest.raises(ConfigError, match="needs") as caught:
        require_user_programs([recipe.model_copy(update={"install": changed})])
    assert len(caught.value.mistakes) == 2
    assert not (tmp_path / "mark").exists()


def test_a_program_that_is_not_readable_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file may be executable and nothing else; root reads it all the same."""
    own = program(tmp_path / "mine")

    def refused(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refused)
    with pytest.raises(ConfigError, match="cannot be read"):
        with_program(own)


@pytest.mark.parametrize("change", ["replaced", "written", "gone", "library"])
def test_a_program_that_is_another_one_by_now_is_noticed(tmp_path: Path, change: str) -> None:
    """A rebuild during a campaign ends it: nobody knows which program a trial ran."""
    linking.library(tmp_path / "libx.so")
    needing = ("-Wl,--no-as-needed", f"-L{tmp_path}", "-lx", "-Wl,-rpath,$ORIGIN")
    own = linking.linked(tmp_path / "mine", linking.NOTHING, *needing)
    known = with_program(str(own))
    place = program_roots._place(known["curl"], own)
    programs = Programs(Root("sid", Path("/"), frozenset(), {}, ""), {"curl": place})
    programs.require_unchanged()
    assert "libx.so" in place.libraries
    if change == "replaced":
        shutil.copy(own, tmp_path / "new")
        (tmp_path / "new").replace(own)
    elif change == "written":
        own.write_bytes(own.read_bytes() + b"\0")
    elif change == "gone":
        own.unlink()
    else:
        linking.library(tmp_path / "libx.so", "int another;")
    with pytest.raises(HostError, match="replaced or changed"):
        programs.require_unchanged()


@pytest.mark.parametrize("needed", ["/../home/me/.profile", "~/../me/.ssh", "/usr/../etc/shadow"])
def test_what_a_recipe_needs_is_at_a_plain_path(needed: str) -> None:
    """A part's files are made while the user's are still there."""
    with pytest.raises(ValidationError, match=r"'\.\.'"):
        Install(binary="hq", needs=[needed])


def test_a_failed_build_stops_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error names the recipes that need the failed root."""
    there = Root("sid", Path("/"), frozenset(), {}, "")

    def some(contents: Contents, *, say: program_roots.Say, accept_expired: bool) -> Root:
        say(f"{contents.suite} {accept_expired}")
        if contents == Contents("sid", frozenset({"nginx"})):
            raise HostError("nginx is held back", "try again")
        return there

    monkeypatch.setattr(root_filesystem, "ensure", some)
    known = catalog.load()
    roots, failures = program_roots.build(known.installs(), say=print)
    assert [known.installs()[contents] for contents in failures] == [["nginx"]]
    assert len(roots) == len(known.installs()) - 1
    assert program_roots.ensure(known, ["curl"], say=print).roots() == dict.fromkeys(
        ("curl", "tools"), Path("/")
    )
    with pytest.raises(HostError, match="nginx cannot be installed: nginx is held back") as caught:
        program_roots.ensure(known, ["curl", "nginx"], say=print)
    assert "leave nginx out" in caught.value.remedy
