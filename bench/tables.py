"""The results as Markdown: an overview, then one table for each metric and variant."""

from peers import BARE

TITLES = {
    "startup": "Start",
    "exit_to_receipt": "Exit to receipt",
    "deadline_overshoot": "Deadline overshoot",
    "kill_overshoot": "Kill overshoot",
    "stop_latency": "Stop latency",
    "drain": "Drain: descendants in sessions of their own",
    "chain": "Chain: each the child of the one before",
    "storm": "Storms",
    "zombies": "Zombies",
    "idle": "Idle",
    "memory": "Memory of the supervisors",
    "throughput": "Throughput",
    "size": "Size",
    "sessions": "The controller: local sessions of quietusctl",
    "functions": "Pure functions: time",
    "instructions": "Pure functions: instructions",
}

# What to look at first: words, metric, beginning of the variant, value.
OVERVIEW = (
    ("start, ms", "startup", "to the worker", "ms"),
    ("`true`, ms", "startup", "true", "ms"),
    ("exit to receipt, ms", "exit_to_receipt", "", "to receipt ms"),
    ("exit to exit, ms", "exit_to_receipt", "", "to supervisor's exit ms"),
    ("deadline overshoot, ms", "deadline_overshoot", "0.21", "ms"),
    ("kill overshoot, ms", "kill_overshoot", "", "ms"),
    ("TERM passed on, ms", "stop_latency", "SIGTERM", "to TERM ms"),
    ("stop file seen, ms", "stop_latency", "stop file", "to TERM ms"),
    ("drain of 10, ms", "drain", "10", "ms"),
    ("drain of 100, ms", "drain", "100", "ms"),
    ("drain of 1000, ms", "drain", "1000", "ms"),
    ("drain of 5000, ms", "drain", "5000", "ms"),
    ("drain of 20000, ms", "drain", "20000", "ms"),
    ("chain of 1000, ms", "chain", "1000", "ms"),
    ("64 comets, ms", "storm", "64 comets", "ms"),
    ("bomb, ms", "storm", "bomb", "ms"),
    ("zombies of 1000", "zombies", "", "zombies"),
    ("idle wake-ups a minute", "idle", "", "wake-ups a minute"),
    ("memory of one, PSS KiB", "memory", "one", "PSS KiB"),
    ("to carry in, bytes", "size", "", "to carry in, bytes"),
    ("`true` a second", "throughput", "true, 1", "runs a second"),
)
# Of the numbers alone one variant may be the beginning of another.
EXACT = ("drain", "chain", "memory")
# Of fewer runs the greatest would be called so.
RUNS_FOR_P99 = 10
# What says how a run was, not how good.
UNCOMPARED = ("forks", "processes", "besides, files", "besides, bytes")


def number(value):
    size = abs(value)
    if value == int(value):
        return f"{int(value):,}"
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3f}"


def markdown(rows):
    """The first row is the head."""
    rows = [[str(word).replace("|", "\\|") for word in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(word.ljust(width) for word, width in zip(row, widths)) + " |"
        for row in rows
    ]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines) + "\n"


def matches(cell, metric, variant):
    if cell["metric"] != metric:
        return False
    if metric in EXACT:
        return cell["variant"] == variant
    return cell["variant"].startswith(variant)


def overview_word(cells, peer, metric, variant, value):
    for cell in cells:
        if cell["peer"] != peer or not matches(cell, metric, variant):
            continue
        words = number(cell["values"][value]["median"]) if value in cell["values"] else ""
        if cell["failed"]:
            words += f" **{cell['failed']} of {cell['attempted']} failed**"
        elif cell["absent"].startswith("failed"):
            words = f"**{cell['absent']}**"
        return words.strip()
    return ""


def overview(data):
    """Medians. A row for each number, a column for each peer that does more than one thing."""
    cells = data["results"]
    names = [BARE] + [name for name, peer in data["peers"].items() if not peer["metrics"]]
    rows = [["median", *names]]
    for words, metric, variant, value in OVERVIEW:
        row = [overview_word(cells, name, metric, variant, value) for name in names]
        if any(row):
            rows.append([words, *row])
    return markdown(rows) if len(rows) > 1 else ""


def details(data):
    """{title: text} for each metric."""
    groups = {}
    for cell in data["results"]:
        groups.setdefault(cell["metric"], {}).setdefault(cell["variant"], []).append(cell)
    order = [BARE, *data["peers"]]

    def rank(cell):
        return order.index(cell["peer"]) if cell["peer"] in order else len(order)

    result = {}
    for metric, variants in groups.items():
        if metric in ("functions", "instructions", "sessions"):
            # One peer: the variants are the rows.
            cells = [cell for row in variants.values() for cell in row]
            result[TITLES[metric]] = table(cells, "variant", data["reference"])
            continue
        parts = []
        for variant, cells in variants.items():
            text = table(sorted(cells, key=rank), "peer", data["reference"])
            parts.append(f"{variant}:\n\n{text}" if text else "")
        result[TITLES[metric]] = "\n".join(parts)
    return result


def table(cells, first, reference):
    """One row for each cell that was measured; the others are named below."""
    measured = [cell for cell in cells if cell["attempted"]]
    values = []
    for cell in measured:
        values += [value for value in cell["values"] if value not in values]
    has_p99 = any(
        stats["runs"] >= RUNS_FOR_P99 for cell in measured for stats in cell["values"].values()
    )
    compared = {
        value
        for value in values
        if value not in UNCOMPARED
        and any(cell["values"].get(value, {}).get("ratio") for cell in measured)
    }
    remarked = any(cell["failed"] or cell["notes"] for cell in measured)
    head = [first, "runs"]
    for value in values:
        head += [value]
        head += ["p99"] if has_p99 else []
        head += [f"x {reference}"] if value in compared else []
    head += ["failed, notes"] if remarked else []
    rows = [head]
    for cell in measured:
        row = [cell[first], str(cell["attempted"] - cell["failed"])]
        for value in values:
            stats = cell["values"].get(value)
            row.append(number(stats["median"]) if stats else "**failed**" if cell["failed"] else "")
            row += [number(stats["p99"]) if stats else ""] if has_p99 else []
            ratio = stats.get("ratio") if stats else None
            row += [number(ratio) if ratio else ""] if value in compared else []
        if remarked:
            row.append(remark(cell))
        rows.append(row)
    text = markdown(rows) if measured else ""
    absent = {}
    for cell in cells:
        if cell["absent"]:
            absent.setdefault(cell["absent"], []).append(cell["peer"])
    for why, names in absent.items():
        text += f"\nNot measured, {why}: {', '.join(names)}.\n"
    return text


def remark(cell):
    words = [f"{cell['failed']} of {cell['attempted']}"] if cell["failed"] else []
    words += [f"{count}x {reason}" for reason, count in cell["reasons"].items()]
    words += [f"{count} {note}" for note, count in cell["notes"].items()]
    return "; ".join(words)


def peers_table(data):
    rows = [["peer", "version", "called as"]]
    for name, peer in data["peers"].items():
        rows.append([name, peer["version"], f"`{peer['template']}`"])
    return markdown(rows)


def whole(data):
    """The report of one run, as a page of its own."""
    parts = [f"# Results\n\n{headline(data)}", overview(data), peers_table(data)]
    parts += [f"## {title}\n\n{text}" for title, text in details(data).items()]
    return "\n".join(part for part in parts if part)


def headline(data):
    machine = data["machine"]
    rights = "as root" if machine["root"] else "not as root"
    text = (
        f"{data['date']}, quietus {data['version']}, on {machine['cpus']} CPUs "
        f"({machine['cpu']}), {machine['memory_gib']} GiB, Linux {machine['kernel']}, "
        f"{machine['system']}, {rights}; receipts on {machine['records_on']}. "
        f"Others used {data['others_busy']:.0%} of the CPUs meanwhile. "
        f"The run took {data['seconds']:.0f} s.\n"
    )
    for name, why in data["left_out"].items():
        text += f"\nLeft out: {name}: {why}.\n"
    for note in data["notes"]:
        text += f"\nNote: {note}.\n"
    return text
