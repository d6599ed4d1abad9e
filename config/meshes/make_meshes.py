#!/usr/bin/env python3
"""Writes the meshes of this folder: usage: config/meshes/make_meshes.py [FOLDER]

Closed surfaces in metres, triangles counter-clockwise seen from outside. Six digits, so that the files are the same on every machine.
"""
import math
import os
import sys


def grid_faces(rows, columns, at):
    """Quads between rows of points that close on themselves along each row; at(row, column) is a point's index."""
    faces = []
    for i in range(rows):
        for j in range(columns):
            k = (j + 1) % columns
            faces += [(at(i, j), at(i, k), at(i + 1, k)), (at(i, j), at(i + 1, k), at(i + 1, j))]
    return faces


def torus(ring, tube, sections, sides):
    points = []
    for i in range(sections):
        for j in range(sides):
            u, v = 2 * math.pi * i / sections, 2 * math.pi * j / sides
            r = ring + tube * math.cos(v)
            points.append((r * math.cos(u), r * math.sin(u), tube * math.sin(v)))
    faces = [(a, c, b) for a, b, c in grid_faces(sections, sides, lambda i, j: (i % sections) * sides + j)]
    return points, faces


def revolved(profile, sections):
    """A profile (radius, z) from a point on the axis to another one, outside on its right, turned about the z axis."""
    points = [(0.0, 0.0, profile[0][1])]
    for r, z in profile[1:-1]:
        points += [(r * math.cos(2 * math.pi * j / sections), r * math.sin(2 * math.pi * j / sections), z) for j in range(sections)]
    points.append((0.0, 0.0, profile[-1][1]))
    last, rings = len(points) - 1, len(profile) - 2
    faces = []
    for j in range(sections):
        k = (j + 1) % sections
        faces += [(0, 1 + k, 1 + j), (last, 1 + (rings - 1) * sections + j, 1 + (rings - 1) * sections + k)]
    return points, faces + grid_faces(rings - 1, sections, lambda i, j: 1 + i * sections + j)


def bowl(radius, wall, arcs, sections):
    """Half a spherical shell with a flat rim and a flat foot, open at the top."""
    foot = math.radians(15)
    outer = [(radius * math.sin(a), -radius * math.cos(a)) for a in [foot + (math.pi / 2 - foot) * i / arcs for i in range(arcs + 1)]]
    inner = [((radius - wall) * math.sin(a), -(radius - wall) * math.cos(a)) for a in [math.pi / 2 * (arcs - i) / arcs for i in range(arcs + 1)]]
    inner[-1] = (0.0, -(radius - wall))
    profile = [(0.0, outer[0][1])] + outer + inner
    return revolved([(r, z - outer[0][1]) for r, z in profile], sections)  # stands on z = 0


def prism(outline, caps, height):
    """An outline (counter-clockwise) pushed up from z = 0; caps: its triangles."""
    n = len(outline)
    points = [(x, y, z) for z in (0.0, height) for x, y in outline]
    faces = []
    for i in range(n):
        j = (i + 1) % n
        faces += [(i, j, j + n), (i, j + n, i + n)]
    for a, b, c in caps:
        faces += [(a, c, b), (a + n, b + n, c + n)]
    return points, faces


def bracket(length, thickness, width):
    outline = [(0, 0), (length, 0), (length, thickness), (thickness, thickness), (thickness, length), (0, length)]
    return prism(outline, [(0, 1, 2), (0, 2, 3), (0, 3, 5), (3, 4, 5)], width)


def icosphere(levels):
    g = (1 + math.sqrt(5)) / 2
    points = [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g), (0, -1, -g), (0, 1, -g), (g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)]
    faces = [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6), (7, 1, 8),
             (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10), (8, 6, 7), (9, 8, 1)]
    unit = [tuple(x / math.sqrt(1 + g * g) for x in p) for p in points]
    for _ in range(levels):
        middles, finer = {}, []

        def middle(a, b):
            key = (min(a, b), max(a, b))
            if key not in middles:
                m = [(x + y) / 2 for x, y in zip(unit[a], unit[b])]
                length = math.sqrt(sum(x * x for x in m))
                middles[key] = len(unit)
                unit.append(tuple(x / length for x in m))
            return middles[key]
        for a, b, c in faces:
            ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
            finer += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        faces = finer
    return unit, faces


def critter(size, levels):
    """A body with a head and two ears: a sphere whose radius swells towards a few directions. Not convex."""
    bumps = [((0.75, 0.0, 0.5), 0.55, 9.0), ((0.5, 0.32, 0.95), 0.9, 40.0), ((0.5, -0.32, 0.95), 0.9, 40.0), ((-1.0, 0.0, 0.1), 0.25, 20.0)]
    unit, faces = icosphere(levels)
    points = []
    for p in unit:
        r = 1.0
        for direction, height, sharpness in bumps:
            length = math.sqrt(sum(x * x for x in direction))
            r += height * math.exp(sharpness * (sum(a * b for a, b in zip(p, direction)) / length - 1))
        x, y, z = (size * r * c for c in p)
        points.append((x, 0.8 * y, max(z, -0.7 * size)))  # sits on a flat belly
    return points, faces


MESHES = {
    "torus": lambda: torus(0.06, 0.02, 28, 14),
    "bowl": lambda: bowl(0.2, 0.02, 8, 32),
    "bracket": lambda: bracket(0.12, 0.03, 0.05),
    "critter": lambda: critter(0.05, 3),
}


def main(arguments):
    folder = arguments[0] if arguments else os.path.dirname(os.path.abspath(__file__))
    for name, make in MESHES.items():
        points, faces = make()
        with open(os.path.join(folder, name + ".obj"), "w", encoding="ascii") as f:
            f.write("# written by make_meshes.py; metres\n")
            f.writelines("v " + " ".join(f"{x + 0.0:.6g}" if abs(x) > 5e-10 else "0" for x in p) + "\n" for p in points)
            f.writelines(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in faces)
        print(f"{name}.obj: {len(points)} points, {len(faces)} triangles")


if __name__ == "__main__":
    main(sys.argv[1:])
