"""Which recorded fields are sent again."""

from __future__ import annotations

from hars import Said, read
from httpbed.web.sites.replay import headers
from httpbed.web.sites.replay.headers import Fields


def answered(
    fields: dict[str, str], *, location: str | None = None, of_skeleton: bool = False
) -> Fields:
    """Return what is sent of some fields, without the type."""
    (entry,) = read([Said("https://a.test/", headers=fields)]).entries
    found = headers.answered(entry, location=location, of_skeleton=of_skeleton)
    return [one for one in found if one[0] != "content-type"]


def test_fields_of_connection_and_length_are_the_servers() -> None:
    """So is where else the site could be had."""
    said = {"Connection": "close", "content-length": "5", "Alt-Svc": 'h3=":443"', "X-One": "1"}
    assert answered(said) == [("X-One", "1")]


def test_what_a_recording_has_not_is_not_brought_about() -> None:
    """Reports, dialogs and, for a skeleton, rules against scripts, under another name."""
    said = {"nel": "{}", "content-security-policy": "default-src 'none'"}
    assert answered(said)[0] == ("x-recorded-nel", "{}")
    assert answered(said)[1][0] == "content-security-policy"
    assert answered(said, of_skeleton=True)[1][0] == "x-recorded-content-security-policy"


def test_redirects_lead_where_the_recording_goes() -> None:
    """Or nowhere."""
    assert answered({"Location": "http://b.test/"}, location="https://b.test/") == [
        ("Location", "https://b.test/")
    ]
    assert answered({"Location": "http://b.test/"}) == [("x-recorded-Location", "http://b.test/")]
    assert answered({}, location="/x") == [("location", "/x")]


def test_nothing_is_smuggled() -> None:
    """A field is one line of a head, whatever a recording says it is."""
    said = {"x: y\r\nz": "1", "set-cookie": "a=1\nb=2", "x": "a\r\n\r\n<script>\x00", "": "1"}
    assert answered(said) == [
        ("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x", "a"), ("x", ""), ("x", "<script>")
    ]  # fmt: skip


def test_one_field_set() -> None:
    """Where it was, or last; or taken away."""
    fields = [("A", "1"), ("B", "2")]
    assert headers.with_field(fields, "a", "3") == [("A", "3"), ("B", "2")]
    assert headers.with_field(fields, "c", "3") == [*fields, ("c", "3")]
    assert headers.with_field(fields, "a", None) == [("B", "2")]
