"""From an experiment to cells, episodes, the store and results, for every kind of game.

An experiment (`experiment.py`) is checked and expands into cells, each with players in seats and a
number of episodes. `runner.py` opens the run folder (`folder.py`, `writer.py`) and its store
(`store.py`), and finds what is not played yet. `filling.py` hands that out: an engine
(`engines.py`) plays cells without a model, `engine.py` those of language models in the order of
`schedule.py`. An episode is a `Block`, stored as `rows.py` in one transaction with its checksum
(`checksums.py`); replies of unfinished ones are kept, so that a run goes on where it was killed.
`results.Run` reads a store (`stored.py`, `tallies.py`) as cells (`cell.py`) with measures, which
tables, figures, comparisons and reports show.

May import core, statistics, models and strategies; a domain is reached through its contract
(`domain.py`, `capabilities.py`).
"""

from tomeval.runs.capabilities import Compare, Describe, Line, Play, Rate, Read, Show
from tomeval.runs.domain import Block, Cell, Domain, Player, get_domain, register_domain
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.schema import Schema

__all__ = ["Compare", "Describe", "Domain", "Play", "Rate", "Read", "Show"]
__all__ += ["Block", "Cell", "Line", "Measure", "Player", "Schema", "Totals"]
__all__ += ["get_domain", "register_domain"]
