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
        variant = bound["against_variant"]
        other = book.median(bound["metric"], variant, bound["value"], bound["peer"])
        return value / other if value and other else None, f"times that of {variant}"
    return value, ""


def excuse(bound, book, left_out):
    """Why this machine cannot show what is bounded; empty if it can."""
    for peer in (bound["peer"], bound.get("against")):
        if peer in left_out:
            return f"{peer}: {left_out[peer]}"
        cell = book.cells.get((bound["metric"], bound["variant"], peer))
        if cell and cell.absent:
            return f"{peer}: {cell.absent}"
    return ""


def excused_bounds(bounds, book, metrics, left_out):
    """A line for each that cannot be judged here: to be told, not to fail."""
    asked = [bound for bound in bounds.get("bound", []) if bound["metric"] in metrics]
    reasons = [(bound, excuse(bound, book, left_out)) for bound in asked]
    return [f"{name_of(bound)}: {reason}" for bound, reason in reasons if reason]


def broken_bounds(bounds, book, metrics, left_out):
    """(metric, line) for each bound of these metrics that does not hold."""
    broken = []
    for bound in bounds.get("bound", []):
        if bound["metric"] not in metrics or excuse(bound, book, left_out):
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
