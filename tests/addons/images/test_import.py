"""``httpbed toolbox import``: what an image becomes, and each archive that is refused."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import images
from httpbed.addons.images import archive, import_verb
from httpbed.addons.images import image as image_reader
from httpbed.addons.interop import check_verb
from httpbed.base.errors import ConfigError, HostError
from httpbed.bed.toolbox import root_filesystem
from httpbed.programs import catalog
from images import MadeImage, entry, layer

PROGRAM = entry("usr/bin/nginx", "program", mode=0o4755)
SHELL = entry("bin/sh", "shell", mode=0o755)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a cache of its own."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def imported(path: Path, *words: str) -> Result:
    """Import an archive; its recipes go to the folder ``recipes`` beside it."""
    words = words or ("--like", "nginx")
    output = ["-o", str(path.parent / "recipes")]
    return CliRunner().invoke(import_verb.command, [str(path), *words, *output, "--json"])


def root_of(result: Result) -> Path:
    assert result.exception is None, result.exception
    return Path(json.loads(result.stdout)["root"])


def saved(tmp_path: Path, image: MadeImage) -> Path:
    return images.write_tar(tmp_path / "image.tar", image.saved())


@pytest.mark.parametrize("compress", [bytes, gzip.compress, images.zstd])
def test_every_form_of_an_image_has_the_same_root(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    """A docker-save file, a layout in a folder and in a tar file, and each of them compressed."""
    image = MadeImage([layer(PROGRAM)], compress=compress)
    file = saved(tmp_path, image)
    packed = tmp_path / "packed"
    packed.write_bytes(compress(file.read_bytes()))
    forms = [
        file,
        packed,
        images.write_folder(tmp_path / "layout", image.layout()),
        images.write_tar(tmp_path / "layout.tar", image.layout()),
    ]
    roots = {root_of(imported(form)) for form in forms}
    (root,) = roots
    assert (root / "usr/bin/nginx").read_text() == "program"
    assert (root / "usr/bin/nginx").stat().st_mode & 0o7777 == 0o755
    (listed,) = root_filesystem.find_all()
    assert listed.packages == {images.digest(image.configuration())}
    recipe = catalog.load([tmp_path / "recipes"])["stack"]
    assert recipe.install.contents() is not None
    assert recipe.install.environment("stack")["PATH"].startswith("/usr/local/sbin")


def test_layers_are_laid_over_each_other(tmp_path: Path) -> None:
    """With whiteouts, hard links, links of folders, and other kinds in a path's place."""
    lower = layer(
        PROGRAM,
        entry("etc/gone", "lower"),
        entry("etc/kept", "lower"),
        entry("opaque/below/file", "lower"),
        entry("was-folder/file", "lower"),
        entry("was-file", "lower"),
        entry("lib", type=tarfile.SYMTYPE, linkname="/usr/lib"),
        entry("dev/null", type=tarfile.CHRTYPE),
    )
    upper = layer(
        entry("opaque/new", "upper"),
        entry("opaque/.wh..wh..opq"),
        entry("etc/.wh.gone"),
        entry("etc/.wh.never"),
        entry("was-folder", "upper"),
        entry("was-file", type=tarfile.DIRTYPE),
        entry("lib/library", "upper"),
        entry("etc/hard", type=tarfile.LNKTYPE, linkname="./etc/kept"),
        entry("a\x1b[2Jb", "upper"),
    )
    root = root_of(imported(saved(tmp_path, MadeImage([lower, upper]))))
    assert {path.name for path in (root / "etc").iterdir()} == {"hard", "kept"}
    assert (root / "etc/hard").samefile(root / "etc/kept")
    assert [path.name for path in (root / "opaque").iterdir()] == ["new"]
    assert (root / "was-folder").read_text() == "upper"
    assert (root / "was-file").is_dir()
    assert (root / "usr/lib/library").read_text() == "upper"
    assert not (root / "dev/null").exists()


def test_the_image_of_this_machine_or_the_named_one_is_taken(tmp_path: Path) -> None:
    """An index may have other platforms; several images for this one need a name."""
    mine, foreign = MadeImage([layer(PROGRAM)]), MadeImage([layer(SHELL)], architecture="mips")
    other = MadeImage([layer(PROGRAM, SHELL)], tag="example/other:2")
    several = images.write_folder(tmp_path / "several", mine.layout(foreign, other))
    refused = imported(several).exception
    assert isinstance(refused, ConfigError)
    assert "example/stack:1, example/other:2" in str(refused)
    assert isinstance(imported(several, "--like", "nginx", "--tag", "none").exception, ConfigError)
    root = root_of(imported(several, "--like", "nginx", "--tag", "other:2"))
    assert (root / "bin/sh").exists()
    root = root_of(imported(images.write_folder(tmp_path / "two", mine.layout(foreign))))
    assert not (root / "bin").exists()


def test_an_endpoint_gets_a_recipe_of_both_roles(tmp_path: Path) -> None:
    """Its folders lead to the part's own, and its knob refuses HTTP/0.9 with the reason."""
    image = MadeImage([layer(SHELL, entry("run {it}.sh", "#!/bin/sh", mode=0o755))])
    image.command = ["/run {it}.sh", "{port}"]
    root = root_of(imported(saved(tmp_path, image), "--interop"))
    assert (root / "www").readlink() == Path("/run/endpoint/www")
    assert (root / "setup.sh").stat().st_mode & 0o111
    recipe = catalog.load([tmp_path / "recipes"])["stack"]
    assert recipe.run_in("server").program == "/run {it}.sh"
    assert recipe.run_in("client").argv[-2:] == ["/run {{it}}.sh", "{{port}}"]
    assert recipe.refuses_knob("testcase", "http3") == ""
    assert "hq-interop" in recipe.refuses_knob("testcase", "transfer")
    assert "not as quic" in recipe.note


def bomb() -> bytes:
    """Return a layer that unpacks to 64 MiB from 0.3 MB."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as stream:
        info = tarfile.TarInfo("zeros")
        info.size = 64 * 2**20
        stream.write(info.tobuf())
        for _ in range(64):
            stream.write(bytes(2**20))
    return buffer.getvalue()


def headers(count: int) -> bytes:
    """Return a tar file in which so many headers of PAX precede one entry."""
    return b"".join(
        entry("x", b"9 a=bcde\n", type=tarfile.XHDTYPE)[0].tobuf() for _ in range(count)
    )


def negative() -> bytes:
    """Return a tar file whose entry has a size below zero."""
    block = bytearray(entry("x")[0].tobuf())
    block[124:136] = b"\xff" * 12
    block[148:156] = b"%06o\0 " % (sum(block[:148]) + 256 + sum(block[156:]))
    return bytes(block) + bytes(1024)


OF_LAYERS = {
    "block device": layer(entry("dev/sda", type=tarfile.BLKTYPE)),
    "character device": layer(entry("etc/null", type=tarfile.CHRTYPE)),
    "pipe": layer(entry("pipe", type=tarfile.FIFOTYPE)),
    "parent": layer(entry("etc/../../escaped", "x")),
    "absolute path": layer(entry("/escaped", "x")),
    "link outside": layer(
        entry("etc", type=tarfile.SYMTYPE, linkname="../../.."), entry("etc/escaped", "x")
    ),
    "loop of links": layer(entry("a", type=tarfile.SYMTYPE, linkname="a"), entry("a/escaped", "x")),
    "long link": layer(
        entry("a", type=tarfile.SYMTYPE, linkname="x" * 1000), entry("a/escaped", "x")
    ),
    "hard link outside": layer(entry("h", type=tarfile.LNKTYPE, linkname="../../escaped")),
    "hard link to an absolute path": layer(
        entry("h", type=tarfile.LNKTYPE, linkname="/etc/passwd")
    ),
    "hard link to nothing": layer(entry("h", type=tarfile.LNKTYPE, linkname="absent")),
    "below a file": layer(PROGRAM, entry("usr/bin/nginx/escaped", "x")),
    "whiteout outside": layer(entry("../.wh.escaped")),
    "whiteout of a parent": layer(entry("etc/.wh..."), entry("etc/.wh..")),
    "opaque outside": layer(entry("../.wh..wh..opq")),
    "root as a file": layer(entry("./.", "x")),
    "deep path": layer(entry("d/" * 500 + "x", "x")),
    "long name": layer(entry("x" * 300, "x")),
    "control characters": layer(entry("\x1b[2J/../x", "x")),
    "no tar file": b"hello" * 1000,
    "truncated": layer(entry("x", bytes(5000)))[:3000],
    "negative size": negative(),
    "nested headers": headers(3000),
}
IMAGES = {
    "another processor": lambda: MadeImage([layer(PROGRAM)], architecture="mips").saved(),
    "no program": lambda: MadeImage([layer(SHELL)]).saved(),
    "digest of a layer": lambda: (
        MadeImage([layer(PROGRAM)]).saved() | {"0/layer.tar": layer(SHELL)}
    ),
    "missing layer": lambda: _without(MadeImage([layer(PROGRAM)]).saved(), "0/layer.tar"),
    "more layers": lambda: _changed(
        MadeImage([layer(PROGRAM)]), b'"Layers": [', b'"Layers": ["x",'
    ),
    "deep document": lambda: {"manifest.json": b"[" * 100_000},
    "other document": lambda: {"manifest.json": b'{"Config": 1}'},
    "large document": lambda: {"manifest.json": b" " * 2**23},
    "no document": lambda: {"file": b"x"},
    "control characters in the command": lambda: MadeImage(
        [layer(PROGRAM)], command=["\x1b[2J"]
    ).saved(),
    "empty index": lambda: {"index.json": b'{"manifests": []}'},
    "digest that is a path": lambda: {
        "index.json": b'{"manifests": [{"digest": "sha256:../../../etc/passwd"}]}'
    },
    "changed manifest": lambda: {
        name: data + b" " * name.startswith("blobs")
        for name, data in MadeImage([layer(PROGRAM)]).layout().items()
    },
    "only other platforms": lambda: MadeImage([layer(PROGRAM)], architecture="mips").layout(),
}


def _without(files: dict[str, bytes], name: str) -> dict[str, bytes]:
    return {one: data for one, data in files.items() if one != name}


def _changed(image: MadeImage, old: bytes, new: bytes) -> dict[str, bytes]:
    files = image.saved()
    return files | {"manifest.json": files["manifest.json"].replace(old, new)}


def refuse(path: Path, *words: str) -> ConfigError:
    """Check that an archive is refused in printable words, and that nothing is left of it."""
    error = imported(path, *words).exception
    assert isinstance(error, ConfigError), error
    assert str(error).replace("\n", "").isprintable()
    assert words or all(mistake.remedy for mistake in error.mistakes)
    assert root_filesystem.find_all() == []
    assert not [*path.parent.glob("cache/toolbox/*/*")], "a root is left"
    assert not (path.parent / "recipes").exists()
    assert not [*path.parent.rglob("escaped")]
    return error


@pytest.mark.parametrize("what", OF_LAYERS)
def test_a_bad_layer_is_refused(tmp_path: Path, what: str) -> None:
    """With the layer and the entry, and nothing is left, inside or outside."""
    refuse(saved(tmp_path, MadeImage([layer(PROGRAM), OF_LAYERS[what]])))


@pytest.mark.parametrize("what", IMAGES)
def test_a_bad_image_is_refused(tmp_path: Path, what: str) -> None:
    """Whatever of it is missing, damaged, too large or for another machine."""
    refuse(images.write_tar(tmp_path / "image.tar", IMAGES[what]()))


@pytest.mark.parametrize(
    "content", [b"", b"hello", gzip.compress(b"hello", mtime=0), b"\x1f\x8bhello"]
)
def test_a_file_that_is_no_image_is_refused(tmp_path: Path, content: bytes) -> None:
    """Whether it is empty, a text, compressed, or damaged."""
    path = tmp_path / "image.tar"
    path.write_bytes(content)
    refuse(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A missing file, a pipe, and a folder without a layout."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("absent", "pipe", "folder"):
        refuse(tmp_path / name)


def test_an_endpoint_needs_an_entry_point_and_a_shell(tmp_path: Path) -> None:
    """Each is named where it is missing."""
    for image in (
        MadeImage([layer(SHELL)], command=None),
        MadeImage([layer(SHELL)], command=["/absent"]),
        MadeImage([layer(entry("bin/program", "x", mode=0o755))]),
    ):
        refuse(saved(tmp_path, image), "--interop")


def test_a_bomb_is_refused_at_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a layer of a layout, and around the whole archive."""
    monkeypatch.setattr(archive, "SPARED_BYTES", 2**24)
    packed = bomb()
    layout = MadeImage([b""], compress=lambda _: packed).layout()
    assert "unpacks to more" in str(refuse(images.write_folder(tmp_path / "layout", layout)))
    (tmp_path / "image.tar").write_bytes(packed)
    assert "unpacks to more" in str(refuse(tmp_path / "image.tar"))


def test_entries_and_headers_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a layer, and in the archive itself."""
    path = saved(tmp_path, MadeImage([layer(*(entry(f"{n}") for n in range(50)))]))
    monkeypatch.setattr(image_reader, "MAX_ENTRIES", 49)
    assert "49" in str(refuse(path))
    monkeypatch.setattr(archive, "MAX_BLOBS", 2)
    assert "2 entries" in str(refuse(path))
    large = entry("x", b"x" * 2**21, type=tarfile.XHDTYPE)
    path.write_bytes(large[0].tobuf() + large[1])
    refuse(path)


def test_a_root_is_not_built_twice_and_no_recipe_is_overwritten(tmp_path: Path) -> None:
    """Another image of the same name is refused, with the way out."""
    path = saved(tmp_path, MadeImage([layer(PROGRAM)]))
    first = root_of(imported(path))
    built = first.stat().st_mtime_ns
    assert root_of(imported(path)).stat().st_mtime_ns == built
    other = saved(tmp_path, MadeImage([layer(PROGRAM, SHELL)]))
    error = imported(other).exception
    assert isinstance(error, ConfigError)
    assert "--name" in str(error)
    assert root_of(imported(other, "--like", "nginx", "--name", "other")) != first


def test_an_image_whose_recipe_is_refused_leaves_no_root(tmp_path: Path) -> None:
    """A recipe of another program has its name."""
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    (recipes / "stack.toml").write_text("schema = 1")
    found = imported(saved(tmp_path, MadeImage([layer(PROGRAM)])))
    assert isinstance(found.exception, ConfigError)
    assert not root_filesystem.find_all()


@pytest.mark.parametrize("tag", ["example/stack:1", "example/nginx:1"])
def test_an_image_that_is_imported_again_keeps_its_recipe(tmp_path: Path, tag: str) -> None:
    """Although the folder of its recipe is now among those of the command line."""
    path = saved(tmp_path, MadeImage([layer(PROGRAM)], tag=tag))
    recipes = tmp_path / "recipes"
    first = json.loads(imported(path).stdout)
    again = json.loads(imported(path, "--like", "nginx", "--recipes", str(recipes)).stdout)
    assert again == first
    assert [file.name for file in recipes.iterdir()] == [f"{first['name']}.toml"]


def test_the_check_of_an_image_that_is_gone_says_to_import_it(tmp_path: Path) -> None:
    """No build fetches an image; a program of packages beside it is built."""
    root = root_of(imported(saved(tmp_path, MadeImage([layer(PROGRAM)]))))
    (found,) = root_filesystem.find_all()
    assert found.path == root
    root_filesystem.remove(found)
    for names, is_built in ((["stack"], False), (["stack", "caddy"], True)):
        words = [*names, "--recipes", str(tmp_path / "recipes")]
        error = CliRunner().invoke(check_verb.command, words).exception
        assert isinstance(error, HostError)
        assert "httpbed toolbox import" in error.remedy
        assert ("toolbox build caddy" in error.remedy) is is_built
        assert "build stack" not in error.remedy


@pytest.mark.parametrize(
    "words",
    [("--like", "absent"), ("--interop", "--like", "nginx"), ("--interop", "--name", "A B")],
)
def test_mistakes_of_the_command_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Nothing is imported."""
    refuse(saved(tmp_path, MadeImage([layer(PROGRAM)])), *words)
