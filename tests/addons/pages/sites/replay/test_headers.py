"""Which recorded fields are sent again."""

from __future__ import annotations

from hars import Said, read
from httpbed.addons.pages.sites.replay import headers
from httpbed.addons.pages.sites.replay.headers import Fields


def answered(
    fields: dict[str, str], *, location: str | None = None, of_skeleton: bool = False
) -> Fields:
    """Return the sent fields, without the content type."""
    (entry,) = read([Said("https://a.test/", headers=fields)]).entries
    result = headers.answered(entry, location=location, of_skeleton=of_skeleton)
    return [one for one in result if one[0] != "content-type"]


def test_the_server_sets_fields_of_connection_and_length() -> None:
    """It also sets fields with other addresses of the site."""
    stated = {"Connection": "close", "content-length": "5", "Alt-Svc": 'h3=":443"', "X-One": "1"}
    assert answered(stated) == [("X-One", "1")]


def test_fields_that_cause_other_requests_are_renamed() -> None:
    """Reports, dialogs and, for a skeleton, rules against scripts get another name."""
    stated = {"nel": "{}", "content-security-policy": "default-src 'none'"}
    assert answered(stated)[0] == ("x-recorded-nel", "{}")
    assert answered(stated)[1][0] == "content-security-policy"
    assert answered(stated, of_skeleton=True)[1][0] == "x-recorded-content-security-policy"


def test_redirects_lead_to_replayed_targets() -> None:
    """Otherwise they lead nowhere."""
    assert answered({"Location": "http://b.test/"}, location="https://b.test/") == [
        ("Location", "https://b.test/")
    ]
    assert answered({"Location": "http://b.test/"}) == [("x-recorded-Location", "http://b.test/")]
    assert answered({}, location="/x") == [("location", "/x")]


def test_a_field_cannot_contain_another() -> None:
    """A field is one line of a head, whatever the file has."""
    stated = {"x: y\r\nz": "1", "set-cookie": "a=1\nb=2", "x": "a\r\n\r\n<script>\x00", "": "1"}
    assert answered(stated) == [
        ("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x", "a"), ("x", ""), ("x", "<script>")
    ]  # fmt: skip


def test_a_field_is_replaced_added_or_removed() -> None:
    """In its place, or last, or removed."""
    fields = [("A", "1"), ("B", "2")]
    assert headers.with_field(fields, "a", "3") == [("A", "3"), ("B", "2")]
    assert headers.with_field(fields, "c", "3") == [*fields, ("c", "3")]
    assert headers.with_field(fields, "a", None) == [("B", "2")]
