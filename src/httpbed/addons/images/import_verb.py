"""``httpbed toolbox import``: a container image becomes a root filesystem and a recipe."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from httpbed.base import spellings
from httpbed.base.errors import ConfigError, Mistake, collected, require_none
from httpbed.bed.toolbox import build_steps, root_filesystem
from httpbed.bed.toolbox.root_filesystem import IMAGES, Contents
from httpbed.cli import options, output_file
from httpbed.cli.echo import echo, say
from httpbed.cli.experiment_argument import catalog, recipes_option
from httpbed.cli.options import PATH, json_option
from httpbed.cli.verb import verb
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import Catalog

if TYPE_CHECKING:  # slow, and not for --help
    from httpbed.addons.images.archive import Archive
    from httpbed.addons.images.image import Image

_REMOTE = re.compile(r"[a-z-]+:/|.*:\w[\w.-]*$|.*@sha256:")
"""A URL, with one slash as a path has it, or a name with a tag or a digest."""


@verb("import")
@click.argument("path", metavar="IMAGE", type=PATH)
@click.option(
    "--like",
    metavar="RECIPE",
    shell_complete=options.complete_programs,
    help="The image has the program of this recipe, and is run as the recipe says.",
)
@click.option(
    "--interop",
    is_flag=True,
    help="The image is an endpoint of quic-interop-runner; its test case http3 is measured.",
)
@click.option("--name", metavar="NAME", help="Name of the recipe; default: the image's.")
@click.option("--tag", metavar="TAG", help="Which image of an archive that has several.")
@click.option(
    "-o",
    "--output",
    type=PATH,
    metavar="DIR",
    required=True,
    help="Folder of recipes, which gets NAME.toml; give it to other commands with --recipes.",
)
@recipes_option
@json_option
def command(
    *,
    path: Path,
    like: str | None,
    interop: bool,
    name: str | None,
    tag: str | None,
    output: Path,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Import a container image, and write a recipe for its program.

    IMAGE is a file that docker save, podman save or skopeo copy wrote, compressed or not, or the
    folder of an OCI image layout. Neither Docker nor root is needed, and nothing of the image is
    run. The image becomes a root filesystem of the toolbox, whose name follows from its digest:
    httpbed toolbox roots lists it, httpbed toolbox remove removes it.

    Exit codes: 0 imported; 2 usage, a damaged archive, an image for another processor, or one that
    is refused, and nothing of it is left; 3 this machine cannot, for example without disk space.
    """
    mistakes = [*_mistakes(path, like, interop=interop, name=name, output=output)]
    with collected(mistakes):
        known = catalog(recipe_folders)
        catalogs.require(known, [like] if like else [], "--like")
    require_none(mistakes)
    from httpbed.addons.images import archive as archives  # not for --help
    from httpbed.addons.images import image as images

    with archives.opened(path) as archive:
        image = images.read(archive, tag)
        called = name or _name_of(image, path, known, output)
        file = output / f"{called}.toml"
        if file.exists() and image.digest.encode() not in file.read_bytes():
            raise _another_recipe(file)
        root, text = _imported(archive, image, called, like, (*recipe_folders,))
    if file.exists() and file.read_bytes() != text.encode():
        raise _another_recipe(file)
    output.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    if as_json:
        about = {"name": called, "recipe": str(file), "image": image.digest, "tag": image.tag}
        echo(json.dumps({"schema": 1, **about, "root": str(root)}, indent=1))
    else:
        echo(str(file))
    say(f"try it: httpbed toolbox check {called} --recipes {output}")


def _another_recipe(file: Path) -> ConfigError:
    reason = "exists and is another recipe"
    return ConfigError([Mistake(f"-o {file}", reason, "choose another --name, or delete it")])


def _mistakes(
    path: Path, like: str | None, *, interop: bool, name: str | None, output: Path
) -> Iterator[Mistake]:
    if interop and like:
        yield Mistake("--interop", "excludes --like: each says how the program is run", "omit one")
    elif not (interop or like):
        reason = "needs one of --like and --interop, which say how the image's program is run"
        remedy = "give --like RECIPE, or --interop for an endpoint of quic-interop-runner"
        yield Mistake("IMAGE", reason, remedy)
    if not path.exists() and _REMOTE.match(str(path)):
        reason = "names an image of a registry, and httpbed fetches none"
        yield Mistake(str(path), reason, "fetch it, and save it: skopeo copy, docker save")
    elif not path.exists():
        yield Mistake(str(path), "does not exist", "name the file that docker save wrote")
    if name is not None and not re.fullmatch(spellings.RECIPE, name):
        reason = f"{name!r} is no name of a recipe"
        yield Mistake("--name", reason, "use a to z, 0 to 9, '.' and '-', and begin with a letter")
    yield from output_file.folder_mistakes("-o", output)


def _name_of(image: Image, path: Path, known: Catalog, output: Path) -> str:
    """Return a new recipe's name, from the image's tag or else from its file.

    The name of a recipe in the folder of the output is not taken: an earlier import wrote it, and
    the folder may be among those of ``--recipes``.
    """
    called = image.tag.rpartition("/")[2].partition(":")[0] or path.name.partition(".")[0]
    name = re.sub(r"[^a-z0-9.-]+", "-", called.lower()).strip("-.")
    is_own = (output / f"{name}.toml").exists() and name not in catalogs.load().recipes
    name += "-image" if name in known.recipes and not is_own else ""
    return (
        name
        if re.fullmatch(spellings.RECIPE, name)
        else f"image-{image.digest.removeprefix('sha256:')[:12]}"
    )


def _imported(
    archive: Archive, image: Image, name: str, like: str | None, folders: tuple[Path, ...]
) -> tuple[Path, str]:
    """Add the image to the toolbox; return its root and the text of its recipe."""
    from httpbed.addons.images import image_recipe
    from httpbed.addons.images.image import Unpacking
    from httpbed.addons.images.tree import Tree

    def fill(root: Path) -> None:
        unpacking = Unpacking(archive, image)
        step = f"unpacking {archive.place}"
        with build_steps.reported(step, say, how_far=unpacking.how_far):
            unpacking.into(root)
        if like is None:
            image_recipe.prepare_endpoint(Tree(root))
        recipe(root)  # what cannot be run is refused, and nothing of it is kept

    def recipe(root: Path) -> str:
        if like is None:
            program = image_recipe.find_endpoint(archive.place, image, root)
            text = image_recipe.endpoint_recipe(name, image, program)
        else:
            text = image_recipe.like_recipe(name, image, like)
        _require_program(archive.place, root, name, text, folders)
        return text

    contract = "" if like else image_recipe.QUIC_INTEROP
    contents = Contents(IMAGES, frozenset(filter(None, (image.digest, contract))))
    root = root_filesystem.add(contents, fill, say=say)
    return root.path, recipe(root.path)


def _require_program(
    place: str, root: Path, name: str, text: str, folders: tuple[Path, ...]
) -> None:
    """Check that the recipe is one, and that the image has its program in every role.

    Raises:
        ConfigError: It does not.
    """
    from httpbed.addons.images import archive as archives

    with TemporaryDirectory() as folder:
        Path(folder, "recipe.toml").write_text(text)
        recipe = catalogs.load((*folders, Path(folder)))[name]
    for role in recipe.roles:
        program = recipe.command(role)
        if root_filesystem.find_program(root, program) is None:
            remedy = "name a recipe whose program it has with --like"
            raise archives.refusal(place, f"has no {program}, which its recipe starts", remedy)
