# SPDX-License-Identifier: GPL-2.0-only
"""A session with a MediaWiki, through its api.php."""
import http.cookiejar
import json
import urllib.parse
import urllib.request

from rowantools.line_tests import Failure


class Wiki:
    def __init__(self, address):
        self._url = f"{address}/api.php"
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def _call(self, fields, data=None):
        fields = urllib.parse.urlencode({"format": "json", "formatversion": 2, **fields})
        with self._opener.open(f"{self._url}?{fields}", data, timeout=120) as answer:
            told = json.load(answer)
        if "error" in told:
            raise Failure(f"{fields}: {told['error']}")
        return told

    def query(self, **fields):
        return self._call({"action": "query", **fields})["query"]

    def do(self, action, **fields):
        token = "login" if action == "login" else "csrf"
        tokens = self.query(meta="tokens", type=token)["tokens"]
        name = "lgtoken" if action == "login" else "token"
        data = urllib.parse.urlencode({**fields, name: tokens[f"{token}token"]}).encode()
        return self._call({"action": action}, data)[action]

    def found(self, words):
        """The titles of pages that a search finds."""
        return sorted(page["title"] for page in self.query(list="search", srwhat="text",
                                                          srsearch=words)["search"])
