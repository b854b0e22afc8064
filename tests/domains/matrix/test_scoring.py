from __future__ import annotations

import pytest
from support import ROOT

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.games import Labels, MatrixGame
from tomeval.domains.matrix.measures import METRICS

HEAD = "episode,step,own_action,partner_action,predicted_action\n"
# IPD against tit for tat: all defect. Regret per step (26 - 20) / 3 = 2, all of it foresight.
DEFECT = HEAD + "1,1,1,0,0\n1,2,1,1,1\n1,3,1,1,0\n"


def score(tmp_path, text, game="IPD", partner="tit_for_tat", **options):
    path = tmp_path / "steps.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    [row] = tomeval.score(path, game, partner, **options)
    return row


def test_by_hand(tmp_path) -> None:
    row = score(tmp_path, DEFECT)
    assert row["delta_functional_per_step"] == 2
    assert row["foresight_gap_per_step"] == 2
    assert row["tom_percent"] == pytest.approx(200 / 3)
    # one wrong prediction against a defection: 5 by the misprediction rule, over three steps
    assert row["delta_tom_misprediction_per_step"] == pytest.approx(5 / 3)
    assert row["reward_per_step"] == pytest.approx(20 / 3)
    assert (row["horizon"], row["episodes"]) == (3, 1)
    assert row["tom_percent_ci95"] != row["tom_percent_ci95"]  # one episode has no interval


@pytest.mark.parametrize(
    "change",
    [
        lambda t: "\ufeff" + t,
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("1,1,1,0,0", "1,1,Defect,Cooperate,cooperate"),
        lambda t: t.replace("1,1,1,0,0", "1,1,F,J,J"),
        lambda t: t.replace("1,1,1,0,0", '1,1," Pasta","Pasta",0').replace(" Pasta", "Rice"),
        lambda t: (
            t.replace("1,3,", "1,2,")
            .replace("1,2,1,1,1", "1,1,1,1,1", 1)
            .replace("1,1,1,0,0", "1,0,1,0,0")
        ),
        lambda t: t.replace("\n", ",note\n", 1).replace("0\n", "0,x\n").replace("1\n", "1,x\n"),
        lambda t: t.replace("episode,step", " episode , step"),
        lambda t: t.rstrip("\n"),
        lambda t: t + "\n\n",
    ],
    ids=[
        "bom",
        "crlf",
        "labels",
        "neutral",
        "quoted",
        "from 0",
        "extra",
        "spaces",
        "open",
        "blank",
    ],
)
def test_the_same_game_in_other_clothes(tmp_path, change) -> None:
    changed = change(DEFECT)
    assert changed != DEFECT
    assert repr(score(tmp_path, changed)) == repr(score(tmp_path, DEFECT))


def test_several_episodes_of_different_length(tmp_path) -> None:
    text = DEFECT + "".join(f"{name},0,0,0,0\n{name},1,0,0,0\n" for name in "bcdef")
    row = score(tmp_path, text)
    # the others cooperate twice: 16 of 18, a regret of 1 per step; mean of 2 and five times 1
    assert row["delta_functional_per_step"] == pytest.approx(7 / 6)
    # six episodes: the sd is sqrt(5 / 6 / 5) = 0.4082; 2.570582 x 0.4082 / sqrt(6) = 0.42843
    assert row["delta_functional_per_step_ci95"] == pytest.approx(0.42843, rel=1e-4)
    assert (row["horizon"], row["episodes"]) == (3, 6)  # the longest


def test_without_predictions(tmp_path) -> None:
    text = "episode,step,own_action,partner_action\n1,1,1,0\n1,2,1,1\n"
    row = score(tmp_path, text)
    numbers = {name for name in METRICS if row[name] == row[name]}
    assert "tom_percent" not in numbers
    assert {"delta_functional_per_step", "reward_per_step", "stepwise_regret_per_step"} <= numbers


def test_unknown_partner_gives_all_that_needs_no_table(tmp_path) -> None:
    row = score(tmp_path, DEFECT, partner="unknown")
    known = score(tmp_path, DEFECT)
    needs = {"delta_functional_per_step", "foresight_gap_per_step"}
    assert needs.isdisjoint(row)
    for name in set(METRICS) - needs:
        assert row[name] == known[name] == known[name]
    assert row["partners"] == "unknown"


def test_episodes_find_their_partner_in_a_set(tmp_path) -> None:
    text = HEAD + "a,1,0,1,1\na,2,0,1,1\nb,1,0,0,0\nb,2,0,0,0\n"
    row = score(tmp_path, text, partner="single_action")
    # against always(1) cooperating loses 5 a step, against always(0) it loses 2
    assert row["delta_functional_per_step"] == pytest.approx(3.5)
    # b fits tit for tat too, against which it loses 1 a step: (5 + (2 + 1) / 2) / 2
    row = score(tmp_path, text, partner="always(0) + always(1) + tit_for_tat")
    assert row["delta_functional_per_step"] == pytest.approx(3.25)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("partner_action", "partner_acton", "missing column 'partner_action' (did you mean"),
        ("episode,", "", "missing column 'episode'"),
        ("predicted_action", "step", "a column name appears twice: 'step'"),
        ("1,2,1,1,1", "1,4,1,1,1", "line 3: a gap in episode '1': step 4 after step 1"),
        ("1,2,1,1,1", "1,1,1,1,1", "step 1 after step 1"),
        ("1,1,1,0,0", "1,2,1,0,0", "line 2: episode '1' starts at step 2"),
        ("1,2,1,1,1", "1,x,1,1,1", "step 'x' is not a whole number"),
        ("1,2,1,1,1", "1,2,Defct,1,1", "own_action 'Defct' is neither a label nor an index"),
        ("1,2,1,1,1", "1,2,2,1,1", "own_action '2'"),
        ("1,2,1,1,1", "1,2,1,,1", "partner_action ''"),
        ("1,2,1,1,1", "1,2,,1,1", "own_action ''"),
        ("1,2,1,1,1", "1,2,1,1,?", "predicted_action '?'"),
        ("1,2,1,1,1", "1,2,-1,1,1", "own_action '-1'"),
        ("1,2,1,1,1", "1,2,1,1", "line 3: the number of fields differs"),
        ("1,2,1,1,1", "1,2,1,1,1,9", "line 3: the number of fields differs"),
        ("1,2,1,1,1", ",2,1,1,1", "episode is empty"),
        ("1,2,1,1,1", "2,1,1,0,1", "line 4: a gap in episode '1': step 3 after step 1"),
        ("1,2,1,1,1", '1,2,"1,1,1', "not valid CSV"),
        ("1,2,1,1,1", "1,2,1,0,1", "'tit_for_tat' cannot have played action 0 in step 2"),
    ],
)
def test_bad_files_say_where(tmp_path, old, new, message) -> None:
    assert old in DEFECT
    with pytest.raises(TomevalError) as caught:
        score(tmp_path, DEFECT.replace(old, new, 1))
    assert message in str(caught.value)
    assert "steps.csv" in str(caught.value)


def test_nothing_to_score(tmp_path) -> None:
    with pytest.raises(TomevalError, match=r"missing column 'episode'.*it has: none"):
        score(tmp_path, "")
    with pytest.raises(TomevalError, match="has a header but no steps"):
        score(tmp_path, HEAD)
    with pytest.raises(TomevalError, match="not UTF-8"):
        score(tmp_path, DEFECT.encode("utf-16"))
    with pytest.raises(TomevalError, match="no such file"):
        tomeval.score(tmp_path / "none.csv", "IPD", "unknown")


def test_labels_can_be_restricted(tmp_path) -> None:
    text = DEFECT.replace("1,1,1,0,0", "1,1,F,J,J")
    assert score(tmp_path, text, labels="neutral")["labels"] == "neutral"
    with pytest.raises(TomevalError, match="own_action 'F' is neither"):
        score(tmp_path, text, labels="canonical")
    with pytest.raises(TomevalError, match="did you mean 'neutral'"):
        score(tmp_path, text, labels="neutrl")


def test_labels_that_look_like_other_indices(tmp_path) -> None:
    # "1" names action 0 here: an index or a label? Without being told, nothing is guessed; with the
    # label set named, labels are read.
    game = MatrixGame(
        "counted",
        [[[3, 3], [0, 5]], [[5, 0], [1, 1]]],
        {"numbers": Labels("numbers", ("1", "2"), ("1", "2"))},
    )
    text = HEAD + "1,1,2,1,1\n1,2,2,2,2\n"
    with pytest.raises(TomevalError, match="--labels"):
        score(tmp_path, text, game=game)
    row = score(tmp_path, text, game=game, labels="numbers")
    assert row["reward_per_step"] == 3  # (5 + 1) / 2: both times action 1
    with pytest.raises(TomevalError, match="own_action '0'"):
        score(tmp_path, text.replace("1,1,2,1,1", "1,1,0,1,1"), game=game, labels="numbers")


def test_bca_weights_partners_as_tables_of_runs_do(tmp_path) -> None:
    """Defecting twice earns 7.5 a step against tit for tat, met thrice, 10 against always(0)."""
    steps = [f"{k},1,1,0,0\n{k},2,1,{int(k < 3)},0\n" for k in range(5)]
    spec = "0.2*tit_for_tat + 0.8*always(0)"
    row = score(tmp_path, HEAD + "".join(steps), partner=spec, interval="bca")
    assert row["reward_per_step"] == pytest.approx(0.2 * 7.5 + 0.8 * 10)
    plain = score(tmp_path, HEAD + "".join(steps), partner=spec)
    assert plain["reward_per_step"] == pytest.approx((3 * 7.5 + 2 * 10) / 5)
    once = score(tmp_path, HEAD + "".join(steps[2:4]), partner=spec, interval="bca")
    assert once["reward_per_step"] == pytest.approx(0.2 * 7.5 + 0.8 * 10)
    assert once["reward_per_step_ci95"] != once["reward_per_step_ci95"]


def test_games_and_partners_may_be_paths(tmp_path) -> None:
    game = tmp_path / "mine.toml"
    game.write_text(
        'name = "mine"\npayoffs = [[[8, 8], [0, 10]], [[10, 0], [5, 5]]]\n'
        '[labels]\nplain = ["C", "D"]\n'
    )
    shipped = ROOT / "tomeval" / "partners" / "tit_for_tat.toml"
    partner = shipped if shipped.exists() else ROOT / "partners" / "tit_for_tat.toml"
    by_name = score(tmp_path, DEFECT, str(game), str(partner))
    assert repr(score(tmp_path, DEFECT, game, partner)) == repr(by_name)
    assert by_name["delta_functional_per_step"] == 2
    [bound] = tomeval.bounds(game, partner, horizon=3)
    assert bound.best == 26 / 3
    for wrong, said in (((3, "tit_for_tat"), "game"), (("IPD", 3), "partner")):
        with pytest.raises(TomevalError, match=f"{said} must be a name, a file or a .*, is 3"):
            score(tmp_path, DEFECT, *wrong)
