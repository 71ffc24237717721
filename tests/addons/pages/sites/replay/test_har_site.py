"""Sites from HAR files, as folders."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from hars import CDN, MAIN, MIXED, Said, har
from httpbed.addons.pages.page import Order, RecordedPage
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.replay import har_site
from httpbed.addons.pages.sites.replay.order import PLAN_PATH
from httpbed.addons.pages.sites.site import Site
from httpbed.base.errors import ConfigError

PAGE = RecordedPage(har="site.har")
_HTML = "<!doctype html><img src=/a.png>"
OWN = (
    Said(f"{MAIN}/", 0, kind="document", mime="text/html", size=len(_HTML), text=_HTML),
    Said(f"{MAIN}/a.png", 60, size=700),
)


def made(
    folder: Path, entries: tuple[Said, ...], page: RecordedPage = PAGE
) -> tuple[Site, list[str]]:
    """Return the site of a HAR file, and how it differs from the file, which its source states."""
    (folder / "site.har").write_text(har(entries))
    (folder / "site/files/0").mkdir(parents=True)
    said: list[str] = []
    sites.write(har_site.make(page, 1, folder, folder / "site", said.append), folder / "site")
    assert not said  # each report says it
    result = sites.read(folder / "site")
    return result, result.source.split("; ")[1:]


def test_each_body_has_its_recorded_length(tmp_path: Path) -> None:
    """Even if the file does not have the body."""
    result, stated = made(tmp_path, MIXED)
    assert [resource.bytes for resource in result.resources] == [said.size for said in MIXED]
    assert result.origins == ["www.page.test", "cdn.page.test", "stats.example.test"]
    assert result.skeleton
    assert any("missing" in one and one.endswith(" 5") for one in stated)
    document = (tmp_path / "site/files" / result.resources[0].file).read_bytes()
    assert b"//cdn.page.test/lib.js?v=1" in document
    answers = json.loads((tmp_path / "site/files/answers.json").read_text())
    assert len(answers["answers"]) == len(MIXED)


def test_no_count_of_one_stands_before_a_plural(tmp_path: Path) -> None:
    """As in "1 bodies are": each of these deviations occurs once."""
    _, stated = made(tmp_path, (replace(OWN[0], text=None, size=60), OWN[1]))
    assert stated
    assert not any(re.search(r"\b1 \w+s\b", one) for one in stated)


def test_a_replayed_site_agrees_with_its_outline(tmp_path: Path) -> None:
    """The outline is known before anything is made."""
    result, _ = made(tmp_path, MIXED)
    known = har_site.outline(PAGE, tmp_path)
    assert (known.requests, known.weight) == (result.requests(), result.weight())
    assert (known.entry, list(known.origins)) == (result.entry, result.origins)
    assert replace(known, name="x") == replace(har_site.outline(PAGE, tmp_path), name="x")


def test_a_page_with_all_its_causing_bodies_is_replayed_itself(tmp_path: Path) -> None:
    """A filler may replace its image; with recorded order a skeleton replaces the document."""
    result, _ = made(tmp_path, OWN)
    assert not result.skeleton
    (tmp_path / "other").mkdir()
    page = RecordedPage(har="site.har", order="recorded")
    wide = (replace(OWN[0], text=_HTML + " " * 3000, size=3000), OWN[1])
    assert made(tmp_path / "other", wide, page)[0].skeleton


@pytest.mark.parametrize(
    "first",
    [
        replace(OWN[0], text=None),
        replace(OWN[0], url=f"{MAIN}:8443/", text=_HTML + f"<a href={MAIN}:8443/>", size=300),
        replace(OWN[0], url="http://www.page.test/", text=_HTML + f"<a href={MAIN}/>", size=300),
        replace(OWN[0], size=10),
    ],
)
def test_obstacles_to_replaying_a_page_itself(first: Said, tmp_path: Path) -> None:
    """A missing body, an impossible length, or the name of an address that the replay has not."""
    result, stated = made(tmp_path, (first, OWN[1]))
    assert result.skeleton
    assert any("skeleton" in one for one in stated)


@pytest.mark.parametrize("address", [f"{MAIN}:8443", "http://www.page.test"])
def test_a_page_at_another_address_that_no_body_names_is_replayed_itself(
    address: str, tmp_path: Path
) -> None:
    """All of its references are relative."""
    first, image = (replace(said, url=said.url.replace(MAIN, address)) for said in OWN)
    assert not made(tmp_path, (first, image))[0].skeleton


@pytest.mark.parametrize(
    ("order", "wanted", "is_skeleton"),
    [
        ("recorded", None, True),
        ("its own", None, False),
        ("recorded", "its own", False),
        ("backwards", None, False),
        (7, None, False),
    ],
)
def test_a_recording_has_the_order_of_its_requests(
    order: object, wanted: Order | None, is_skeleton: bool, tmp_path: Path
) -> None:
    """An experiment may want another one; a word that httpbed does not write says nothing."""
    wide = (replace(OWN[0], text=_HTML + " " * 3000, size=3000), OWN[1])
    recording = json.loads(har(wide))
    recording["log"]["_order"] = order
    (tmp_path / "site.har").write_text(json.dumps(recording))
    (tmp_path / "site/files/0").mkdir(parents=True)
    page = RecordedPage(har="site.har", order=wanted)
    assert har_site.make(page, 1, tmp_path, tmp_path / "site", print).skeleton == is_skeleton


def test_a_document_too_short_for_a_skeleton_gets_a_script(tmp_path: Path) -> None:
    """Its script is one more request, and a remark says so."""
    result, stated = made(tmp_path, (replace(OWN[0], text=None, size=60), OWN[1]))
    assert [resource.path for resource in result.resources] == ["/", "/a.png", PLAN_PATH]
    assert result.resources[0].bytes == 60
    assert any(PLAN_PATH in one for one in stated)


def test_script_in_urls_stays_a_url(tmp_path: Path) -> None:
    """The skeleton runs no script but its own."""
    evil = Said(f"{CDN}/</script><script>alert(1)</script>?<!--\u2028'\"", 50, size=9)
    made(tmp_path, (replace(OWN[0], text=None, size=5000), evil))
    document = (tmp_path / "site/files/0/0").read_text()
    assert document.count("<script>") == document.count("</script>") == 1
    assert "<!--" not in document
    assert "\u2028" not in document


def test_files_have_numbers_for_names(tmp_path: Path) -> None:
    """No recorded path becomes a path on this machine."""
    result, _ = made(
        tmp_path, (*OWN, Said(f"{CDN}/../../../etc/passwd", 80), Said(f"{CDN}/prior.txt", 90))
    )
    assert [resource.file for resource in result.resources] == ["0/0", "0/1", "1/2", "1/3"]
    assert result.resources[2].path == "/etc/passwd"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "truncated"),
        ('{"log": {"entries": [', "truncated"),
        ("[]", "no object named log"),
        (har([Said(f"{MAIN}/", wait=-7)]), "negative"),
        (har([{"request": 5}]), "is missing"),
        (har([]), "no document"),
        (har([replace(OWN[0], size=2**40)]), "bodies of more than"),
    ],
)
def test_a_har_file_that_cannot_be_replayed_is_a_mistake(
    text: str, reason: str, tmp_path: Path
) -> None:
    """Every mistake is at the experiment's ``har``."""
    (tmp_path / "site.har").write_text(text)
    with pytest.raises(ConfigError) as caught:
        har_site.outline(PAGE, tmp_path)
    assert all(mistake.place == "har" for mistake in caught.value.mistakes)
    assert any(reason in mistake.reason for mistake in caught.value.mistakes)


@pytest.mark.parametrize("name", ["nowhere.har", "."])
def test_a_missing_har_file_is_a_mistake(name: str, tmp_path: Path) -> None:
    """A folder is not a file."""
    with pytest.raises(ConfigError):
        har_site.outline(RecordedPage(har=name), tmp_path)


def test_an_impossible_order_is_a_mistake(tmp_path: Path) -> None:
    """An order that the experiment states must be possible."""
    (tmp_path / "site.har").write_text(har(MIXED))
    with pytest.raises(ConfigError, match="may cause requests"):
        har_site.outline(RecordedPage(har="site.har", order="its own"), tmp_path)


@pytest.mark.parametrize(
    "more",
    [
        Said(f"{CDN}/api", 70, method="OPTIONS", kind="preflight"),
        Said(f"{CDN}/api", 70, method="PUT"),
        Said("https://ads.test/a.js", 70, status=0),
        Said(f"{CDN}/socket", 70, status=101, kind="websocket"),
        Said(f"{MAIN}/cached.png", 70, more={"_fromCache": "disk"}),
    ],
)
def test_a_page_with_unreplayed_requests_gets_a_skeleton(more: Said, tmp_path: Path) -> None:
    """The page would repeat the request and get another response than recorded."""
    result, stated = made(tmp_path, (*OWN, more))
    assert result.skeleton
    assert any("is not replayed" in one for one in stated)
    with pytest.raises(ConfigError, match="is not replayed"):
        har_site.outline(RecordedPage(har="site.har", order="its own"), tmp_path)


@pytest.mark.parametrize(
    "more",
    [
        Said("data:image/png,x", 70),
        Said(f"{MAIN}/a.png", 70, more={"_fromCache": "memory"}),
        Said("http://www.page.test/", -30, 10, 301, 0, headers={"location": f"{MAIN}/"}),
    ],
)
def test_unsent_requests_are_no_obstacle_to_replaying_a_page(more: Said, tmp_path: Path) -> None:
    """Inline pictures, cached files, and redirects from http: to the same https: URL."""
    result, _ = made(tmp_path, (*OWN, more))
    assert not result.skeleton


@pytest.mark.slow
def test_ten_thousand_entries_take_seconds(tmp_path: Path) -> None:
    """Entries at one time over many origins take seconds: the time is not quadratic."""
    many = [Said(f"https://h{n % 150}.test/{n}", 10, 0, size=n) for n in range(9_999)]
    (tmp_path / "site.har").write_text(har([OWN[0], *many]))
    assert har_site.outline(PAGE, tmp_path).requests == 10_000


def test_a_file_without_waits_is_a_mistake(tmp_path: Path) -> None:
    """Nothing in it says how long the servers took."""
    untimed = tuple(replace(said, more={"timings": {}}) for said in OWN)
    with pytest.raises(ConfigError) as error:
        made(tmp_path, untimed)
    (mistake,) = error.value.mistakes
    assert (mistake.place, mistake.reason[:9]) == ("har", "site.har:")
    assert "log.entries" in mistake.reason


CUT = replace(
    OWN[0], size=900, response={"content": {"mimeType": "text/html", "size": 900, "text": _HTML}}
)


def test_a_cut_body_counts_as_missing(tmp_path: Path) -> None:
    """Half a document would request something else, so a skeleton makes the requests."""
    result, stated = made(tmp_path, (CUT, OWN[1]))
    assert result.skeleton
    assert any("log.entries[0]" in one and f"{len(_HTML)} of 900 bytes" in one for one in stated)


def test_a_page_of_cut_bodies_cannot_make_its_own_requests(tmp_path: Path) -> None:
    """Each cut body is a mistake with its place."""
    with pytest.raises(ConfigError) as error:
        made(tmp_path, (CUT, OWN[1]), RecordedPage(har="site.har", order="its own"))
    (mistake,) = error.value.mistakes
    assert f"log.entries[0].response.content.text: has {len(_HTML)} of 900 bytes" in mistake.reason
