"""Speed of Decrypto games of three embedding players, and of the search for the best turn.

Three ways to play the same games, timed one after the other in one process, CPU seconds of one
thread: in batch; in seats, turn by turn; and by a plain loop that scores hint words one at a time,
keeping nothing between turns. The games of all three are checked to be equal.

    python benchmarks/decrypto_games.py
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from one_thread import use_one_thread

from tomeval.domains.decrypto.batch import simulate
from tomeval.domains.decrypto.best_turn import BestTurnSearch
from tomeval.domains.decrypto.embedding_players import ENCODER_DRAWS, EncoderSpec, ListenerSpec
from tomeval.domains.decrypto.embedding_seats import (
    EmbeddingEncoder,
    EmbeddingListener,
)
from tomeval.domains.decrypto.game import (
    CODES,
    Code,
    EncoderView,
    Game,
    Hints,
    Rules,
    Turn,
    deal,
    deal_stream,
    hint_history,
)
from tomeval.domains.decrypto.seats import seat_stream
from tomeval.domains.seated.seats import Chair
from tomeval.lexicon.embeddings import Embedding, shipped_embedding
from tomeval.lexicon.forms import is_form
from tomeval.lexicon.words import shipped_lists
from tomeval.report.tables import render

SEED = 1
SECONDS = 0.5
LISTS = shipped_lists()
Vectors = dict[str, NDArray[np.float64]]
Players = tuple[EncoderSpec, ListenerSpec, ListenerSpec]


def in_batch(players: Players, first: int, count: int) -> list[tuple[Turn, ...]]:
    alice = seat_stream(SEED, "encoder", "a")
    played = simulate(LISTS, players, alice, seed=SEED, first=first, count=count)
    return [played.game(number) for number in range(count)]


def in_seats(players: Players, number: int) -> tuple[Turn, ...]:
    rng = seat_stream(SEED, "encoder", "a").episode(number, ENCODER_DRAWS)
    alice = EmbeddingEncoder(Chair("encoder", rng), players[0], LISTS)
    bob = EmbeddingListener(Chair("decoder", rng), players[1])
    eve = EmbeddingListener(Chair("interceptor", rng), players[2])

    async def play() -> tuple[Turn, ...]:
        game = Game(deal(LISTS.keywords, Rules(), deal_stream(SEED).episode(number)), Rules())
        while game.outcome is None:
            hints = (await alice.answer(game.encoder_view())).value
            guess = (await bob.answer(game.decoder_view(hints))).value
            caught = (await eve.answer(game.interceptor_view(hints))).value
            game = game.after(hints, guess, caught)
        return game.turns

    return asyncio.run(play())


def cosine(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    length = math.sqrt(float(other @ other))
    return round(float(one @ other) / length * 2**40) / 2**40 if length else 0.0


def plain_encode(
    spec: EncoderSpec, vectors: Vectors, game: Game, draws: NDArray[np.float64]
) -> Hints:
    """Score every hint word, one at a time, for each digit of the code."""
    found = []
    for place, digit in enumerate(game.code):
        keyword = vectors[game.deal.keywords[digit - 1]]
        scored = [(-float(vectors[hint] @ keyword), i, hint) for i, hint in enumerate(LISTS.hints)]
        history = hint_history(game.turns)[digit - 1]
        nearest: list[str] = []
        for _, _, hint in sorted(scored):
            if not any(is_form(hint, word) for word in game.deal.keywords):
                nearest.append(hint)
            if len(nearest) == spec.k + len(history):
                break
        free = [hint for hint in nearest if hint not in history]
        found.append(free[int(draws[3 * len(game.turns) + place] * len(free))])
    return found[0], found[1], found[2]


def plain_match(scores: list[list[float]]) -> Code:
    """Return the code of highest total."""
    totals = [sum(scores[i][digit - 1] for i, digit in enumerate(code)) for code in CODES]
    return CODES[totals.index(max(totals))]


def in_plain_loop(players: Players, number: int) -> tuple[Turn, ...]:
    draws = seat_stream(SEED, "encoder", "a").episode(number, ENCODER_DRAWS).random(ENCODER_DRAWS)
    alice, bob, eve = (vectors_of(player.embedding) for player in players)
    game = Game(deal(LISTS.keywords, Rules(), deal_stream(SEED).episode(number)), Rules())
    while game.outcome is None:
        hints = plain_encode(players[0], alice, game, draws)
        guess = plain_match(
            [[float(bob[hint] @ bob[word]) for word in game.deal.keywords] for hint in hints]
        )
        means = [sum((eve[h] for h in past), np.zeros(128)) for past in hint_history(game.turns)]
        caught = plain_match([[cosine(eve[hint], mean) for mean in means] for hint in hints])
        game = game.after(hints, guess, caught)
    return game.turns


_VECTORS: dict[str, Vectors] = {}


def vectors_of(embedding: Embedding) -> Vectors:
    if embedding.name not in _VECTORS:
        _VECTORS[embedding.name] = dict(zip(embedding.words, embedding.vectors, strict=True))
    return _VECTORS[embedding.name]


def rate(play: Callable[[int], object], per_call: int) -> float:
    """Return games per CPU second over calls that last SECONDS together."""
    play(0)
    spent, number = 0.0, 0
    while spent < SECONDS:
        number += 1
        start = time.process_time()
        play(number)
        spent += time.process_time() - start
    return number * per_call / spent


def best_turn_rate(players: Players, games: int) -> dict[str, Any]:
    """Return times of the search over the whole bank, and how often nothing is worth 1."""
    search = BestTurnSearch(LISTS, players[1], players[2])
    own = BestTurnSearch(LISTS, players[1], players[2], players[0])
    spent, zero, zero_own, hopeless = [], 0, 0, 0
    alice = seat_stream(SEED, "encoder", "a")
    played = simulate(LISTS, players, alice, seed=SEED, count=games)
    for number in range(games):
        words = [LISTS.keywords[i] for i in played.keywords[number]]
        turns = played.game(number)
        for turn in range(len(turns)):
            keywords = (words[0], words[1], words[2], words[3])
            view = EncoderView(keywords, turns[turn].code, turns[:turn])
            start = time.process_time()
            value = search(view)
            spent.append(time.process_time() - start)
            zero += not value
            zero_own += not own(view)
            hopeless += turn == 0 and turns[0].code == CODES[0]
    return {
        "ms/turn": f"{1000 * float(np.mean(spent)):.1f}",
        "longest, ms": f"{1000 * max(spent):.1f}",
        "turns": len(spent),
        "turns 1 with code 1-2-3": hopeless,
        "worth 0": zero,
        "worth 0 with Alice's 16": zero_own,
    }


def main() -> None:
    use_one_thread()
    minilm, wordnet = shipped_embedding("minilm"), shipped_embedding("wordnet")
    players = (EncoderSpec(minilm), ListenerSpec(minilm), ListenerSpec(wordnet))
    print(f"{len(LISTS.hints):,} hint words; K = 16; one thread, CPU seconds.\n")
    batch = in_batch(players, 0, 20)
    assert batch == [in_seats(players, number) for number in range(20)]
    assert batch[:2] == [in_plain_loop(players, number) for number in range(2)]
    alice = seat_stream(SEED, "encoder", "a")
    rates = {
        "batch of 1,000": rate(
            lambda i: simulate(LISTS, players, alice, seed=SEED, first=1000 * i, count=1000), 1000
        ),
        "in seats": rate(lambda i: in_seats(players, i), 1),
        "plain loop, word by word": rate(lambda i: in_plain_loop(players, i), 1),
    }
    slowest = rates["plain loop, word by word"]
    rows: list[dict[str, Any]] = [
        {
            "how": name,
            "games/s": f"{found:,.1f}",
            "ms/game": f"{1000 / found:,.3f}",
            "ratio": f"{found / slowest:,.0f}",
        }
        for name, found in rates.items()
    ]
    print(render(rows))
    print("\nBatches with other players, Eve of the other embedding")
    rows = []
    for k in (4, 16, 64, 256):
        for careful in (False, True):
            some = (EncoderSpec(minilm, k, careful), *players[1:])
            games = 500
            found = rate(
                lambda i, some=some, games=games: simulate(  # type: ignore[misc]
                    LISTS, some, alice, seed=SEED, first=games * i, count=games
                ),
                games,
            )
            rows.append({"K": k, "careful": careful, "games/s": f"{found:,.0f}"})
    print(render(rows))
    print("\nBest attainable turn value, over the whole bank, for each turn of 100 games")
    rows = []
    for one in (minilm, wordnet):
        for eve in (minilm, wordnet):
            for matching in ("assignment", "greedy"):
                some = (EncoderSpec(one), ListenerSpec(one, matching), ListenerSpec(eve, matching))
                rows.append(
                    {
                        "Alice and Bob": one.name,
                        "Eve": eve.name,
                        "matching": matching,
                        **best_turn_rate(some, 100),
                    }
                )
    print(render(rows))


if __name__ == "__main__":
    main()
