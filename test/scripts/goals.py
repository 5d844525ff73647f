"""Compares the scores of the gates with the goals that they must reach; ends with 1 and names each that is missed.

usage: goals.py REPORT, the JSON that score-gates.py wrote.
"""
import json
import sys

# What a kind begins with, and the least share of its cases that must be right. Kinds that begin alike count together.
GOALS = [
    ("attack, high", 1.0),
    ("attack, medium", 0.995),
    ("read-only", 0.98),
    ("ordinary", 1.0),
    ("secret", 0.97),
    ("no secret", 0.99),
    ("path, guarded", 1.0),
    ("path, free write", 1.0),
    ("path, free", 0.98),
    ("lisp, harmful", 1.0),
    ("lisp, pure", 0.95),
]


def kinds_of(report, goal):
    """Return the kinds that a goal speaks of: those for which no longer goal does."""
    names = [name for name, _ in GOALS]
    best = lambda kind: max((name for name in names if kind.startswith(name)), key=len, default=None)
    return [kind for kind in report if best(kind) == goal]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    missed = 0
    for goal, least in GOALS:
        found = [report[kind] for kind in kinds_of(report, goal)]
        cases, right = sum(f["cases"] for f in found), sum(f["right"] for f in found)
        if cases == 0:
            print(f"{goal}: no cases; skipped.")
        elif right / cases < least:
            missed += 1
            print(f"MISSED {goal}: {right} of {cases}, {100 * right / cases:.2f} %; the goal is {100 * least:g} %")
    print("Every goal of the gates is reached." if not missed else f"{missed} goals of the gates are missed.")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
