"""Writes tests.json: the statistics module's tests on random samples, by SciPy and statsmodels.

Run: /usr/bin/python3 tests/reference/statistics/tests.py
Needs: python3-scipy, python3-statsmodels (written with SciPy 1.10.1, statsmodels 0.13.5).
"""

import itertools
import json
import math
import pathlib
import random

import numpy as np
import scipy
import statsmodels
from scipy import integrate, optimize, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

random.seed(20260202)
ALTERNATIVES = ["two-sided", "greater", "less"]


def brute_signed_rank(values, alternative):
    """The permutation distribution, sign by sign; zeros left out, ties share their mean rank."""
    values = [v for v in values if v != 0]
    ranks = stats.rankdata(np.abs(values))
    observed = sum(r for r, v in zip(ranks, values) if v > 0)
    sums = [sum(r for r, s in zip(ranks, signs) if s) for signs in itertools.product([0, 1], repeat=len(ranks))]
    below = sum(s <= observed + 1e-9 for s in sums) / len(sums)
    above = sum(s >= observed - 1e-9 for s in sums) / len(sums)
    return {"greater": above, "less": below, "two-sided": min(1.0, 2 * min(above, below))}[alternative]


def power_by_integration(effect, n, alpha, alternative):
    """Power without the noncentral t: Student's test given the sample's spread, averaged over it.

    The critical value inverts stats.t.sf: stats.t.isf, which statsmodels takes, is off by 5e-9
    (df = 43, tail 0.025: its value's tail is 0.02500000028 by 30-digit arithmetic).
    """
    df = n - 1
    delta = effect * math.sqrt(n)
    tail = alpha / 2 if alternative == "two-sided" else alpha
    rough = stats.t.isf(tail, df)
    crit = optimize.brentq(lambda t: stats.t.sf(t, df) - tail, 0.9 * rough, 1.1 * rough, xtol=1e-14, rtol=1e-15)

    def given(s):
        up = stats.norm.sf(crit * s - delta)
        down = stats.norm.cdf(-crit * s - delta)
        found = {"two-sided": up + down, "greater": up, "less": down}[alternative]
        return found * stats.chi.pdf(s * math.sqrt(df), df) * math.sqrt(df)

    edges = [stats.chi.ppf(p, df) / math.sqrt(df) for p in (1e-14, 0.01, 0.3, 0.7, 0.99)]
    edges = [0.0] + edges + [stats.chi.isf(1e-15, df) / math.sqrt(df)]
    return sum(integrate.quad(given, a, b, epsabs=1e-14, epsrel=1e-13, limit=400)[0] for a, b in zip(edges, edges[1:]))


cases = []
for i in range(240):
    n = random.randint(2, 14)
    scale = 10 ** random.uniform(-4, 0.5)
    values = [random.gauss(random.choice([0, 0.3, 1.0]) * scale, scale) for _ in range(n)]
    alternative = ALTERNATIVES[i % 3]
    zeros = np.zeros(n)
    t = stats.ttest_rel(values, zeros, alternative=alternative)
    low, high = -random.uniform(0.2, 2) * scale, random.uniform(0.2, 2) * scale
    tost = ttost_paired(np.array(values), zeros, low, high)
    rank = stats.wilcoxon(values, alternative=alternative, mode="exact")
    positive = sum(v > 0 for v in values)
    cases.append({
        "values": values,
        "alternative": alternative,
        "t": float(t.statistic),
        "t_p": float(t.pvalue),
        "bounds": [low, high],
        "tost_p": float(tost[0]),
        "tost_lower_p": float(tost[1][1]),
        "tost_upper_p": float(tost[2][1]),
        "wilcoxon_p": float(rank.pvalue),
        "sign_p": float(stats.binomtest(positive, n, 0.5, alternative=alternative).pvalue),
    })

ties = []
for i in range(60):
    values = [random.choice([-3, -2, -1, 0, 1, 1, 2, 3]) / 4 for _ in range(random.randint(3, 10))]
    if all(v == 0 for v in values):
        continue
    ties.append({"values": values, "alternative": ALTERNATIVES[i % 3],
                 "p": brute_signed_rank(values, ALTERNATIVES[i % 3])})

holm = []
for _ in range(200):
    p = [random.random() ** random.choice([1, 3, 8]) for _ in range(random.randint(1, 9))]
    holm.append({"p": p, "adjusted": [float(v) for v in multipletests(p, method="holm")[1]]})

power = []
for i in range(200):
    n = random.randint(2, 60)
    effect = random.uniform(-2.5, 2.5) if i % 4 else random.uniform(-0.2, 0.2)
    alpha = random.choice([0.05, 0.01, 0.1])
    alternative = ALTERNATIVES[i % 3]
    ours = power_by_integration(effect, n, alpha, alternative)
    theirs = TTestPower().power(effect, n, alpha, alternative={"greater": "larger", "less": "smaller"}.get(alternative, alternative))
    # An independent second opinion; NaN marks where SciPy's noncentral t gives up.
    assert math.isnan(theirs) or abs(ours - theirs) < 1e-6, (effect, n, alpha, alternative, ours, theirs)
    power.append([effect, n, alpha, alternative, ours])

seeds = []
for effect in [0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0]:
    for target in [0.8, 0.9]:
        seeds.append([effect, target, math.ceil(TTestPower().solve_power(effect, None, 0.05, target))])

bootstrap = []
for n in [2, 3, 4, 5, 5, 6, 6]:
    values = [random.gauss(0, 1) for _ in range(n)]
    means = np.array([sum(c) / n for c in itertools.product(values, repeat=n)])
    for level in [0.95, 0.9]:
        tail = (1 - level) / 2
        low, high = np.quantile(means, [tail, 1 - tail], method="inverted_cdf")
        bootstrap.append({"values": values, "level": level, "interval": [float(low), float(high)]})
drawn = []
for n in [5, 9, 13]:
    values = [random.gauss(0, 1) for _ in range(n)]
    words = [random.getrandbits(32) for _ in range(40 * n)]
    picks = np.array(values)[np.array([w * n >> 32 for w in words])].reshape(40, n)
    drawn.append({"values": values, "words": words, "means": [float(v) for v in picks.mean(axis=1)]})

normal = [[z, float(stats.norm.sf(z))] for z in np.linspace(-8, 30, 96)]

here = pathlib.Path(__file__).parent
(here / "tests.json").write_text(json.dumps({
    "origin": f"scipy {scipy.__version__}, statsmodels {statsmodels.__version__}",
    "cases": cases, "ties": ties, "holm": holm, "power": power, "seeds": seeds,
    "bootstrap": bootstrap, "drawn": drawn, "normal": normal}) + "\n")
