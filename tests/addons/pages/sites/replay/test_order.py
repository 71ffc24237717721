"""When each request is repeated."""

from __future__ import annotations

from hars import MAIN, MIXED, Said, read
from httpbed.addons.pages.sites.replay import bodies, order, selection
from httpbed.addons.pages.sites.replay.order import Trigger

PAGE = Said(f"{MAIN}/", 0, 100, wait=40, kind="document", mime="text/html", size=3000)


def triggers(*entries: Said) -> list[Trigger]:
    return order.triggers(selection.choose(read(entries), "site.har"))


def test_an_ended_initiator_causes_requests_by_its_end() -> None:
    """An initiator that had not ended causes requests by its head."""
    style = Said(f"{MAIN}/a.css", 60, 20, initiator=PAGE.url)
    font = Said(f"{MAIN}/f.woff", 95, 10, initiator=style.url)
    assert triggers(PAGE, style, font)[1:] == [
        Trigger(0, "head", 0.02),
        Trigger(1, "end", 0.015),
    ]


def test_without_an_initiator_the_last_ended_response_is_the_cause() -> None:
    """If none had ended, it is the document's head."""
    entries = (PAGE, Said(f"{MAIN}/a", 50, 30), Said(f"{MAIN}/b", 55, 20), Said(f"{MAIN}/c", 85, 5))
    assert triggers(*entries)[1:] == [
        Trigger(0, "head", 0.01),
        Trigger(0, "head", 0.015),
        Trigger(1, "end", 0.005),
    ]


def test_causes_come_before_their_effects() -> None:
    """Entries at one time, of no length, that name each other as initiator."""
    alike = [
        Said(f"{MAIN}/{n}", 10, 0, wait=0, initiator=f"{MAIN}/{(n + 1) % 50}") for n in range(50)
    ]
    result = triggers(PAGE, *alike)
    assert all(
        one.after is not None and one.after < number for number, one in enumerate(result) if number
    )


def test_a_redirects_target_follows_it() -> None:
    """The browser follows redirects; other requests wait for the end of the chain."""
    result = triggers(*MIXED)
    assert result[5] == Trigger(4, "end", 0.0)
    text = order.script(selection.choose(read(MIXED), "x"), result)
    assert "/new.png" not in text
    assert text.count("/t?e=1") == 2
    assert "</" not in text


def test_a_body_has_its_length_on_the_wire() -> None:
    """From the most exact figure in the file."""
    reported = [
        Said("https://a.test/1", size=700),
        Said("https://a.test/2", size=None, headers={"content-length": "800"}),
        Said("https://a.test/3", size=None, response={"_transferSize": 1000, "headersSize": 100}),
        Said("https://a.test/4", size=None, response={"_transferSize": 1000}),
        Said("https://a.test/5", size=None, status=204, headers={"content-length": "9"}),
        Said("https://a.test/6", size=0, response={"content": {"size": 5, "mimeType": ""}}),
    ]
    result = [bodies.body_size(entry) for entry in read(reported).entries]
    assert [size.bytes for size in result][:3] == [700, 800, 900]
    assert 950 < result[3].bytes < 1000
    assert not result[3].is_exact
    assert [size.bytes for size in result][4:] == [0, 5]
