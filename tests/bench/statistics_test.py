"""What the bench computes from what it measured: statistics, ratios, the gate, tables and plots."""

import unittest
import xml.etree.ElementTree as xml

import document
import gate
import plots
import tables
from book import Book
from samples import paired_ratio, quantile, summary
from svg import Axis, Chart


def book_of(**medians):
    """The metric "m", variant "v", value "ms": each peer once in each of two rounds."""
    book = Book("quietus")
    for peer, value in medians.items():
        for round_ in (0, 1):
            book.cell("m", "v", peer).add(round_, {"ms": value})
    return book


def bound(**more):
    return {"metric": "m", "variant": "v", "value": "ms", "peer": "quietus", "most": 2, **more}


def broken(bound_, book):
    return [line for _, line in gate.broken_bounds({"bound": [bound_]}, book, ["m"], {})]


class Samples(unittest.TestCase):
    def test_a_quantile_lies_between_the_two_nearest_ranks(self):
        self.assertEqual(quantile([4, 1, 3, 2], 0.5), 2.5)
        self.assertEqual(quantile([1, 2, 3], 0), 1)
        self.assertEqual(quantile([1, 2, 3], 1), 3)
        self.assertEqual(quantile([7], 0.99), 7)

    def test_the_p99_of_a_hundred_is_not_the_greatest(self):
        told = summary([(0, value) for value in range(1, 101)])
        self.assertAlmostEqual(told["p99"], 99.01)
        self.assertEqual((told["runs"], told["median"], told["most"]), (100, 50.5, 100))

    def test_a_ratio_is_taken_within_a_round(self):
        # The machine was ten times slower in the second round, for both.
        mine = [(0, 2.0), (1, 20.0)]
        theirs = [(0, 1.0), (1, 10.0)]
        self.assertEqual(paired_ratio(mine, theirs), 2)

    def test_rounds_that_only_one_has_do_not_count(self):
        self.assertEqual(paired_ratio([(0, 4.0), (1, 99.0)], [(0, 2.0)]), 2)
        self.assertIsNone(paired_ratio([(0, 4.0)], [(1, 2.0)]))

    def test_there_is_no_ratio_to_nothing(self):
        self.assertIsNone(paired_ratio([(0, 1.0)], [(0, 0.0)]))
        self.assertIsNone(paired_ratio([(0, -1.0)], [(0, 1.0)]))


class Gate(unittest.TestCase):
    def test_a_value_is_held_to_its_bound(self):
        self.assertEqual(broken(bound(), book_of(quietus=2.0)), [])
        self.assertEqual(
            broken(bound(), book_of(quietus=2.5)), ["m (v), ms: quietus has 2.50; at most 2"]
        )

    def test_a_ratio_is_held_to_its_bound(self):
        against = bound(against="tini")
        self.assertEqual(broken(against, book_of(quietus=2.0, tini=1.0)), [])
        self.assertEqual(
            broken(against, book_of(quietus=3.0, tini=1.0)),
            ["m (v), ms: quietus has 3 times tini; at most 2"],
        )

    def test_growth_is_held_to_its_bound(self):
        book = book_of(quietus=30.0)
        book.cell("m", "small", "quietus").add(0, {"ms": 10.0})
        growth = bound(against_variant="small")
        self.assertEqual(
            broken(growth, book), ["m (v), ms: quietus has 3 times that of small; at most 2"]
        )
        self.assertEqual(broken({**growth, "most": 3}, book), [])

    def test_what_was_not_measured_does_not_hold(self):
        line = "m (v), ms: not measured for quietus"
        self.assertEqual(broken(bound(), book_of(tini=1.0)), [line])
        self.assertEqual(broken(bound(against="tini"), book_of(quietus=1.0)), [line])
        self.assertEqual(broken(bound(against_variant="w"), book_of(quietus=1.0)), [line])

    def test_what_was_not_asked_for_is_not_missed(self):
        bounds = {"bound": [bound()]}
        self.assertEqual(gate.broken_bounds(bounds, book_of(tini=1.0), ["n"], {}), [])

    def test_what_the_machine_cannot_show_is_told_and_not_judged(self):
        book = book_of(quietus=9.0)
        bounds = {"bound": [bound(against="tini")]}
        without = {"tini": "there is no tini"}
        self.assertEqual(gate.broken_bounds(bounds, book, ["m"], without), [])
        self.assertEqual(
            gate.excused_bounds(bounds, book, ["m"], without),
            ["m (v), ms: tini: there is no tini"],
        )
        book.cell("m", "v", "tini").absent = "not shown"
        self.assertEqual(gate.broken_bounds(bounds, book, ["m"], {}), [])
        self.assertEqual(
            gate.excused_bounds(bounds, book, ["m"], {}), ["m (v), ms: tini: not shown"]
        )

    def counts(self, measured, stored):
        book = Book("quietus")
        for name, count in measured.items():
            book.cell("instructions", name, "quietus").add(0, {"instructions": count})
        return gate.broken_counts({"slack": 1.1, "counts": stored}, book)

    def test_instructions_may_grow_by_the_slack(self):
        self.assertEqual(self.counts({"f": 110}, {"f": 100}), [])
        self.assertEqual(
            self.counts({"f": 111}, {"f": 100}), ["instructions (f): 111; at most 110"]
        )

    def test_a_function_is_neither_forgotten_nor_left_behind(self):
        self.assertEqual(self.counts({}, {"f": 100}), ["instructions (f): not counted"])
        self.assertEqual(
            self.counts({"f": 1}, {}), ["instructions (f): 1; bounds.toml has no such function"]
        )


def data_of(book, *peers):
    return {
        "reference": "quietus",
        "peers": {
            name: {"version": "1", "template": name, "metrics": [], "ours": False} for name in peers
        },
        "results": book.results(),
    }


class Tables(unittest.TestCase):
    def setUp(self):
        self.book = Book("quietus")
        for round_ in range(12):
            self.book.cell("drain", "10", "quietus").add(round_, {"ms": 2.0})
            self.book.cell("drain", "10", "unshare").add(round_, {"ms": 1.0})
        for _ in range(2):
            self.book.cell("drain", "10", "tini").fail(["survivors"])
        self.book.cell("drain", "10", "mute").absent = "has no stop"
        self.data = data_of(self.book, "quietus", "unshare", "tini", "mute")

    def test_runs_median_p99_ratio_and_failures_are_told(self):
        text = tables.details(self.data)[tables.TITLES["drain"]]
        rows = [[word.strip() for word in line.strip("|").split("|")] for line in text.splitlines()]
        self.assertIn(["peer", "runs", "ms", "p99", "x quietus", "failed, notes"], rows)
        self.assertIn(["quietus", "12", "2", "2", "", ""], rows)
        self.assertIn(["unshare", "12", "1", "1", "0.500", ""], rows)
        self.assertIn(["tini", "0", "**failed**", "", "", "2 of 2; 2x survivors"], rows)
        self.assertIn("Not measured, has no stop: mute.", text)

    def test_the_overview_tells_failures_too(self):
        row = r"drain of 10, ms .* 2 .*\*\*2 of 2 failed\*\*"
        self.assertRegex(tables.overview(self.data), row)

    def test_a_bar_does_not_break_a_row(self):
        self.assertIn("a\\|b", tables.markdown([["x"], ["a|b"]]))

    def test_few_runs_have_no_p99(self):
        book = book_of(quietus=1.0)
        self.assertNotIn("p99", tables.table(book.results(), "peer", "quietus"))


class Plots(unittest.TestCase):
    def test_an_axis_has_its_ends_at_the_ends(self):
        decades = Axis("x", [10, 20_000], logarithmic=True)
        self.assertEqual(decades.ticks(), [10, 100, 1000, 10_000, 100_000])
        self.assertEqual((decades.share(10), decades.share(100_000)), (0, 1))
        self.assertEqual(decades.share(1000), 0.5)
        plain = Axis("y", [1], logarithmic=False)
        self.assertEqual((plain.share(0), plain.share(1)), (0, 1))

    def test_more_is_further_right_and_higher(self):
        chart = Chart("t", Axis("x", [1, 10], True), Axis("y", [1, 10], True))
        (left, low), (right, high) = chart.place((1, 1)), chart.place((10, 10))
        self.assertLess(left, right)
        self.assertGreater(low, high)

    def test_a_chart_is_well_formed_and_names_everybody(self):
        book = Book("quietus")
        for size in (10, 100):
            book.cell("drain", str(size), "quietus <&>").add(0, {"ms": size / 10})
        book.cell("drain", "10", "tini").fail(["survivors"])
        root = xml.fromstring(plots.drain_chart(data_of(book, "quietus <&>", "tini")).svg())
        words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("quietus <&>", words)
        self.assertIn("tini", words)
        self.assertIn("failed: survivors", words)

    def test_the_distribution_ends_at_all_runs(self):
        book = Book("quietus")
        for value in (3.0, 1.0, 2.0):
            book.cell("stop_latency", "SIGTERM to the supervisor", "quietus").add(
                0, {"to TERM ms": value}
            )
        ((_, points, _, _),) = plots.stop_chart(data_of(book, "quietus")).series
        self.assertEqual(points, [(1.0, 1 / 3), (2.0, 2 / 3), (3.0, 1.0)])


class Document(unittest.TestCase):
    def test_only_what_is_between_the_marks_is_replaced(self):
        page = f"before\n{document.BEGIN}old\n{document.END}after\n"
        new = document.replaced(page, "new")
        self.assertEqual(new, f"before\n{document.BEGIN}\nnew\n{document.END}after\n")
        self.assertEqual(document.replaced(new, "new"), new)

    def test_a_page_without_marks_is_not_written(self):
        with self.assertRaises(ValueError):
            document.replaced("no marks\n", "new")
