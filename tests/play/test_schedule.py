"""The order of play and what stops a cell, against lists that hold every episode."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.play.schedule import Schedule

NUMBERS = st.lists(st.integers(0, 9), unique=True, max_size=8).map(sorted)


class Lists:
    """What a schedule does, written down as plainly as possible."""

    def __init__(self, episodes, after):
        self.jobs = [
            (c, e) for e, c in sorted((e, c) for c, some in episodes.items() for e in some)
        ]
        self.order = {cell: list(some) for cell, some in episodes.items()}
        self.begun, self.void = dict.fromkeys(episodes, 0), set()
        self.after, self.through = after, set()

    def take(self):
        for job in self.jobs:
            cell = job[0]
            if not self.after or cell in self.through or self.begun[cell] < self.after:
                self.jobs.remove(job)
                self.begun[cell] += 1
                return job
        return None

    def ended(self, cell, episode, status):
        if status == "complete":
            self.through.add(cell)
        elif status == "failed":
            self.begun[cell] -= 1
            self.order[cell].remove(episode)
        else:
            self.void.add((cell, episode))
            order, rows = self.order[cell], [[]]
            for e in order:
                if (cell, e) in self.void:
                    rows[-1].append(e)
                else:
                    rows.append([])
            row = next(row for row in rows if episode in row)
            return row if 0 < self.after <= len(row) else []
        return []


@settings(max_examples=50, deadline=None)
@given(
    cells=st.dictionaries(st.integers(0, 4), NUMBERS, max_size=4),
    after=st.integers(0, 3),
    data=st.data(),
)
def test_it_does_what_lists_do(cells, after, data) -> None:
    ours = Schedule(cells, after)
    plain, playing, stopped = Lists(cells, after), [], set()
    assert ours.cells == sorted(cell for cell, some in cells.items() if some)
    for _ in range(data.draw(st.integers(0, 40))):
        what = data.draw(st.sampled_from(["take", "take", "end", "back", "stop", "step"]))
        if what == "take":
            job = plain.take()
            assert ours.take() == job
            playing += [job] if job else []
        elif what == "end" and playing:
            job = playing.pop(data.draw(st.integers(0, len(playing) - 1)))
            status = data.draw(st.sampled_from(["complete", "void", "failed"]))
            row = plain.ended(*job, status)
            assert ours.ended(*job, status) == (row if job[0] not in stopped else [])
        elif what == "back" and playing:
            job = playing.pop()
            ours.give_back(job)
            plain.jobs.append(job)
            plain.begun[job[0]] -= 1
        elif what == "step" and playing:
            ours.stepped(playing[0][0])
            plain.through.add(playing[0][0])
        elif what == "stop" and cells:
            cell = data.draw(st.sampled_from(sorted(cells)))
            assert ours.stop(cell, "so") == sum(job[0] == cell for job in plain.jobs)
            stopped.add(cell)
            plain.jobs = [job for job in plain.jobs if job[0] != cell]
        assert len(ours) == len(plain.jobs)
