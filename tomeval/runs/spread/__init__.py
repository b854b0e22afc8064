"""One run on many machines: leases that replicas play, and shards whose folders are merged.

The driver is the process that a user starts. It alone opens the store, hands out leases and commits
what comes back, so a replica that is lost takes nothing with it but time. What a replica and the
driver say to each other is in `messages`, what carries it in `contract`.

How it works
------------
Cells with the same models are a group. The driver (`driver`) gives each replica leases: episodes of
one group, with the replies that are kept of earlier tries. A replica (`worker`) opens the group's
models and plays its leases with the code that one process plays with; it holds two leases, so that
it never waits for the next one. The first ones are small, later ones take one to five minutes by
the replica's own speed, and towards the end each gets no more than its share of what is left, so
that all end together (`leases`).

A replica says what happens as it happens: an episode begins, a reply came, an episode is over
(`outbox`). The driver commits each answer in one transaction and then asks again; that question
tells the replica that its answer is committed. A replica waits once 32 MB are not.

So a lost replica loses what it had not said. What it held waits again; kept replies go along and
are not asked for again. An episode that had begun counts a loss, and after three it is stored as
failed (`lost`), as without a reply. One of them may be what kills the process, so an episode that
was lost twice is played last, and alone. A place that loses three replicas in a row, none of which
finished anything, is given up; six, where each played one episode. A replica that does not answer
for a minute loses what it held and may come back: the first result of an episode is kept, a second
one is compared with it, and a difference is logged and never written. Libraries and revisions must
be the same on all replicas (`same`).

Cells stop as in one process: the driver counts, and asks replicas for the episodes that have not
begun. Cells with a served model play in the driver.
"""
