"""Games that other tools played, each imported by one command; what is unclear is told at once."""

from __future__ import annotations

import csv
import json
import shlex

import pytest

A, B = "OptionA", "OptionB"
KIND = {"agent1_llm": "M1", "agent1_personality": "kind", "language": "en"}
TFT = {"agent2_llm": "Baseline:TitForTat", "agent2_baseline_strategy": "tit_for_tat"}
LIKELY = {A: 0.7, B: 0.3}
RESULTS = [
    KIND
    | TFT
    | {"game_id": "game_0", "elicit_beliefs": True}
    | {"agent1_strategies": [A, B, B], "agent2_strategies": [A, A, B]}
    | {"agent1_scores": [6.0, 10.0, 2.0], "agent2_scores": [6.0, 0.0, 2.0]}
    # the likeliest move, an answer that could not be read, and two moves that are as likely
    | {"agent1_beliefs": [LIKELY, None, {A: 0.5, B: 0.5}], "agent2_beliefs": [None] * 3},
    KIND
    | {"agent2_llm": "M2", "agent2_personality": "selfish", "game_id": "game_1"}
    | {"agent1_strategies": [A, A], "agent2_strategies": [B, A], "elicit_beliefs": True}
    | {"agent1_scores": [0.0, 6.0], "agent2_scores": [10.0, 6.0]}
    | {"agent1_beliefs": [LIKELY, LIKELY], "agent2_beliefs": [{A: 0.2, B: 0.8}] * 2},
]
MATRIX = {
    "weights": {"w1": 6, "w2": 10, "w3": 0, "w4": 2},
    "strategies": {"en": {"s1": A, "s2": B}},
    "combinations": {"a": ["s1", "s1"], "b": ["s1", "s2"], "c": ["s2", "s1"], "d": ["s2", "s2"]},
    "matrix": {"a": ["w1", "w1"], "b": ["w3", "w2"], "c": ["w2", "w3"], "d": ["w4", "w4"]},
}
REPEATED = """\
round,player1,player2,answer1,answer2,points1,points2,total1,total2,option1,option2
1,act_gpt9,act_tft,J,J,8,8,8,8,0,1
2,act_gpt9,act_tft,F,J,10,0,18,8,1,0
3,act_gpt9,act_tft,F,F,5,5,23,13,0,1
1,act_tft,act_gpt9,J,J,8,8,8,8,1,0
2,act_tft,act_gpt9,J,J,8,8,16,16,0,1
3,act_tft,act_gpt9,J,F,0,10,16,26,0,1
1,act_gpt9,act_gpt9,J,F,0,10,0,10,0,1
2,act_gpt9,act_gpt9,F,F,5,5,5,15,0,1
1,act_j,act_f,J,F,0,10,0,10,0,1
"""


def as_csv(path, rows):
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)  # lists as Python writes them, which is what pandas does


@pytest.fixture
def rows(tomeval, tmp_path, monkeypatch):
    """Return a function that imports a file in an empty folder: rows of the table, and notes."""
    monkeypatch.chdir(tmp_path)

    def call(name, *options):
        code, out, errors = tomeval("import", name, *options)
        assert (code, out) == (0, f"runs/{name.partition('.')[0]}\n"), errors
        code, out, notes = tomeval("table", out.strip(), "--format", "json")
        assert code == 0
        return json.loads(out), errors, notes

    return call


def check_fairgame(found):
    against_tft, against_m2, other = found
    assert [row["subject"] for row in found] == ["M1", "M1", "M2"]
    assert against_tft["partners"] == "tit_for_tat"
    # the best three rounds are 6 + 6 + 10, and 18 were earned; in hindsight B earns 10 + 10 + 2
    assert against_tft["delta_functional_per_step"] == pytest.approx(4 / 3)
    assert against_tft["hindsight_constant_regret_per_step"] == pytest.approx(4 / 3)
    assert against_tft["tom_percent"] == 100  # of one prediction
    assert against_tft["invalid_rate"] == pytest.approx(1 / 5)  # of three moves and two beliefs
    assert against_m2["condition"] == "kind, against M2 (selfish)"
    assert (against_m2["tom_percent"], other["tom_percent"]) == (50, 0)
    # against B, A always B would have earned 2 + 10; against A, A 20, and 16 were earned
    assert against_m2["hindsight_constant_regret_per_step"] == 3
    assert other["hindsight_constant_regret_per_step"] == 2
    assert against_m2["delta_functional_per_step"] is other["delta_functional_per_step"] is None


def test_fairgame_as_csv_and_the_game_of_its_points(rows, tmp_path) -> None:
    as_csv(tmp_path / "results.csv", RESULTS)
    found, notes, _ = rows("results.csv")
    check_fairgame(found)
    assert "the more the better: OptionA/OptionA earns 6, 6; OptionA/OptionB earns 0, 10" in notes


@pytest.mark.parametrize("config", [None, {"payoffMatrix": MATRIX, "name": "IPD"}])
def test_fairgame_as_rows_of_json(rows, tmp_path, config) -> None:
    told = RESULTS if config is None else {"id": "x", "rows": RESULTS, "config": config}
    (tmp_path / "rows.json").write_text(json.dumps(told))
    found, notes, _ = rows("rows.json")
    check_fairgame(found)
    assert found[0]["game"] == ("IPD (FAIRGAME)" if config else "rows.json, en")
    assert ("the more the better" in notes) == (config is None)


def test_fairgame_of_costs_with_beliefs_before_moves(rows, tmp_path) -> None:
    agents = {"a": {"name": "a", "llm_service": "M1"}}
    agents["b"] = {"name": "b", "llm_service": "baseline:TitForTat"}
    weights = {"w1": 2, "w2": 0, "w3": 5, "w4": 4}  # years
    about = {"language": "en", "elicit_beliefs": True, "payoff_direction": "penalty"}
    about |= {"agents": agents, "payoff_matrix_summary": MATRIX | {"weights": weights}}
    first = [{"agent": "a", "strategy": B, "score": 0, "belief": {A: 0.9, B: 0.1}}]
    first += [{"agent": "b", "strategy": A, "score": 5}]
    last = [{"agent": "b", "strategy": B, "score": 4}]
    last += [{"agent": "a", "strategy": B, "score": 4, "belief": {A: 1.0, B: 0.0}}]
    history = {"round_1": first, "round_2": last}
    path = tmp_path / "games.json"
    path.write_text(json.dumps({"game_0": {"description": about, "history": history}}))
    [row], _, _ = rows("games.json")
    assert row["reward_per_step"] == -2
    # two rounds against tit for tat cost 2 + 0 years at best, and 0 + 4 here
    assert row["delta_functional_per_step"] == 1
    assert row["tom_percent"] == 50


def test_beliefs_from_a_spreadsheet_and_costs_that_nobody_declared(rows, tmp_path) -> None:
    """TRUE in capitals is still true; chances as texts are numbers; points may be costs."""
    for row in (told := changed(elicit_beliefs="TRUE")):
        row["elicit_beliefs"] = "TRUE"
    told[1] |= {"agent2_beliefs": [{A: "1e-1", B: "0.9"}] * 2}
    as_csv(tmp_path / "results.csv", told)
    found, notes, _ = rows("results.csv")
    assert [row["tom_percent"] for row in found] == [100, 50, 0]
    assert "If they are costs, name the game with --game" in " ".join(notes.split())


def test_games_of_one_number_in_two_conditions_are_no_pair(tmp_path) -> None:
    import tomeval

    same = [row | {"game_id": "game_0"} for row in RESULTS]
    as_csv(tmp_path / "a.csv", [*same, same[1] | {"agent1_personality": "selfish"}])
    with tomeval.import_log(tmp_path / "a.csv", tmp_path / "run") as run:
        people = [set(cell.definition["participants"]) for cell in run.cells]
    kind, selfish = (people[n] for n in (1, 3))  # M1 against M2
    assert len(people) == 5
    assert not kind & selfish


def test_repeatedgames(rows, tmp_path) -> None:
    (tmp_path / "pd.csv").write_text(REPEATED)
    (against_tft, against_itself), notes, _ = rows("pd.csv")
    assert (against_tft["game"], against_tft["partners"]) == ("IPD", "tit_for_tat")
    # 23 and 26 of the best 26, in both seats
    assert (against_tft["episodes"], against_tft["delta_functional_per_step"]) == (2, 0.5)
    assert (against_itself["condition"], against_itself["episodes"]) == ("against gpt9", 2)
    assert against_itself["reward_per_step"] == 5
    assert "1 match of two policies left out" in notes


def test_games_of_one_name_with_other_payoffs_stay_apart(rows, tmp_path) -> None:
    games = {}
    for number, best in enumerate((10, 12, 14)):
        agents = {name: {"name": name, "llm_service": "M1"} for name in "ab"}
        weights = MATRIX["weights"] | {"w2": best}
        about = {"language": "en", "name": "PD", "agents": agents}
        about["payoff_matrix_summary"] = MATRIX | {"weights": weights}
        acts = [{"agent": "a", "strategy": B, "score": best}]
        acts += [{"agent": "b", "strategy": A, "score": 0}]
        games[f"game_{number}"] = {"description": about, "history": {"round_1": acts}}
    (tmp_path / "games.json").write_text(json.dumps(games))
    found, _, _ = rows("games.json")
    assert [(row["game"], row["reward_per_step"]) for row in found] == [
        ("PD", 5),
        ("PD (2)", 6),
        ("PD (3)", 7),
    ]


def test_the_two_players_of_a_match_are_one_unit(tmp_path) -> None:
    import tomeval

    (tmp_path / "pd.csv").write_text(REPEATED + "1,act_gpt9,act_gpt9,J,J,8,8,8,8,0,1\n")
    with tomeval.import_log(tmp_path / "pd.csv", tmp_path / "run") as run:
        assert [(len(cell.episodes), cell.units) for cell in run.cells] == [(2, 2), (4, 2)]


def test_the_column_player_of_repeatedgames(rows, tmp_path) -> None:
    head = "round,player1,player2,answer1,answer2,points1,points2\n"
    (tmp_path / "bos.csv").write_text(head + "1,act_j,GPT-4,J,F,0,0\n2,act_j,GPT-4,J,J,10,7\n")
    [row], notes, _ = rows("bos.csv")
    assert (row["subject"], row["game"], row["partners"]) == ("GPT-4", "IBS (column)", "always(0)")
    assert row["delta_functional_per_step"] == 3.5
    assert "is taken for IBS, which alone fits what was played" in " ".join(notes.split())


REGRETS = {f"agent{n}_regret_per_round": [0.0, 4.0, 0.0] for n in (1, 2)}


def changed(index=0, **more):
    return [row | (more if n == index else {}) for n, row in enumerate(RESULTS)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", "a.json: not valid JSON"),
        ("a.json", "[" * 100_000, "a.json: not valid JSON"),
        ("a.json", "[]", "a.json: holds no games of FAIRGAME"),
        ("a.json", [{"x": 1}], "a.json, game 1: holds no strategies"),
        ("a.json", changed(agent1_strategies="'ABB'"), "game 1: strategies are no lists"),
        ("a.json", changed(agent1_strategies=[A, None, B]), "name it with --game"),
        ("a.json", "[3]", "a.json, game 1: is no result of FAIRGAME"),
        ("a.json", '{"game_0": {"history": {}}}', "game 1: is no result of FAIRGAME: KeyError"),
        ("a.json", {"rows": changed(agent2_strategies=[A])}, "game 1: is no result of FAIRGAME"),
        ("a.json", changed(agent1_beliefs=[3, 3, 3]), "game 1: is no result of FAIRGAME"),
        (
            "a.csv",
            changed(agent1_strategies="__import__('os')"),
            "line 2: is no result of FAIRGAME",
        ),
        ("a.csv", changed(1, agent3_strategies=[A, A]), "line 3: has more than two agents"),
        ("a.csv", changed(1, agent1_scores=[1.0, 6.0], agent2_strategies=[A, A]), "no payoffs"),
        ("a.json", changed(payoff_direction="cost"), "'cost' is neither reward nor penalty"),
        (
            "a.csv",
            changed(agent1_scores="[nan, 0, 0]"),
            "line 2: is no result of FAIRGAME: agent1_",
        ),
        ("a.json", changed(agent1_scores=[6.0, float("nan"), 2.0]), "points nan, 0 are no numbers"),
        # would count twice
        ("a.csv", [*RESULTS, RESULTS[1]], "line 4, round 1: the game 'game_1' was there before"),
        ("a.csv", RESULTS[:1], "is none that ships, and nobody played OptionA/OptionB: name it"),
        # without this, costs would be measured as if they were rewards
        ("a.csv", changed(**REGRETS), "Are they costs?"),
        ("a.csv", REPEATED.replace("3,act_gpt9", "4,act_gpt9"), "line 4: round '4' follows no"),
        (
            "a.csv",
            REPEATED.replace("J,J,8,8,16", "J,J,7,8,16"),
            "line 6: J, J earns 7, 8, elsewhere",
        ),
        (
            "a.csv",
            REPEATED.replace("3,act_gpt9,act_tft,F,F,5,5", "3,act_gpt9,act_tft,F,J,10,0"),
            "line 4: episode '1': 'tit_for_tat' cannot have played action 0 in step 3",
        ),
    ],
)
def test_what_is_malformed_is_one_error(
    tomeval, tmp_path, monkeypatch, name, text, message
) -> None:
    monkeypatch.chdir(tmp_path)
    if isinstance(text, str):
        (tmp_path / name).write_text(text)
    elif name.endswith("json"):
        (tmp_path / name).write_text(json.dumps(text))
    else:
        as_csv(tmp_path / name, text)
    code, out, errors = tomeval("import", name)
    assert (code, out) == (2, "")
    assert message in errors
    assert [path.name for path in tmp_path.iterdir()] == [name]


# --- what is unclear, at once ---------------------------------------------------------------------


def proposed(errors):
    """Return the command that an error proposes, as a shell would read it."""
    return shlex.split(errors.partition("  tomeval ")[2].replace("\\\n", " "))


def test_the_proposed_command_says_all_that_was_unclear(tomeval, rows, tmp_path) -> None:
    text = "\ufeffwho;Match;Round;Me;Other;Points;Bot\r\n"
    text += "ann;a;1;C;C;8,0;TFT\r\nann;a;2;D;C;10,0;TFT\r\nbob;b;1,0;quit;C;;TFT\r\n"
    (tmp_path / "log.csv").write_bytes(text.encode())
    given = ("--game", "IPD", "--value", "quit=invalid", "--out", "runs/log 2")
    code, _, errors = tomeval("import", "log.csv", *given)
    assert code == 2
    command = proposed(errors)
    assert command[-2:] == ["--out", "runs/log 2"]
    command[-1] = "runs/log"
    for option in ("C=Cooperate", "D=Defect", "TFT=tit_for_tat", "episode=Match", "who"):
        assert option in command
    found, _, _ = rows(*command[1:])
    assert [(row["subject"], row["delta_functional_per_step"]) for row in found] == [
        ("ann", 0),
        ("bob", None),
    ]


def test_what_cannot_be_guessed_stands_in_capitals(tomeval, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log.csv"
    log.write_text("game,partner,episode,step,mine,partner_action\nPD,x.toml,1,1,C,Z\n")
    command = proposed(tomeval("import", log)[2])
    for option in ("own_action=COLUMN", "PD=IPD", "Z=ACTION", "x.toml=PARTNER"):
        assert option in command
    assert proposed(tomeval("import", log, *command[2:])[2]) == []  # it fails by its own words


def test_matches_without_numbers_are_counted(tomeval, rows, tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(
        "step\town_action\tpartner_action\n1\tRock\tPaper\n2\tRock\tRock\n1\tRock\tRock\n"
    )
    command = proposed(tomeval("import", "log.csv")[2])
    assert command[2:] == ["--map", "episode=", "--partner", "unknown", "--game", "RPS"]
    found, _, _ = rows(*command[1:])
    assert (found[0]["episodes"], found[0]["reward_per_step"]) == (2, -0.25)
    log.write_text("step\town_action\tpartner_action\n1\tRock\tPaper\n3\tRock\tRock\n")
    assert (
        "line 3: a gap in episode '1'"
        in tomeval("import", "log.csv", "--out", "o", *command[2:])[2]
    )


def test_codes_that_rewards_turn_round(tomeval, rows, tmp_path) -> None:
    """1 cooperates: as action numbers the rewards do not fit, so it is asked and never assumed."""
    head = "subject,partner,episode,step,own_action,partner_action,own_reward\n"
    (tmp_path / "log.csv").write_text(head + "1,tit_for_tat,1,1,1,1,8\n1,tit_for_tat,1,2,0,1,10\n")
    code, _, errors = tomeval("import", "log.csv", "--game", "IPD")
    assert code == 2
    command = proposed(errors)
    assert command[-4:] == ["--value", "0=Defect", "--value", "1=Cooperate"]
    [row], _, _ = rows(*command[1:])
    assert (row["subject"], row["delta_functional_per_step"]) == ("1", 0)


def test_columns_in_capitals_with_spaces_and_codes_from_1(tomeval, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log.csv"
    log.write_text("Game,Partner,Episode,Step,my move,$(Other)\nIPD,tit_for_tat,1,1,1,1\n")
    command = proposed(tomeval("import", "log.csv")[2])
    assert "episode=Episode" in command
    assert "game=Game" in command
    assert "own_action=COLUMN" not in command
    assert "own_action=my move" in command
    assert "partner_action=$(Other)" in command  # a shell would run it, but for its quotes
    log.write_text("episode,step,own_action,partner_action\n1,1,1,2\n")
    command = proposed(tomeval("import", "log.csv", "--game", "IPD", "--partner", "unknown")[2])
    assert command[-4:] == ["--value", "1=ACTION", "--value", "2=ACTION"]  # not 2 alone


@pytest.mark.parametrize("text", ["D" * 100_000, "\x1b[31mD"])
def test_no_command_is_proposed_that_nobody_could_type(tomeval, tmp_path, text) -> None:
    log = tmp_path / "log.csv"
    log.write_text(f"episode,step,own_action,partner_action\n1,1,{text},Defect\n")
    code, _, errors = tomeval("import", log, "--game", "IPD", "--partner", "unknown")
    assert code == 2
    assert "line 2: own_action 'D" in errors.replace("\\x1b[31m", "")
    assert len(errors) < 400
    assert "\x1b" not in errors
    assert proposed(errors) == []


# --- regret in hindsight --------------------------------------------------------------------------


def test_regret_in_hindsight_stands_beside_regret(tomeval, rows, tmp_path) -> None:
    """Always defecting earns 505 of 802 and has nothing to regret in hindsight; cooperating 800."""
    steps = ["subject,episode,step,own_action,partner_action"]
    steps += [f"defects,1,{n},Defect,{'Defect' if n > 1 else 'Cooperate'}" for n in range(1, 101)]
    steps += [f"cooperates,1,{n},Cooperate,Cooperate" for n in range(1, 101)]
    (tmp_path / "log.csv").write_text("\n".join(steps))
    found, _, _ = rows("log.csv", "--game", "IPD", "--partner", "tit_for_tat")
    names = ("hindsight_constant_regret_per_step", "delta_functional_per_step")
    assert [[row[name] for name in names] for row in found] == [[0, 2.97], [2, 0.02]]
    _, out, notes = tomeval("table", "runs/log")
    assert "hindsight" in out
    assert "differ in sign and order, as here for defects and cooperates, 0.000 and 2.000 in" in (
        " ".join(notes.split())
    )
    (tmp_path / "alone.csv").write_text((tmp_path / "log.csv").read_text())
    found, _, notes = rows("alone.csv", "--game", "IPD", "--partner", "unknown")
    assert [row[names[0]] for row in found] == [0, 2]
    assert names[1] not in found[0]
    assert "cannot be computed" in notes
