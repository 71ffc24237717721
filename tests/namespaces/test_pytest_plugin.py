"""The fixture of pytest, in a test as its users write it."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.namespaces]

SERVED = """
import functools, http.server, threading, time, urllib.request
import pytest

@pytest.fixture
def port(tmp_path):
    (tmp_path / "file").write_bytes(bytes(1000))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()

FETCH = '''
import sys, time, urllib.request
began = time.monotonic()
body = urllib.request.urlopen(f"http://{sys.argv[1]}/file").read()
print(len(body), time.monotonic() - began)
'''

@pytest.mark.httpbed(delay="100ms", rate="10mbit")
def test_a_client_behind_a_link(httpbed_link, port):
    ended = httpbed_link.run(
        ["python3", "-c", FETCH, f"{httpbed_link.host}:{port}"], expose=[port]
    )
    assert ended.returncode == 0, ended.stderr
    length, seconds = ended.stdout.split()
    assert int(length) == 1000
    assert float(seconds) >= 0.4  # a handshake and a request, 100 ms each way
    assert ended.counters["link"]

@pytest.mark.httpbed(delay="100ms", isolated=True)
def test_a_last_line_without_its_end(httpbed_link, port):
    script = 'python3 -c "$0" "$1"; printf failed >&2; exit 5'
    ended = httpbed_link.run(
        ["sh", "-c", script, FETCH, f"{httpbed_link.host}:{port}"],
        expose=[port],
        isolated=False,
        delay="1ms",
    )
    assert (ended.returncode, ended.stderr) == (5, "failed")
    assert ended.counters["emulates"]["up"] == {"delay": "1 ms"}
"""


def test_a_client_is_behind_the_link_of_its_marker(pytester: pytest.Pytester) -> None:
    """It reaches the test's own server, not faster than the delay allows; its stderr is its own."""
    pytester.makepyfile(SERVED)
    pytester.runpytest_subprocess("--strict-markers", "-p", "no:cacheprovider").assert_outcomes(
        passed=2
    )


def test_a_mistake_in_a_marker_fails_the_test_with_its_remedy(pytester: pytest.Pytester) -> None:
    """As httpbed link says it."""
    pytester.makepyfile("""
        import pytest
        @pytest.mark.httpbed(delay="50 ms", los="2%")
        def test_it(httpbed_link):
            httpbed_link.run(["true"])
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*--los:*--loss*"])
