"""``httpbed calibrate``: compare the link with arithmetic, and certify what passes."""

from __future__ import annotations

from pathlib import Path

import click

from httpbed.addons.calibration.scale import SCALES, Scale, about
from httpbed.cli.options import OneOf
from httpbed.cli.verb import verb


@verb("calibrate")
@click.option(
    "--scale",
    type=OneOf(SCALES),
    default="standard",
    show_default=True,
    help=f"smoke: does the link work at all ({about('smoke')}); standard: before measurements"
    f" ({about('standard')}); full: more values, longer flows ({about('full')}).",
)
@click.option(
    "--only",
    "words",
    multiple=True,
    metavar="WORD",
    help="Run only cells with WORD in their name, and write no certificate.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep every cell's evidence in DIR, which must not exist.",
)
@click.option(
    "--link-backend",
    type=OneOf(["af_packet", "tun"]),
    envvar="HTTPBED_LINK_BACKEND",
    help="As for httpbed run; a certificate covers one backend.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    context: click.Context,
    *,
    scale: Scale,
    words: tuple[str, ...],
    keep: Path | None,
    link_backend: str | None,
    as_json: bool,
) -> None:
    """Compare the emulated link with arithmetic, and certify the conditions that pass.

    Use it once on every machine that measures, while it is quiet, and again after a change of the
    kernel or of httpbed. It sends known packets through real namespaces and the real emulator. It
    compares rates, delays, losses, queues and the rest with arithmetic, packet by packet where
    possible. Campaigns on this machine cite the certificate; `httpbed run --strict` rejects
    conditions that it does not cover.

    Exit codes: 0 every cell passed; 1 some failed; 2 usage; 3 this machine cannot.
    """
    from httpbed.addons.calibration import calibrate_body as body  # noqa: PLC0415 - not for --help

    body.run(
        context, scale=scale, words=words, keep=keep, link_backend=link_backend, as_json=as_json
    )
