"""What an archive contains: its images, and the configuration and layers of one.

Formats: the OCI image layout with its index, manifests and configurations (image-spec 1.1), and the
``manifest.json`` of ``docker save``. Both lead to a configuration, whose digest is the image's
identity: it contains the digest of each layer as it is unpacked.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from httpbed.addons.images.archive import DOCUMENTS, SAVE_AGAIN, Archive, document, refusal
from httpbed.base.errors import ConfigError, Mistake, first_names
from httpbed.experiment import validation_messages
from httpbed.experiment.parser import format_path

MAX_LAYERS = 500
"""Docker's own bound is 127."""
MAX_IMAGES = 500
"""Of an archive; each may take a document."""
MAX_NESTING = 3
"""Indexes of indexes."""
MAX_SHOWN = 20
"""Mistakes of one document that are shown."""
_PROCESSORS = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "i686": "386",
    "armv7l": "arm",
    "ppc64le": "ppc64le",
    "riscv64": "riscv64",
    "s390x": "s390x",
}
"""By the kernel's name of this machine: the name in images, which is Go's."""
_ATTESTATION = "attestation-manifest"
_TAGS = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
T = TypeVar("T")
Digest = Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]


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
    def is_attestation(self) -> bool:
        return _ATTESTATION in (self.annotations or {}).values()

    @property
    def tag(self) -> str:
        annotations = self.annotations or {}
        return next((annotations[key] for key in _TAGS if key in annotations), "")


class _Index(_Document):
    manifests: list[_Descriptor] | None = Field(default=None, max_length=MAX_IMAGES)
    config: _Descriptor | None = None
    """Of a manifest: an index has none."""
    layers: list[_Descriptor] = Field(default_factory=list, max_length=MAX_LAYERS)


class _Saved(_Document):
    """An image in ``manifest.json``."""

    Config: str
    RepoTags: list[str] | None = None
    Layers: list[str] = Field(max_length=MAX_LAYERS)


_Saves = TypeAdapter(Annotated[list[_Saved], Field(max_length=MAX_IMAGES)])


class _RootFilesystem(_Document):
    diff_ids: list[Digest] = Field(max_length=MAX_LAYERS)


class _Execution(_Document):
    Entrypoint: list[str] | None = None
    Cmd: list[str] | None = None
    Env: list[str] | None = None
    WorkingDir: str | None = None
    User: str | None = None


class _Configuration(_Platform):
    rootfs: _RootFilesystem
    config: _Execution | None = None


@dataclass(frozen=True)
class Layer:
    """A layer of an image."""

    blob: str
    content: str
    """Digest of the layer as it is unpacked."""


@dataclass(frozen=True)
class Image:
    """An image of an archive, for this machine."""

    tag: str
    """The first name that the archive gives it; empty if none."""
    digest: str
    """Of its configuration."""
    layers: tuple[Layer, ...]
    """The lowest first."""
    command: tuple[str, ...]
    """Its entry point with its arguments; empty if it has none."""
    variables: dict[str, str]
    """Of the environment."""
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
    """Of the configuration; empty if the archive does not state it."""
    layers: tuple[str, ...]
    """The blob of each."""

    def __str__(self) -> str:
        return self.tags[0] if self.tags else self.configuration


def read(archive: Archive, tag: str | None) -> Image:
    """Return the image of an archive, or the one with a tag among several.

    Raises:
        ConfigError: No image is for this machine, several are, or a document is damaged.
    """
    choices = [*_choices(archive)]
    named = (one for one in choices if tag is None or _is_called(one, tag))
    chosen = [*{choice.configuration: choice for choice in named}.values()]
    if not chosen:
        names = first_names([*map(str, choices)])
        raise ConfigError([Mistake("--tag", f"no image is called {tag!r}; there are: {names}")])
    if len(chosen) > 1:
        reason = f"has {len(chosen)} images: {first_names([*map(str, chosen)])}"
        raise refusal(archive.place, reason, "choose one with --tag, or save one alone")
    return _image(archive, chosen[0])


def _is_called(choice: _Choice, tag: str) -> bool:
    return any(tag in (name, name.rpartition("/")[2]) for name in choice.tags)


def _choices(archive: Archive) -> Iterator[_Choice]:
    if DOCUMENTS[0] in archive.blobs:
        yield from _of_indexes(archive)
    elif (name := DOCUMENTS[1]) in archive.blobs:
        for saved in _parsed(archive, name, _Saves, document(archive, name)):
            tags, layers = tuple(saved.RepoTags or ()), tuple(saved.Layers)
            yield _Choice(tags, saved.Config, _named(saved.Config), layers)
    else:
        raise refusal(archive.place, f"is no image: it has neither {' nor '.join(DOCUMENTS)}")


def _named(configuration: str) -> str:
    """Return the digest in the name of a configuration; empty without one."""
    name = configuration.rpartition("/")[2].removesuffix(".json")
    return f"sha256:{name}" if len(name) == 2 * hashlib.sha256().digest_size else ""


def _of_indexes(archive: Archive) -> Iterator[_Choice]:
    """Yield the images for this machine below ``index.json``."""
    adapter = TypeAdapter(_Index)
    index = _parsed(archive, DOCUMENTS[0], adapter, document(archive, DOCUMENTS[0]))
    pending = [(one, one.tag, 0) for one in index.manifests or ()]
    others, count = dict[str, None](), 0
    is_offered = False
    while pending:
        described, tag, depth = pending.pop(0)
        if described.is_attestation or str(described.platform) == "unknown/unknown":
            continue
        if described.platform and not _is_for_here(described.platform):
            others[str(described.platform)] = None
            continue
        count += 1
        if count > MAX_IMAGES or depth > MAX_NESTING:
            raise refusal(archive.place, f"has more than {MAX_IMAGES} images, or nested ones")
        text = document(archive, described.blob, described.digest)
        inner = _parsed(archive, described.blob, adapter, text)
        pending += [(one, one.tag or tag, depth + 1) for one in inner.manifests or ()]
        if inner.config:
            is_offered = True
            layers = tuple(layer.blob for layer in inner.layers)
            tags = (tag,) if tag else ()
            yield _Choice(tags, inner.config.blob, inner.config.digest, layers)
    if not is_offered:
        raise _for_others(archive, others) if others else refusal(archive.place, "has no image")


def _for_others(archive: Archive, platforms: Iterable[str]) -> ConfigError:
    here = f"linux/{_processor()}"
    reason = f"is for {first_names([*platforms])}, and this machine is {here}"
    return refusal(archive.place, reason, f"build or pull the image with --platform {here}")


def _processor() -> str:
    return _PROCESSORS.get(platform.machine(), platform.machine())


def _is_for_here(stated: _Platform) -> bool:
    return (stated.os, stated.architecture) == ("linux", _processor())


def _image(archive: Archive, choice: _Choice) -> Image:
    text = document(archive, choice.configuration, choice.digest)
    digest = choice.digest or f"sha256:{hashlib.sha256(text).hexdigest()}"
    stated = _parsed(archive, choice.configuration, TypeAdapter(_Configuration), text)
    if not _is_for_here(stated):
        raise _for_others(archive, [str(stated)])
    contents = stated.rootfs.diff_ids
    if len(contents) != len(choice.layers):
        reason = f"has {len(choice.layers)} layers, and its configuration names {len(contents)}"
        raise refusal(archive.place, reason)
    execution = stated.config or _Execution()
    command = (*(execution.Entrypoint or ()), *(execution.Cmd or ()))
    variables = dict(one.split("=", 1) for one in execution.Env or () if "=" in one)
    folder, user = execution.WorkingDir or "", execution.User or ""
    _require_printable(archive, (*command, *variables, *variables.values(), folder))
    return Image(
        tag=choice.tags[0] if choice.tags else "",
        digest=digest,
        layers=tuple(map(Layer, choice.layers, contents)),
        command=command,
        variables=variables,
        folder=folder,
        user="" if user.partition(":")[0] in ("", "0", "root") else user,
    )


def _require_printable(archive: Archive, texts: Sequence[str]) -> None:
    for text in texts:
        if not text.isprintable():
            place = f"{archive.place}: configuration"
            remedy = "state it in the entry point's script instead, and build the image again"
            raise refusal(place, f"{text!r} has characters that cannot be printed", remedy)


def _parsed(archive: Archive, name: str, adapter: TypeAdapter[T], text: bytes) -> T:
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        raise ConfigError(
            Mistake(
                f"{archive.place}: {name}"
                + f": {format_path(detail['loc'])}" * bool(detail["loc"]),
                validation_messages.reason_and_remedy(detail)[0],
                SAVE_AGAIN,
            )
            for detail in error.errors()[:MAX_SHOWN]
        ) from None
