"""What is looked up once for each object."""

import gc
import weakref

from tomeval.core.once import once_each


class Opened:
    """Stands for a store."""


def test_each_object_is_looked_up_once_however_many_there_are():
    asked = []

    @once_each
    def look(of):
        asked.append(of)
        return None  # a result that is no truth is remembered as well

    several = [Opened() for _ in range(20)]
    for _ in range(3):
        assert [look(of) for of in several] == [None] * 20
    assert asked == several


def test_no_object_is_kept_alive():
    look = once_each(lambda of: 1)
    opened = Opened()
    seen = weakref.ref(opened)
    assert look(opened) == 1
    del opened
    gc.collect()
    assert seen() is None
