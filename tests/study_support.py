"""A study for tests, and a participant without a browser who reads the pages' forms."""

from __future__ import annotations

import asyncio
import re
from contextlib import contextmanager
from html.parser import HTMLParser

import httpx2

from tomeval.extensions.people.app import opened_desk, study_app
from tomeval.runs.experiment import make_experiment

CHECKS = [
    {"question": "How many other players?", "options": ["One", "Two"], "right": "One"},
    {"question": "Choose <b>blue</b>", "options": ["red", "blue"], "right": "blue", "after": 2},
]


def experiment(**more):
    """Return a study with conditions RPS and IPD against tit for tat, three rounds."""
    study = {"consent": "Do you agree?", "code": "DONE-1", "checks": CHECKS}
    data = {
        "name": "demo",
        "games": ["RPS", "IPD"],
        "partners": "tit_for_tat",
        "horizon": 3,
        "episodes": 4,
        "subjects": [{"kind": "person", "name": "people"}, "random"],
        "study": study | more.pop("study", {}),
    }
    return make_experiment(data | more)


class Forms(HTMLParser):
    """The forms of a page: fields with their values in order, and where they are sent."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.action, self.fields = "", {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        if tag == "form":
            self.action = told.get("action", "")
        elif tag == "input":
            self.fields.setdefault(told["name"], []).append(told["value"])


class Browser:
    """Follows redirects and keeps the last page, as a browser without scripts does."""

    def __init__(self, app) -> None:
        self.app, self.page, self.address, self.status = app, "", "/", 0

    def ask(self, method: str, address: str, **more):
        async def send():
            transport = httpx2.ASGITransport(app=self.app)
            base = "http://127.0.0.1"
            async with httpx2.AsyncClient(
                transport=transport, base_url=base, follow_redirects=True
            ) as client:
                headers = {"origin": base} if method == "POST" else {}
                headers |= more.pop("headers", {})
                return await client.request(method, address, headers=headers, **more)

        found = asyncio.run(send())
        self.page, self.address = found.text, str(found.url).removeprefix("http://127.0.0.1")
        self.status = found.status_code
        return found

    def get(self, address: str | None = None):
        return self.ask("GET", address or self.address)

    @property
    def form(self) -> Forms:
        return Forms(self.page)

    @property
    def heading(self) -> str:
        return re.search("<h1>(.*?)</h1>", self.page)[1]

    @property
    def place(self) -> str:
        return self.form.fields["place"][0]

    def send(self, **chosen):
        """Send the page's form: its hidden fields, and these."""
        form = self.form
        hidden = {k: v[0] for k, v in form.fields.items() if k in ("place", "nonce", "who")}
        address = form.action or self.address.partition("?")[0]
        return self.ask("POST", address, data=hidden | chosen)

    def join(self):
        """Agree to take part; the page is then that of the instructions."""
        self.get("/")
        self.send(agree="yes")
        return self

    def finish(self, act="0", predict="0", checks=("0", "1")):
        """Answer every page up to the end."""
        for _ in range(40):
            kind, _, number = self.place.partition("-")
            if kind == "check":
                self.send(check=checks[int(number) - 1])
            else:
                self.send(act=act, predict=predict)
            if self.heading == "The end":
                return self
        raise AssertionError(self.page)


@contextmanager
def study(folder, given=None, **more):
    """Open a study in a folder; yield (desk, function that makes a browser)."""
    with opened_desk(given or experiment(), folder, **more) as desk:
        app = study_app(desk)
        yield desk, lambda: Browser(app)
