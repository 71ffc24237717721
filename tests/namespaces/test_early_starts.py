"""What runs before the first trial runs in a sandbox, or is a tool of httpbed's own.

A program under test is asked its version, and its libraries are listed. Neither may reach the
user's files, whatever the program is, does or leaves (docs/concepts/isolation.md).
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

import command_line
import linking
from command_line import Command
from httpbed.addons.interop import interop_session
from httpbed.base.errors import HostError
from httpbed.bed.sandbox.sandbox_spec import PartSpec, SandboxSpec
from httpbed.bed.sandbox.supervisor import sandbox
from httpbed.bed.toolbox import root_filesystem
from httpbed.campaign import campaign_setup, preparation, program_versions
from httpbed.programs import catalog
from httpbed.store import campaign as campaigns
from httpbed.trial.attempt_plan import PlanOptions
from real_runs import SmallExperiment, Stage

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.as_root]

RECIPE = """
schema = 1
name = "subject"
roles = ["client"]
http_versions = ["1.1"]
workloads = ["download"]

[install]
{install}

[version]
argv = {argv}
pattern = '(?P<version>[0-9a-z.]+)'

[run]
argv = ["{program}"]

[parse]
parser = "none"
file = "said.txt"
"""
PYTHON = 'suite = "trixie"\npackages = ["ngtcp2-client", "python3"]'
PRIVATE = "token1234"
REPLACES = {
    "link": "os.symlink({secret!r}, file)",
    "pipe": "os.mkfifo(file)",
    "folder": "os.mkdir(file)",
    "hole": "open(file, 'wb').truncate(10**13)",
    "digits": "open(file, 'w').write('9' * 10**6)",
    "nothing": "pass",
}
"""What a program does after it has removed the file with what it printed."""


@pytest.fixture
def httpbed(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    return command_line.command(monkeypatch, capfdbinary)


def recipe(folder: Path, install: str, argv: list[str], program: str = "{program}") -> Path:
    """Write a stranger's recipe into a folder."""
    folder.mkdir()
    text = RECIPE.replace("{program}", program).replace("{install}", install)
    (folder / "subject.toml").write_text(text.replace("{argv}", repr(argv)))
    return folder


@pytest.mark.parametrize("way", ["loader", "audit", "depaudit"])
def test_a_program_that_brings_its_own_loader_is_refused_unrun(
    tmp_path: Path, httpbed: Command, way: str
) -> None:
    """Named by a recipe or by the user, it is a mistake with a reason, and nothing of it runs."""
    tmp_path.chmod(0o755)
    mark = tmp_path / "mark"
    program = linking.hostile(tmp_path, way, mark)
    recipes = recipe(tmp_path / "recipes", f'binary = "{program}"', ["{program}"])
    of_user = ("--program", f"curl={program}")
    for words in (
        ("toolbox", "check", "subject", "--recipes", recipes),
        ("compare", "curl:h2", "--clock", "real", *of_user, "-o", tmp_path / "campaign"),
        ("conformance", "curl", *of_user),
    ):
        code, _, said = httpbed(*words)
        assert code == 2
        assert "loader" in said
        assert str(program) in said
    assert not mark.exists()


def test_a_library_runs_in_the_sandbox_only(tmp_path: Path, httpbed: Command) -> None:
    """Its constructor would make a mark on this machine if the library was loaded outside."""
    tmp_path.chmod(0o777)
    program = linking.hostile(tmp_path, "constructor", tmp_path / "mark")
    recipes = recipe(tmp_path / "recipes", f'binary = "{program}"', ["{program}"])
    code, out, _ = httpbed("toolbox", "check", "subject", "--recipes", recipes)
    assert code == 1
    assert "subject" in out
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("instead", REPLACES)
def test_what_a_program_leaves_in_place_of_its_version_is_not_followed(
    tmp_path: Path, instead: str
) -> None:
    """A link to the user's files, a pipe or an endless file is no version, and ends nothing."""
    secret = tmp_path / "secret"
    secret.write_text(PRIVATE)
    secret.chmod(0o600)
    lines = ["import os", "file = '/trial/subject/version.txt'", "os.unlink(file)"]
    code = "\n".join([*lines, REPLACES[instead].format(secret=str(secret))])
    recipes = recipe(tmp_path / "recipes", PYTHON, ["python3", "-c", code], "python3")
    known = catalog.load([recipes])
    setup = interop_session.make_setup(known, [known["subject"]], say=print)
    found = asyncio.run(program_versions.ask_versions([known["subject"]], setup))["subject"]
    assert found.version is None
    assert PRIVATE not in found.output


def test_no_path_of_a_recipe_leads_out_of_a_part(tmp_path: Path) -> None:
    """A part's files are made while the user's are still there; ``..`` must not reach those."""
    victim = tmp_path / "victim"
    victim.write_text(PRIVATE)
    victim.chmod(0o666)
    for folder in ("scratch", "trial/subject"):
        (tmp_path / folder).mkdir(parents=True)
    up = "/.." * (len(tmp_path.parts) + 20)
    spec = SandboxSpec(
        scratch=tmp_path / "scratch",
        trial=tmp_path / "trial",
        roots={},
        shared={},
        programs={},
        hosts={},
        sysctls={},
        tmpfs_bytes=2**26,
        parts={
            "subject": PartSpec(None, folders={"subject": 2**20}, shared={f"{up}{victim}": victim})
        },
    )

    async def make() -> None:
        async with sandbox(spec):
            pass

    asyncio.run(make())
    assert victim.read_text() == PRIVATE
    assert [path.name for path in (tmp_path / "trial").iterdir()] == ["subject"]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_program_that_is_replaced_before_a_trial_ends_the_run(
    tmp_path: Path, *, replaced: bool
) -> None:
    """The digest that was taken would be another program's; so no attempt is kept."""
    tmp_path.chmod(0o755)
    contents = catalog.load()["caddy"].install.contents()
    assert contents
    theirs = root_filesystem.ensure(contents, say=print).path / "opt/pypi/bin/caddy"
    own = tmp_path / "caddy"
    shutil.copy(theirs, own)
    known = catalog.load().with_programs({"caddy": str(own)})
    wanted = SmallExperiment(server="caddy", versions=("1.1",)).text()
    loaded = preparation.load(wanted, known, Path())
    setup = campaign_setup.make_setup(loaded, known, PlanOptions(), say=print)
    prepared = Stage(loaded, setup)
    if not replaced:
        outcomes = {
            result.attempt.outcome.kind for result in prepared.results(tmp_path / "campaign")
        }
        assert outcomes == {"completed"}
        return
    shutil.copy(theirs, tmp_path / "rebuilt")
    (tmp_path / "rebuilt").replace(own)
    with pytest.raises(HostError, match="replaced or changed"):
        prepared.run(tmp_path / "campaign")
    assert list(campaigns.open_existing(tmp_path / "campaign").records()) == []
