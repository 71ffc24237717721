"""HTML from templates: text from files and programs is escaped and made visible."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from httpbed.base.errors import visible_lines


def render(template: str, package: str = "httpbed.report", **values: Any) -> str:
    """Fill in a template of a package; it may include those of the report.

    Markup is escaped as each value is filled in. Characters that do not print become escapes in
    the whole page, figures included: XML forbids most of them even as character references.
    """
    return visible_lines(_environment(package).get_template(template).render(**values))


def part(template: str, package: str = "httpbed.report", **values: Any) -> Markup:
    """Fill in a template of a part of a page."""
    return Markup(render(template, package, **values))  # noqa: S704 - every value is escaped


def unbroken(text: str) -> Markup:
    """Keep options, and numbers with their units, in one line; browsers end lines within them."""
    return Markup(_UNBROKEN.sub(r'<span class="nowrap">\g<0></span>', str(escape(text))))  # noqa: S704


_UNBROKEN = re.compile(r"[^\s<>]*--[^\s<>]+|\d[\d.]* (?:[kMG]?B|[kMG]?bit/s|[mnu]?s|%)(?![\w/])")


@cache
def _environment(package: str) -> Environment:
    names = dict.fromkeys((package, "httpbed.report"))
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in names]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = unbroken
    return environment
