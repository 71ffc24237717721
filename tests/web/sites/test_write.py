from __future__ import annotations

from pathlib import Path

from httpbed.web.sites import write


def test_files_are_where_their_urls_say_and_as_often_as_they_are_asked_for(tmp_path: Path) -> None:
    """Under a further URL with a query, too; what is of no file is passed over."""
    asked = {"/a%20b.css": 1, "/c.js?v=1": 2, "/gone": 1}
    laid = write.lay([("a b.css", b"a"), ("c.js", b"c")], asked, tmp_path)
    assert [(one.path, one.file, one.type, one.requested) for one in laid] == [
        ("/a%20b.css", "0/a b.css", "text/css", 1),
        ("/c.js", "0/c.js", "text/javascript", 0),
        ("/c.js?v=1", "0/c.js", "text/javascript", 2),
    ]
    assert (tmp_path / "files/0/a b.css").read_bytes() == b"a"
