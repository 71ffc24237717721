"""Role checks: which recipe can take which role, before a scenario is complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from httpbed.experiment.parser import format_path
from httpbed.programs import catalog
from httpbed.programs.role_checks import role_mistakes

CURL = (Path(catalog.__file__).parent / "recipes/curl.toml").read_text()


def cast(client: object, server: object, **others: object) -> dict[str, Any]:
    return {"roles": {"client": client, "server": server, **others}}


def result(scenario: dict[str, Any], *folders: Path) -> dict[str, str]:
    mistakes = role_mistakes(catalog.load(folders), scenario)
    return {format_path(mistake.at): mistake.reason for mistake in mistakes}


@pytest.mark.parametrize(
    ("client", "server", "place", "reason"),
    [
        ({"implementation": "nginx"}, {}, "roles.client.implementation", "cannot be a client"),
        ({}, {"knobs": {"turbo": "on"}}, "roles.server.knobs.turbo", "no knob 'turbo'"),
    ],
)
def test_impossible_roles_are_refused(
    client: dict[str, Any], server: dict[str, Any], place: str, reason: str
) -> None:
    """A role, and a knob, that a recipe does not have."""
    stated = cast(
        {"implementation": "curl", "http_version": "3", **client},
        {"implementation": "nginx", **server},
    )
    assert reason in result(stated)[place]


@pytest.mark.parametrize("client", [3, [], {}, {"implementation": 3}, {"http_version": "9"}])
def test_a_malformed_role_hides_no_other_mistake(client: object) -> None:
    """The server's mistake is reported although the client's table is malformed."""
    stated = cast(client, {"implementation": "ngin", "port": 3})
    assert list(result(stated)) == ["roles.server.implementation"]


@pytest.mark.parametrize(
    ("control", "refused"), [("cubic", False), ("fixed", False), ("bbr", True), ("reno", True)]
)
def test_a_congestion_control_without_effect_is_refused(control: str, *, refused: bool) -> None:
    """Nginx has a fixed algorithm over QUIC: another level would change nothing."""
    stated = cast(
        {"implementation": "curl", "http_version": "3"},
        {"implementation": "nginx", "congestion_control": control},
    )
    assert list(result(stated)) == ["roles.server.congestion_control"] * refused


def test_fixed_is_refused_where_there_is_a_choice() -> None:
    """Over TCP the kernel decides, and any of its algorithms can be chosen."""
    stated = cast(
        {"implementation": "curl", "http_version": "2"},
        {"implementation": "nginx", "congestion_control": "fixed"},
    )
    assert "known: reno, cubic, bbr" in result(stated)["roles.server.congestion_control"]


@pytest.mark.parametrize(("before", "refused"), [([], True), (["envoy-tunnel"], False)])
def test_the_far_end_of_a_tunnel_needs_the_near_one(before: list[str], *, refused: bool) -> None:
    """Only the near end speaks its protocol."""
    proxies = [*before, "envoy-masque"]
    stated = cast(
        {"implementation": "curl", "http_version": "3"},
        {"implementation": "nginx"},
        proxies=[{"implementation": name, "http_version": "3"} for name in proxies],
    )
    wrong = result(stated)
    assert bool(wrong) is refused
    assert not wrong or "only from envoy-tunnel" in wrong["roles.proxies[0].implementation"]


@pytest.mark.parametrize(("version", "refused"), [("1.1", False), ("2", True), ("3", True)])
def test_several_connections_are_refused_where_requests_are_multiplexed(
    version: str, *, refused: bool
) -> None:
    """The level would change nothing."""
    stated = cast({"implementation": "curl", "http_version": version}, {"implementation": "nginx"})
    stated["workload"] = {"kind": "download", "size": "1 kB", "files": 6, "connections": 6}
    assert list(result(stated)) == ["workload.connections"] * refused


def test_a_workload_that_a_program_cannot_do_is_refused(tmp_path: Path) -> None:
    """The mistake lists what it can do."""
    few = re.sub("workloads = .*", 'workloads = ["download"]', CURL)
    (tmp_path / "few.toml").write_text(few.replace('name = "curl"', 'name = "few"'))
    stated = cast({"implementation": "few", "http_version": "2"}, {"implementation": "nginx"})
    stated["workload"] = {"kind": "download", "size": "1 kB", "resumption": "early data"}
    assert "'early data'" in result(stated, tmp_path)["workload.resumption"]


@pytest.mark.parametrize(
    ("client", "retry", "able"),
    [
        ("curl", "restart", True),
        ("curl", "resume", True),
        ("wget", "restart", True),
        ("wget", "resume", True),
        ("wget2", "restart", False),
        ("wget2", "resume", False),
        ("h2load", "restart", False),
        ("wget2", "none", True),
    ],
)
def test_a_retry_that_a_program_cannot_do_is_refused(
    client: str, retry: str, *, able: bool
) -> None:
    """Some programs report no failure of a broken transfer."""
    stated = cast(
        {"implementation": client, "http_version": "1.1", "retry": retry},
        {"implementation": "nginx"},
    )
    assert list(result(stated)) == ["roles.client.retry"] * (not able)


def test_all_obstacles_to_resuming_are_reported_at_once() -> None:
    """A client without resumption, a server that sends whole files only, and several files."""
    stated = cast(
        {"implementation": "gtlsclient", "http_version": "3", "retry": "resume"},
        {"implementation": "aioquic"},
    )
    stated["workload"] = {"kind": "download", "size": "1 kB", "files": 2}
    wrong = [*role_mistakes(catalog.load(), stated)]
    assert [mistake.reason.partition(" ")[0] for mistake in wrong] == ["gtlsclient", "a", "aioquic"]
    assert all(mistake.remedy for mistake in wrong)
    assert "parallel" in wrong[1].reason


@pytest.mark.parametrize("more", [{"rounds": 2}, {"files": 2}])
def test_a_client_with_a_retry_fetches_one_file_once(more: dict[str, int]) -> None:
    """A later round would look like the rest of the one before."""
    stated = cast(
        {"implementation": "curl", "http_version": "2", "retry": "resume"},
        {"implementation": "nginx"},
    )
    stated["workload"] = {"kind": "download", "size": "1 kB", **more}
    assert "one file once" in result(stated)["roles.client.retry"]


@pytest.mark.parametrize(("version", "places"), [("2", 0), ("3", 3)])
def test_what_is_stated_for_tcp_sockets_is_a_mistake_over_http_3(version: str, places: int) -> None:
    """No socket would have it."""
    stated = cast(
        {"implementation": "curl", "http_version": version, "tcp_receive_buffer": "64 kB"},
        {"implementation": "nginx", "tcp_send_buffer": "64 kB", "tcp_initial_window": 32},
    )
    assert len(result(stated)) == places


@pytest.mark.parametrize(
    ("version", "upstream", "refused"), [("2", "3", False), ("3", "2", False), ("3", "3", True)]
)
def test_what_is_stated_for_tcp_sockets_is_a_mistake_of_a_proxy_without_any(
    version: str, upstream: str, *, refused: bool
) -> None:
    """One hop over TCP is enough."""
    window = {"tcp_initial_window": 32, "http_version": upstream}
    stated = cast(
        {"implementation": "curl", "http_version": version},
        {"implementation": "nginx"},
        proxies=[{"implementation": "envoy", **window}],
    )
    assert ("roles.proxies[0].tcp_initial_window" in result(stated)) == refused


def test_a_proxy_cannot_serve_a_recorded_page() -> None:
    """Each origin has its own name and certificate, which a proxy does not have."""
    stated = cast(
        {"implementation": "chromium-headless-shell", "http_version": "2"},
        {"implementation": "nginx"},
        proxies=[{"implementation": "nginx"}],
    )
    stated["workload"] = {"kind": "page", "page": {"har": "site"}}
    assert "names and certificates" in result(stated)["roles.proxies[0]"]


@pytest.mark.parametrize(
    ("page", "visit", "version", "place", "reason"),
    [
        ("ranjan-small-few", "discovery", "2", "roles.client.http_version", "not HTTP/2"),
        ({"har": "a.har"}, "repeat view", "2", "workload.visit", "only its recorded headers"),
        ({"har": "a.har"}, "discovery", "3", "workload.visit", "only its recorded headers"),
    ],
)
def test_an_impossible_visit_is_refused(
    page: object, visit: str, version: str, place: str, reason: str
) -> None:
    """Only HTTP/3 can be discovered, and a HAR file may lack the headers of other visits."""
    workload = {"kind": "page", "page": page, "visit": visit}
    client = {"implementation": "chromium-headless-shell", "http_version": version}
    stated = {**cast(client, {"implementation": "nginx"}), "workload": workload}
    assert reason in result(stated)[place]


@pytest.mark.parametrize(
    ("server", "visit", "refused"),
    [
        ("caddy", "discovery", True),
        ("caddy", "warm connection", False),
        ("nginx", "resumed", False),
    ],
)
def test_a_server_must_support_the_visit(server: str, visit: str, *, refused: bool) -> None:
    """A server sends tickets, accepts early data, sets freshness, or announces HTTP/3."""
    workload = {"kind": "page", "page": "ranjan-small-few", "visit": visit}
    client = {"implementation": "chromium-headless-shell", "http_version": "3"}
    stated = {**cast(client, {"implementation": server}), "workload": workload}
    assert bool(result(stated)) is refused


UPLOAD = {"kind": "upload", "size": "1 MB"}


@pytest.mark.parametrize(
    ("roles", "place", "reason"),
    [
        ({"client": {"implementation": "quinn"}}, "workload", "quinn as a client cannot"),
        ({"server": {"implementation": "haproxy"}}, "roles.server.implementation", "cannot be"),
        ({"server": {"implementation": "caddy"}}, "workload", "caddy as a server cannot"),
        ({"client": {"retry": "restart"}}, "roles.client.retry", "not upload"),
        ({"client": {"congestion_control": "bbr"}}, "roles.client.congestion_control", "fixed"),
        ({"proxies": [{"implementation": "nginx"}]}, "roles.proxies[0]", "no proxy can be"),
    ],
)
def test_what_cannot_upload_is_refused(roles: dict[str, Any], place: str, reason: str) -> None:
    """Clients, servers, retries and proxies, and a congestion control that has no effect."""
    client = {"implementation": "curl", "http_version": "3", **roles.get("client", {})}
    server = {"implementation": "nginx", **roles.get("server", {})}
    more = {"proxies": roles["proxies"]} if "proxies" in roles else {}
    stated = {**cast(client, server, **more), "workload": UPLOAD}
    assert reason in result(stated)[place]


def test_a_method_that_one_end_lacks_is_refused() -> None:
    """A client may have one method only, and both ends need the one that is asked for."""
    post = {**UPLOAD, "method": "POST"}
    client = {"implementation": "h2load", "http_version": "2"}
    stated = cast(client, {"implementation": "nginx"})
    assert result({**stated, "workload": post}) == {}
    assert "'upload'" in result({**stated, "workload": UPLOAD})["workload"]
    curl = cast({**client, "implementation": "curl"}, {"implementation": "caddy"})
    assert "'upload by POST'" in result({**curl, "workload": post})["workload.method"]


def test_the_client_of_an_upload_has_a_congestion_control() -> None:
    """Over TCP it is the kernel's; the server's is as unimportant as a downloading client's."""
    client = {"implementation": "curl", "http_version": "2", "congestion_control": "bbr"}
    server = {"implementation": "nginx", "congestion_control": "reno"}
    assert result({**cast(client, server), "workload": UPLOAD}) == {}
