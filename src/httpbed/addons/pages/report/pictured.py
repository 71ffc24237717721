"""Figures with photographs in them: as JPEG, where matplotlib would write each as PNG."""

from __future__ import annotations

import base64
import io
import re
from functools import cached_property

from PIL import Image

from httpbed.addons.pages.report import thumbnails
from httpbed.report.figures import Plot

_PNG = re.compile(r"data:image/png;base64,\s*([A-Za-z0-9+/=\s]+)")


class PhotoPlot(Plot):
    """A figure whose pictures are small."""

    def svg(self) -> str:
        """Draw as SVG, with pictures as JPEG."""
        return self._with_jpeg

    @cached_property
    def _with_jpeg(self) -> str:
        return _PNG.sub(lambda found: _as_jpeg(found[1]), super().svg())


def _as_jpeg(encoded: str) -> str:
    png = Image.open(io.BytesIO(base64.b64decode(encoded)), formats=["PNG"])
    return thumbnails.address(thumbnails.jpeg(png.convert("RGB")), "jpeg")
