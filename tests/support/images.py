"""Archives of container images, made from folders: as docker save writes them, and OCI layouts."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import platform
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from httpbed.bed.toolbox import elf
from httpbed.programs import catalog
from httpbed.trial import program_roots

HERE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BUILTIN = Path(catalog.__file__).with_name("builtin")


def digest(data: bytes) -> str:
    """Return the digest of a blob, as documents state it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def entry(name: str, text: str | bytes = b"", **about: Any) -> tuple[tarfile.TarInfo, bytes]:
    """Return an entry of a layer: a file, unless ``type`` says another kind."""
    data = text.encode() if isinstance(text, str) else text
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    for key, value in about.items():
        setattr(info, key, value)
    return info, data


def layer(*entries: tuple[tarfile.TarInfo, bytes], of: Mapping[Path, str] | None = None) -> bytes:
    """Return a layer with entries, after files and folders of this machine, by their new names."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, name in (of or {}).items():
            tar.add(path, name, filter=_readable(path, name))
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return buffer.getvalue()


def _readable(path: Path, name: str) -> Callable[[tarfile.TarInfo], tarfile.TarInfo | None]:
    """Leave out what only root reads, such as ``/etc/ssl/private``."""

    def kept(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        source = path / os.path.relpath(info.name, name)
        return info if info.issym() or os.access(source, os.R_OK) else None

    return kept


def zstd(data: bytes) -> bytes:
    """Compress with this machine's zstd library, which pyarrow has."""
    import pyarrow as pa  # noqa: PLC0415 - slow

    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    compressed: bytes = sink.getvalue().to_pybytes()
    return compressed


@dataclass
class MadeImage:
    """An image of layers, and its configuration."""

    layers: list[bytes]
    command: list[str] | None = field(default_factory=lambda: ["/bin/program"])
    variables: list[str] = field(default_factory=lambda: [PATH])
    architecture: str = HERE
    tag: str = "example/stack:1"
    compress: Callable[[bytes], bytes] = gzip.compress

    def configuration(self) -> bytes:
        """Return the configuration, whose digest is the image's."""
        contents = [digest(one) for one in self.layers]
        run = {"Entrypoint": self.command, "Env": self.variables, "WorkingDir": "/", "User": "quic"}
        about = {"architecture": self.architecture, "os": "linux", "config": run}
        return json.dumps(
            {**about, "rootfs": {"type": "layers", "diff_ids": contents}, "history": []}
        ).encode()

    def saved(self) -> dict[str, bytes]:
        """Return the files of ``docker save`` before version 25, and of ``podman save``."""
        names = [f"{number}/layer.tar" for number in range(len(self.layers))]
        configuration = f"{digest(self.configuration())[7:]}.json"
        manifest = {"Config": configuration, "RepoTags": [self.tag], "Layers": names}
        return {
            **dict(zip(names, self.layers, strict=True)),
            configuration: self.configuration(),
            "manifest.json": json.dumps([manifest]).encode(),
        }

    def layout(self, *others: MadeImage) -> dict[str, bytes]:
        """Return the files of an OCI layout, with further images under one index."""
        blobs, manifests = dict[str, bytes](), []
        for image in (self, *others):
            compressed = [*map(image.compress, image.layers)]
            manifest = json.dumps(
                {
                    "schemaVersion": 2,
                    "config": _described(image.configuration()),
                    "layers": [*map(_described, compressed)],
                }
            ).encode()
            blobs |= {_blob(one): one for one in (*compressed, image.configuration(), manifest)}
            stated = {"os": "linux", "architecture": image.architecture}
            name = {"org.opencontainers.image.ref.name": image.tag}
            manifests.append({**_described(manifest), "platform": stated, "annotations": name})
        index = json.dumps({"schemaVersion": 2, "manifests": manifests}).encode()
        return {**blobs, "index.json": index, "oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}


def _described(data: bytes) -> dict[str, Any]:
    return {"mediaType": "application/octet-stream", "digest": digest(data), "size": len(data)}


def _blob(data: bytes) -> str:
    return "blobs/" + digest(data).replace(":", "/")


def write_tar(file: Path, files: Mapping[str, bytes]) -> Path:
    """Write files into a tar file."""
    file.write_bytes(layer(*(entry(name, data) for name, data in files.items())))
    return file


def write_folder(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write files into a folder."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


ENDPOINT = """\
import os, subprocess, sys
from urllib.parse import urlsplit

assert os.environ["TESTCASE"] == "http3", os.environ
common = ["--congestion-control=cubic", "--max-datagram-size=1200"]
common += ["--max-data=1048576", "--max-stream-data=1048576"]
log = os.environ["QLOGDIR"]
common += [f"--qlog={log}/endpoint.qlog"] if log else []
keys = os.environ["SSLKEYLOGFILE"]
common += [f"--keylog={keys}"] if keys else []
if os.environ["ROLE"] == "client":
    urls = [urlsplit(one) for one in os.environ["REQUESTS"].split()]
    address = next(
        line.split()[0] for line in open("/etc/hosts") if urls[0].hostname in line.split()[1:]
    )
    own = [f"--address={address}", f"--port={urls[0].port}", f"--server-name={urls[0].hostname}"]
    own += ["--ca=/certs/ca.pem"]
    own += [f"{one.path}=/downloads/{one.path.rpartition('/')[2]}" for one in urls]
else:
    own = ["--address=0.0.0.0", "--port=443", "--certificate=/certs/cert.pem"]
    own += ["--key=/certs/priv.key", "--content=/www", "--log=/logs/access.jsonl"]
    own += ["--retry=off", "--announces=nothing"]
program = f"/endpoint/aioquic_{os.environ['ROLE']}.py"
os.execvp("python3", ["python3", program, *common, *own])
"""
RUN_ENDPOINT = """\
#!/bin/sh
set -e
/setup.sh
case "$TESTCASE" in @OFFERED@) ;; *) exit 127 ;; esac
if [ "$ROLE" = client ]; then /wait-for-it.sh sim:57832 -s -t 30; fi
exec python3 /endpoint/endpoint.py
"""
ABSENT = "#!/bin/sh\necho there is no simulator here >&2\nexit 1\n"


def endpoint(*, lacks: bool = False) -> MadeImage:
    """Return an endpoint of quic-interop-runner on aioquic, which may lack the test case."""
    known = catalog.load()
    place = program_roots.ensure(known, ["aioquic"], say=print).places["aioquic"]
    assert place.root
    builtin = {
        BUILTIN / f"aioquic_{name}.py": f"endpoint/aioquic_{name}.py"
        for name in ("client", "server", "records")
    }
    scripts = {
        "run_endpoint.sh": RUN_ENDPOINT.replace("@OFFERED@", "transfer" if lacks else "http3"),
        "setup.sh": ABSENT,
        "wait-for-it.sh": ABSENT,
    }
    return MadeImage(
        [
            layer(of={place.root.path: "."}),
            layer(of=_tools(place.root.path, ["sh", "mkdir", "ln"])),
            layer(
                entry("endpoint/endpoint.py", ENDPOINT),
                *(entry(name, text, mode=0o755) for name, text in scripts.items()),
                of=builtin,
            ),
        ],
        command=["/run_endpoint.sh"],
        variables=[PATH, "PYTHONPATH=/opt/pypi", "PYTHONDONTWRITEBYTECODE=1"],
        tag="example/aioquic-endpoint:latest",
    )


def _tools(root: Path, names: Iterable[str]) -> dict[Path, str]:
    """Return programs of this machine for an image, with the libraries that its root lacks."""
    shown = dict[Path, str]()
    for name in names:
        found = subprocess.run(["which", name], check=True, capture_output=True, text=True).stdout
        program = Path(found.strip()).resolve()
        shown[program] = f"usr/bin/{name}"
        for library, path in elf.libraries(program).items():
            if not [*root.glob(f"usr/lib/*/{Path(library).name}")]:
                shown[path.resolve()] = f"usr/lib/{platform.machine()}-linux-gnu/{library}"
    return shown
