"""The page-load workload: its forms, and the messages for its mistakes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from httpbed.addons.pages.page import NamedPage, PageLoad, SyntheticPage
from httpbed.experiment.workload import Download
from httpbed.experiment.workload_kinds import parse


def page_load(**other: Any) -> dict[str, Any]:
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
    """A text is a page name; a count may be a text, as levels of factors are."""
    load = parse(page_load(page=page))
    assert isinstance(load, PageLoad)
    assert isinstance(load.page, kind)


def test_a_synthetic_page_has_one_request_more_than_images() -> None:
    """The document is the additional request."""
    load = parse(page_load())
    assert load.requests() == 9
    assert 80_000 < load.body_bytes() < 90_000


@pytest.mark.parametrize(
    ("other", "reason"),
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
def test_a_mistake_is_reported_with_the_accepted_values(other: dict[str, Any], reason: str) -> None:
    """The message says what to write instead."""
    with pytest.raises(ValidationError) as mistake:
        parse(page_load(**other))
    assert reason in str(mistake.value)


def test_equal_pages_have_equal_keys() -> None:
    """The key identifies the site, whatever the visit."""
    one, other = parse(page_load()), parse(page_load(visit="repeat view"))
    assert isinstance(one, PageLoad)
    assert isinstance(other, PageLoad)
    assert one.key == other.key
    assert isinstance(parse({"kind": "download", "size": "1 kB"}), Download)
