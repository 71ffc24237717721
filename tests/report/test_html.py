"""The page: whole, self-contained, and proof against what servers and files say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

import reports
from campaigns import VERSIONS, Ending, campaign, timed
from httpbed.report import publish, svg
from httpbed.report.document import Facts
from httpbed.results.findings import find
from httpbed.store.results import Results
from report_script import without_own_script

EVIL = "<script>alert('$x_1$')</script>"
VOID = {"meta", "br", "img", "link", "input", "hr"}
MANIFEST = {
    "schema": 1,
    "httpbed": "0.1.0",
    "command": f"httpbed run '{EVIL}.toml'",
    "host": {"kernel": "6.1", "memory_bytes": 2**33, "load": [0.1, 0.2], "pressure": True},
    "programs": [
        {"name": "nginx", "version": EVIL, "sha256": "ab" * 32, "libraries": {"/lib/x": "cd"}},
        {"name": "ip", "version": "", "sha256": "", "libraries": {}},
    ],
    "recipes": {"nginx": "ef" * 32},
}


class Page(HTMLParser):
    """Collects tags and attributes, and holds that tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that closes itself."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Hold that it closes the last one."""
        assert self.open.pop() == tag

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def evil(levels: Mapping[str, str], block: int) -> Ending:
    """Fail, time out or be spoilt with a reason that is a script."""
    kinds = {1: "failed", 2: "timed out", 3: "invalid"}
    if levels["http_version"] == "3" and block in kinds:
        return Ending({}, kinds[block], EVIL, invalid_first=[EVIL])
    return timed(1.0 + block / 50)


@pytest.fixture(scope="module")
def results() -> Results:
    """Provide a campaign in which everything that can be a script is one."""
    text = VERSIONS.replace("Does HTTP/3", f"Does {EVIL} HTTP/3")
    text = text.replace('implementation = "nginx"', f'implementation = "{EVIL}"')
    return campaign(evil, text, manifest=MANIFEST)


@pytest.fixture(scope="module")
def text(results: Results) -> str:
    findings = find(results)
    return reports.page(results, findings, draws=True)


def test_scripts_are_text(text: str) -> None:
    """Nothing that came from outside is markup; the one script is the report's own."""
    page = Page(text)
    assert page.open == []
    assert len(page.named("script")) == 1
    assert "<script" not in without_own_script(text)
    assert "&lt;script&gt;" in text
    assert not [name for _, attributes in page.tags for name in attributes if name[:2] == "on"]


def test_the_page_loads_nothing(text: str) -> None:
    """No address of anything but the page itself."""
    page = Page(text)
    assert "http://" not in text
    assert "https://" not in text
    assert not re.search(r"@import|url\((?!#)", text)
    links = [attributes["href"] or "" for _, attributes in page.tags if "href" in attributes]
    assert all(link.startswith("#") for link in links)
    assert not [tag for tag, attributes in page.tags if "src" in attributes]
    assert not page.named("link")


def test_every_name_is_unique_and_every_link_arrives(text: str) -> None:
    """Two figures share no name, and the contents lead somewhere."""
    page = Page(text)
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(names)) == len(names)
    links = {attributes["href"] for _, attributes in page.tags if "href" in attributes}
    assert links <= {f"#{name}" for name in names}


def test_tables_and_figures_can_be_heard(text: str) -> None:
    """Each table has a caption and scoped headings, each drawing a title."""
    page = Page(text)
    assert len(page.named("caption")) == len(page.named("table"))
    assert all("scope" in attributes for attributes in page.named("th"))
    drawings = re.findall(r"<svg [^>]*role=\"img\"[^>]*><title>[^<]+</title>", text)
    assert len(drawings) == len(page.named("svg")) == 2
    assert text.count("<title>") > 5  # marks have theirs
    assert '<html lang="en">' in text


def test_the_report_has_all_of_its_sections(text: str) -> None:
    """Question, answer, evidence, manifest and definitions are there."""
    for words in (
        "not settled: fewer than 5 blocks settle nothing",
        "Request time: paired ratio to HTTP/2",
        "Invalid attempts",
        "Why trials did not complete",
        "8.0 GiB",
        "(Liu et al. 2024, section 3)",
        "&gt; 600",
        "timed out",
    ):
        assert words in text


def test_figures_take_the_colours_of_the_page(text: str) -> None:
    """Dark mode changes them."""
    assert "var(--series-2)" in text
    assert not re.search(rf"<svg.*{svg.INK}", text)
    assert "currentColor" in text


def test_publishing_writes_page_and_figures(tmp_path: Path) -> None:
    """Each figure is SVG and PDF, with its words as text; equal results give equal files."""
    first: dict[str, bytes] = {}
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        made = campaign(evil, directory=folder)
        assert reports.saved(made, as_pdf=True) == folder / "report.html"
        files = [path for path in folder.rglob("*") if path.is_file()]
        found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
        first = first or found
        assert found == first
    figures = ("request_time-by-loss", "request_time-distribution")
    drawn = {f"figures/{name}.{ending}" for name in figures for ending in ("pdf", "svg")}
    assert first.keys() == drawn | {"report.html"}
    assert b">HTTP/1.1</text>" in first["figures/request_time-distribution.svg"]
    assert b"/Type3" not in first["figures/request_time-distribution.pdf"]


def test_figures_are_pdf_only_on_request_and_never_outdated(tmp_path: Path) -> None:
    """Those of an earlier request are drawn again with the SVG that they belong to."""
    results = campaign(evil, directory=tmp_path)
    drawn = publish.document(results)
    publish.save(drawn, tmp_path)
    assert not [*tmp_path.rglob("*.pdf")]
    outdated = tmp_path / "figures" / "request_time-by-loss.pdf"
    outdated.write_bytes(b"%PDF-outdated")
    publish.save(drawn, tmp_path)
    assert [*tmp_path.rglob("*.pdf")] == [outdated]
    assert outdated.read_bytes() != b"%PDF-outdated"


def test_names_of_levels_are_explained_and_escaped() -> None:
    """The page has a table of them, and names are text there and in the drawing, too."""
    named = f"""{{ none = "0 %", "{EVIL}" = {{ to_bad = "0.5 %", to_good = "30 %" }} }}"""
    evil_trace = f'rate = {{ trace = "{EVIL}" }}'
    text = VERSIONS.replace('["0 %", "2 %"]', named).replace('rate = "10 Mbit/s"', evil_trace)
    results = campaign(lambda _levels, block: 1 + block / 100, text)
    found = find(results)
    text = reports.page(results, found, draws=True)
    assert "What the levels stand for" in text
    assert ">1.6 % loss in bursts of 3.3 packets on average<" in text
    page = Page(text)
    assert page.open == []
    assert "<script" not in without_own_script(text)
    assert len(page.named("caption")) == len(page.named("table"))
    assert all("scope" in attributes for attributes in page.named("th"))


def test_a_role_that_is_a_factor_of_its_name_is_stated_once() -> None:
    """As in the files of ``httpbed compare``, whose factor ``client`` has the clients."""
    factor = """[factors.client]
two = { implementation = "curl", http_version = "2" }
three = { implementation = "curl", http_version = "3" }

[topology]"""
    text = VERSIONS.replace('http_version = ["1.1", "2", "3"]\n', "").replace("[topology]", factor)
    roles = '[roles.client]\nimplementation = "curl"\nhttp_version = { factor = "http_version" }'
    text = text.replace(roles, '[roles]\nclient = { factor = "client" }')
    results = campaign(lambda _levels, block: 1 + block / 100, text)
    (network,) = [one for one in publish.document(results).sections if one.id == "network"]
    labels = [
        label for block in network.blocks if isinstance(block, Facts) for label, _ in block.pairs
    ]
    assert labels.count("client") == 1


def test_tables_can_be_sorted_where_each_row_has_every_column(text: str) -> None:
    """The script sorts the rows of a group; a cell that spans rows would be torn from them."""
    tables = re.findall(r'<table class="sorts.*?</table>', text, re.DOTALL)
    assert len(tables) > 5
    for table in tables:
        assert "rowspan" not in table
        head, *rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        columns = len(re.findall(r"<t[hd]\b", head))
        own = [row for row in rows if 'class="group"' not in row]
        assert own
        assert {len(re.findall(r"<t[hd]\b", row)) for row in own} == {columns}
