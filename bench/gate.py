"""The regression gate: what was measured against the bounds in bounds.toml.

A clock is believed only as a ratio to what was measured beside it; counts, sizes and instructions
are compared as they are.
"""

import tomllib

from tables import number


def read_bounds(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


def name_of(bound):
    return f"{bound['metric']} ({bound['variant']}), {bound['value']}"


def measured(bound, book):
    """The number that is bounded, and words for it; None where something was not measured."""
    where = bound["metric"], bound["variant"], bound["value"]
    if "against" in bound:
        ratio = book.ratio(*where, bound["peer"], bound["against"])
        return ratio, f"times {bound['against']}"
    value = book.median(*where, bound["peer"])
    if "against_variant" in bound:
        other = book.median(bound["metric"], bound["against_variant"], where[2], bound["peer"])
        return value / other if value and other else None, f"times that of {bound['against_variant']}"
    return value, ""


def broken_bounds(bounds, book, metrics):
    """(metric, line) for each bound of these metrics that does not hold."""
    broken = []
    for bound in bounds.get("bound", []):
        if bound["metric"] not in metrics:
            continue
        value, words = measured(bound, book)
        if value is None:
            broken.append((bound["metric"], f"{name_of(bound)}: not measured for {bound['peer']}"))
        elif value > bound["most"]:
            line = f"{name_of(bound)}: {bound['peer']} has {number(value)} {words}".rstrip()
            broken.append((bound["metric"], f"{line}; at most {number(bound['most'])}"))
    if "instructions" in metrics:
        broken += [("instructions", line) for line in broken_counts(bounds["instructions"], book)]
    return broken


def broken_counts(stored, book):
    counts = {
        variant: cell.samples["instructions"][0][1]
        for (metric, variant, _), cell in book.cells.items()
        if metric == "instructions"
    }
    lines = []
    for name, count in counts.items():
        if name not in stored["counts"]:
            lines.append(f"instructions ({name}): {count}; bounds.toml has no such function")
    for name, count in stored["counts"].items():
        most = count * stored["slack"]
        if name not in counts:
            lines.append(f"instructions ({name}): not counted")
        elif counts[name] > most:
            lines.append(f"instructions ({name}): {counts[name]}; at most {most:.0f}")
    return lines
