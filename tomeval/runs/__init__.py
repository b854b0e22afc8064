"""From an experiment to cells, episodes, the store and results, for every kind of game.

May import core, statistics, models and strategies; a domain is reached through its contract, given
here. A store (`store.py`, `tallies.py`) is read as a `results.Run` of cells (`cell.py`) with
measures; `tomeval.play` fills it.
"""

from tomeval.runs.domain import Cell, Domain, Line, Player, get_domain
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.record import Record, Schema

__all__ = ["Cell", "Domain", "Line", "Measure", "Player", "Record", "Schema", "Totals"]
__all__ += ["get_domain"]
