"""One folder per extension, each with one object. Each may import every other room, none does it.

Their table is `tomeval.core.shipped.SHIPPED`.
"""
