"""Values of elementary functions to 60 digits, rounded to doubles: portable_math.json.

Run with Debian's python3-mpmath:  /usr/bin/python3 make_math_fixtures.py
"""
import json
import os
import random

from mpmath import mp, mpf

mp.dps = 60
random.seed(20260117)


def sample(low, high, count):
    return [random.uniform(low, high) for _ in range(count)]


def rows(function, points):
    return [[x, float(function(mpf(x)))] for x in points]


two_pi = 2 * mp.pi
fixtures = {
    "exp": rows(mp.exp, sample(-1, 1, 60) + sample(-700, 700, 60) + [0.0, 1.0, -708.0, 709.7]),
    "ln": rows(mp.ln, sample(0.5, 2, 80) + sample(0, 1e9, 40) + [5e-324, 1e-310, 1e308, 2**-32]),
    "sin": rows(mp.sin, sample(-4, 4, 80) + sample(-5000, 5000, 60) + [0.0, 1e-300, 999999.0]),
    "cos": rows(mp.cos, sample(-4, 4, 80) + sample(-5000, 5000, 60) + [0.0, 1e-300, 999999.0]),
    "sinTurns": rows(lambda t: mp.sin(two_pi * t), sample(0, 1, 60) + [0.0, 0.25, 0.125]),
    "cosTurns": rows(lambda t: mp.cos(two_pi * t), sample(0, 1, 60) + [0.0, 0.5, 0.125]),
    "normalCdf": rows(mp.ncdf, sample(-5, 5, 80) + sample(-1, 1, 40) + [0.0, -9.0, 9.0]),
    "tanh": rows(mp.tanh, sample(-10, 10, 60) + sample(-0.01, 0.01, 20) + [0.0]),
    "expm1": rows(mp.expm1, sample(-2, 2, 60) + sample(-1e-6, 1e-6, 40) + [0.0, 1e-17, -50.0, 700.0]),
    "log1p": rows(mp.log1p, sample(-0.9, 2, 60) + sample(-1e-6, 1e-6, 40) + [0.0, 1e-17, 1e9]),
}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "portable_math.json")
with open(path, "w") as file:
    json.dump(fixtures, file)
    file.write("\n")
