"""Published results that are checked: ``experiments/audit.py``."""

from __future__ import annotations

import runpy
import subprocess
import sys

import pytest
from support import ROOT

from tomeval.games.matrix.responses import RULES

SCRIPT = ROOT / "experiments" / "audit.py"
judge = runpy.run_path(str(SCRIPT))["judge"]


def test_audit_flags_the_one_row_on_both_grounds() -> None:
    rows, _ = judge("reported_results")
    columns = ["table", "model", "prompting", "game", "partner", "metric", "mean", "ci95"]
    assert [list(row) for row in rows] == [[*columns, "reason"]] * 2
    assert {row["metric"] for row in rows} == {"delta_functional_per_step", "delta_tom_per_step"}
    for row in rows:
        assert (row["table"], row["game"], row["partner"]) == ("4", "IPD", "tit_for_tat")
        assert row["model"] == "DeepSeek-R1 Distilled 32B"
    reasons = {row["metric"]: row["reason"] for row in rows}
    assert "3.02" in reasons["delta_functional_per_step"]  # the range it would have to lie in
    assert "8.51" in reasons["delta_tom_per_step"]
    assert "2.0000 to 5.0000 under misprediction" in reasons["delta_tom_per_step"]
    assert "3.5000 to 3.5000 under mean_misprediction" in reasons["delta_tom_per_step"]


def audited(tmp_path, *rows: str) -> list[dict]:
    path = tmp_path / "r.csv"
    path.write_text(
        "table,model,prompting,game,partner,metric,mean,ci95\n" + "\n".join(rows) + "\n"
    )
    return judge(path)[0]


def test_audit_allows_for_rounding_and_no_more(tmp_path) -> None:
    # IPD tit for tat: at most 3.02, so 3.0 and 3.02 and (rounded up from 3.02) 3 pass, 3.03 not.
    def row(mean: str) -> str:
        return f"1,m,p,IPD,tit_for_tat,delta_functional_per_step,{mean},0.1"

    for mean, code in (("3.02", 0), ("3", 0), ("3.0", 0), ("3.03", 1), ("-0.02", 0), ("-3", 1)):
        assert len(audited(tmp_path, row(mean))) == code, mean
    # ToM 98.6 +- 0.05: 1.35 to 1.45 % errors; in IBS each costs 7 to 10: 0.0945 to 0.145
    tom = "1,m,p,IBS,single_action,tom_percent,98.6,0.3"
    for mean, code in (("0.094", 0), ("0.093", 1), ("0.145", 0), ("0.146", 1), ("0.1", 0)):
        delta = f"1,m,p,IBS,single_action,delta_tom_per_step,{mean},0.1"
        assert len(audited(tmp_path, tom, delta)) == code, mean
    assert len(audited(tmp_path, "1,m,p,IBS,single_action,tom_percent,100.2,0")) == 1
    assert len(audited(tmp_path, "1,m,p,IBS,single_action,tom_percent,100,")) == 0


@pytest.mark.parametrize(
    ("delta", "code"),
    [
        ("0.000", 0),  # best response: defecting is best whatever is predicted
        ("0.2", 0),  # misprediction: 10 % errors that cost 2 to 5
        ("0.5", 0),
        ("0.35", 0),  # and their mean
        ("0.1", 1),  # no rule: between 0 and 0.2
        ("0.6", 1),
    ],
)
def test_audit_accuses_only_where_no_rule_fits(tmp_path, delta, code) -> None:
    rows = [
        "1,m,p,IPD,single_action,tom_percent,90.0,1",
        f"1,m,p,IPD,single_action,delta_tom_per_step,{delta},0.1",
    ]
    assert len(audited(tmp_path, *rows)) == code


def test_audit_says_which_rules_the_published_rows_follow() -> None:
    # Counted by hand from the file with the costs of docs/measures.md: in the prisoner's
    # dilemma no row is 0, as best response has it; against tit for tat tabular RMax has 0.070 at
    # 98.0 %, which is 3.5 an error, and the row that cannot be true fits nothing.
    fits = {(row["game"], row["partner"]): row for row in judge("reported_results")[1]}
    single, reacting = fits["IPD", "single_action"], fits["IPD", "tit_for_tat"]
    assert [single[name] for name in ("rows", *RULES)] == [26, 0, 26, 0]
    assert [reacting[name] for name in ("rows", *RULES)] == [2, 0, 1, 1]
    done = subprocess.run(
        [sys.executable, SCRIPT], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "2 rows cannot be true" in done.stdout
