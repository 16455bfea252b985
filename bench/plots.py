"""The two plots: what an end costs by the number of descendants, and how soon a stop arrives."""

import collections

from svg import Axis, Chart


def cells_of(data, metric):
    return [cell for cell in data["results"] if cell["metric"] == metric]


def drain_chart(data):
    cells = [cell for cell in cells_of(data, "drain") if cell["peer"] in data["peers"]]
    lines = {}
    reasons = collections.defaultdict(collections.Counter)
    for cell in cells:
        reasons[cell["peer"]].update(cell["reasons"])
        points, failed = lines.setdefault(cell["peer"], ([], []))
        if "ms" in cell["values"]:
            points.append((int(cell["variant"]), cell["values"]["ms"]["median"]))
        if cell["failed"]:
            failed.append((cell["variant"], cell["failed"], cell["attempted"]))
    chart = Chart(
        "From the command's exit until everything is gone",
        Axis("descendants, each in a session of its own", sizes(lines), logarithmic=True),
        Axis("milliseconds (median)", heights(lines), logarithmic=True),
    )
    for peer in in_order(data, lines):
        points, failed = lines[peer]
        remark = ""
        if failed and not points:
            remark = "failed: " + reasons[peer].most_common(1)[0][0]
        elif failed:
            words = (f"{bad} of {tried} at {size}" for size, bad, tried in failed)
            remark = "failed: " + ", ".join(words)
        chart.add(peer, sorted(points), remark)
    return chart


def sizes(lines):
    return [x for points, _ in lines.values() for x, _ in points]


def heights(lines):
    return [y for points, _ in lines.values() for _, y in points]


def stop_chart(data):
    """The distribution: which share of the stops had arrived after how long."""
    lines, failed = {}, {}
    for cell in cells_of(data, "stop_latency"):
        if cell["absent"] or cell["peer"] not in data["peers"]:
            continue
        name = cell["peer"] + (", stop file" if "file" in cell["variant"] else "")
        samples = cell["values"].get("to TERM ms", {}).get("samples", [])
        values = sorted(value for _, value in samples)
        lines[name] = [(value, (rank + 1) / len(values)) for rank, value in enumerate(values)]
        failed[name] = f"{cell['failed']} of {cell['attempted']} failed" if cell["failed"] else ""
    chart = Chart(
        "From a stop to the TERM that the command sees",
        Axis("milliseconds", [x for points in lines.values() for x, _ in points], logarithmic=True),
        Axis("share of the runs", [1], logarithmic=False),
    )
    for name in in_order(data, lines):
        chart.add(name, lines[name], failed[name], markers=False)
    return chart


def in_order(data, lines):
    order = list(data["peers"])
    return sorted(lines, key=lambda name: (order.index(name.partition(",")[0]), name))


def write(data, folder):
    for name, chart in (("drain", drain_chart(data)), ("stop-latency", stop_chart(data))):
        if chart.series:
            (folder / f"{name}.svg").write_text(chart.svg())
