#!/usr/bin/env python3
"""Draws the paper's figures from the CSV files that the paper tests leave. usage: plot.py [FOLDER]

FOLDER: $TACTUS_OUT, or tests/out of this repository. Needs python3-matplotlib; says so and exits 77 without it.
Exits 1 when a figure's data are missing.
"""
import csv
import glob
import math
import os
import sys

PAPER_DEPTH = {"fig10_11": [(5.9e-3, "paper, multi-point"), (9.0e-2, "paper, deepest"), (1.5e-4, "paper, LCP")]}


def columns(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    data = {}
    for name in rows[0] if rows else ():
        try:
            data[name] = [float(row[name]) for row in rows]
        except ValueError:
            data[name] = [row[name] for row in rows]
    return data


def split(data, key):
    """The rows of each value of a column, in order of first appearance."""
    for value in dict.fromkeys(data[key]):
        keep = [i for i, x in enumerate(data[key]) if x == value]
        yield value, {name: [column[i] for i in keep] for name, column in data.items()}


def read(folder, name):
    return columns(os.path.join(folder, name + ".csv"))


def several(folder, figure):
    paths = sorted(glob.glob(os.path.join(folder, figure + "_*.csv")))
    if not paths:
        raise FileNotFoundError(figure + "_*.csv")
    return [(os.path.basename(path)[len(figure) + 1:-4], columns(path)) for path in paths]


def energy_and_depth(plt, folder, figure):
    fig, axes = plt.subplots(2, 1, sharex=True, figsize=(8, 8))
    for label, data in several(folder, figure):
        axes[0].semilogy(data["step"], [max(x, 1e-30) for x in data["energy_j"]], label=label, linewidth=0.8)
        axes[1].semilogy(data["step"], [max(x, 1e-9) for x in data["depth_m"]], label=label, linewidth=0.8)
    for value, label in PAPER_DEPTH.get(figure, []):
        axes[1].axhline(value, linestyle="--", color="grey")
        axes[1].text(0, value, label)
    axes[0].set_ylabel("kinetic energy [J]")
    axes[1].set_ylabel("penetration [m]")
    axes[1].set_xlabel("step of 1 ms")
    axes[0].legend(fontsize="x-small")
    return fig


def rocking(plt, folder):
    fig, axes = plt.subplots(2, 1, sharex=True, figsize=(8, 6))
    for axis, figure in zip(axes, ("fig1", "fig3")):
        for label, data in several(folder, figure):
            axis.plot(data["step"], data["tilt_x_rad"], label=label + ", about x", linewidth=0.8)
            axis.plot(data["step"], data["tilt_y_rad"], label=label + ", about y", linewidth=0.8)
        axis.set_yscale("symlog", linthresh=1e-6)
        axis.set_ylabel("tilt [rad]")
        axis.set_title("Figure " + figure[3:], fontsize="small")
        axis.legend(fontsize="x-small")
    axes[1].set_xlabel("step of 1 ms")
    return fig


def trapezoid(plt, folder):
    data = read(folder, "fig4")
    fig = plt.figure(figsize=(6, 5))
    axis = fig.add_subplot(projection="3d")
    colours = ["tab:green" if b else "gold" for b in data["bottom"]]
    axis.scatter(data["x_m"], data["y_m"], data["z_m"], c=colours, s=60, edgecolors="black")
    axis.set_title("green: on the bottom, they push; yellow: at the surface", fontsize="small")
    axis.set_xlabel("x [m]")
    axis.set_ylabel("y [m]")
    axis.set_zlabel("z [m]")
    return fig


def polygon(plt, folder):
    data = read(folder, "fig5")
    stages = list(split(data, "stage"))
    fig, axes = plt.subplots(1, len(stages), sharex=True, sharey=True, figsize=(3 * len(stages), 3.4))
    for axis, (stage, rows) in zip(axes, stages):
        kept = [i for i, keep in enumerate(rows["kept"]) if keep]
        corners = kept + kept[:1]
        axis.plot([rows["x_m"][i] for i in corners], [rows["y_m"][i] for i in corners], "o-", color="tab:green")
        for i, (x, y, point) in enumerate(zip(rows["x_m"], rows["y_m"], rows["point"])):
            if i not in kept:
                axis.plot(x, y, "x", color="tab:red", markersize=10)
            axis.annotate("%d" % point, (x, y), textcoords="offset points", xytext=(5, 5))
        axis.set_title("(%s)" % stage)
        axis.set_aspect("equal")
    return fig


def surface(plt, folder):
    data = read(folder, "fig6")
    groups = list(split(data, "lambda"))
    fig, axes = plt.subplots(1, len(groups), figsize=(5 * len(groups), 4))
    for axis, (value, rows) in zip(axes, groups):
        for depth, line in split(rows, "depth_m"):
            axis.plot(line["step"], line["integral_m"], "o-", label="penetration %g m" % depth)
        axis.set_title("lambda %g" % value)
        axis.set_xlabel("step")
        axis.set_ylabel("I of eq. 2 [m]")
        axis.legend(fontsize="x-small")
    return fig


def block(plt, folder):
    fig, axes = plt.subplots(1, 2, sharex=True, sharey=True, figsize=(9, 4))
    for axis, (step, rows) in zip(axes, split(read(folder, "fig7"), "step")):
        for i in range(8):
            for bit in (1, 2, 4):
                ends = [i, i | bit]
                axis.plot([rows["x_m"][k] for k in ends], [rows["z_m"][k] for k in ends], color="tab:blue")
        axis.axhline(0, color="grey")
        axis.set_ylim(-0.05, 0.1)
        axis.set_title("after %d steps" % step)
        axis.set_xlabel("x [m]")
        axis.set_ylabel("z [m], enlarged")
    return fig


def pushes(plt, folder):
    data = read(folder, "fig12")
    fig = plt.figure(figsize=(6, 5))
    axis = fig.add_subplot(projection="3d")
    for x, y, force in zip(data["x_m"], data["y_m"], data["force_n"]):
        axis.quiver(x, y, 0.5 + force / 100, 0, 0, -force / 100, arrow_length_ratio=0.15)
    square = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)]
    axis.plot([p[0] for p in square], [p[1] for p in square], [0.5] * 5, color="grey")
    axis.set_title("100 N are as long as a side of the cube", fontsize="small")
    return fig


def popping(plt, folder):
    fig, axis = plt.subplots(figsize=(8, 5))
    for value, rows in split(read(folder, "popping"), "lambda"):
        axis.plot(rows["step"], [1e3 * z for z in rows["height_m"]], label="lambda %g" % value)
    axis.axhline(0, color="grey", linewidth=0.5)
    axis.set_xlabel("step of 1 ms after 300 N are taken away")
    axis.set_ylabel("height over bare touch [mm]")
    axis.legend()
    return fig


def stacks(plt, folder):
    fig, axis = plt.subplots(figsize=(7, 5))
    for ki, rows in split(read(folder, "stack_integral"), "ki_n_per_m"):
        standing = [i for i, depth in enumerate(rows["depth_m"]) if depth > 0]
        axis.plot([rows["bodies"][i] for i in standing], [1e3 * rows["depth_m"][i] for i in standing], "o-",
                  label="ki = %g N/m (ends where it falls)" % ki)
    axis.set_xlabel("bodies")
    axis.set_ylabel("deepest overlap [mm]")
    axis.legend()
    return fig


def against(plt, folder, name, x, series, xlabel, ylabel):
    """Columns over another, both logarithmic; series: (column, label)."""
    data = read(folder, name)
    fig, axis = plt.subplots(figsize=(7, 5))
    for column, label in series:
        axis.loglog(data[x], data[column], "o-", label=label)
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)
    axis.legend()
    return fig


def force_on_sphere(plt, folder):
    data = read(folder, "curved_slide")
    fig, axis = plt.subplots(figsize=(7, 5))
    axis.plot(data["angle_deg"], data["force_n"], label="lcp, exact stepper")
    axis.plot(data["angle_deg"], data["closed_form_n"], "--", label="m (g cos a - v^2 / (R + r))")
    axis.set_xlabel("angle from the top [degrees]")
    axis.set_ylabel("normal force [N]")
    axis.legend()
    return fig


def leaving(plt, folder):
    fig, axis = plt.subplots(figsize=(7, 5))
    for case, of_case in split(read(folder, "curved_leaving"), "case"):
        for stepper, rows in split(of_case, "stepper"):
            axis.loglog(rows["step_s"], [max(float(x), 1e-14) for x in rows["error_deg"]], "o-", label=f"{case}, {stepper}")
    axis.axhline(0.01, linestyle=":", label="asked for")
    axis.set_xlabel("step [s]")
    axis.set_ylabel("error of the leaving angle [degrees]")
    axis.legend()
    return fig


def models(plt, folder, name, up):
    """Both bodies after one step, a picture for each model of the PEG paper."""
    groups = list(split(read(folder, name), "model"))
    fig, axes = plt.subplots(1, len(groups), sharex=True, sharey=True, figsize=(2.6 * len(groups), 3))
    for axis, (model, rows) in zip(axes, groups):
        for body, corners in split(rows, "body"):
            points = sorted(set((round(x, 6), round(y, 6)) for x, y in zip(corners["x_m"], corners[up])))
            x0, y0 = (sum(p[k] for p in points) / len(points) for k in (0, 1))
            points.sort(key=lambda p: math.atan2(p[1] - y0, p[0] - x0))
            axis.fill(*zip(*points), alpha=0.5, color="tab:blue" if (body == 0) == (up == "z_m") else "tab:red")
        axis.set_title(model, fontsize="small")
        axis.set_aspect("equal")
    return fig


def corner(plt, folder):
    data = read(folder, "peg_fig1")
    fig, axis = plt.subplots(figsize=(5, 5))
    axis.fill([-0.15, 0, 0, -0.15], [0, 0, -0.1, -0.1], color="lightgrey")
    axis.plot(0.05, 0.05, "k.")
    for model, x, y in zip(data["model"], data["x_m"], data["y_m"]):
        axis.plot(x, y, "o", label=model, fillstyle="none")
    axis.legend(fontsize="x-small")
    axis.set_aspect("equal")
    return fig


def particle(plt, folder):
    data = read(folder, "survey_fig1")
    fig, axes = plt.subplots(2, 1, sharex=True, figsize=(8, 6))
    axes[0].plot(data["time_s"], data["angle_rad"], label="may leave (inequality)")
    axes[0].plot(data["time_s"], data["held_angle_rad"], "--", label="held (equality)")
    axes[0].set_ylabel("angle from the top [rad]")
    axes[0].legend()
    axes[1].plot(data["time_s"], data["force_n"], label="force of the surface")
    axes[1].plot(data["time_s"], data["closed_form_n"], "--", label="m (g cos - v^2 / R): the held one's")
    axes[1].axhline(0, color="grey", linewidth=0.5)
    axes[1].set_ylim(-2, 8)
    axes[1].set_ylabel("force [N]")
    axes[1].set_xlabel("time [s]")
    axes[1].legend()
    return fig


def push_and_force(plt, folder):
    data = read(folder, "survey_fig2_4")
    fig, axis = plt.subplots(figsize=(7, 5))
    axis.plot(data["push_along_normal_n"], data["force_n"], ".", label="force of the surface [N]")
    axis.plot(data["push_along_normal_n"], data["acceleration_m_per_s2"], ".", label="acceleration off it [m/s^2]")
    axis.set_xlabel("push along the normal, less weight [N]")
    axis.legend()
    return fig


def bricks(plt, folder):
    data = read(folder, "survey_fig3")
    shifts = list(split(data, "shift"))
    fig, axes = plt.subplots(1, len(shifts), sharey=True, figsize=(3 * len(shifts), 4))
    for axis, (shift, rows) in zip(axes, shifts):
        for i in range(5):
            axis.add_patch(plt.Rectangle((shift * i - 0.5, 0.3 * i), 1, 0.3, fill=False))
        for contact, x, acceleration in zip(rows["contact"], rows["x_m"], rows["acceleration_m_per_s2"]):
            axis.plot(x, 0.3 * (contact // 2), "o", color="tab:red" if acceleration > 1e-6 else "tab:blue")
        axis.set_xlim(-0.7, 2.3)
        axis.set_ylim(-0.1, 1.7)
        axis.set_aspect("equal")
        axis.set_title("shift %g m; red: breaks" % shift, fontsize="small")
    return fig


def incline(plt, folder):
    fig, axis = plt.subplots(figsize=(6, 6), subplot_kw={"projection": "polar"})
    for model, of_model in split(read(folder, "survey_incline"), "model"):
        for directions, rows in split(of_model, "directions"):
            axis.plot(rows["angle_rad"], rows["threshold"], ".", label="%s, %s" % (model, "round" if directions == 0 else "%d corners" % directions))
    axis.legend(fontsize="x-small", loc="center")
    axis.set_title("largest slope (tan) on which a block of mu 0.5 stands", fontsize="small")
    return fig


def painleve(plt, folder):
    fig, axis = plt.subplots(figsize=(7, 5))
    for verdict, rows in split(read(folder, "survey_painleve"), "verdict"):
        axis.plot(rows["angle_rad"], rows["friction"], ".", label=verdict)
    axis.set_xlabel("angle of the rod with the floor [rad]")
    axis.set_ylabel("coefficient of friction")
    axis.legend()
    return fig


def sliding(plt, folder):
    fig, axis = plt.subplots(figsize=(7, 5))
    for model, of_model in split(read(folder, "survey_sliding"), "model"):
        for step, rows in split(of_model, "step_s"):
            axis.semilogy(rows["time_s"], [max(x, 1e-18) for x in rows["error_m_per_s"]], label="%s, %g s" % (model, step))
    axis.axhline(1e-6, linestyle="--", color="grey")
    axis.set_xlabel("time [s]")
    axis.set_ylabel("distance from v0 - mu g t [m/s]")
    axis.legend(fontsize="x-small")
    return fig


def haptic_numbers(plt, folder):
    """Margin of each row: how many times better than asked, to the right of 1."""
    data = read(folder, "haptic_numbers")
    count = len(data["what"])
    fig, axis = plt.subplots(figsize=(10, 0.22 * count + 1))
    for i in range(count):
        asked, measured, least = data["asked"][i], data["measured"][i], data["sense"][i] == "at least"
        margin = (measured / asked if least else asked / measured) if asked > 0 and measured > 0 else 1e3 if data["good"][i] else 1e-1
        margin = min(max(margin, 1e-1), 1e3)
        axis.barh(count - i, margin - 1, left=1, color="tab:green" if data["good"][i] else "tab:red")
        axis.text(1.05e3, count - i, f"{measured:.3g} {data['unit'][i]}, {data['sense'][i]} {asked:.3g}", fontsize=6, va="center")
    axis.set_yticks([count - i for i in range(count)], data["what"], fontsize=6)
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_xlim(1e-1, 1e3)
    axis.set_xlabel("times better than asked")
    return fig


FIGURES = {
    "peg_fig1": corner,
    "peg_fig11": lambda plt, folder: models(plt, folder, "peg_fig11", "y_m"),
    "peg_fig12": lambda plt, folder: models(plt, folder, "peg_fig12", "z_m"),
    "peg_fig11_steps": lambda plt, folder: against(plt, folder, "peg_fig11_steps", "steps", [
        ("peg_overlap_m", "peg"), ("printed_overlap_m", "peg, printed")], "steps in 0.5 s", "deepest overlap [m]"),
    "haptic_numbers": haptic_numbers,
    "survey_fig1": particle, "survey_fig2_4": push_and_force, "survey_fig3": bricks, "survey_incline": incline,
    "survey_painleve": painleve, "survey_sliding": sliding,
    "curved_slide": force_on_sphere, "curved_leaving": leaving,
    "survey_penalty": lambda plt, folder: against(plt, folder, "survey_penalty", "stiffness_n_per_m", [
        ("worst_distance_m", "penalty from lcp")], "stiffness [N/m]", "largest distance [m]"),
    "fig1_3": rocking, "fig4": trapezoid, "fig5": polygon, "fig6": surface, "fig7": block, "fig12": pushes, "popping": popping, "stack_integral": stacks,
    "fig8_9": lambda plt, folder: energy_and_depth(plt, folder, "fig8_9"),
    "fig10_11": lambda plt, folder: energy_and_depth(plt, folder, "fig10_11"),
    "fig13": lambda plt, folder: energy_and_depth(plt, folder, "fig13"),
    "mesh": lambda plt, folder: energy_and_depth(plt, folder, "mesh"),
    "kass": lambda plt, folder: against(plt, folder, "kass", "bodies", [
        ("step_column_s", "column of given mass and stiffness"), ("step_chain_s", "its closed form"), ("step_contacts_s", "contacts of given stiffness")],
        "bodies", "largest stable step [s]"),
    "section5_cost": lambda plt, folder: against(plt, folder, "section5_cost", "features", [
        ("find_us", "finding the points"), ("bottom_us", "choosing the bottom"), ("deepest_us", "choosing the deepest")],
        "features of both meshes", "processor time [us]"),
}


def main(arguments):
    default = os.environ.get("TACTUS_OUT") or os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "out")
    folder = arguments[0] if arguments else default
    if len(arguments) > 1 or folder.startswith("-"):
        print(__doc__)
        return 2
    try:
        import matplotlib
    except ImportError:
        print("plot.py: skipped, python3-matplotlib is not installed")
        return 77
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    missing = 0
    for name, draw in FIGURES.items():
        try:
            figure = draw(plt, folder)
        except FileNotFoundError as error:
            print("plot.py: %s: no data: %s" % (name, error.filename or error))
            missing += 1
            continue
        figure.savefig(os.path.join(folder, name + ".png"), dpi=110)
        plt.close(figure)
    print("plot.py: %d figures in %s" % (len(FIGURES) - missing, folder))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
