"""Programs of every origin run in a sandbox, and are told apart to the last library."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from httpbed.bed.sandbox.sandbox_spec import PartSpec, ProcessSpec, SandboxSpec
from httpbed.bed.sandbox.supervisor import sandbox
from httpbed.programs import catalog
from httpbed.programs.catalog import Catalog
from httpbed.trial import program_roots
from httpbed.trial.program_roots import Programs

pytestmark = pytest.mark.namespaces

RECIPE = """
schema = 1
name = "{name}"
roles = ["client"]
http_versions = ["3"]
workloads = ["download"]

[install]
{install}

[version]
argv = {argv}
pattern = '(?P<version>[0-9.]+)'

[run]
argv = ["{command}"]

[parse]
parser = "curl-json"
file = "said.json"
"""
BORROWED = "sleep"
"""A program of any machine, which stands for one of the user's: it tells its version."""


def known(folder: Path, name: str, install: str, argv: list[str]) -> Catalog:
    folder.mkdir(exist_ok=True)
    text = RECIPE.format(name=name, install=install, argv=argv, command=argv[0])
    (folder / f"{name}.toml").write_text(text)
    return catalog.load([folder])


async def _run(found: Programs, spec: ProcessSpec, folder: Path) -> str:
    for part in ("scratch", f"trial/{spec.part}"):
        (folder / part).mkdir(parents=True)
    described = SandboxSpec(
        scratch=folder / "scratch",
        trial=folder / "trial",
        roots=found.roots(),
        shared={},
        programs={},
        hosts={},
        sysctls={},
        tmpfs_bytes=2**26,
        parts={str(spec.part): found.part(PartSpec(spec.root, folders={str(spec.part): 10**6}))},
    )
    async with sandbox(described) as supervisor:
        ended = await supervisor.run(spec)
    said = (folder / "trial" / str(spec.stdout)).read_text()
    assert ended.clean, said
    return said


def version(recipes: Catalog, name: str, folder: Path) -> tuple[Programs, str]:
    """Find or build the program of a recipe, and ask it its version."""
    found = program_roots.ensure(recipes, [name], say=print)
    asking = recipes[name].identify()
    assert asking
    return found, asyncio.run(_run(found, asking, folder))


@pytest.mark.toolbox
@pytest.mark.parametrize(
    ("name", "argv", "word"),
    [
        ("envoy", ["envoy", "--version"], "1.40.0"),
        ("caddy", ["caddy", "version"], "v2."),
        (
            "aioquic",
            ["python3", "-c", "import aioquic.h3.connection as h3; print(3, h3.__cached__)"],
            "/opt/pypi/aioquic/h3/__pycache__",
        ),
    ],
)
def test_programs_of_the_python_index(
    tmp_path: Path, name: str, argv: list[str], word: str
) -> None:
    """Each is found by name in its pinned version, and its modules are compiled."""
    shipped = catalog.load()[name]
    assert shipped.version
    asking = shipped.model_copy(
        update={"version": shipped.version.model_copy(update={"argv": argv})}
    )
    recipes = Catalog({name: asking})
    found, said = version(recipes, name, tmp_path)
    assert word in said
    program = found.identity(name, recipes[name].command(shipped.roles[0]))
    assert len(program.sha256) == 64
    wheels = {f"{canonicalize_name(one)}=={its}" for one, its in found.wheels(name).items()}
    assert wheels <= set(shipped.install.pypi)


def borrow(folder: Path) -> Path:
    """Copy a program to a place that the sandbox does not show."""
    folder.mkdir()
    program = folder / "my own"
    shutil.copy(shutil.which(BORROWED) or "", program)
    return program


def test_a_program_of_the_user_runs(tmp_path: Path) -> None:
    """Its path is relative to its recipe, and it runs as the machine's programs do."""
    borrow(tmp_path / "r")
    argv = ["{program}", "--version"]
    recipes = known(tmp_path / "r", "mine", 'binary = "./my own"', argv)
    found, said = version(recipes, "mine", tmp_path)
    assert BORROWED in said
    program = found.identity("mine", recipes["mine"].command("client"))
    assert program.path == str(tmp_path / "r/my own")
    assert any("/libc.so" in library for library in program.libraries)


def test_a_library_in_an_unusual_place_is_shown_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loader finds it inside as it does outside."""
    borrow(tmp_path / "r")
    recipes = known(tmp_path / "r", "mine", 'binary = "./my own"', ["{program}", "--version"])
    usual = program_roots.ensure(recipes, ["mine"], say=print)
    libraries = usual.identity("mine", recipes["mine"].command("client")).libraries
    (libc,) = (path for path in libraries if "/libc.so" in path)
    (tmp_path / "lib").mkdir()
    shutil.copy(libc, tmp_path / "lib")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "lib"))
    found = program_roots.ensure(recipes, ["mine"], say=print)
    shown = found.part(PartSpec("mine")).shared
    assert shown[f"/programs/user/{Path(libc).name}"] == tmp_path / "lib" / Path(libc).name
    spec = recipes["mine"].identify()
    assert spec
    shows_maps = ProcessSpec(
        argv=("/programs/user/program", "--version"),
        root="mine",
        part="mine",
        environment={**spec.environment, "LD_DEBUG": "files"},
        stdout="mine/said",
        stderr="mine/said",
    )
    said = asyncio.run(_run(found, shows_maps, tmp_path))
    assert f"/programs/user/{Path(libc).name}" in said
