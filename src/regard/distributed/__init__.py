"""One sequence over several processes: attention whose queries and keys are divided among them.

Each process holds a part of the sequence. `attend` computes what one process with all of it would, to rounding, for any
parts; a mask decides what is sent. `summarise` and `weigh` are those of the weights. `shard` divides a tensor,
`unshard` puts it together, and `with_neighbours` gives each process the items next to its own.
"""

from regard.distributed.attend import attend, plan
from regard.distributed.layout import ORDERS, shard, unshard
from regard.distributed.neighbours import with_neighbours
from regard.distributed.plan import EXCHANGES, SharedPlan
from regard.distributed.summarise import summarise, weigh

__all__ = [
    "EXCHANGES",
    "ORDERS",
    "SharedPlan",
    "attend",
    "plan",
    "shard",
    "summarise",
    "unshard",
    "weigh",
    "with_neighbours",
]
