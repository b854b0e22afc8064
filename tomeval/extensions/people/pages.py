"""The pages of a study: plain HTML with forms, which need no script."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping

from tomeval.core.text import visible
from tomeval.extensions.people.desk import CHECK, END, ROUND, START, Place, Sitting
from tomeval.extensions.people.keys import Study
from tomeval.extensions.people.sessions import WITHDRAWN

CHOOSE = "Please choose one answer to every question."
OLD = "This page was too old to begin with. Please press Begin again."


def safe(text: object) -> str:
    r"""Return a text as HTML, in which nothing of it is markup.

    Examples
    --------
    >>> safe("<b>&\x07")
    '&lt;b&gt;&amp;\\x07'
    """
    return html.escape(visible(str(text)))


def prose(text: str) -> str:
    r"""Return a plain text as paragraphs and lists.

    Examples
    --------
    >>> prose("One\ntwo\n- a\n- b\n\nThree")
    '<p>One<br>two</p><ul><li>a</li><li>b</li></ul><p>Three</p>'
    """
    return "".join(_part(part) for part in _parts(text))


def _parts(text: str) -> Iterator[list[str]]:
    """Yield the lines of each paragraph and of each list."""
    part: list[str] = []
    for line in text.strip().split("\n"):
        kind = (bool(line.strip()), line.startswith("- "))
        if part and kind != (True, part[-1].startswith("- ")):
            yield part
            part = []
        part += [line] if line.strip() else []
    if part:
        yield part


def _part(lines: list[str]) -> str:
    if lines[0].startswith("- "):
        items = "".join(f"<li>{safe(line.removeprefix('- '))}</li>" for line in lines)
        return f"<ul>{items}</ul>"
    return f"<p>{'<br>'.join(map(safe, lines))}</p>"


def document(title: str, body: str) -> str:
    """Return a whole page."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="robots" content="noindex">'
        f'<title>{safe(title)}</title><link rel="stylesheet" href="/study.css"></head>'
        f"<body><main>{body}</main></body></html>"
    )


def consent_page(study: Study, nonce: str, who: str, problem: str = "") -> str:
    """Return the first page: what participants agree to."""
    platform = f'<input type="hidden" name="who" value="{safe(who)}">' if who else ""
    return document(
        study.title,
        f"<h1>{safe(study.title)}</h1>{prose(study.consent)}{_problem(problem)}"
        '<form method="post" action="/begin">'
        f'<input type="hidden" name="nonce" value="{safe(nonce)}">{platform}'
        '<label class="option"><input type="checkbox" name="agree" value="yes" required> '
        "I have read this and agree to take part.</label>"
        "<button>Begin</button></form>",
    )


def message_page(study: Study, heading: str, text: str) -> str:
    """Return a page that says one thing."""
    return document(study.title, f"<h1>{safe(heading)}</h1>{prose(text)}")


def session_page(sitting: Sitting, note: str = "", problem: str = "") -> str:
    """Return the page that a session is at."""
    study, place = sitting.study, sitting.place
    if sitting.session.ended == WITHDRAWN:
        return message_page(study, "You have stopped", "Your answers have been deleted.")
    if sitting.session.ended and not sitting.over:
        return message_page(
            study, "This session is over", "Nothing came from you for too long, so it was closed."
        )
    makers = {START: _start, ROUND: _round, CHECK: _check, END: _end}
    said = f'<p class="note" role="status">{safe(note)}</p>' if note else ""
    body = said + makers[place.kind](sitting, place, problem)
    if place.kind != END:
        body += '<p class="small"><a href="?stop=1">Stop taking part</a></p>'
    return document(study.title, body)


def stop_page(sitting: Sitting) -> str:
    """Return the page that asks whether a participant really stops."""
    return document(
        sitting.study.title,
        "<h1>Stop taking part?</h1><p>Your answers so far are deleted, and you cannot go on "
        'later.</p><form method="post"><input type="hidden" name="place" value="stop">'
        '<button>Stop and delete my answers</button></form><p><a href="?">Go on instead</a></p>',
    )


def _start(sitting: Sitting, place: Place, problem: str) -> str:
    study, horizon = sitting.study, sitting.cell.length
    told = " and what you think the other player will choose" if _predicts(sitting) else ""
    return (
        f"<h1>Instructions</h1>{prose(study.instructions)}{prose(sitting.match.rules)}"
        f"<p>In each of the {horizon} rounds you say what you choose{told}. What the other "
        "player chose is shown after you have answered. An answer cannot be changed.</p>"
        + _form(place, "", "Go on")
    )


def _predicts(sitting: Sitting) -> bool:
    return len(sitting.match.person.forms) > 1


def _check(sitting: Sitting, place: Place, problem: str) -> str:
    check = sitting.check(place)
    options = dict(enumerate(check.options))
    return f"<h1>A question</h1>{_problem(problem)}" + _form(
        place, _options(CHECK, check.question, options), "Go on"
    )


def _round(sitting: Sitting, place: Place, problem: str) -> str:
    match = sitting.match
    lines = match.told
    last = f'<div class="last" role="status">{prose(_bare(lines[-1]))}</div>' if lines else ""
    past = ""
    if lines:
        earlier = "".join(f"<li>{safe(_bare(line))}</li>" for line in reversed(lines))
        past = f"<details><summary>All rounds so far</summary><ul>{earlier}</ul></details>"
    fields = "".join(_options(asked.form, asked.text, asked.options) for asked in match.asked)
    done, horizon = place.number - 1, match.length
    return (
        f'<h1>Round {place.number} of {horizon}</h1><progress value="{done}" max="{horizon}">'
        f"{done} of {horizon} done</progress>{last}{_problem(problem)}"
        + _form(place, fields, "Answer")
        + f"{past}<details><summary>The rules</summary>{prose(match.rules)}</details>"
    )


def _bare(line: str) -> str:
    """Return a past round without the heading that stands above the first one."""
    return line.rsplit("\n", 1)[-1]


def _end(sitting: Sitting, place: Place, problem: str) -> str:
    study, match = sitting.study, sitting.match
    code = f'<p>Your completion code: <strong class="code">{safe(study.code)}</strong></p>'
    link = f'<a rel="noreferrer" href="{safe(study.return_url)}">Back to where you came from</a>'
    last = f'<div class="last">{prose(_bare(match.told[-1]))}</div>'
    return (
        f"<h1>The end</h1>{last}{prose(study.thanks)}"
        f"{code if study.code else ''}{f'<p>{link}</p>' if study.return_url else ''}"
    )


def _form(place: Place, fields: str, button: str) -> str:
    return (
        f'<form method="post"><input type="hidden" name="place" value="{place}">{fields}'
        f"<button>{safe(button)}</button></form>"
    )


def _options(name: str, text: str, options: Mapping[int, str]) -> str:
    """Return a question with one option to choose."""
    rows = "".join(
        f'<label class="option"><input type="radio" name="{name}" value="{value}" required> '
        f"{safe(label)}</label>"
        for value, label in options.items()
    )
    return f"<fieldset><legend>{safe(text)}</legend>{rows}</fieldset>"


def _problem(text: str) -> str:
    return f'<p class="problem" role="alert">{safe(text)}</p>' if text else ""
