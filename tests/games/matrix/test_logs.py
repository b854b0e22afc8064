"""Logs of matches that were played elsewhere: read, scored, and imported as runs."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import Labels, MatrixGame
from tomeval.games.matrix.measures import HINDSIGHT
from tomeval.report.exporting import export

PEOPLE = """\
participant,condition,bot,match,round,choice,opponent,guess,points
P01,Calm,Tit_For_Tat,1,1,Cooperate,cooperate,COOPERATE,8
P01,Calm,Tit_For_Tat,1,2, Cooperate,Cooperate,Cooperate,8
P02,Hurried,Tit_For_Tat,1,1,Defect,Cooperate,Cooperate,10
P01,Calm,Tit_For_Tat,1,3,defect,Cooperate,,10
P02,Hurried,Tit_For_Tat,1,2,timeout,Defect,Invalid,
P01,Calm,Tit_For_Tat,2,1,Cooperate,Cooperate,Defect,8
P01,Calm,Tit_For_Tat,2,2,DEFECT,Cooperate,Cooperate,10
P01,Calm,Tit_For_Tat,2,3,Defect,Defect,Defect,5
P02,Hurried,Tit_For_Tat,2,1,Defect,Cooperate,Cooperate,10
P02,Hurried,Tit_For_Tat,2,2,Defect,Defect,invalid,5
P02,Hurried,Tit_For_Tat,2,3,Defect,Defect,Defect,5
P02,Hurried,,3,1,Defect,Cooperate,Cooperate,10
P02,Hurried,,3,2,Defect,Defect,Defect,5
"""
COLUMNS = {
    "episode": "match",
    "step": "round",
    "own_action": "choice",
    "partner_action": "opponent",
    "predicted_action": "guess",
    "own_reward": "points",
    "partner": "bot",
}
HOW = {"columns": COLUMNS, "by": ("participant", "condition"), "values": {"timeout": "invalid"}}


@pytest.fixture
def people(tmp_path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


def rows_of(path: Path, *given, **how) -> list[dict]:
    with (
        tempfile.TemporaryDirectory() as folder,
        tomeval.import_log(path, f"{folder}/run", *given, **how) as run,
    ):
        return run.rows()


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


# --- by hand --------------------------------------------------------------------------------------


def test_a_log_of_people_by_hand(people) -> None:
    calm, hurried, alone = rows_of(people, "IPD", **HOW)
    assert [calm["subject"], calm["condition"], calm["partners"]] == ["P01", "Calm", "tit_for_tat"]
    # Best three steps against tit for tat: 8 + 8 + 10. P01 earned 26 and 23.
    assert calm["delta_functional_per_step"] == pytest.approx((0 + 1) / 2)
    # Both predictions right, the third step not asked; then 2 of 3.
    assert calm["tom_percent"] == pytest.approx((100 + 200 / 3) / 2)
    # The one wrong prediction (D for C) costs 2 of three steps.
    assert calm["delta_tom_misprediction_per_step"] == pytest.approx((0 + 2 / 3) / 2)
    # D is the best reply to everything: never on the two steps with a prediction; then 2 of 3.
    assert calm["self_consistency_percent"] == pytest.approx((0 + 200 / 3) / 2)
    assert calm["response_gap_per_step"] == pytest.approx((2 + 2 / 3) / 2)
    assert calm["invalid_rate"] == 0
    assert math.isnan(calm["reask_rate"])  # nobody knows how often people were asked
    # P02's first match is void; of 10 answers to readable questions 3 were invalid.
    assert (hurried["episodes"], hurried["invalid_rate"]) == (1, 0.3)
    assert hurried["delta_functional_per_step"] == 2  # 26 - 20 over three steps
    assert hurried["tom_percent"] == 100
    assert (alone["partners"], alone["reward_per_step"]) == ("unknown", 7.5)
    assert math.isnan(alone["delta_functional_per_step"])
    assert alone["stepwise_regret_per_step"] == 0


def test_the_column_player(tmp_path) -> None:
    """Battle of the sexes: Fight, Fight is 10 for the row player and 7 for the column player."""
    text = "subject,seat,episode,step,own_action,partner_action\n"
    text += "r,Row,1,1,Fight,Fight\nr,Row,1,2,Ballet,Ballet\nc,COLUMN,1,1,Fight,Fight\n"
    text += "c,COLUMN,1,2,Ballet,Ballet\nc,column,2,1,Fight,Ballet\n"
    path = written(tmp_path / "log.csv", text)
    row, column = rows_of(path, "IBS", "unknown")
    assert (row["game"], row["reward_per_step"]) == ("IBS", 8.5)
    assert (column["game"], column["reward_per_step"]) == ("IBS (column)", (8.5 + 0) / 2)
    # against Ballet the column player could have had 10
    assert column["stepwise_regret_per_step"] == (0 + 10) / 2
    # a known partner moves in the other seat: always(0) is always Fight
    known = rows_of(
        written(path, "seat,episode,step,own_action,partner_action\n2,1,1,1,0\n"),
        "IBS",
        "always(0)",
    )[0]
    assert known["delta_functional_per_step"] == 7
    with pytest.raises(TomevalError, match=r"line 2: seat 'colum' is not a seat \(did you"):
        rows_of(written(path, text.replace("Row", "colum", 1)), "IBS", "unknown")


# --- what cannot be read --------------------------------------------------------------------------


def test_what_cannot_be_read_is_left_out_if_that_is_asked_for(people) -> None:
    people.write_text(
        PEOPLE.replace("P01,Calm,Tit_For_Tat,2,2,DEFECT", "P01,Calm,Tit_For_Tat,2,2,Defct")
        + "P03,Calm,Tit_For_Tat,1,1,Defect,Cooperate,,8\n"  # not the payoff
    )
    with pytest.raises(TomevalError, match=r"line 8: choice 'Defct' is .*did you mean 'defect'\?"):
        rows_of(people, "IPD", **HOW)
    row = rows_of(people, "IPD", skip_bad=True, **HOW)[0]
    assert (row["episodes"], row["delta_functional_per_step"]) == (1, 0)


@pytest.mark.parametrize(
    ("last", "why"),
    [
        ("a,1,2,0,0,tit_for_tot", "partner 'tit_for_tot' is not a partner: .*did you"),
        ("a,1,2,0", "the number of fields differs"),
        (",1,2,0,0,always(0)", "subject '' is empty"),
    ],
)
def test_a_match_does_not_get_shorter_by_a_row_without_a_match(tmp_path, last, why) -> None:
    text = "subject,episode,step,own_action,partner_action,partner\na,1,1,0,0,always(0)\n"
    text += last + "\nb,1,1,0,0,always(0)\n"
    with pytest.raises(TomevalError, match=f"line 3: {why}"):
        rows_of(written(tmp_path / "log.csv", text), "IPD", skip_bad=True)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"own_acton": "choice"}, "unknown field 'own_acton' (did you mean 'own_action'?)"),
        ({"own_action": ""}, "the field 'own_action' is required"),
        ({"own_action": "choice"}, "missing column 'game'"),
    ],
)
def test_columns_that_are_not_there(people, columns, message) -> None:
    with pytest.raises(TomevalError) as caught:
        rows_of(people, columns=COLUMNS | columns)
    assert message in str(caught.value)


def test_a_file_opens_no_other_file(tmp_path) -> None:
    header = "game,partner,episode,step,own_action,partner_action\n"
    log = written(tmp_path / "log.csv", header + "IPD,../secret.toml,1,1,0,0\n")
    with pytest.raises(TomevalError, match=r"partner '\.\./secret\.toml' is a file"):
        rows_of(log)
    log = written(tmp_path / "log.csv", header + "/etc/game.toml,unknown,1,1,0,0\n")
    with pytest.raises(TomevalError, match=r"game '/etc/game\.toml' is a file"):
        rows_of(log)
    spelt = '"{ partners = [""always\\u002etoml""], name = ""+"" }"'
    log = written(tmp_path / "log.csv", header + f"IPD,{spelt},1,1,0,0\n")
    with pytest.raises(TomevalError, match=r"partner .* is a file or a table: give it with --p"):
        rows_of(log)


def test_episodes_without_any_prediction_leave_the_mean_of_the_others(tmp_path) -> None:
    text = HEAD + "1,1,0,0,\n2,1,0,0,0\n3,1,0,0,1\n4,1,0,0,0\n5,1,0,0,1\n6,1,0,0,0\n"
    row = score(tmp_path, text, partner="unknown")
    assert (row["tom_percent"], row["episodes"]) == (60, 6)
    # Three hits of five: variance 0.3, of the mean 0.06; t of four degrees of freedom is 2.776445.
    # (0.6 - m)² = 2.776445² x 0.06 x m (1 - m) / 0.24 has the roots 0.13124 and 0.93708.
    ends = (row["tom_percent_ci95_low"], row["tom_percent_ci95_high"])
    assert ends == pytest.approx((13.124, 93.708), abs=1e-3)


# --- as a run -------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", ["horizon", "stationary"])
def test_a_run_that_comes_back_from_its_own_steps(tmp_path, reference) -> None:
    """Every measure of every episode is exactly that of the run that was exported."""
    experiment = {
        "games": ["IPD", "RPS", "IBS"],
        "subjects": ["rmax", {"kind": "simulated", "p": 0.7, "q": 0.6}],
        "partners": ["single_action", "tit_for_tat", "uniform_random"],
        "horizon": 7,
        "episodes": 6,
        "reference": reference,
    }
    truth = {}
    with tomeval.run(experiment, tmp_path / "run") as run:
        export(run, "csv", "steps", tmp_path / "steps.csv")
        for cell in run.cells:
            columns = cell.columns
            for name, values in cell.metrics().items():
                for episode, value in zip(cell.episodes, values, strict=True):
                    key = (columns["subject"], columns["game"], columns["partners"], str(episode))
                    truth[(*key, name)] = float(value)
    by = ("subject", "partners")
    with tomeval.import_log(tmp_path / "steps.csv", tmp_path / "again", by=by) as again:
        found = {}
        for cell in again.cells:
            key = (cell.columns["subject"], cell.columns["game"], cell.columns["condition"])
            for name, values in cell.metrics(reference).items():
                if name == HINDSIGHT:  # which only recorded games have
                    continue
                for episode, value in zip(cell.episodes, values, strict=True):
                    found[(*key, cell.definition["matches"][episode], name)] = float(value)
    assert found == pytest.approx(truth, rel=0, abs=0, nan_ok=True)


def test_the_folder_must_be_new(people, tmp_path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(TomevalError, match="already exists; choose another folder"):
        tomeval.import_log(people, tmp_path / "run", "IPD", **HOW)
    with pytest.raises(TomevalError, match="line 6: choice 'timeout'"):
        tomeval.import_log(people, tmp_path / "new", "IPD", **(HOW | {"values": {}}))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "run"]


# --- how people write their files -----------------------------------------------------------------

CODED = "episode,step,own_action,partner_action,subject,seat,own_reward\n"
CODED += "1,1,1,1,1,1,8\n1,2,1,0,1,1,0\n2,1,0,0,0,1,5\n"


def test_values_name_actions_and_nothing_that_is_counted_or_called(tmp_path, caplog) -> None:
    log, values = written(tmp_path / "moves.csv", CODED), {"1": "Cooperate", "0": "Defect"}
    with tomeval.import_log(log, tmp_path / "run", "IPD", "unknown", values=values) as run:
        assert [cell.player for cell in run.cells] == ["1", "0"]
        own = run.steps()["own_label"].tolist()
        assert own == ["Cooperate", "Cooperate", "Defect"]
    assert not caplog.records


def test_actions_by_index_are_named_in_a_note(tmp_path, caplog) -> None:
    log = written(tmp_path / "moves.csv", CODED.replace(",own_reward", ",points"))
    rows_of(log, "IPD", "unknown")
    assert [record.getMessage() for record in caplog.records] == [
        "note: actions of IPD by index were read as 0=Cooperate, 1=Defect"
    ]


@pytest.mark.parametrize(("separator", "point"), [(";", ","), ("\t", ","), ("|", "."), (",", ".")])
def test_cells_may_be_separated_otherwise(tmp_path, caplog, separator, point) -> None:
    rows = [["episode", "step", "own_action", "partner_action", "own_reward", "subject"]]
    rows += [["1", "1", "Cooperate", "Cooperate", f"8{point}0", "Ann"]]
    rows += [["1", "2", "Defect", "Cooperate", "10", "Ann"]]
    log = written(tmp_path / "moves.csv", "\n".join(separator.join(row) for row in rows))
    [row] = rows_of(log, "IPD", "unknown")
    assert (row["subject"], row["reward_per_step"]) == ("Ann", 9)
    assert not caplog.records


# --- rows of a table, and files that say where they are wrong -------------------------------------

HEAD = "episode,step,own_action,partner_action,predicted_action\n"
# IPD against tit for tat: all defect. Regret per step (26 - 20) / 3 = 2, all of it foresight.
DEFECT = HEAD + "1,1,1,0,0\n1,2,1,1,1\n1,3,1,1,0\n"


def score(tmp_path, text, game="IPD", partner="tit_for_tat", **options):
    path = tmp_path / "steps.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    [row] = rows_of(path, game, partner, **options)
    return row


@pytest.mark.parametrize(
    "change",
    [
        lambda t: "\ufeff" + t.replace("\n", "\r\n"),
        lambda t: t.replace("1,1,1,0,0", "1,1,Defect,Cooperate,cooperate"),
        lambda t: t.replace("1,1,1,0,0", '1,1," Rice","Pasta",0'),
        lambda t: t.replace("1,3,", "1,2.0,").replace("1,2,", "1,1,").replace("1,1,1,0", "1,0,1,0"),
        lambda t: t.replace("\n", ",note\n").replace("episode,step", " episode , step") + "\n\n",
    ],
    ids=["bom and crlf", "labels", "quoted", "from 0", "extra and spaces"],
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


def test_episodes_find_their_partner_in_a_set(tmp_path) -> None:
    text = HEAD + "a,1,0,1,1\na,2,0,1,1\nb,1,0,0,0\nb,2,0,0,0\n"
    row = score(tmp_path, text, partner="single_action")
    # against always(1) cooperating loses 5 a step, against always(0) it loses 2
    assert row["delta_functional_per_step"] == pytest.approx(3.5)
    several = r"episode 'b' fits several partners \(always\(0\), tit_for_tat\): name the one it was"
    with pytest.raises(TomevalError, match=several):
        score(tmp_path, text, partner="always(0) + always(1) + tit_for_tat")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("partner_action", "partner_acton", "missing column 'partner_action' (did you mean"),
        ("1,2,1,1,1", "1,4,1,1,1", "line 3: a gap in episode '1': step 4 after step 1"),
        ("1,1,1,0,0", "1,2,1,0,0", "line 2: episode '1' starts at step 2"),
        ("1,2,1,1,1", "1,2,Defct,1,1", "own_action 'Defct' is neither a label nor an index"),
        ("1,2,1,1,1", "1,2,1,1", "line 3: the number of fields differs"),
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
