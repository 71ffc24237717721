"""Shipped recipes: each can be planned for everything that it declares."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from math import inf

import pytest

from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.experiment.roles import ClientRole, Transport
from httpbed.experiment.workload import UPLOADS_BY
from httpbed.programs import catalog
from httpbed.programs.part import FileToFetch, Part, RoleName, Upstream, Visit
from httpbed.programs.recipe import Recipe

CATALOG = catalog.load()
every_recipe = pytest.mark.parametrize("name", sorted(CATALOG.recipes))
PLACEHOLDER = re.compile(r"(?<!%)\{[a-z_]+\}")
FILES = ("/1000-1.txt", "/1000-2.txt")
VISITS: tuple[Visit, ...] = ("prior", "measured")


def part(recipe: Recipe, role: RoleName, version: str, **changes: object) -> Part:
    quic = recipe.congestion_control.quic
    values = {
        "name": role,
        "role": role,
        "host": role,
        "http_version": version,
        "server_name": "server.test",
        "server_address": "10.77.0.2",
        "port": 443,
        "fetches": tuple(FileToFetch(path, f"/tmp/bodies{path}") for path in FILES),  # noqa: S108
        "certificates": "/certificates",
        "content": "/content",
        "time_limit_s": 600.0,
        "file_bytes": 10**6,
        "upstream_http_version": next(iter(recipe.upstream_http_versions), ""),
        "upstreams": (Upstream("10.77.1.2", 443),) if role == "proxy" else (),
        "session": "/trial/session",
        "congestion_control": quic.resolved(None) if quic else "",
        **changes,
    }
    return Part(**values)  # type: ignore[arg-type]


def parts(recipe: Recipe) -> Iterator[Part]:
    """Yield a part for each combination that a recipe declares."""
    resumptions = [
        visit for visit in ("none", "resumed", "early data") if visit in recipe.workloads
    ]
    quic = recipe.congestion_control.quic
    controls = quic.choices if quic else {}
    for role, version in itertools.product(recipe.roles, recipe.http_versions):
        yield part(recipe, role, version)
        yield part(recipe, role, version, ip_version="6", server_address="fd77::2")
        for resumption, visit in itertools.product(resumptions, VISITS):
            yield part(recipe, role, version, resumption=resumption, visit=visit)
        for control in controls:
            yield part(recipe, role, version, congestion_control=control)
        for retry in recipe.retrying.able() if role == "client" else ():
            yield part(recipe, role, version, retry=retry)
        for method, need in UPLOADS_BY.items():
            if need in recipe.workloads and role != "proxy":
                yield part(recipe, role, version, sender="client", method=method)
        for kind in recipe.run_in(role).keep:
            yield part(recipe, role, version, kept=frozenset({kind}))
        for name, knob in recipe.knobs.items():
            for level in knob.levels:
                yield part(recipe, role, version, knobs={name: level})


@every_recipe
def test_every_declared_command_is_complete(name: str) -> None:
    """Every word of the command has its value in each declared case."""
    recipe = CATALOG[name]
    for requested in parts(recipe):
        planned = recipe.plan(requested)
        texts = (*planned.argv, *planned.environment.values())
        written = [
            text for file, text in planned.files.items() if not file.endswith((".py", ".js"))
        ]
        assert not any(PLACEHOLDER.search(text) for text in (*texts, *written)), requested
        assert planned.root == name
    assert isinstance(recipe.identify(), ProcessSpec)


@every_recipe
def test_every_knob_has_an_effect_and_a_meaning(name: str) -> None:
    """A knob without effect would only be a label."""
    recipe = CATALOG[name]
    runs = [recipe.run_in(role) for role in recipe.roles]
    stated = "".join(
        [text for run in runs for _, text in run.templates()]
        + [choice.by for run in runs for choice in run.choose.values()]
    )
    for knob, declared in recipe.knobs.items():
        assert knob in stated
        assert declared.source


@every_recipe
def test_every_congestion_control_changes_the_command(name: str) -> None:
    """Different algorithms give different commands; otherwise a level would only be a label."""
    recipe = CATALOG[name]
    quic = recipe.congestion_control.quic
    choices = quic.choices if quic and "3" in recipe.http_versions else {}
    for role in recipe.roles if choices else ():
        requested = [part(recipe, role, "3", congestion_control=stated) for stated in choices]
        planned = [recipe.plan(one) for one in requested]
        started = {(spec.argv, tuple(spec.files.values())) for spec in planned}
        assert len(started) == len(requested), role


@every_recipe
def test_records_are_written_on_request_only(name: str) -> None:
    """The request changes command, environment or files, and names the part's folder."""
    recipe = CATALOG[name]

    def started(role: RoleName, *kept: str) -> tuple[object, ...]:
        requested = part(recipe, role, recipe.http_versions[-1], kept=frozenset(kept))
        planned = recipe.plan(requested)
        return planned.argv, planned.environment, planned.files

    for role in recipe.roles:
        keys = f"/trial/{role}/keylog.txt"
        assert started(role, "pcap") == started(role)
        assert keys not in str(started(role))
        for kind in recipe.run_in(role).keep:
            assert started(role, kind) != started(role)
            assert (keys in str(started(role, kind))) == (kind == "keylog")


@every_recipe
def test_retries_are_done_by_the_program_or_by_httpbed(name: str) -> None:
    """Httpbed restarts the client, except for retries that the program does itself."""
    recipe = CATALOG[name]
    version = recipe.http_versions[0]
    for retry in recipe.retrying.able():
        once = recipe.plan(part(recipe, "client", version))
        planned = recipe.plan(part(recipe, "client", version, retry=retry))
        assert not once.again
        assert planned.again is (retry in recipe.retrying.started_again)
        assert planned.again or planned.argv != once.argv


@every_recipe
def test_a_client_requests_every_file(name: str) -> None:
    """Clients with parallel files name each file; others never get more than one."""
    recipe = CATALOG[name]
    if "client" in recipe.roles and "parallel" in recipe.workloads:
        argv = recipe.plan(part(recipe, "client", recipe.http_versions[-1])).argv
        assert all(any(path in word for word in argv) for path in FILES)


@pytest.mark.parametrize(
    ("name", "client", "seconds"),
    [
        ("httpbed-quiche", {"http_version": "3"}, 0),
        ("httpbed-quiche", {"http_version": "3", "knobs": {"migration": "none"}}, inf),
        ("aioquic", {"http_version": "3"}, inf),
        ("curl", {"http_version": "3"}, 0),
        ("curl", {"http_version": "2", "retry": "resume"}, inf),
        ("wget", {"http_version": "1.1", "retry": "resume", "knobs": {"read_timeout": "20"}}, 20),
        ("wget", {"http_version": "1.1"}, inf),
    ],
)
def test_when_a_client_notices_that_its_address_is_gone(
    name: str, client: dict[str, object], seconds: float
) -> None:
    """The recipe shows whether a client migrates, ends, times out or waits forever."""
    role = ClientRole.model_validate({"implementation": name, **client})
    transport: Transport = "quic" if role.http_version == "3" else "tcp"
    assert CATALOG[name].notices_s(role, transport) == seconds


@every_recipe
def test_a_recipe_states_the_least_version_of_its_program(name: str) -> None:
    """Of each program that httpbed installs or builds; the user's own ones were never tried."""
    recipe = CATALOG[name]
    if name not in {"hq", "openlitespeed"}:
        assert recipe.version is not None
        assert recipe.version.least


UPLOADING = [
    name
    for name, recipe in CATALOG.recipes.items()
    if "client" in recipe.roles and not set(UPLOADS_BY.values()).isdisjoint(recipe.workloads)
]


@pytest.mark.parametrize("name", UPLOADING)
def test_a_client_that_uploads_sends_the_file_of_its_content(name: str) -> None:
    """The server stores it; the client has no folder for bodies."""
    (version, *_), fetches = CATALOG[name].http_versions, (FileToFetch("/9.txt", "/stored/9.txt"),)
    upload = part(CATALOG[name], "client", version, sender="client", fetches=fetches)
    words = " ".join(CATALOG[name].plan(upload).argv)
    assert "/content/9.txt" in words
    assert "/stored" not in words
