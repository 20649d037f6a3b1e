"""HTTP requests: what is sent, and what becomes of an answer. In plain Python, without a package beside its own library."""

import unittest
from datetime import timedelta

from boathook import HttpError, http, is_permanent
from boathook.http import Headers, Response
from boathook.testing import FakeHost

URL = "https://api.example.com/v1/items"


class Http(unittest.TestCase):
    def test_a_request_passes_whole(self) -> None:
        host = FakeHost(http={f"POST {URL}?a=%C3%A9": Response(201, Headers({"X-A": "b"}), b'{"id": 1}')})
        with host.here():
            response = http.post(
                "HTTPS://API.example.com/v1/items?a=é#part", headers={"Authorization": "Bearer t"}, json={"a": 1}, timeout=2
            )
        self.assertEqual((response.status, response.ok, response.json()), (201, True, {"id": 1}))
        self.assertEqual((response.headers["x-a"], response.headers.get("X-B"), response.url), ("b", None, f"{URL}?a=%C3%A9"))
        (sent,) = host.requests
        self.assertEqual((sent.content, sent.timeout), (b'{"a": 1}', 2))
        self.assertEqual(dict(sent.headers), {"authorization": "Bearer t", "content-type": "application/json"})

    def test_bodies_have_a_type_unless_one_is_given(self) -> None:
        cases: list[tuple[str | bytes | dict[str, str], str | None, bytes]] = [
            ("é", "text/plain;charset=UTF-8", "é".encode()),
            (b"\xff", None, b"\xff"),
            ({"a": "b c"}, "application/x-www-form-urlencoded", b"a=b+c"),
        ]
        for data, kind, content in cases:
            host = FakeHost(http={f"PUT {URL}": Response(204)})
            with host.here():
                http.put(URL, data=data)
                http.put(URL, data=data, headers={"Content-Type": "x/y"})
            first, second = host.requests
            self.assertEqual((first.headers.get("content-type"), first.content), (kind, content))
            self.assertEqual(second.headers["content-type"], "x/y")

    def test_what_is_no_success_is_an_error_on_request(self) -> None:
        refused = HttpError("denied", "hook \"h\" may not DELETE it")
        host = FakeHost(http={f"GET {URL}": Response(404, content=b"no such item"), f"DELETE {URL}": refused})
        with host.here():
            found = http.get(URL, timeout=timedelta(seconds=1))
            self.assertEqual((found.ok, found.text), (False, "no such item"))
            with self.assertRaisesRegex(HttpError, "/v1/items: the server answered with the status 404: no such item") as status:
                found.raise_for_status()
            self.assertEqual((status.exception.reason, status.exception.status), ("status", 404))
            with self.assertRaises(HttpError) as denied:
                http.delete(URL)
            self.assertEqual((denied.exception.reason, is_permanent(denied.exception)), ("denied", False))
            with self.assertRaisesRegex(HttpError, "the test has no answer"):
                http.head(URL)

    def test_what_is_no_request_is_refused(self) -> None:
        with FakeHost().here():
            for url in ["api.example.com", "ftp://a.io", "https:///x", ""]:
                with self.assertRaises(HttpError) as invalid:
                    http.get(url)
                self.assertEqual(invalid.exception.reason, "invalid")
            with self.assertRaisesRegex(TypeError, "json or data, not both"):
                http.post(URL, json=1, data="x")
            with self.assertRaisesRegex(TypeError, "data is a text, bytes or a mapping, not int"):
                http.post(URL, data=5)  # type: ignore[arg-type]
            with self.assertRaisesRegex(ValueError, "timeout 0"):
                http.get(URL, timeout=0)


if __name__ == "__main__":
    unittest.main()
