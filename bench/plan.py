"""How much is measured: the whole, in some minutes, and the short form, in one."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Plan:
    metrics: tuple
    peers: tuple  # by name; empty: all
    rounds: int  # of the quick metrics; peers take turns within a round
    block: int  # runs in a row of one peer, where a run is quick
    deadlines: tuple  # seconds
    drain: dict  # number of descendants: rounds
    chain: dict
    storms: tuple  # (variant, verb, number)
    storm_rounds: int
    idle: tuple  # rounds, seconds each
    crowd: int  # supervisors at once
    rate_seconds: float
    sessions: dict  # concurrent sessions of quietusctl: rounds
    function_seconds: float  # for each pure function
    variant_seconds: float  # after which no new round of a variant begins: the machine is slow
    patience: float  # seconds, in all, that are spent on waiting for a quiet machine


ALL_METRICS = (
    "startup", "exit_to_receipt", "deadline_overshoot", "kill_overshoot", "stop_latency", "drain",
    "chain", "storm", "zombies", "idle", "memory", "throughput", "size", "sessions", "functions",
    "instructions",
)  # fmt: skip

FULL = Plan(
    metrics=ALL_METRICS,
    peers=(),
    rounds=20,
    block=5,
    # Multiples of 50 ms flatter whoever looks every 50 ms.
    deadlines=(0.2, 0.21),
    drain={10: 20, 100: 20, 1000: 7, 5000: 3, 20000: 3},
    chain={10: 10, 100: 10, 1000: 3},
    storms=(("1 comet", "comet", 1), ("64 comets", "comet", 64), ("bomb of 400", "bomb", 64)),
    storm_rounds=3,
    idle=(3, 8.0),
    crowd=1000,
    rate_seconds=1.0,
    sessions={1: 3, 10: 3, 100: 2, 1000: 1},
    function_seconds=0.05,
    variant_seconds=20,
    patience=20,
)

SHORT = dataclasses.replace(
    FULL,
    metrics=(
        "startup", "exit_to_receipt", "stop_latency", "drain", "storm", "zombies", "idle", "memory",
        "throughput", "size", "sessions", "functions", "instructions",
    ),
    peers=("quietus", "quietus --isolate", "tini", "timeout", "unshare"),
    rounds=5,
    block=4,
    drain={10: 3, 100: 3, 1000: 3},
    storms=(("64 comets", "comet", 64), ("bomb of 400", "bomb", 64)),
    storm_rounds=1,
    idle=(1, 4.0),
    crowd=50,
    rate_seconds=0.4,
    sessions={1: 1, 10: 1},
    function_seconds=0.02,
    variant_seconds=10,
    patience=0,
)  # fmt: skip
