"""The pure functions: their time by Google Benchmark, their instructions by callgrind."""

import json
import re
import subprocess

from rig import say


class Functions:
    def __init__(self, rig, book, plan, programs):
        self.rig = rig
        self.book = book
        self.plan = plan
        self.programs = programs

    def functions(self):
        say("functions")
        done = subprocess.run(
            [self.programs / "bench_timed", "--benchmark_format=json",
             f"--benchmark_min_time={self.plan.function_seconds}", "--benchmark_repetitions=5"],
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        for run in json.loads(done.stdout)["benchmarks"]:
            if run["run_type"] == "iteration":
                cell = self.book.cell("functions", run["run_name"], "quietus")
                cell.add(run["repetition_index"], {"CPU ns": run["cpu_time"]})

    def instructions(self):
        say("instructions")
        folder = self.rig.fresh_folder("callgrind")
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/dump",
             self.programs / "bench_counted"],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        counts = read_counts(folder)
        if done.returncode != 0 or not counts:
            raise RuntimeError(f"callgrind counted nothing: {done.stderr.strip()[-400:]}")
        for name, count in counts.items():
            self.book.cell("instructions", name, "quietus").add(0, {"instructions": count})


def read_counts(folder):
    """Each dump that was asked for by name: its instructions."""
    counts = {}
    for dump in sorted(folder.glob("dump.*"), key=lambda path: int(path.suffix[1:])):
        text = dump.read_text(errors="replace")
        name = re.search(r"^desc: Trigger: Client Request: (.+)$", text, re.M)
        total = re.search(r"^totals: (\d+)$", text, re.M)
        if name and total:
            counts[name[1]] = int(total[1])
    return counts
