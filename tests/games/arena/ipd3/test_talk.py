"""What messages amount to, sentence by sentence."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tomeval.games.ipd3.states import ACTS, OPPONENTS, acts_of, kept, sentence_of

N, P, T = ACTS


@pytest.mark.parametrize("seat", range(3))
@pytest.mark.parametrize("acts", list(itertools.product(ACTS, ACTS)))
def test_what_scripted_players_say_is_read_exactly(seat, acts):
    assert len(sentence_of(acts, OPPONENTS[seat])) <= 100  # the least limit of messages
    assert acts_of(sentence_of(acts, OPPONENTS[seat]), OPPONENTS[seat]) == acts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I will cooperate with Player 1.", (P, N)),
        ("i'll cooperate with player 2 this round", (N, P)),
        ("I’ll cooperate with both of you!", (P, P)),
        ("I promise to cooperate.", (P, P)),
        ("We will cooperate with everyone.", (P, P)),
        ("I will defect on Player 1 and Player 2.", (T, T)),
        ("I am going to defect against players 1 and 2.", (T, T)),
        ("I plan to betray Player 2.", (N, T)),
        ("I will cooperate with Player 1 and defect on Player 2.", (P, T)),
        ("I will cooperate with Player 1, but I will defect on Player 2.", (P, T)),
        ("Hi all! I won't defect on Player 1.", (P, N)),
        ("I will never cooperate with Player 2.", (N, T)),
        ("Listen;\nI will cooperate with Player 1", (P, N)),
        # Contradictions cancel.
        ("I will cooperate with Player 1. I will defect on Player 1.", (N, N)),
        ("I will cooperate with both. I will defect on Player 2.", (P, N)),
        # No announcements for this round.
        ("", (N, N)),
        ("I cooperated with Player 1.", (N, N)),
        ("Will you both cooperate? I will cooperate?", (N, N)),
        ("I will cooperate with Player 1 if he does.", (N, N)),
        ("If you defect, I will defect on Player 1.", (N, N)),
        ("I will cooperate with you.", (N, N)),
        ("I might cooperate with Player 1.", (N, N)),
        ("Player 1 said: I will cooperate with Player 2.", (N, N)),
        ('"I will cooperate with Player 1."', (N, N)),
        ("I will cooperate with Player 1 next round.", (N, N)),
        ("I will not cooperate with Player 1 and defect on Player 2.", (N, N)),
        # Nobody, or oneself.
        ("I will cooperate with Player 0.", (N, N)),
        ("I will cooperate with Player 7.", (N, N)),
    ],
)
def test_messages_of_player_0(text, expected):
    assert acts_of(text, (1, 2)) == expected


@given(st.text(max_size=300))
def test_any_text_has_acts(text):
    found = acts_of(text, (0, 2))
    assert set(found) <= set(ACTS)
    assert found == (N, N) or any(w in text.lower() for w in ("cooperate", "defect", "betray"))


@given(st.sampled_from(list(itertools.product(ACTS, ACTS))), st.text("abc ,\n", max_size=40))
def test_chatter_of_its_own_changes_nothing(acts, chatter):
    said = sentence_of(acts, (1, 2))
    assert acts_of(f"{chatter}. {said} {chatter}!", (1, 2)) == acts


def test_words_that_are_kept():
    both = list(itertools.product(("cooperate", "defect"), repeat=2))
    assert [kept((N, N), moves) for moves in both] == [True] * 4
    assert [kept((P, N), moves) for moves in both] == [True, True, False, False]
    assert [kept((P, T), moves) for moves in both] == [False, True, False, False]
