"""Recipes: the shipped ones load, mistakes are reported, users' recipes replace them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from httpbed.base.errors import ConfigError, Mistake
from httpbed.programs import catalog
from httpbed.programs.part import FileToFetch, Part

CURL = (resources.files("httpbed.programs") / "recipes/curl.toml").read_text()
WINDOW = """
[[windows]]
bytes = 65535
name = "stream"
holds = "receiver's window"
roles = ["client"]
http_versions = ["2"]
lifted = "30"
source = "curl(1)"
"""
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a text as a recipe of the user's folder."""

    def put(text: str) -> Path:
        (tmp_path / "own.toml").write_text(text)
        return tmp_path

    return put


def mistakes(folder: Path) -> list[Mistake]:
    """Return the mistakes of loading the user's folder."""
    with pytest.raises(ConfigError) as caught:
        catalog.load([folder])
    return list(caught.value.mistakes)


def part(version: str) -> Part:
    """Return a client's part in a trial."""
    return Part(
        name="client",
        role="client",
        host="client",
        http_version=version,
        server_name="server.test",
        server_address="10.77.0.2",
        port=443,
        fetches=(FileToFetch("/1.txt", "/tmp/body"),),  # noqa: S108 - a path of the sandbox
        certificates="/certificates",
        content="/content",
        time_limit_s=600.0,
        file_bytes=10**6,
    )


def test_the_http_version_changes_only_the_clients_flag() -> None:
    """Commands for different HTTP versions differ in one word."""
    words = [catalog.load()["curl"].plan(part(version)).argv for version in ("1.1", "2", "3")]
    differing = [set(column) for column in zip(*words, strict=True) if len(set(column)) > 1]
    assert differing == [{"--http1.1", "--http2", "--http3-only"}]


def test_only_the_client_has_a_time_limit() -> None:
    """A server runs until the trial ends."""
    recipe = catalog.load()["curl"]
    assert recipe.plan(part("2")).timeout_s == 600.0
    serving = replace(part("2"), role="server")
    assert catalog.load()["nginx"].plan(serving).timeout_s is None


def test_a_recipe_of_the_user_replaces_a_shipped_one(write: Write) -> None:
    """Recipes are replaced by name; the manifest distinguishes them by digest."""
    own = catalog.load([write(CURL.replace('"--silent", ', ""))])
    assert own["curl"].digest != catalog.load()["curl"].digest
    assert "--silent" not in own["curl"].run.argv
    assert set(own.recipes) == set(catalog.load().recipes)


@pytest.mark.parametrize(
    ("old", "new", "place", "reason"),
    [
        ("schema = 1", "schema = 9", "schema", "must be 1, not 9"),
        ("schema = 1", 'schema = 1\nlike = "lynx"', "like", "no recipe 'lynx'"),
        ('name = "curl"', 'name = "c url"', "name", "lower-case letters"),
        ('roles = ["client"]', 'roles = ["cliant"]', "roles[0]", "'client', 'proxy' or 'server'"),
        ('http_versions = ["1.1", "2", "3"]', 'http_versions = ["9"]', "http_versions[0]", "'3'"),
        ("(?P<version>", "(", "version.pattern", "no group"),
        (r"(?P<version>\S+)", "(?P<version>", "version.pattern", "not a regular expression"),
        ("[run]\n", "[run]\nshell = true\n", "run.shell", "unknown key"),
        ("[run]\n", "[run]\nready.tcp = [0]\n", "run.ready.tcp[0]", "1 or more"),
        ("[run]\n", "[run]\nready.udp = [65536]\n", "run.ready.udp[0]", "65535 or less"),
        ('parser = "curl-json"', "", "parse", "name a parser"),
        ('"--silent"', '"|"', "run.argv[3]", "no shell interprets"),
        ('"{requests}"', '"$(date)"', "run.argv[16]", "no shell interprets"),
        ('"{requests}"', '"{request}"', "run.argv[16]", "unknown variable {request}"),
        ('"{file}"', '"{fil}"', "run.each_request[1]", "unknown variable {fil}"),
        ("[run.keep]\n", '[run.keep]\npcap.text = "-w"\n', "run.keep.pcap", "'qlog' or 'keylog'"),
        ('"{keylog_file}"', '"{keylog}"', "run.keep.keylog.environment.SSLKEYLOGFILE", "unknown"),
        ('"{file}"', '"{qlogs}"', "run.each_request[1]", "unknown variable {qlogs}"),
        ("[run]\n", '[run]\nprograms = ["rm"]\n', "run.programs", "no program 'rm'"),
        (
            ', "3" = "--http3-only"',
            "",
            "run.choose.http_flag.values",
            "no value for http_version '3'",
        ),
        ('\nfile = "curl.json"', "", "parse", "reads a file"),
        ('parser = "curl-json"', 'parser = "wget"', "parse.parser", "no parser 'wget'"),
        ('by = "http_version"', 'by = "loss"', "run.choose.http_flag.by", "http_version"),
    ],
)
def test_each_mistake_in_a_recipe_is_named(
    write: Write, old: str, new: str, place: str, reason: str
) -> None:
    """Each mistake has its file and place."""
    assert old in CURL
    folder = write(CURL.replace(old, new))
    result = {mistake.place: mistake.reason for mistake in mistakes(folder)}
    assert reason in result.get(f"{folder}/own.toml: {place}", f"not among {result}")


def test_an_unknown_workload_is_one_mistake_with_all_that_are_known(write: Write) -> None:
    """Those of downloads, uploads and pages stand in one sentence."""
    folder = write(CURL.replace('"parallel",', '"paralel",', 1))
    (result,) = mistakes(folder)
    assert result.place == f"{folder}/own.toml: workloads[1]"
    assert all(f"'{one}'" in result.reason for one in ("parallel", "upload", "page"))
    assert "'parallel'" in result.remedy


def test_a_misspelt_word_with_an_apostrophe_is_corrected(write: Write) -> None:
    folder = write(CURL + WINDOW.replace("receiver's", "reciever's"))
    (result,) = mistakes(folder)
    assert result.place == f"{folder}/own.toml: windows[3].holds"
    assert '"receiver\'s window"' in result.remedy


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b"[[[", b"a = " + b"9" * 5000, b"a = " + b"[" * 100_000, b"", b"recipes = 3"],
)
def test_hostile_recipes_are_refused_with_mistakes(tmp_path: Path, content: bytes) -> None:
    """Arbitrary content gives mistakes, never another exception."""
    (tmp_path / "own.toml").write_bytes(content)
    file = str(tmp_path / "own.toml")
    assert all(mistake.place.startswith(file) for mistake in mistakes(tmp_path))


def test_a_folder_in_a_recipes_place_is_a_mistake(tmp_path: Path) -> None:
    """A file in place of a folder of recipes, or nothing at all, is a mistake as well."""
    (tmp_path / "own.toml").mkdir()
    assert mistakes(tmp_path)
    (tmp_path / "file").touch()
    assert mistakes(tmp_path / "file")
    assert mistakes(tmp_path / "nothing")


def test_nothing_but_recipes_knows_programs_by_name() -> None:
    """No module besides recipes and parsers names a program."""
    package = Path(str(resources.files("httpbed")))
    names = {tomllib.loads(CURL)["name"], "nginx"}
    for room in ("experiment", "bed/network", "bed/sandbox", "store", "trial", "campaign"):
        modules = list((package / room).rglob("*.py"))
        assert modules, room
        for path in modules:
            assert not {name for name in names if name in path.read_text()}, path


def test_a_command_line_in_one_word_is_a_mistake(write: Write) -> None:
    """No shell would split it later."""
    folder = write(CURL.replace('"curl", "{http_flag}"', '"curl --http3 -v"'))
    (result,) = mistakes(folder)
    assert result.place == f"{folder}/own.toml: run.argv[0]"
    assert '["curl", "--http3", "-v"]' in result.remedy


def test_a_folder_without_recipes_is_a_mistake(tmp_path: Path) -> None:
    """An empty folder is a wrong path, or has files with another ending."""
    (result,) = mistakes(tmp_path)
    assert result.reason == "has no recipes"


def test_a_mistake_names_the_folder_of_its_recipe(write: Write, tmp_path: Path) -> None:
    """Several folders may have a recipe of the same file name."""
    text = CURL.replace("roles", "rolls", 1)
    first, second = write(text), tmp_path / "second"
    second.mkdir()
    (second / "own.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        catalog.load([first, second])
    places = {mistake.place.partition(": ")[0] for mistake in caught.value.mistakes}
    assert places == {f"{first}/own.toml", f"{second}/own.toml"}


def test_two_files_of_a_folder_with_one_name_are_a_mistake(write: Write) -> None:
    """Otherwise the order of file names would decide."""
    folder = write(CURL)
    (folder / "second.toml").write_text(CURL)
    (result,) = mistakes(folder)
    assert f"{folder}/own.toml and in {folder}/second.toml" in result.reason


def test_a_replaced_recipe_is_reported(write: Write) -> None:
    """The user may have replaced a recipe by mistake."""
    folder = write(CURL)
    assert catalog.load([folder]).replaced == {"curl": str(folder)}
    assert not catalog.load().replaced


def test_missing_and_unknown_keys_are_reported_as_in_experiments(write: Write) -> None:
    """The words are those of mistakes in an experiment file."""
    folder = write(CURL.replace("roles =", "rolls =", 1))
    assert {str(mistake) for mistake in mistakes(folder)} == {
        f"{folder}/own.toml: roles: is missing",
        f"{folder}/own.toml: rolls: unknown key; did you mean 'roles'?",
    }
