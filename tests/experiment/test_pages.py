"""What a page load may say, and how its mistakes are told."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from httpbed.experiment.page import NamedPage, PageLoad, SyntheticPage
from httpbed.experiment.workload import Download, parse


def said(**other: Any) -> dict[str, Any]:
    """Return the table of a page load."""
    return {"kind": "page", "page": {"objects": 8, "size": "10 kB"}, **other}


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("startbootstrap-agency", NamedPage),
        ({"name": "apache-core"}, NamedPage),
        ({"objects": "64", "size": "100 B"}, SyntheticPage),
    ],
)
def test_a_page_has_one_of_several_forms(page: Any, kind: type) -> None:
    """A text is a name; a count may be a text, as levels of factors are."""
    load = parse(said(page=page))
    assert isinstance(load, PageLoad)
    assert isinstance(load.page, kind)


def test_a_synthetic_page_knows_what_it_is() -> None:
    """One request more than it has images."""
    load = parse(said())
    assert load.requests() == 9
    assert 80_000 < load.body_bytes() < 90_000


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"viewport": "banana"}, 'write it like "1366x768"'),
        ({"viewport": [1, 2]}, 'write it like "1366x768"'),
        ({"page": {"objects": 8, "size": "99 B"}}, "100 B to 100 MB"),
        ({"page": {"objects": 8, "size": "10 GB"}}, "100 B to 100 MB"),
        ({"page": {"objects": 0, "size": "1 kB"}}, "greater than or equal to 1"),
        ({"page": {}}, "has none of the accepted forms"),
        ({"visit": "warm"}, "'cold', 'warm connection'"),
        ({"rounds": 2}, "Extra inputs"),
    ],
)
def test_mistakes_name_the_way_out(other: dict[str, Any], told: str) -> None:
    """Or what is allowed."""
    with pytest.raises(ValidationError) as mistake:
        parse(said(**other))
    assert told in str(mistake.value)


def test_equal_pages_have_equal_keys() -> None:
    """By which their sites are known; whatever the visit."""
    one, other = parse(said()), parse(said(visit="repeat view"))
    assert isinstance(one, PageLoad)
    assert isinstance(other, PageLoad)
    assert one.key == other.key
    assert isinstance(parse({"kind": "download", "size": "1 kB"}), Download)
