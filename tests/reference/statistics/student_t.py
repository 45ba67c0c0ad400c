"""Writes student_t.json: tails and quantiles of Student's t by SciPy.

Run: /usr/bin/python3 tests/reference/statistics/student_t.py
Needs: python3-scipy (written with SciPy 1.10.1).
"""

import json
import pathlib
import random

import numpy as np
import scipy
from scipy import optimize, stats



def quantile(p, df):
    """stats.t.ppf is off by 2e-9 in far tails (p = 1e-6, df = 3), its cdf is not: invert that."""
    tail = min(p, 1 - p)
    if tail == 0.5:
        return 0.0
    start = abs(stats.t.ppf(p, df))
    gap = lambda t: stats.t.sf(t, df) / tail - 1
    root = optimize.brentq(gap, 0.9 * start, 1.1 * start, xtol=1e-14, rtol=1e-15)
    return -root if p < 0.5 else root


random.seed(20260101)
quantiles = []
for df in [1, 2, 3, 4, 5, 6, 7, 9, 10, 19, 29, 49, 99, 1999]:
    for p in [1e-6, 0.001, 0.025, 0.2, 0.5, 0.75, 0.9, 0.95, 0.975, 0.995, 0.99999]:
        quantiles.append([p, df, quantile(p, df)])
tails = []
for _ in range(200):
    df = random.choice([1, 2, 3, 4, 5, 8, 9, 14, 30, 61, 400])
    t = random.choice([random.gauss(0, 1), random.uniform(-12, 12), random.uniform(0, 60)])
    tails.append([t, df, float(stats.t.sf(t, df))])
samples = []
for _ in range(200):
    n = random.randint(2, 12)
    values = [random.gauss(random.uniform(-1, 1), random.uniform(0.001, 2)) for _ in range(n)]
    low, high = stats.t.interval(0.95, n - 1, loc=np.mean(values), scale=stats.sem(values))
    samples.append([values, float(np.mean(values)), float(np.std(values, ddof=1)), float(low), float(high)])
here = pathlib.Path(__file__).parent
(here / "student_t.json").write_text(json.dumps(
    {"origin": f"scipy {scipy.__version__}", "quantiles": quantiles, "tails": tails, "samples": samples}) + "\n")
