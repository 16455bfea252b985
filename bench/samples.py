"""Statistics of a cell: what was measured in which round, to medians, percentiles and ratios."""

import collections
import statistics


def quantile(values, share):
    """Between the two nearest ranks, linearly."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def summary(samples):
    """Of (round, value) pairs."""
    values = [value for _, value in samples]
    return {
        "runs": len(values),
        "median": statistics.median(values),
        "p99": quantile(values, 0.99),
        "least": min(values),
        "most": max(values),
    }


def medians_by_round(samples):
    rounds = collections.defaultdict(list)
    for number, value in samples:
        rounds[number].append(value)
    return {number: statistics.median(values) for number, values in rounds.items()}


def paired_ratio(samples, reference):
    """Times the reference, taken round by round: what both met in one round cancels out.

    None where no round has both, or where a value is not positive and a ratio says nothing.
    """
    mine, theirs = medians_by_round(samples), medians_by_round(reference)
    if any(value <= 0 for value in [*mine.values(), *theirs.values()]):
        return None
    ratios = [mine[number] / theirs[number] for number in mine if number in theirs]
    return statistics.median(ratios) if ratios else None
