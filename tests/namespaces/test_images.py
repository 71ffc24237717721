"""Programs of container images in real trials: an endpoint of quic-interop-runner, and nginx."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

import images
from httpbed.addons.images import import_verb
from httpbed.base.errors import HostError
from httpbed.bed.toolbox import root_filesystem
from httpbed.experiment.trial import Record
from httpbed.programs import catalog
from httpbed.trial import program_roots
from images import MadeImage
from real_runs import SmallExperiment, check, counting, stage

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]


@contextmanager
def imported(path: Path, *words: str) -> Iterator[str]:
    """Import an image into the user's toolbox, yield its recipe's name, and remove it again."""
    output = ["-o", str(path.parent / "recipes"), "--json"]
    result = CliRunner().invoke(import_verb.command, [str(path), *words, *output])
    assert result.exception is None, result.exception
    about = json.loads(result.stdout)
    try:
        yield about["name"]
    finally:
        place = Path(about["root"])
        for root in root_filesystem.find_all():
            if root.path == place:
                root_filesystem.remove(root)


def records(settings: SmallExperiment, folder: Path, name: str) -> list[Record]:
    """Return the attempts that count and are not the bed's failures, at least one."""
    stages = stage(settings, [folder / "recipes"])
    every = counting(stages.run(folder / name))
    valid = [record for record in every if record.attempt.outcome.kind != "invalid"]
    assert valid
    return valid


def over_http3(client: str, server: str, *, fixed: bool) -> SmallExperiment:
    """Return an experiment; nothing chooses the congestion control of an endpoint."""
    control = "fixed" if fixed else "cubic"
    return SmallExperiment(
        versions=("3",), client=client, server=server, congestion_control=control
    )


@pytest.mark.slow
def test_an_endpoint_is_client_and_server_over_http3(tmp_path: Path) -> None:
    """With programs that log, with itself, and where it does not offer the test case."""
    path = images.write_tar(tmp_path / "endpoint.tar", images.endpoint().saved())
    with imported(path, "--interop") as name:
        known = catalog.load([tmp_path / "recipes"])
        for client, server, by in (
            (name, "nginx", "the server's log"),
            ("aioquic", name, "the client"),
            (name, name, None),
        ):
            settings = over_http3(client, server, fixed=server == name)
            for record in records(settings, tmp_path, f"{client}-{server}"):
                assert record.attempt.outcome.kind == "completed", record.attempt.outcome
                assert check(record, "body as served").passed
                protocol = check(record, "protocol used")
                assert protocol.passed is (True if by else None)
                assert by is None or protocol.figure == f"1 request(s) HTTP/3, by {by}"
    with pytest.raises(HostError, match="toolbox import"):
        program_roots.ensure(known, [name], say=print)


@pytest.mark.slow
def test_an_endpoint_that_lacks_the_test_case_is_unsupported(tmp_path: Path) -> None:
    """As a client, and as a server that never listens; its exit status is 127."""
    image = images.endpoint(lacks=True)
    with imported(images.write_tar(tmp_path / "lacking.tar", image.layout()), "--interop") as name:
        for client, server in ((name, "nginx"), ("aioquic", name)):
            settings = over_http3(client, server, fixed=server == name)
            for record in records(settings, tmp_path, f"{client}-{server}"):
                assert record.attempt.outcome.kind == "unsupported", record.attempt.outcome
                assert "127" in record.attempt.outcome.reason


def test_nginx_from_an_image_serves_every_http_version(tmp_path: Path) -> None:
    """By the recipe of nginx, from a layout in a folder; the image identifies the program."""
    root = program_roots.ensure(catalog.load(), ["nginx"], say=print).places["nginx"].root
    assert root
    image = MadeImage([images.layer(of={root.path: "."})], compress=bytes, tag="example/nginx:1")
    layout = images.write_folder(tmp_path / "layout", image.layout())
    with imported(layout, "--like", "nginx") as name:
        assert name == "nginx-image"
        for record in records(SmallExperiment(server=name), tmp_path, "campaign"):
            assert record.attempt.outcome.kind == "completed", record.attempt.outcome
            assert "by the server's log" in check(record, "status of the one answer").figure
        known = catalog.load([tmp_path / "recipes"])
        identity = program_roots.ensure(known, [name], say=print).identity(name, "nginx")
        assert identity.packages == {"image": images.digest(image.configuration())}
