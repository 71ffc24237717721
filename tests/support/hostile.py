"""Trials in which the client or the server is the adversary of ``tests/adversary``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.experiment.trial import Record
from httpbed.programs import catalog
from httpbed.trial import verdict
from real_runs import SmallExperiment, stage

ADVERSARY = Path(__file__).parents[1] / "adversary"
RECIPE = """
schema = 1
name = "adversary-{role}"
roles = ["{role}"]
http_versions = {versions}
workloads = ["download", "parallel"]
install = {{ suite = "trixie", packages = ["ngtcp2-client", "python3"] }}
version = {{ argv = ["python3", "--version"], pattern = 'Python (?P<version>\\S+)' }}
knobs.attack = {{ default = "none", pattern = '[a-z_]+', meaning = "what it attacks" }}
parse = {{ parser = "{parser}", file = "said.jsonl" }}

[run]
argv = ["python3", "{{folder}}/adversary.py", "{{attack}}", "{role}", {words}]
stdout = "said.jsonl"
stderr = "errors.txt"
{further}
{choice}
{retrying}

[run.files]
{files}
"""

VERSION = """
[run.choose.version]
by = "http_version"
values = { "1.1" = "1.1", "2" = "2" }
"""


RATE_BIT_S, DELAY_S = 10e6, 0.005
"""Of a link of :class:`SmallExperiment`, unless an attack chooses others."""


def least_s(size: int, rate_bit_s: float = RATE_BIT_S, delay_s: float = DELAY_S) -> float:
    """Return what bodies of this size take at least on the link."""
    return size * 8 / rate_bit_s + 2 * delay_s


@dataclass(frozen=True)
class Attacked:
    """The result of a trial with an adversary."""

    record: Record
    attempts: int
    """Number of the trial's attempts that no other program of the machine disturbed."""
    artifacts: Path

    def tried(self) -> list[dict[str, Any]]:
        """Return every action that the attack tried, with its result."""
        (file,) = self.artifacts.glob("*/attacks.jsonl")
        return [json.loads(line) for line in file.read_text().splitlines()]

    def succeeded(self) -> list[dict[str, Any]]:
        """Return the actions that succeeded."""
        return [one for one in self.tried() if one["succeeded"]]

    @property
    def outcome(self) -> str:
        """Outcome of the trial, with the reason."""
        outcome = self.record.attempt.outcome
        return f"{outcome.kind}: {outcome.reason}" if outcome.reason else outcome.kind


def attacked(
    folder: Path,
    attack: str,
    role: str = "client",
    kind: type[SmallExperiment] = SmallExperiment,
    **settings: Any,
) -> Attacked:
    """Run one trial with an adversary as its client, its server, or both: a ``pair``."""
    recipes = folder / "recipes"
    recipes.mkdir()
    for one in ("client", "server"):
        (recipes / f"adversary-{one}.toml").write_text(recipe(one))
    (recipes / "silent-quic.toml").write_text(silent_quic())
    played: dict[str, Any] = {}
    for one in ("client", "server") if role == "pair" else (role,):
        played |= {one: f"adversary-{one}", f"on_{one}": f'knobs = {{ attack = "{attack}" }}'}
    wanted = kind(**{"versions": ("1.1",), "time_limit": "20 s", **played, **settings})
    records = stage(wanted, [recipes]).run(folder / "campaign")
    last = records[-1].attempt
    artifacts = folder / f"campaign/trials/0001/{last.id}/{last.number}/artifacts"
    attempts = sum(not verdict.is_strained(record.attempt) for record in records)
    return Attacked(records[-1], attempts, artifacts)


def recipe(role: str) -> str:
    """Write the adversary's recipe; in a template braces are doubled."""
    is_client = role == "client"
    client = '"{version}", "{server_address}", "{server_name}", "{ca}", "{requests}"'
    server = '"{certificate}", "{certificate_key}", "{content}"'
    return RECIPE.format(
        role=role,
        versions='["1.1", "2"]' if is_client else '["1.1"]',
        words=client if is_client else server,
        parser="requests-json" if is_client else "access-log-json",
        choice=VERSION if is_client else "",
        retrying='[retrying]\nstarted_again = ["restart"]' if is_client else "",
        further='each_request = ["{path}={file}"]' if is_client else "ready = { tcp = [443] }",
        files="".join(map(_file, sorted(ADVERSARY.glob("*.py")))),
    )


def _file(module: Path) -> str:
    text = module.read_text().replace("{", "{{").replace("}", "}}")
    return f"\"{module.name}\" = '''\n{text}'''\n"


def silent_quic() -> str:
    """Write the recipe of httpbed's programs on aioquic, changed by two modules.

    The client sends nothing after some bytes; the server answers in small datagrams.
    """
    text = (Path(catalog.__file__).with_name("recipes") / "aioquic.toml").read_text()
    knob = """
[knobs.silent_from]
default = "0"
pattern = '[0-9]+'
meaning = "bytes of the body after which the client sends nothing"

[run]
"""
    text = text.replace('name = "aioquic"', 'name = "silent-quic"')
    text = text.replace("\n[run]\n", knob, 1)
    text = text.replace(
        '"{folder}/aioquic_client.py",', '"{folder}/silent_quic.py", "{silent_from}",'
    )
    text = text.replace('"{folder}/aioquic_server.py",', '"{folder}/small_quic.py",')
    client, server = (_file(ADVERSARY / f"{name}_quic.py") for name in ("silent", "small"))
    return f"{text}\n[run.files]\n{client}\n[run_as.server.files]\n{server}"
