#!/usr/bin/env python3
"""Draws the paper's figures from the CSV files that the paper tests leave. usage: plot.py FOLDER

Needs python3-matplotlib; exits 77 without it. The dashed lines are the paper's own numbers.
"""
import csv
import glob
import os
import sys

PAPER_DEPTH = {"fig10_11": [(5.9e-3, "paper, multi-point"), (9.0e-2, "paper, deepest"), (1.5e-4, "paper, LCP")]}


def columns(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in rows[0]} if rows else {}


def draw(plt, folder, figure):
    fig, axes = plt.subplots(2, 1, sharex=True, figsize=(8, 8))
    for path in sorted(glob.glob(os.path.join(folder, figure + "_*.csv"))):
        data = columns(path)
        label = os.path.basename(path)[len(figure) + 1:-4]
        axes[0].semilogy(data["step"], [max(x, 1e-30) for x in data["energy_j"]], label=label)
        axes[1].semilogy(data["step"], [max(x, 1e-9) for x in data["depth_m"]], label=label)
    for value, label in PAPER_DEPTH.get(figure, []):
        axes[1].axhline(value, linestyle="--", color="grey")
        axes[1].text(0, value, label)
    axes[0].set_ylabel("kinetic energy [J]")
    axes[1].set_ylabel("penetration [m]")
    axes[1].set_xlabel("step of 1 ms")
    axes[0].legend(fontsize="x-small")
    fig.savefig(os.path.join(folder, figure + ".png"), dpi=120)


def main(arguments):
    if len(arguments) != 1 or not os.path.isdir(arguments[0]):
        print(__doc__)
        return 2
    try:
        import matplotlib
    except ImportError:
        print("plot.py: skipped, python3-matplotlib is not installed")
        return 77
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    for figure in ("fig8_9", "fig10_11", "fig13"):
        draw(plt, arguments[0], figure)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
