"""The program that starts endpoints of quic-interop-runner in a part; recipes name it."""

from __future__ import annotations

from httpbed.programs.shipped_programs import AddedPrograms

PROGRAMS = AddedPrograms(name="images", package="httpbed.addons.images", parsers={})
