"""Puts the results into docs/performance.md, between two marks, and the plots beside it."""

import plots
import tables

BEGIN = "<!-- tools/bench.sh --document writes from here -->\n"
END = "<!-- to here -->\n"


def replaced(page, text):
    """The page with what stands between its marks replaced."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page has no marks to write between")
    return f"{head}{BEGIN}\n{text}\n{END}{tail}"


def results(data):
    parts = [
        tables.headline(data),
        tables.overview(data),
        "![Cost of an end by the number of descendants](plots/drain.svg)\n",
        "![Distribution of the stop latency](plots/stop-latency.svg)\n",
        tables.peers_table(data),
    ]
    parts += [f"### {title}\n\n{text}" for title, text in tables.details(data).items()]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part).rstrip("\n") + "\n"


def write(data, docs):
    page = docs / "performance.md"
    page.write_text(replaced(page.read_text(), results(data)))
    (docs / "plots").mkdir(exist_ok=True)
    plots.write(data, docs / "plots")
