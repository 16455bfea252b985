"""Line charts as SVG: no library draws them, and the bytes depend on the data alone."""

import math
from html import escape

WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 64, 190, 44, 52
# Okabe and Ito's colours, which also a colour-blind reader tells apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
DASHES = ("none", "6 3", "2 3")


class Axis:
    """A scale from the smallest to the greatest value, linear or logarithmic."""

    def __init__(self, label, values, logarithmic):
        self.label = label
        self.logarithmic = logarithmic
        values = [value for value in values if value > 0 or not logarithmic] or [1]
        least, most = min(values), max(values)
        if logarithmic:
            self.least, self.most = math.floor(math.log10(least)), math.ceil(math.log10(most))
            self.most += self.most == self.least
        else:
            self.least, self.most = min(0, least), most or 1

    def share(self, value):
        """Where it lies, from 0 to 1."""
        if self.logarithmic:
            value = math.log10(max(value, 10**self.least))
        return (value - self.least) / (self.most - self.least)

    def ticks(self):
        if self.logarithmic:
            return [10**power for power in range(self.least, self.most + 1)]
        return [self.least + (self.most - self.least) * step / 4 for step in range(5)]


class Chart:
    def __init__(self, title, x, y):
        self.title = title
        self.x, self.y = x, y
        self.series = []

    def add(self, name, points, remark="", markers=True):
        """Without points the name stands in the legend alone, with its remark."""
        self.series.append((name, points, remark, markers))

    def place(self, point):
        x = LEFT + self.x.share(point[0]) * (WIDTH - LEFT - RIGHT)
        y = HEIGHT - BOTTOM - self.y.share(point[1]) * (HEIGHT - TOP - BOTTOM)
        return round(x, 1), round(y, 1)

    def svg(self):
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
            ' font-family="sans-serif" font-size="12">',
            f"<title>{escape(self.title)}</title>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
            text(LEFT, 24, self.title, size=15),
            *self.grid(),
        ]
        for number, (name, points, remark, markers) in enumerate(self.series):
            colour = COLOURS[number % len(COLOURS)]
            dash = DASHES[number // len(COLOURS) % len(DASHES)]
            parts += self.line(points, colour, dash, markers)
            parts += self.legend(number, name, remark, colour if points else "#bbbbbb", dash)
        return "\n".join([*parts, "</svg>"]) + "\n"

    def grid(self):
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts = []
        for tick in self.x.ticks():
            x = round(LEFT + self.x.share(tick) * (right - LEFT), 1)
            parts.append(f'<path d="M{x} {TOP}V{bottom}" stroke="#e4e4e4"/>')
            parts.append(text(x, bottom + 18, short(tick), anchor="middle"))
        for tick in self.y.ticks():
            y = round(bottom - self.y.share(tick) * (bottom - TOP), 1)
            parts.append(f'<path d="M{LEFT} {y}H{right}" stroke="#e4e4e4"/>')
            parts.append(text(LEFT - 8, y + 4, short(tick), anchor="end"))
        parts.append(f'<path d="M{LEFT} {TOP}V{bottom}H{right}" stroke="#333333" fill="none"/>')
        parts.append(text((LEFT + right) / 2, HEIGHT - 12, self.x.label, anchor="middle"))
        parts.append(
            f'<text transform="translate(16 {(TOP + bottom) / 2}) rotate(-90)"'
            f' text-anchor="middle">{escape(self.y.label)}</text>'
        )
        return parts

    def line(self, points, colour, dash, markers):
        if not points:
            return []
        places = [self.place(point) for point in points]
        path = "M" + " ".join(f"{x} {y}" for x, y in places)
        parts = [
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"'
            f' stroke-dasharray="{dash}"/>'
        ]
        if markers:
            parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]
        return parts

    def legend(self, number, name, remark, colour, dash):
        x, y = WIDTH - RIGHT + 14, TOP + 10 + number * 26
        parts = [
            f'<path d="M{x} {y}h20" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>',
            text(x + 26, y + 4, name),
        ]
        return parts + ([text(x + 26, y + 15, remark, size=9)] if remark else [])


def text(x, y, words, anchor="start", size=12):
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="#222222">'
        f"{escape(words)}</text>"
    )


def short(number):
    return f"{number:,.0f}" if number >= 1000 else f"{number:g}"
