"""Writes claims.json: p-values for and against claims, and powers of their tests, by SciPy.

Run: python3 tests/reference/statistics/claims.py
Needs: python3-scipy (written with SciPy 1.17.1).
"""

import json
import math
import pathlib
import random

import scipy
from scipy import integrate, stats

random.seed(20261122)


def t(values, alternative, bound):
    return float(stats.ttest_1samp(values, bound, alternative=alternative).pvalue)


def signs(values, alternative):
    used = [v for v in values if v != 0]
    return float(stats.binomtest(sum(v > 0 for v in used), len(used), 0.5, alternative=alternative).pvalue)


def judged(test, values, direction, smallest, bounds, printed):
    """For and against: what the claim says, not how it is computed here."""
    sign, opposite = (1, "less") if direction == "greater" else (-1, "greater")
    if test == "sign":
        return signs(values, direction), signs(values, opposite)
    if test == "difference":
        matters = printed is None or printed * sign >= smallest
        return t(values, direction, 0), t(values, opposite, sign * smallest if matters else 0)
    if test == "noninferiority":
        return t(values, direction, -sign * smallest), t(values, opposite, -sign * smallest)
    low, high = bounds if test == "within" else (-smallest, smallest)
    inside = max(t(values, "greater", low), t(values, "less", high))
    return inside, min(1, 2 * min(t(values, "less", low), t(values, "greater", high)))


cases = []
for i in range(250):
    test = ["difference", "sign", "equivalence", "noninferiority", "within"][i % 5]
    n = random.randint(2, 12)
    values = [random.gauss(random.choice([-1, 0, 1, 3]), random.choice([0.3, 1, 4])) for _ in range(n)]
    if test == "sign" and n > 4:
        values[1] = 0
    direction = random.choice(["greater", "less"])
    smallest = random.choice([0.5, 1, 2])
    low = random.uniform(-3, 2)
    bounds = [low, low + random.uniform(0.5, 3)]
    printed = random.choice([None, 0.2, -0.2, 1.5, -1.5, 3])
    yes, no = judged(test, values, direction, smallest, bounds, printed)
    cases.append({"test": test, "values": values, "direction": direction, "smallest": smallest,
                  "bounds": bounds, "printed": printed, "for": yes, "against": no})


def tost_power(effect, sd, alpha, bounds, n):
    """Both one-sided tests reject, given the sample's spread s, averaged over it."""
    df = n - 1
    crit = stats.t.isf(alpha, df)
    se = sd / math.sqrt(n)

    def given(s):
        low, high = bounds[0] + crit * s * se, bounds[1] - crit * s * se
        if low >= high:
            return 0.0
        inside = stats.norm.cdf((high - effect) / se) - stats.norm.cdf((low - effect) / se)
        return inside * stats.chi.pdf(s * math.sqrt(df), df) * math.sqrt(df)

    edges = [0.0] + [stats.chi.ppf(p, df) / math.sqrt(df) for p in (0.01, 0.3, 0.7, 0.99, 1 - 1e-14)]
    return sum(integrate.quad(given, a, b, limit=400)[0] for a, b in zip(edges, edges[1:]))


equivalence = []
for _ in range(60):
    plan = {"effect": random.uniform(-0.5, 0.5), "sd": random.uniform(0.3, 1.5),
            "alpha": random.choice([0.05, 0.05 / 9]), "bounds": [-1, random.choice([1, 1.5])]}
    n = random.randint(4, 60)
    equivalence.append({**plan, "n": n, "power": tost_power(n=n, **plan)})

sign_power = []
for _ in range(60):
    effect, sd, alpha, n = random.uniform(0, 3), random.uniform(0.5, 3), random.choice([0.05, 0.05 / 9]), random.randint(2, 60)
    p = stats.norm.cdf(effect / sd)
    power = sum(stats.binom.pmf(k, n, p) for k in range(n + 1) if stats.binom.sf(k - 1, n, 0.5) < alpha)
    sign_power.append({"effect": effect, "sd": sd, "alpha": alpha, "n": n, "power": float(power)})

here = pathlib.Path(__file__).parent
(here / "claims.json").write_text(json.dumps({
    "origin": f"scipy {scipy.__version__}", "cases": cases, "equivalence": equivalence,
    "sign_power": sign_power}) + "\n")
