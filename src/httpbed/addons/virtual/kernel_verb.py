"""``httpbed toolbox kernel``: build the kernel of guests before the first run needs it."""

from __future__ import annotations

import json
from dataclasses import asdict

from httpbed.addons.virtual import guest_kernel
from httpbed.bed.toolbox import root_filesystem
from httpbed.cli.echo import echo, say
from httpbed.cli.options import json_option
from httpbed.cli.toolbox import expired_option
from httpbed.cli.verb import verb


@verb("kernel")
@expired_option
@json_option
def command(*, accept_expired: bool, as_json: bool) -> None:
    """Build the kernel of guests, which trials in virtual time run in, and print its path.

    It is compiled from Debian's sources: 4 to 6 minutes of one CPU and 1.5 GB of disk, once. An
    interrupted build goes on where it stopped.
    """
    if accept_expired and guest_kernel.find() is None:
        root_filesystem.ensure(guest_kernel.TOOLS, say=say, accept_expired=True)
    built = guest_kernel.ensure(say)
    values = {"schema": 1, **asdict(built), "path": str(built.path)}
    echo(json.dumps(values, indent=2) if as_json else built.path)
