"""Every measure of an offline run again, by programs that import nothing of tomeval.

Standard library and numpy only. They read what ``tomeval export`` and ``tomeval table --all`` write,
and of games and partners what the pages of the manual say; `test_recomputed` plays small runs.

    PYTHONPATH=tests python -m recomputed.matrix FOLDER     # or decrypto, or arena

A program prints, for every column, by how much it differs at most; 1e-9 is what may be.

| program | recomputed | taken as exported |
| --- | --- | --- |
| matrix | V* and random play by backward induction, of partners as their pages say; all scores and measures, log loss, Brier, answers that were invalid, asked again or read leniently | what was played, predicted and stated; where a partner goes after a move that it cannot make |
| decrypto | outcomes, perspective, beliefs, functional regret, scores | what was said and guessed; v* of a turn and what random hints are worth, which need the hint bank |
| arena | results, V*, Q*, predictions and what an observer attains, by the games' rules; measures of line-ups with their scores, ratings, errors | V*, Q* and observer of Codenames, which need its word vectors; chance of a question, worth of acts if what was stated is true, V* and random play before the deal |

Not recomputed: ``delta_tom_planned_per_step`` and the word of ``answer`` in matrix games, Brier in
the arena (these players state no probabilities), measures of extensions but log loss and Brier, and
intervals, which `tests/statistics` holds to scipy and statsmodels.
"""  # noqa: E501
