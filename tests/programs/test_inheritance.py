"""A recipe that inherits from another: tables are merged by key, install is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.base.errors import ConfigError
from httpbed.programs import catalog
from httpbed.programs.catalog import merged

tables = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(st.sampled_from("abcd"), tables, max_size=3)


@given(documents, documents)
def test_own_values_win_and_inherited_ones_stay(
    base: dict[str, object], own: dict[str, object]
) -> None:
    """The result has every key of both; an empty recipe leaves the base as it is."""
    assert set(merged(base, own)) == set(base) | set(own)
    assert merged(base, {}) == base
    assert merged(base, base) == base
    assert merged({}, own) == own


def test_an_install_is_never_mixed() -> None:
    """A user's binary is not also a package of a suite."""
    base = {"install": {"suite": "sid", "packages": ["nginx"]}, "run": {"argv": ["a"], "x": 1}}
    own = {"install": {"binary": "mine"}, "run": {"argv": ["b"]}}
    assert merged(base, own) == {"install": {"binary": "mine"}, "run": {"argv": ["b"], "x": 1}}


OWN = """
schema = 1
like = "nginx"
name = "nginx-mine"
install = { binary = "builds/nginx" }
congestion_control = { quic = { fixed = "reno" } }
"""


def test_a_recipe_for_an_own_build_takes_five_lines(tmp_path: Path) -> None:
    """The binary's path is relative to the recipe's folder."""
    (tmp_path / "mine.toml").write_text(OWN)
    recipe = catalog.load([tmp_path])["nginx-mine"]
    assert recipe.install.binary == str(tmp_path / "builds/nginx")
    assert recipe.command("server") == "/programs/user/program"
    asking = recipe.identify()
    assert asking
    assert asking.argv[0] == "/programs/user/program"
    assert recipe.knobs == catalog.load()["nginx"].knobs
    assert recipe.congestion_control.resolved("quic", None) == "reno"


def test_a_binary_cannot_inherit_from_a_script(tmp_path: Path) -> None:
    """The script's interpreter could not read it."""
    text = OWN.replace('nginx"', 'aioquic"', 1).replace("congestion_control = ", "# ")
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ConfigError, match="is a script"):
        catalog.load([tmp_path])


@pytest.mark.parametrize("like", ['"nobody"', "3", '["nginx"]', '"nginx-mine"'])
def test_inheriting_from_an_unknown_recipe_is_a_mistake(tmp_path: Path, like: str) -> None:
    """A recipe cannot inherit from itself either."""
    (tmp_path / "mine.toml").write_text(OWN.replace('"nginx"\nname', f"{like}\nname"))
    with pytest.raises(ConfigError) as caught:
        catalog.load([tmp_path])
    assert [mistake.place for mistake in caught.value.mistakes] == [f"{tmp_path}/mine.toml: like"]
