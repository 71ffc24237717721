"""What an archive contains: its images, and the configuration and layers of one; unpacks these.

Formats: the OCI image layout with its index, manifests and configurations (image-spec 1.1), and the
``manifest.json`` of ``docker save``. Both lead to a configuration, whose digest is the image's
identity: it contains the digest of each layer as it is unpacked.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AliasPath, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from httpbed.addons.images.archive import (
    DOCUMENTS,
    SAVE_AGAIN,
    Allowance,
    Archive,
    Unpacked,
    document,
    refusal,
    require_digest,
    unpack,
)
from httpbed.addons.images.tree import Tree
from httpbed.base import spellings
from httpbed.base.errors import ConfigError, Mistake, first_names
from httpbed.experiment import validation_messages
from httpbed.experiment.parser import format_path

MAX_LAYERS = 500
"""Docker's own bound is 127."""
MAX_IMAGES = 500
"""Upper bound of an archive's images; each may take a document."""
MAX_NESTING = 3
"""Upper bound of indexes within indexes."""
MAX_SHOWN = 20
"""Mistakes of one document that are shown."""
_GO = {"x86_64": "amd64", "aarch64": "arm64", "i686": "386", "armv7l": "arm"}
"""By the kernel's name of a processor: the name in images, which is Go's, if it differs."""
HERE = f"linux/{_GO.get(platform.machine(), platform.machine())}"
_NO_IMAGE = "unknown/unknown"
"""The platform of an attestation."""
_TAGS = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
T = TypeVar("T")
Digest = Annotated[str, Field(pattern=spellings.DIGEST)]
MAX_ENTRIES = 500_000
"""Upper bound of all layers of an image; the image of a whole desktop has 200,000."""


class _Document(BaseModel):
    """Part of a document, whose other keys mean nothing here."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Platform(_Document):
    architecture: str = ""
    os: str = ""

    def __str__(self) -> str:
        return f"{self.os}/{self.architecture}"


class _Descriptor(_Document):
    digest: Digest
    annotations: dict[str, str] | None = None
    platform: _Platform | None = None

    @property
    def blob(self) -> str:
        return "blobs/" + self.digest.replace(":", "/")

    @property
    def tag(self) -> str:
        annotations = self.annotations or {}
        return next((annotations[key] for key in _TAGS if key in annotations), "")


class _Index(_Document):
    manifests: list[_Descriptor] | None = Field(default=None, max_length=MAX_IMAGES)
    config: _Descriptor | None = None
    """Only a manifest has one."""
    layers: list[_Descriptor] = Field(default_factory=list, max_length=MAX_LAYERS)


class _Saved(_Document):
    """An image in ``manifest.json``."""

    Config: str
    RepoTags: list[str] | None = None
    Layers: list[str] = Field(max_length=MAX_LAYERS)


_Saves = TypeAdapter(Annotated[list[_Saved], Field(max_length=MAX_IMAGES)])


class _Configuration(_Platform):
    contents: list[Digest] = Field(
        max_length=MAX_LAYERS, validation_alias=AliasPath("rootfs", "diff_ids")
    )
    entry: list[str] | None = Field(None, validation_alias=AliasPath("config", "Entrypoint"))
    words: list[str] | None = Field(None, validation_alias=AliasPath("config", "Cmd"))
    variables: list[str] | None = Field(None, validation_alias=AliasPath("config", "Env"))
    folder: str | None = Field(None, validation_alias=AliasPath("config", "WorkingDir"))
    user: str | None = Field(None, validation_alias=AliasPath("config", "User"))


@dataclass(frozen=True)
class Image:
    """An image of an archive, for this machine."""

    tag: str
    """The first name that the archive gives it; empty if none."""
    digest: str
    """The digest of its configuration."""
    layers: tuple[tuple[str, str], ...]
    """The name of each layer's blob, and the digest of the layer as it is unpacked, the lowest
    first."""
    command: tuple[str, ...]
    """Its entry point with its arguments; empty if it has none."""
    variables: dict[str, str]
    """The variables of its environment."""
    folder: str
    """The working directory; empty for ``/``."""
    user: str
    """Empty for root."""


@dataclass(frozen=True)
class _Choice:
    """An image that an archive offers."""

    tags: tuple[str, ...]
    configuration: str
    digest: str
    """The digest of the configuration; empty if the archive does not state it."""
    layers: tuple[str, ...]
    """The blob of each."""

    def __str__(self) -> str:
        return self.tags[0] if self.tags else self.configuration

    def is_called(self, tag: str) -> bool:
        return any(tag in (name, name.rpartition("/")[2]) for name in self.tags)


def read(archive: Archive, tag: str | None) -> Image:
    """Return the image of an archive, or the one with a tag among several.

    Raises:
        ConfigError: No image is for this machine, several are, or a document is damaged.
    """
    choices = [*_choices(archive)]
    named = (choice for choice in choices if tag is None or choice.is_called(tag))
    chosen = [*{choice.configuration: choice for choice in named}.values()]
    if not chosen:
        names = first_names([*map(str, choices)])
        raise ConfigError([Mistake("--tag", f"no image is called {tag!r}; there are: {names}")])
    if len(chosen) > 1:
        reason = f"has {len(chosen)} images: {first_names([*map(str, chosen)])}"
        raise refusal(archive.place, reason, "choose one with --tag, or save one alone")
    return _image(archive, chosen[0])


def _choices(archive: Archive) -> Iterator[_Choice]:
    layout, saves = DOCUMENTS
    if archive.find(layout):
        yield from _of_indexes(archive, _parsed(archive, layout, TypeAdapter(_Index)))
    elif archive.find(saves):
        for saved in _parsed(archive, saves, _Saves):
            name = saved.Config.rpartition("/")[2].removesuffix(".json")
            digest = f"sha256:{name}" if len(name) == 2 * hashlib.sha256().digest_size else ""
            yield _Choice(tuple(saved.RepoTags or ()), saved.Config, digest, (*saved.Layers,))
    else:
        raise refusal(archive.place, f"is no image: it has neither {layout} nor {saves}")


def _of_indexes(archive: Archive, index: _Index) -> Iterator[_Choice]:
    """Yield the images for this machine below an index."""
    pending = [(manifest, manifest.tag, 0) for manifest in index.manifests or ()]
    others, count, is_offered = dict[str, None](), 0, False
    while pending:
        described, tag, depth = pending.pop(0)
        stated = str(described.platform or HERE)
        if stated != HERE:
            others |= {stated: None} if stated != _NO_IMAGE else {}
            continue
        count += 1
        if count > MAX_IMAGES or depth > MAX_NESTING:
            raise refusal(archive.place, f"has more than {MAX_IMAGES} images, or nested ones")
        inner = _parsed(archive, described.blob, TypeAdapter(_Index), described.digest)
        pending += [(nested, nested.tag or tag, depth + 1) for nested in inner.manifests or ()]
        if inner.config:
            is_offered = True
            layers = tuple(layer.blob for layer in inner.layers)
            tags = (tag,) if tag else ()
            yield _Choice(tags, inner.config.blob, inner.config.digest, layers)
    if not is_offered:
        raise _for_others(archive, others) if others else refusal(archive.place, "has no image")


def _for_others(archive: Archive, platforms: Iterable[str]) -> ConfigError:
    reason = f"is for {first_names([*platforms])}, and this machine is {HERE}"
    return refusal(archive.place, reason, f"build or pull the image with --platform {HERE}")


def _image(archive: Archive, choice: _Choice) -> Image:
    name = choice.configuration
    stated = _parsed(archive, name, TypeAdapter(_Configuration), choice.digest)
    if str(stated) != HERE:
        raise _for_others(archive, [str(stated)])
    if len(stated.contents) != len(choice.layers):
        reason = f"has {len(choice.layers)} layers, and its configuration {len(stated.contents)}"
        raise refusal(archive.place, reason)
    command = (*(stated.entry or ()), *(stated.words or ()))
    variables = dict(word.split("=", 1) for word in stated.variables or () if "=" in word)
    folder, user = stated.folder or "", stated.user or ""
    for text in (*command, *variables, *variables.values(), folder):
        if not text.isprintable():
            place, reason = f"{archive.place}: configuration", f"{text!r} cannot be printed"
            remedy = "state it in the entry point's script instead, and build the image again"
            raise refusal(place, reason, remedy)
    return Image(
        tag=choice.tags[0] if choice.tags else "",
        digest=choice.digest or f"sha256:{hashlib.sha256(document(archive, name)).hexdigest()}",
        layers=tuple(zip(choice.layers, stated.contents, strict=True)),
        command=command,
        variables=variables,
        folder=folder,
        user="" if user.partition(":")[0] in ("", "0", "root") else user,
    )


def _parsed(archive: Archive, name: str, adapter: TypeAdapter[T], digest: str = "") -> T:
    """Return a document, after its digest was compared if it is known."""
    try:
        return adapter.validate_json(document(archive, name, digest))
    except ValidationError as error:
        raise ConfigError(
            Mistake(
                f"{archive.place}: {name}"
                + (f": {format_path(detail['loc'])}" if detail["loc"] else ""),
                validation_messages.reason_and_remedy(detail)[0],
                SAVE_AGAIN,
            )
            for detail in error.errors()[:MAX_SHOWN]
        ) from None


class Unpacking:
    """The unpacking of one image."""

    def __init__(self, archive: Archive, image: Image) -> None:
        self._archive, self._image = archive, image
        self._allowance = Allowance.of(archive.place, archive.size, MAX_ENTRIES)

    def into(self, root: Path) -> None:
        """Unpack the layers, the lowest first.

        Raises:
            ConfigError: A layer is missing, changed, damaged, too large, or no layer.
        """
        for number, (name, digest) in enumerate(self._image.layers, start=1):
            place = f"{self._archive.place}: layer {number} of {len(self._image.layers)}"
            with self._archive.opened(name) as blob:
                stream = Unpacked(blob, place, self._allowance)
                unpack(stream, Tree(root))
                require_digest(self._archive, name, digest, stream.digest())

    def how_far(self) -> str:
        """Say how much is unpacked."""
        return f"{self._allowance.entries} entries, {self._allowance.used / 1e6:.0f} MB"
