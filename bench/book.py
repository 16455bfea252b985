"""The book of results: a cell for each metric, variant and peer."""

import collections
import dataclasses

from samples import paired_ratio, summary


@dataclasses.dataclass
class Cell:
    metric: str
    variant: str
    peer: str
    attempted: int = 0
    failed: int = 0
    reasons: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    samples: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    notes: dict = dataclasses.field(default_factory=dict)
    absent: str = ""  # why nothing was measured

    @property
    def has_only_failed(self):
        return self.failed > 0 and self.failed == self.attempted

    def add(self, round_, values):
        self.attempted += 1
        for name, value in values.items():
            self.samples[name].append((round_, value))

    def fail(self, reasons):
        self.attempted += 1
        self.failed += 1
        self.reasons.update(set(reasons))

    def note(self, name):
        self.notes[name] = self.notes.get(name, 0) + 1


class Book:
    def __init__(self, reference):
        self.reference = reference
        self.cells = {}

    def cell(self, metric, variant, peer):
        key = metric, variant, peer
        if key not in self.cells:
            self.cells[key] = Cell(*key)
        return self.cells[key]

    def forget(self, metrics):
        """Before these are measured again."""
        self.cells = {key: cell for key, cell in self.cells.items() if key[0] not in metrics}

    def ratio(self, metric, variant, value, peer, against):
        """How many times `against` this peer needs; None where either was not measured."""
        mine = self.cells.get((metric, variant, peer))
        theirs = self.cells.get((metric, variant, against))
        if not mine or not theirs or value not in mine.samples or value not in theirs.samples:
            return None
        return paired_ratio(mine.samples[value], theirs.samples[value])

    def median(self, metric, variant, value, peer):
        cell = self.cells.get((metric, variant, peer))
        if not cell or value not in cell.samples:
            return None
        return summary(cell.samples[value])["median"]

    def results(self):
        """As plain data, for the JSON."""
        return [self.plain(cell) for cell in self.cells.values()]

    def plain(self, cell):
        values = {}
        for name, samples in cell.samples.items():
            values[name] = summary(samples)
            if cell.peer != self.reference:
                values[name]["ratio"] = self.ratio(
                    cell.metric, cell.variant, name, cell.peer, self.reference
                )
            values[name]["samples"] = [[number, round(value, 6)] for number, value in samples]
        return {
            "metric": cell.metric,
            "variant": cell.variant,
            "peer": cell.peer,
            "attempted": cell.attempted,
            "failed": cell.failed,
            "reasons": dict(cell.reasons),
            "notes": cell.notes,
            "absent": cell.absent,
            "values": values,
        }
