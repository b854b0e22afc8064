"""Which requests count as the same."""

from dataclasses import replace

from tomeval.models.base import GenerateRequest, Message, Prompt, Sampling, ScoreRequest
from tomeval.models.batching import request_hash

PROMPT = Prompt((Message("user", "Play."),), prefill="I choose")


def hash_of(prompt):
    return request_hash("scripted", "", GenerateRequest(prompt, Sampling(), 1))


def test_what_stands_in_for_a_prefill_counts():
    assert hash_of(replace(PROMPT, instead="Answer J or F.")) != hash_of(PROMPT)


def test_without_it_a_request_is_what_it_always_was():
    # Kept replies of runs made before are found again.
    score = request_hash("scripted", "", ScoreRequest(PROMPT, ("J", "F")))
    assert score == "9703d435fcf5c5affac810e8633f3346c3c972026f844dd982da52db798b6800"
