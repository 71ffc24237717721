"""What the driver sends to a browser, receives from it, and stores."""

from __future__ import annotations

import base64
import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

from httpbed.addons.pages.programs.builtin.browsers import bounded_files
from httpbed.addons.pages.programs.builtin.browsers.bounded_files import BoundedLines, TraceFiles
from httpbed.addons.pages.programs.builtin.browsers.cdp import CommandError, DevToolsClient
from httpbed.addons.pages.programs.builtin.browsers.chromium import LoadDriver
from httpbed.addons.pages.programs.builtin.browsers.load_end import Watch
from httpbed.addons.pages.programs.builtin.browsers.load_record import LoadRecord

PATIENCE_S = float("inf")


class Said:
    """A pipe that delivers given pieces, then nothing."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces: Iterator[bytes] = iter(pieces)
        self.sent: list[bytes] = []

    def send(self, message: bytes) -> None:
        self.sent.append(message)

    def receive(self, until: float) -> bytes:
        assert until > 0
        return next(self.pieces, b"")


def test_messages_are_put_together() -> None:
    """The pipe may split them anywhere."""
    pipe = DevToolsClient(
        Said(b'{"method":', b'"A.a"}', b'\0{"method":"B.b"}\0{"me', b'thod":"C.c"}\0')
    )
    heard = [pipe.next(PATIENCE_S) for _ in range(4)]
    assert [message and message.method for message in heard] == ["A.a", "B.b", "C.c", None]
    assert heard[0]
    assert heard[0].raw == b'{"method":"A.a"}'


def test_a_response_is_found_among_events() -> None:
    """Events are kept for later, in order."""
    stated = Said(b'{"method":"A.a"}\0{"id":1,"result":{"x":2}}\0{"method":"B.b"}\0')
    pipe = DevToolsClient(stated)
    assert pipe.call("C.c", "session", y=3) == {"x": 2}
    sent = {"id": 1, "method": "C.c", "params": {"y": 3}, "sessionId": "session"}
    assert [json.loads(one) for one in stated.sent] == [sent]
    heard = [pipe.next(PATIENCE_S) for _ in range(2)]
    assert [message and message.method for message in heard] == ["A.a", "B.b"]


@pytest.mark.parametrize(
    ("stated", "reason"),
    [(b'{"id":1,"error":{"message":"no"}}\0', "C.c: no"), (b"", "C.c was not answered")],
)
def test_a_refused_command_raises(stated: bytes, reason: str) -> None:
    """The error has the browser's message, if it has one."""
    with pytest.raises(CommandError, match=reason):
        DevToolsClient(Said(stated)).call("C.c")


def test_a_file_of_lines_is_bounded(tmp_path: Path) -> None:
    """A line that does not fit is dropped; a later shorter one is kept."""
    lines = BoundedLines(tmp_path / "x", 12)
    lines.write(b"12345")
    reported = [lines.truncated]
    lines.write(b"1234567890")
    lines.write(b"1234")
    lines.close()
    assert [*reported, lines.truncated] == [False, True]
    assert (tmp_path / "x").read_bytes() == b"12345\n1234\n"


def screenshot(at_us: int, picture: bytes) -> dict[str, object]:
    stated = base64.b64encode(picture).decode()
    return {"name": "Screenshot", "ts": at_us, "args": {"snapshot": stated}}


def test_equal_pictures_share_a_file(tmp_path: Path) -> None:
    """Each picture keeps its time; other events are unchanged."""
    trace = TraceFiles(tmp_path)
    mark = {"name": "navigationStart", "ts": 1, "args": {"data": {}}}
    trace.take([mark, screenshot(2, b"a"), screenshot(3, b"a"), screenshot(4, b"b")])
    assert trace.close() is False
    frames = [json.loads(line) for line in (tmp_path / "frames.jsonl").read_text().splitlines()]
    assert [frame["ts"] for frame in frames] == [2, 3, 4]
    assert [(tmp_path / frame["file"]).read_bytes() for frame in frames] == [b"a", b"a", b"b"]
    assert json.loads((tmp_path / "trace.jsonl").read_text()) == mark


def test_too_many_pictures_are_recorded_as_cut(tmp_path: Path) -> None:
    """The browser stops taking pictures while the page may change; the marks are complete."""
    trace = TraceFiles(tmp_path)
    trace.take([screenshot(number, b"a") for number in range(bounded_files.MAX_PICTURES - 1)])
    assert not trace.pictures_cut
    trace.take([screenshot(1000, b"b")])
    assert trace.close() is False
    assert trace.pictures_cut


def test_pictures_end_with_the_first_that_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later smaller picture would suggest that nothing changed in between."""
    monkeypatch.setattr(bounded_files, "MAX_PICTURE_BYTES", 20)
    trace = TraceFiles(tmp_path)
    pictures = [b"a" * 9, b"b" * 99, b"c"]
    trace.take([screenshot(number, one) for number, one in enumerate(pictures)])
    trace.close()
    assert trace.pictures_cut
    assert len((tmp_path / "frames.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize("download", [True, False])
def test_a_failure_after_a_load_leaves_the_load(tmp_path: Path, download: bool) -> None:
    """A browser that stops answering has an incomplete trace, but the load counts."""
    load = object.__new__(LoadDriver)
    load.options = Namespace(download=download, folder=tmp_path)
    load.record = LoadRecord(arguments=[], url="", visit="cold", http_version="2")
    load.bodies = None
    load.cdp, load.context = DevToolsClient(Said()), {"browserContextId": "1"}
    load._after(Watch((), "session", "target", 0.0))
    requested = "Target.disposeBrowserContext" if download else "Target.getTargetInfo"
    assert load.record.notes == [f"after the load: {requested} was not answered in time"]
    assert load.record.trace_cut == load.record.pictures_cut == (not download)
    assert not load.record.truncated


class Starting(LoadDriver):
    """A load whose browsers answer as given, in order."""

    def __init__(self, *answers: bytes) -> None:
        self.record = LoadRecord(arguments=[], url="", visit="cold", http_version="2")
        self.answers = iter(answers)
        self.ended = 0
        self._start()

    def _start(self) -> None:
        self.cdp = DevToolsClient(Said(next(self.answers)))
        self.browser = self  # type: ignore[assignment]

    def end(self) -> float:
        """Count the browsers that are stopped."""
        self.ended += 1
        return 0.0


def test_a_browser_that_never_answers_is_replaced() -> None:
    """Each restart is noted, and their number is bounded."""
    answer = b'{"id": 1, "result": {"product": "Chromium"}}\0'
    load = Starting(b"", answer)
    assert load._first_answer() == "Chromium"
    assert (load.record.starts, load.ended) == (2, 1)
    assert load.record.notes == ["start 1: Browser.getVersion was not answered in time"]
    with pytest.raises(CommandError):
        Starting(b"", b"", b"", answer)._first_answer()


def test_a_malformed_message_is_refused() -> None:
    """Deeply nested messages are rejected as well."""
    for stated in (b"[" * 100_000 + b"\0", b"{\0", b"7\0"):
        with pytest.raises(CommandError, match="an unreadable message"):
            DevToolsClient(Said(stated)).next(PATIENCE_S)


def test_no_command_waits_after_the_limit() -> None:
    """Closing has one time limit for all its commands."""
    pipe = DevToolsClient(Said())
    pipe.give_up_s = 1.0
    with pytest.raises(CommandError, match="not answered in time"):
        pipe.call("Target.disposeBrowserContext")
