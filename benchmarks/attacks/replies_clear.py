"""Replies that every careful reader understands, with the answer that they give.

Each is put together from an introduction, a marked answer and what follows it. `{x}` stands for the
answer, `{y}` for another one that is talked about and not given.
"""

from __future__ import annotations

import numpy as np

PLAIN = ("{x}", "{x}", "{x}.", "**{x}**", "`{x}`", '"{x}"')
CORES = {
    "marks around the answer": (
        *("**{x}**", "*{x}*", "__{x}__", "_{x}_", "***{x}***", "`{x}`", '"{x}"', "'{x}'", "“{x}”"),
        *("‘{x}’", "«{x}»", "「{x}」", "({x})", "[{x}]", "**{x}.**", "**{x}**.", '**"{x}"**'),
        *("**({x})**", "**[{x}]**", "<b>{x}</b>", "<strong>{x}</strong>", "**`{x}`**", '"{x}".'),
        *("<answer>{x}</answer>", "<code>{x}</code>", "<u>{x}</u>", "==**{x}**==", " {x} "),
    ),
    "LaTeX": (
        *(r"\boxed{{{x}}}", r"$\boxed{{{x}}}$", r"$$\boxed{{{x}}}$$", r"\(\boxed{{{x}}}\)"),
        *(r"\[\boxed{{{x}}}\]", r"$\boxed{{\text{{{x}}}}}$", r"\boxed{{\text{{{x}}}}}"),
        *(
            r"$\boxed{{\textbf{{{x}}}}}$",
            r"$\boxed{{\mathrm{{{x}}}}}$",
            r"\boxed{{\mathbf{{{x}}}}}",
        ),
        *(r"$\text{{{x}}}$", r"\text{{{x}}}", "${x}$", r"**$\boxed{{{x}}}$**", r"\textbf{{{x}}}"),
    ),
    "emoji": (
        *(
            "{x} ✅",
            "✅ {x}",
            "🎯 **{x}**",
            "{x} 🎉",
            "{x} 👍",
            "🤝 {x}",
            "✔️ {x}",
            "➡️ {x}",
            "👉 {x}",
        ),
        *("**{x}** 🚀", "{x} 🎯", "🏆 {x}", "{x} 😊"),
    ),
}
OBJECT_CORES = {
    "marks around the answer": (
        *(
            "**{x}**",
            "`{x}`",
            "**`{x}`**",
            "<answer>{x}</answer>",
            "<b>{x}</b>",
            "<code>{x}</code>",
        ),
        *("{x}.", " {x} ", "*{x}*"),
    ),
    "emoji": ("{x} ✅", "✅ {x}", "🎯 {x}", "👉 **{x}**"),
}
LABEL_CORES = {
    "a noun before the label": (
        *(
            "Option {x}",
            "Action {x}",
            "option **{x}**",
            'action "{x}"',
            "Option: {x}",
            "**Option {x}**",
        ),
        *("Choice {x}", 'Option "{x}"', "Action: {x}"),
    ),
    "a remark in brackets": (
        *(
            "{x} (the safe choice)",
            "**{x}** (as before)",
            "{x} (mutual benefit)",
            "{x} (best response)",
        ),
        *("{x} (This pays most over the remaining rounds.)", "{x} [same as last round]"),
        *("{x} (It has the highest expected payoff.)", "**{x}** (to keep the pattern going)"),
        *("{x} (since it earns more points given what was played so far)", "{x} (final)"),
    ),
    "a reason": (
        *(
            "{x}, because it earns more",
            "{x}, since {y} loses.",
            "{x} - they copy me",
            "{x}. So be it.",
        ),
        *(
            "{x} (the best reply)",
            "{x}: it earns more",
            "{x} because {y} earns less",
            "{x}; as before",
        ),
    ),
}
STRICT = (
    *("Final answer:", "**Final answer:**", "**Final Answer**:", "FINAL ANSWER:", "final answer:"),
    *("Final Answer:", "Final answer：", "*Final answer:*", "__Final answer:__", "Final answer :"),
    *("Final  answer:", "<b>Final answer:</b>", "`Final answer:`", "***Final Answer:***"),
)
SET_OFF = (
    *(
        "### Final answer:",
        "# Final Answer:",
        "- Final answer:",
        "* Final answer:",
        "• Final answer:",
    ),
    *(
        "1. Final answer:",
        "> Final answer:",
        "➡️ Final answer:",
        "✅ Final answer:",
        "4) Final answer:",
    ),
    *(
        "**🎯 Final answer:**",
        "=> Final answer:",
        "-> Final answer:",
        "— Final answer:",
        "★ Final answer:",
    ),
    *("#### **Final Answer:**", "- **Final answer:**", "👉 **Final answer:**", "  Final answer:"),
)
LOOSE = (
    *("The final answer is:", "The final answer is", "My final answer is", "My final answer:"),
    *("My final answer is:", "So my final answer is", "Therefore, the final answer is:", "Answer:"),
    *("Thus, the final answer is", "So, the final answer is:", "Hence, the final answer is:"),
    *("**Answer:**", "ANSWER:", "**Answer**:", "### Answer:", "The answer is:", "The answer is"),
    *(
        "My answer:",
        "My answer is",
        "**The final answer is:**",
        "Final answer is",
        "Final answer is:",
    ),
    *("Final answer -", "Final answer –", "Final answer →", "Final answer =", "Final_answer:"),
    *("- Answer:", "> Answer:", "final_answer:", "So the answer is:", "**My answer:**"),
)
HEADINGS = (
    *("### Final answer\n", "## Final Answer\n\n", "**Final answer**\n", "**Final answer:**\n\n"),
    *("# Final Answer:\n", "Final answer\n------------\n", "Final answer:\n", "### Answer\n"),
    *("## Answer\n\n", "**Answer:**\n", "### **Final Answer**\n\n", "### 🎯 Final Answer\n\n"),
    *("Final answer:\n\n", "**Final Answer**\n\n---\n\n", "Answer:\n", "#### 5. Final Answer\n"),
)
AROUND = (
    *(
        "`Final answer: {x}`",
        "```\nFinal answer: {x}\n```",
        "**Final answer: {x}**",
        "*Final answer: {x}*",
    ),
    *(
        "[Final answer: {x}]",
        "(Final answer: {x})",
        '"Final answer: {x}"',
        "<b>Final answer: {x}</b>",
    ),
    *("<answer>Final answer: {x}</answer>", "***Final answer: {x}***", "<p>Final answer: {x}</p>"),
    *(
        "---\nFinal answer: {x}\n---",
        "══════\nFinal answer: {x}\n══════",
        "> **Final answer: {x}**",
    ),
    *(
        "```text\nFinal answer: {x}\n```",
        "Final answer: {x}\nFinal answer: {x}",
        "“Final answer: {x}”",
    ),
    *("<answer>\nFinal answer: {x}\n</answer>", "```markdown\n**Final answer:** {x}\n```"),
    *("### **Final answer: {x}**", "==Final answer: {x}==", "~~~\nFinal answer: {x}\n~~~"),
)
LABEL_WHOLE = (
    *('{{"answer": "{x}"}}', '{{"final_answer": "{x}"}}', '```json\n{{"answer": "{x}"}}\n```'),
    '```json\n{{\n  "reasoning": "It pays more.",\n  "answer": "{x}"\n}}\n```',
    *('{{"Final answer": "{x}"}}', "```yaml\nanswer: {x}\n```"),
)
OBJECT_WHOLE = (
    *(
        "```json\n{x}\n```",
        "Final answer:\n```json\n{x}\n```",
        "**Final answer:**\n\n```\n{x}\n```",
    ),
    *("### Final answer\n```json\n{x}\n```", "Final answer: ```json\n{x}\n```", "{x}"),
)
BEFORE = (
    "",
    "The other player has repeated the last move in every round. I expect the same now.\n\n",
    "Let me think step by step.\n\n1. So far both of us earned the same.\n2. The end is near.\n\n",
    "## Reasoning\n\n- I looked at the history.\n- {y} earned less than {x} on average.\n\n",
    "Here is my answer:\n\n",
    "Sure! Here is my reply in the requested form:\n",
    "Both options look fine at first, but {y} is worse in the long run.\n\n",
    "Based on this, the other player will most likely go on as before, so my best reply is:\n\n",
    "What will they do next? They always copy.\n\n",
    "If I chose {y}, they would answer in kind\n\n",
    "Plans: watch what they do next.\nInsights: they copy me.\n",
    "| round | me | them |\n| --- | --- | --- |\n| 1 | a | b |\n\n",
    "```\nexpected value of {x}: 0.5 * 8 = 4\nexpected value of {y}: 0.5 * 5 = 2.5\n```\n\n",
    "- The partner plays the same thing every round\n- So there is no reason to change\n\n",
    "\ufeff",
    "\n\n",
    "Okay.\r\n\r\n",
)
THOUGHT = (
    "<think>\nThey copy me. Final answer: {y}? No, that earns less.\n</think>\n\n",
    "<think></think>\n\n",
    "<thinking>I could say {y}.\nFinal answer: {y}\nbut no.</thinking>\n",
    "Hmm, they may change.\nFinal answer: {y}\nNo, wait.\n</think>\n\n",
    "<reasoning>\nFirst {y}, then {x}.\n</reasoning>\n",
    "[THINK]They copy me. {y} is worse.[/THINK]",
    "<|channel|>analysis<|message|>Answer: {y}? No.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>",
    "<thought>They copy.</thought>\n",
    "◁think▷Answer: {y}? No.◁/think▷",
    "<|START_THINKING|>Maybe {y}.<|END_THINKING|><|START_RESPONSE|>",
    "<scratchpad>\nAnswer: {y}\n</scratchpad>\n",
    "<seed:think>First {y}, then {x}.</seed:think>",
)
TONGUES = (
    "让我想一想。对方一直重复上一轮的选择，所以我选收益最高的。\n\n",
    "Überlegen wir: Der andere wiederholt immer seinen letzten Zug.\n\n",
    "Réfléchissons : l'autre joueur répète toujours son dernier choix.\n\n",
    "Pensemos: el otro jugador repite siempre su última jugada.\n\n",
    "相手はいつも前回と同じ手を選びます。\n\n",
    "Другой игрок всегда повторяет свой последний ход.\n\n",
    "상대는 항상 같은 선택을 합니다.\n\n",
    "اللاعب الآخر يكرر اختياره دائما.\n\n",
)
AFTER = (
    *("\n", "  ", "\n\n", "</s>", "<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<end_of_turn>\n"),
    *("\n---", "\n\n***\n", "<|return|>", "\u200b", "\r\n", "<|END_RESPONSE|>", " \n\n\n"),
)
BRACKETED = (
    "\n\n(I expect the other player to repeat the last move.)",
    "\n(This earns most over the rounds that are left.)",
    "\n\n*(The history so far points to this.)*",
    " (This earns most over the rounds that are left.)",
    "\n\n[I expect the same as in the last round.]",
)
COURTESY = (
    "\n\nLet me know if you want more detail!",
    "\nConfidence: 85%",
    "\n\nExplanation: it earns most over the rounds that are left.",
    "\n\nGood luck to both of us! 😊",
    "\n\n---\nI hope this helps. Shall I go on with the next round?",
)


def pick(rng: np.random.Generator, texts: tuple[str, ...]) -> str:
    """Return one of some texts."""
    return texts[int(rng.integers(len(texts)))]


def _marked(rng: np.random.Generator, marks: tuple[str, ...], letters: bool) -> str:
    """Return a mark with a plain answer behind it."""
    core = pick(rng, PLAIN if letters else PLAIN[:2] + PLAIN[3:5])
    mark = pick(rng, marks)
    return mark + core if mark.endswith("\n") else f"{mark} {core}"


def clear(rng: np.random.Generator, letters: bool) -> tuple[str, str]:
    """Draw a clear reply: its style, and its text with `{x}` and `{y}` in it."""
    cores = CORES | LABEL_CORES if letters else OBJECT_CORES
    before, after = ("" if rng.random() < 0.5 else pick(rng, BEFORE)), ""
    if rng.random() < 0.3:
        after = pick(rng, AFTER)
    styles = [*cores]
    styles += ["the form asked for", "set off", "loose marks", "headings", "marks around the line"]
    styles += [
        "no mark, but a form that says it",
        "thinking",
        "languages",
        "a sentence in brackets",
        "polite to the end",
    ]
    style = pick(rng, tuple(styles))
    if style in cores:
        said = f"{pick(rng, STRICT)} {pick(rng, cores[style])}"
    elif style == "set off":
        said = _marked(rng, SET_OFF, letters)
    elif style == "loose marks":
        said = _marked(rng, LOOSE, letters)
    elif style == "headings":
        said = _marked(rng, HEADINGS, letters)
    elif style == "marks around the line":
        said = pick(rng, AROUND)
    elif style == "no mark, but a form that says it":
        said = pick(rng, LABEL_WHOLE if letters else OBJECT_WHOLE)
    elif style == "languages":
        said = _marked(rng, STRICT, letters)
        before = pick(rng, TONGUES)
    else:
        said = _marked(rng, STRICT, letters)
        if style == "thinking":
            before = pick(rng, THOUGHT)
        elif style == "a sentence in brackets":
            after = pick(rng, BRACKETED)
        elif style == "polite to the end":
            after = pick(rng, COURTESY)
    if said.endswith(("```", "~~~")) and after.strip():
        after = ""
    return style, before + said + after
