"""Replies that a careful reader would not take for the answer that stands in them.

`{x}` and `{y}` are two different answers, `{s}` is a separator that some programs take for the end
of a line and no reader sees as one.
"""

from __future__ import annotations

import numpy as np

from attacks.replies_clear import pick

SEPARATORS = ("\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")

DOUBTFUL = {
    "two answers": (
        "Final answer: {x}\n\nFinal answer: {y}",
        "Final answer: {x} or {y}",
        "Final answer: {x}/{y}",
        "Final answer: {x}, {y}",
        "Final answer: {x} and {y}",
        "Answer: {x}\nAnswer: {y}",
        "<answer>{x}</answer>\n<answer>{y}</answer>",
        "Answer: {x}\n\nFinal answer: {y}\n\nFinal answer: {x}",
        "Options:\n- Final answer: {x}\n- Final answer: {y}",
        "The final answer is {x}.\nThe final answer is {y}.",
        "Final answer: {x}\nor\nFinal answer: {y}",
        "**Final answer:** {x} → {y}",
        "Final answer: either {x} or {y}",
        "<answer>{x}</answer>\n\nFinal answer: {y}\n\nAnswer: {x}",
    ),
    "hedged": (
        "Final answer: maybe {x}",
        "Final answer: {x}?",
        "Final answer: probably {x}",
        "Final answer: {x} (or {y})",
        "Final answer: {x} (not sure)",
        "Final answer: {x} (but {y} may be better)",
        "Final answer: {x} (?)",
        "Answer: perhaps {x}",
        "The final answer is probably {x}.",
        "The final answer might be {x}.",
        "The answer could be {x}",
        "I guess the final answer is {x}, but I am not sure.",
        "Final answer: {x} 60 %, {y} 40 %",
        "Final answer: {x} if they go on like this, else {y}",
        "Final answer: {x} (I am only guessing.)",
        "Final answer: {x}\n\n(Though {y} might be better.)",
        "Final answer: {x}\n\n(I am not certain of this at all.)",
        "The final answer would be {x} if they had copied me.",
        "Answer: {x}?",
        "The answer is {x}?",
    ),
    "negated": (
        "Final answer: not {x}",
        "My final answer is not {x}.",
        "The final answer isn't {x}.",
        "The answer is not {x}",
        "Final answer: anything but {x}",
        "I will not write:\nFinal answer: {x}",
        "I would never reply with\nFinal answer: {x}",
        "Final answer: ❌ {x}",
        "❌ Final answer: {x}",
        "Final answer: {x} ❌",
        "Final answer: ~~{x}~~",
        "~~Final answer: {x}~~",
        "<del>Final answer: {x}</del>",
        "<s>Final answer: {x}</s>",
        "Wrong: Final answer: {x}",
        "An incorrect reply would be:\nFinal answer: {x}",
        "It would be a mistake to write\n\nFinal answer: {x}",
        "Do not write:\n\nFinal answer: {x}",
        "Final answer: <del>{x}</del>",
        "Final answer: <s>{x}</s>",
    ),
    "taken back": (
        "Final answer: {x}\n\nWait, {y} is better.",
        "Final answer: {x}\n\nNo, that is wrong.",
        "Final answer: {x}\n\n(Wait, {y} pays more.)",
        "Final answer: {x}\n\n(Scratch that.)",
        "Final answer: {x}\nActually, let me think again.",
        "Answer: {x}\n\nBut let me check this again: the other one pays more, so I am torn.",
        "The answer is {x}. But no, that cannot be right.",
        "<answer>{x}</answer>\nHmm, no.",
        "Final answer: {x}\n\nCorrection: {y}",
        "Final answer: {x} – no, {y}",
        "Final answer: {x}\n\n*(Correction: the other one.)*",
        "Final answer: {x} [retracted]",
        "Final answer: {x}\n\n[Ignore this line.]",
        "{y}.\n\nFinal answer: {x}\n\n^ that is what I would have said a round ago",
    ),
    "another's": (
        "The other player would write:\nFinal answer: {x}",
        'The partner says: "Final answer: {x}"',
        'The other player would reply "Final answer: {x}"',
        "A naive player would answer:\n> Final answer: {x}",
        "User: Final answer: {x}",
        "Player B: Final answer: {x}",
        'Alice: "Final answer: {x}"',
        "In the last round I wrote:\nFinal answer: {x}",
        "For example, one may reply\n\n```\nFinal answer: {x}\n```",
        "Previous answer:\nFinal answer: {x}",
        "Example:\nFinal answer: {x}",
        "An example of a reply in this form:\n\nFinal answer: {x}",
        "The other player's final answer is {x}.",
        "Their answer: {x}",
        "My opponent's answer is {x}",
        "They told me to write:\n\n> Final answer: {x}",
        "Someone else might say:\n\n**Final answer: {x}**",
        'You asked me to end with "Final answer: {x}"',
        "Suppose the other player replies:\n<answer>{x}</answer>",
        "A beginner would say:\n\n<answer>{x}</answer>",
        "The form that you asked for is:\nFinal answer: {x}",
        "Last time I said:\nAnswer: {x}",
        "He said:\nFinal answer: {x}",
        "The user wrote:\n\n> Final answer: {x}",
        "Round 1\nPlayer 1: Final answer: {x}\nPlayer 2: Final answer: {x}",
    ),
    "asked about": (
        "Should I write\nFinal answer: {x}\n?",
        "Is it\nFinal answer: {x}?",
        "Do you want me to reply:\n\nFinal answer: {x}",
        "Would you like\nFinal answer: {x}\nor something else?",
        "Final answer: {x}\n\nIs that right?",
        "Final answer: {x}\n\n(Is that right?)",
        "Should my reply be:\nFinal answer: {x}",
        "What if I write:\nFinal answer: {x}",
        "Is the final answer {x}?",
        "Could the answer be:\n<answer>{x}</answer>",
        "Final answer: {x}\nDo you agree?",
        "Shall I say\n\n**Final answer: {x}**\n\n?",
    ),
    "commented out": (
        "<!-- Final answer: {x} -->",
        "<!--\nFinal answer: {x}\n-->",
        "I have not decided.\n<!-- Final answer: {x} -->",
        "[//]: # (Final answer: {x})",
        "// Final answer: {x}",
        "/* Final answer: {x} */",
        "/*\nFinal answer: {x}\n*/",
        "```python\n# Final answer: {x}\n```",
        "```python\n# Final answer: {x}\nprint('thinking')\n```",
        "% Final answer: {x}",
        "{{# Final answer: {x} #}}",
        '"""\nFinal answer: {x}\n"""\npass',
        "<!-- TODO\nFinal answer: {x}\n\nchoose later -->",
        "```html\n<!--\nFinal answer: {x}\n-->\n```",
        "```sql\n-- Final answer: {x}\n```",
        "```js\n// Final answer: {x}\n```",
        "```c\n/*\nFinal answer: {x}\n*/\n```",
        "%% Final answer: {x} %%",
        "[comment]: <> (Final answer: {x})",
        "; Final answer: {x}",
        "<!-- <answer>{x}</answer> -->",
        "<!--\n<answer>{x}</answer>\n-->",
        "REM Final answer: {x}",
        "# The answer would go here\n```bash\n# Final answer: {x}\n```",
    ),
    "a condition": (
        "If they copy me, then\nFinal answer: {x}",
        "If I wanted to cooperate I would write\nFinal answer: {x}",
        "Unless they change:\nFinal answer: {x}",
        "In case they repeat it:\n\nFinal answer: {x}\n\nIn all other cases:\n\nFinal answer: {y}",
        "Assuming that they copy me, I would say:\nFinal answer: {x}",
    ),
    "in thinking only": (
        "<think>Final answer: {x}</think>",
        "<think>\nFinal answer: {x}\n",
        "<think>Answer: {x}</think>\n\nI am done.",
        "<|channel|>analysis<|message|>Final answer: {x}<|end|>",
        "<thinking>\n<answer>{x}</answer>\n</thinking>",
        "[THINK]Final answer: {x}[/THINK]",
        "<reasoning>Final answer: {x}</reasoning>",
    ),
    "nothing said": (
        "Final answer: ...",
        "Final answer:",
        "Final answer",
        "I would like to play {x}, I think, but let me see what they do.",
        "",
        "I'm sorry, but I cannot help with that.",
        "Final answer: [your answer here]",
        "Final answer: none",
        "<answer></answer>",
        "### Final answer\n\nI have weighed both and they seem equal to me.",
        "Final answer: see above",
        r"\boxed{{}}",
        '{{"answer": null}}',
        "Answer: it depends",
        "Final answer: I do not know",
    ),
    "exotic separators": (
        "I would be a fool to write{s}Final answer: {x}",
        "Never say{s}Final answer: {x}",
        "He wrote{s}Final answer: {x}",
        "My reply is not{s}Final answer: {x}",
        "It is their move, not mine, to say{s}Final answer: {x}{s}and they know it.",
        "Final answer: {x}{s}is what they expect, not what I play",
        "Final answer: {x}{s}would be a mistake.",
        "Final answer:{s}{x} would be a mistake",
        "The history is short.\nI doubt that anybody would say{s}Final answer: {x}",
        "There is no{s}Answer: {x}",
        "I refuse to say{s}<answer>{x}</answer>",
        "Final answer: not{s}{x}",
        "Final answer: anything{s}Final answer: {x}{s}but that",
    ),
}
LABELS_ONLY = {
    "no such label": (
        "Final answer: {x}{y}",
        "Final answer: {x}x{x}",
        "Final answer: Z",
        "Final answer: {x} {y}",
        'Final answer: {{"{x}": 0.6, "{y}": 0.4}}',
        '{{"answer": ["{x}", "{y}"]}}',
        '{{"answer": "{x}", "alternative": "{y}"}}',
        '{{"answer": "not {x}"}}',
        r"\boxed{{{x}}} or \boxed{{{y}}}",
        r"\boxed{{{x} \text{{ or }} {y}}}",
        '{{"me": "{x}", "them": "{y}"}}',
        '{{"partner": "{x}"}}',
    ),
}
OBJECTS_ONLY = {
    "not the object asked for": (
        'Final answer: {{"code": [2, 4]}}',
        'Final answer: {{"code": [2, 4, 4]}}',
        'Final answer: {{"code": [0, 1, 2]}}',
        'Final answer: {{"code": [2, 4, "?"]}}',
        'Final answer: {{"code": [2, 4, 1, 3]}}',
        'Final answer: {{"hints": ["one", "two"]}}',
        'Final answer: {{"hints": ["one", "two", ""]}}',
        'Final answer: {{"hints": ["one", "two", null]}}',
        'Final answer: {{"words": ["one", "two", "three"]}}',
        'Final answer: {{"code": [2, 4, 1], "code": [1, 2, 3]}}',
        "Final answer: {x} {y}",
        "Final answer: {x}{y}",
        "Final answer: [{x}, {y}]",
        'Final answer: {{"code": [2.5, 4, 1]}}',
        "Final answer: {{}}",
    ),
}
CUT = ("Final answer: {x}", "Answer: {x}", "<answer>{x}</answer>", "**Final answer:** {x}")
STYLES = tuple(DOUBTFUL)


def doubtful(rng: np.random.Generator, letters: bool) -> tuple[str, str, str]:
    """Draw a doubtful reply: its style, its text with `{x}` and `{y}` in it, and its finish."""
    if rng.random() < 0.03:
        return "cut off or refused", pick(rng, CUT), pick(rng, ("length", "refusal"))
    own = LABELS_ONLY if letters else OBJECTS_ONLY
    style = pick(rng, (*DOUBTFUL, *own))
    text = pick(rng, (DOUBTFUL | own)[style])
    if style == "exotic separators":
        text = text.replace("{s}", pick(rng, SEPARATORS))
    if style in ("another's", "asked about", "commented out", "exotic separators"):
        if rng.random() < 0.5:
            text = "They have copied me in every round so far.\n\n" + text
        if rng.random() < 0.2:
            text = "### Analysis\n\n- a short history\n- no clear pattern\n\n" + text
    return style, text, "stop"
