"""The recipe of an imported image, and what is laid over an endpoint of quic-interop-runner.

The runner mounts folders into an endpoint's container and sets variables of its environment
(quic-interop-runner, README, "Building a QUIC endpoint"). Here the folders are links into the
part's own /run, which the recipe's script fills at each start. The base image of endpoints has two
scripts that configure Docker's network and wait for the runner's simulator; they do nothing here,
because httpbed has configured the network, and starts a client when its server listens.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

from httpbed.addons.images.archive import refusal
from httpbed.addons.images.image import Image
from httpbed.addons.images.tree import Tree
from httpbed.bed.toolbox.root_filesystem import find_program

QUIC_INTEROP = "quic-interop"
UNSUPPORTED_STATUS = 127
"""By which an endpoint says that it does not offer a test case."""
_FOLDERS = ("www", "downloads", "certs", "logs")
_OF_THE_RUNNER = ("setup.sh", "wait-for-it.sh")
_PLACE = "/run/endpoint"
_SHELL = "/bin/sh"
_STARTER = "quic_interop_endpoint.sh"


def prepare_endpoint(tree: Tree) -> None:
    """Lay the runner's folders over an endpoint, and take its two scripts away."""
    for name in _FOLDERS:
        tree.link(name, f"{_PLACE}/{name}")
    for name in _OF_THE_RUNNER:
        tree.write(name, [b"#!/bin/sh\nexit 0\n"], runs=True)


def find_endpoint(place: str, image: Image, root: Path) -> str:
    """Return the path of an endpoint's program in its root filesystem.

    Raises:
        ConfigError: The image cannot be started as an endpoint.
    """
    if not image.command:
        reason = "has no entry point (ENTRYPOINT or CMD)"
        raise refusal(place, reason, "state one in its Dockerfile, and build the image again")
    if find_program(root, _SHELL) is None:
        reason = f"has no {_SHELL}, which starts an endpoint of quic-interop-runner"
        raise refusal(place, reason, "import it with --like RECIPE, or add a shell to the image")
    program = image.command[0]
    folders = image.variables.get("PATH", "/usr/bin:/bin").split(":")
    folders = [image.folder] if "/" in program else folders
    for path in (str(PurePosixPath("/", folder, program)) for folder in folders):
        if found := find_program(root, path):
            return found
    reason = f"has no {program}, which is its entry point"
    raise refusal(place, reason, "correct ENTRYPOINT in its Dockerfile, and build it again")


def endpoint_recipe(name: str, image: Image, program: str) -> str:
    """Return the recipe of an endpoint of quic-interop-runner."""
    command = ", ".join(_quoted(_without_variables(word)) for word in image.command)
    folder = _quoted(_without_variables(image.folder or "/"))

    def _role(table: str, role: str, requests: str, last: str) -> str:
        return f"""\
[{table}]
program = {_quoted(program)}
programs = ["{_STARTER}"]
argv = [
    "{_SHELL}", "{{folder}}/{_STARTER}", "{{content}}", "{{bodies}}", "{{folder}}",
    "{{certificate}}", "{{certificate_key}}", "{{ca}}", {folder},
    {requests}"--", {command},
]
stdout = "endpoint.txt"
stderr = "endpoint.txt"
{last}

[{table}.environment]
ROLE = "{role}"
TESTCASE = "{{testcase}}"
SSLKEYLOGFILE = ""
QLOGDIR = ""

[{table}.keep]
keylog.environment = {{ SSLKEYLOGFILE = "{{keylog_file}}" }}
qlog.environment = {{ QLOGDIR = "{{folder}}" }}
"""

    return f"""\
schema = 1
name = {_quoted(name)}
roles = ["client", "server"]
http_versions = ["3"]
workloads = ["download", "parallel"]
ranges = false
# The contract does not ask for it; delete the line if this client rejects unknown authorities.
verifies = false
unsupported_status = {UNSUPPORTED_STATUS}
note = {_quoted(_note(image, "an endpoint of quic-interop-runner"))}

{_install(image, QUIC_INTEROP)}
[knobs.testcase]
default = "http3"
levels = ["http3"]
meaning = "TESTCASE of quic-interop-runner"
source = "quic-interop-runner, README, Test Cases"
refused.transfer = {_quoted(_NOT_HTTP)}
refused.multiplexing = {_quoted(_NOT_HTTP)}

{_role("run", "client", '"{requests}", ', 'each_request = ["{url}"]')}
{_role("run_as.server", "server", "", "ready = { udp = [443] }")}
[parse]
parser = "none"
file = "endpoint.txt"
"""


_NOT_HTTP = (
    "it is HTTP/0.9 over QUIC (hq-interop), which has no statuses or headers; httpbed measures "
    "HTTP/3, the test case http3"
)


def like_recipe(name: str, image: Image, like: str) -> str:
    """Return the recipe of an image whose program another recipe describes."""
    return f"""\
schema = 1
like = {_quoted(like)}
name = {_quoted(name)}
note = {_quoted(_note(image, f"run as {like} is"))}

{_install(image)}"""


def _note(image: Image, what: str) -> str:
    called = image.tag or image.digest[:19]
    as_root = f"; it runs as root of its own namespace, not as {image.user}" if image.user else ""
    return f"the container image {called}, {what}{as_root}"


def _install(image: Image, contract: str = "") -> str:
    lines = [f"[install]\nimage = {_quoted(image.digest)}\n"]
    lines += [f"contract = {_quoted(contract)}\n"] if contract else []
    lines += ["\n[install.variables]\n"] if image.variables else []
    lines += [f"{_quoted(key)} = {_quoted(value)}\n" for key, value in image.variables.items()]
    return "".join(lines)


def _without_variables(text: str) -> str:
    """Return a text in which no brace begins a variable of recipes."""
    return text.replace("{", "{{").replace("}", "}}")


def _quoted(text: str) -> str:
    """Return a text of printable characters in the form of TOML, which JSON's form is."""
    return json.dumps(text, ensure_ascii=False)
