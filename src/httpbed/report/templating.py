"""HTML from templates: text from files and programs is escaped and made visible."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from httpbed.base.errors import visible_lines


def render(template: str, **values: Any) -> str:
    """Fill in a template of this package.

    Markup is escaped as each value is filled in. Characters that do not print become escapes in
    the whole page, figures included: XML forbids most of them even as character references.
    """
    environment = Environment(
        loader=PackageLoader("httpbed.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return visible_lines(environment.get_template(template).render(**values))
