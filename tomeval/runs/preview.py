"""Show what a model would read: one question of a made-up episode, in any domain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.extras import LOCAL, need
from tomeval.core.files import write_text
from tomeval.core.resources import read_text
from tomeval.models.base import Prompt
from tomeval.runs.domain import Cell, Domain
from tomeval.strategies.asking import Form, Overheard, flatten, form_of, overhearing
from tomeval.strategies.templates import using


def preview(
    domain: Domain,
    cell: Cell,
    seat: str = "",
    form: str = "",
    step: int | None = None,
    tokenizer: str | None = None,
) -> str:
    """Return the prompts of one question as text, after those of earlier calls in its step.

    What a model would have written (summaries, lessons, plans, answers) is a stand-in text.

    Parameters
    ----------
    seat : str
        A seat of a language model; empty: the first one.
    form : str
        A question of the seat, see `Describe.forms`; empty: the first one.
    step : int, optional
        From 1; default: the fifth step that asks the question, or the last if there are fewer.
    tokenizer : str, optional
        Counts tokens: a local folder or a Hub name.
    """
    seat = model_seat(cell, seat)
    forms = domain.describe.forms(cell, seat)
    form = form or next(iter(forms))
    if form not in forms:
        raise unknown("form", form, forms)
    if not forms[form]:
        raise TomevalError(f"form {form!r}: no round of this cell asks it")
    if step is None:
        step = usual_step(forms[form])
    if step not in forms[form]:
        raise TomevalError(f"--round must be from {forms[form][0]} to {forms[form][-1]}, is {step}")
    with overhearing() as heard:
        shown = domain.describe.prompt(cell, seat, form, step)
    count = token_counter(tokenizer) if tokenizer else None
    parts = []
    for index, (what, prompt) in enumerate(shown, 1):
        tokens = f", {count(prompt)} tokens" if count else ""
        text = flatten(prompt)
        if prompt.instead:
            text += (
                "\n[or, if it cannot begin like this, the last message ends "
                f"with]\n{prompt.instead}"
            )
        head = f"--- call {index} of {len(shown)}: the model {what}; {len(text)} characters{tokens}"
        parts.append(f"{head}\n{text}")
    spec = cell.models[seat]
    if isinstance(spec, dict) and spec.get("structured") == "auto":
        parts += [_held(question) for question in heard[-1:]]
    return "\n\n".join(parts)


def _held(question: Overheard) -> str:
    """Describe the form to which a server constrains the answer to a question."""
    reader = question.reader
    form = form_of(reader, question.kind, question.explained) if reader else Form()
    if not any(form):
        return '--- not constrained (structured = "auto" is for answers without reasoning)'
    said = "\n".join(form.choices) or form.schema
    return (
        "--- a server that can do so constrains the answer to its form (structured = "
        f'"auto"):\n{said}'
    )


def copy_templates(domain: Domain, cell: Cell, seat: str, folder: Path) -> list[Path]:
    """Copy the templates that a language model's player uses into ``folder/DOMAIN``.

    Those of every question that its seat can be asked; `seat` as for `preview`. Nothing is
    overwritten.

    Raises
    ------
    TomevalError
        One of the files is there already; nothing is written then.
    """
    seat = model_seat(cell, seat)
    with using() as used:
        for form, steps in domain.describe.forms(cell, seat).items():
            for step in sorted({steps[0], usual_step(steps)}) if steps else ():
                domain.describe.prompt(cell, seat, form, step)
    files = {folder / domain.name / f"{name}.j2": used[name].path(name) for name in sorted(used)}
    if there := [path for path in files if path.exists()]:
        raise TomevalError(f"{there[0]}: already exists; name another folder")
    for path, source in files.items():
        write_text(path, read_text(source))
    return list(files)


def model_seat(cell: Cell, seat: str) -> str:
    """Return the seat of a language model: the first one, if `seat` is empty."""
    if not cell.models:
        raise TomevalError("no language model plays in this cell: there is no prompt")
    seat = seat or next(iter(cell.models))
    if seat not in cell.models:
        raise unknown("seat of a language model", seat, cell.models)
    return seat


def usual_step(steps: range) -> int:
    """Return a step that shows a question with a past: the fifth that asks it, or the last."""
    return steps[:5][-1]


def token_counter(name: str) -> Callable[[Prompt], int]:
    """Return a function that counts a prompt's tokens, chat template included.

    `name` is a local folder or a Hub name.
    """
    from tomeval.models.local.prompt import PromptCodec

    transformers = need("transformers", LOCAL, f"tokenizers such as {name!r}")
    try:
        codec = PromptCodec(transformers.AutoTokenizer.from_pretrained(name))
    except (OSError, ValueError) as error:
        raise TomevalError(f"--tokenizer {name!r} cannot be loaded: {error}") from None
    return lambda prompt: len(codec.encode(prompt)[0])
