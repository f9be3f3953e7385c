from __future__ import annotations

import pytest

from statewright.api.guard import is_loopback, refuse_length, refuse_web_pages
from statewright.errors import ApiError

SIGNED = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0"
OLD_BROWSER = {"user-agent": "Mozilla/5.0 (Macintosh) Safari/605.1.15", "accept-language": "en-GB,en;q=0.5"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "sync-states.example.com"},
        {"host": "127.0.0.1:4566", "origin": "http://127.0.0.1:4566"},
        {"host": "[::1]:4566", "origin": "http://[::1]:4566", "sec-fetch-site": "same-origin"},
        {"host": "localhost:4566", "sec-fetch-site": "none"},
        {"host": "localhost:4566", "sec-fetch-site": "same-origin"},
        {"host": "localhost:4566", "origin": "https://flows.example:4566", "sec-fetch-site": "cross-site"},
        {"host": "localhost:4566", "referer": "https://flows.example:4566/a?b", "sec-fetch-site": "cross-site"},
        # Node.js' own fetch.
        {"host": "localhost:4566", "accept-language": "*", "sec-fetch-mode": "cors", "user-agent": "node"},
        {"host": "flows.example:4566", "origin": "https://flows.example:4566", "sec-fetch-site": "same-origin"},
        # Clients on pycurl, such as Celery's worker, signed or with a presigned address.
        {"host": "127.0.0.1:4566", "user-agent": "Mozilla/5.0 (compatible; pycurl)"},
        {"host": "queues.example:4566", "user-agent": "Mozilla/5.0 (compatible; pycurl)", "authorization": SIGNED},
        # Programs that send languages, too. A page of another origin could not have signed.
        {"host": "127.0.0.1:4566", "authorization": SIGNED, **OLD_BROWSER},
        {"host": "flows.example:4566", "authorization": SIGNED, **OLD_BROWSER},
    ],
)
def test_programs_and_own_pages_pass(headers):
    refuse_web_pages(headers, frozenset({"https://flows.example:4566"}))


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "127.0.0.1:4566", "origin": "https://evil.example"},
        # Pages of other ports and names of loopback.
        {"host": "127.0.0.1:4566", "origin": "http://localhost:4566"},
        {"host": "127.0.0.1:4566", "origin": "http://127.0.0.1:3000"},
        {"host": "127.0.0.1:4566", "origin": "http://127.0.0.1"},
        {"host": "localhost:4566", "origin": "http://app.localhost:3000", "sec-fetch-site": "same-site"},
        {"host": "localhost:4566", "origin": "http://localhost:4566", "sec-fetch-site": "same-site"},
        {"host": "localhost:4566", "sec-fetch-site": "same-site"},
        {"host": "localhost:4566", "sec-fetch-site": "same-site", "referer": "http://localhost:4566/"},
        {"host": "localhost:4566", "sec-fetch-site": "same-site", "referer": "http://localhost:3000/"},
        {"host": "localhost:4566", "sec-fetch-site": "anything"},
        {"origin": "http://localhost:3000"},
        {"host": "127.0.0.1:4566", "origin": "null"},
        {"host": "127.0.0.1:4566", "origin": ""},
        {"host": "127.0.0.1:4566", "origin": "http://localhost.evil.example"},
        {"host": "127.0.0.1:4566", "origin": "http://127.0.0.1.evil.example"},
        {"host": "127.0.0.1:4566", "origin": "http://localhost@evil.example"},
        {"host": "127.0.0.1:4566", "origin": "http://[::1"},
        {"host": "127.0.0.1:4566", "origin": "https://a@localhost/.evil.example"},
        {"host": "127.0.0.1:4566", "origin": "http://localhost/.evil.example"},
        {"host": "127.0.0.1:4566", "origin": "file://localhost"},
        {"host": "127.0.0.1:4566", "sec-fetch-site": "cross-site"},
        {"host": "127.0.0.1:4566", "origin": "http://localhost:3000", "sec-fetch-site": "cross-site"},
        # A name of theirs that resolves to loopback.
        {"host": "rebound.evil.example:4566", "origin": "http://rebound.evil.example:4566"},
        {"host": "rebound.evil.example:4566", "sec-fetch-site": "same-origin"},
        {"host": "rebound.evil.example:4566", **OLD_BROWSER},
        {"host": "rebound.evil.example:4566", "accept-language": ""},
        {"host": "rebound.evil.example:4566", "accept-language": "", "authorization": SIGNED},
        # An old browser that fetches an image for another page, also from an address with a user and a password.
        {"host": "127.0.0.1:4566", **OLD_BROWSER},
        {"host": "127.0.0.1:4566", **OLD_BROWSER, "authorization": "Basic QVdTNC06"},
        # A signature does not outweigh what a browser says.
        {"host": "127.0.0.1:4566", "origin": "http://localhost:3000", "authorization": SIGNED},
        {"host": "127.0.0.1:4566", "sec-fetch-site": "same-site", "authorization": SIGNED},
    ],
)
def test_web_pages_are_refused(headers):
    with pytest.raises(ApiError) as caught:
        refuse_web_pages(headers)
    assert caught.value.code == "CrossOriginRequestRefused"


def test_pages_are_shown_to_old_browsers_on_loopback_only():
    refuse_web_pages({"host": "127.0.0.1:4566", **OLD_BROWSER}, is_page=True)
    with pytest.raises(ApiError):
        refuse_web_pages({"host": "rebound.evil.example", **OLD_BROWSER}, is_page=True)


def test_a_verified_signature_stands_for_the_host_but_not_for_the_origin():
    foreign = {"host": "flows.example:4566", **OLD_BROWSER}
    refuse_web_pages(foreign, is_verified=True)
    for page in ({"origin": "http://flows.example:4566"}, {"sec-fetch-site": "cross-site"}):
        with pytest.raises(ApiError):
            refuse_web_pages({**foreign, **page}, is_verified=True)


def test_the_refusal_names_the_way_to_allow_a_page():
    with pytest.raises(ApiError, match="start the server with --origin http://localhost:3000, or name it in `origins`"):
        refuse_web_pages({"host": "localhost:4566", "origin": "http://localhost:3000"})
    with pytest.raises(ApiError) as caught:
        refuse_web_pages({"host": "localhost:4566", "origin": "null"})
    assert "--origin" not in caught.value.message


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"])
def test_loopback(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "example.com", "127.0.0.1.example.com", "localhost.example.com"])
def test_not_loopback(host):
    assert not is_loopback(host)


def test_declared_lengths():
    refuse_length(None, 10)
    refuse_length("10", 10)
    refuse_length("chunks", 10)
    for declared in ("11", "9" * 5000):
        with pytest.raises(ApiError, match="longer than 10 bytes"):
            refuse_length(declared, 10)
