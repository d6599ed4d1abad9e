"""The equations of config/robots/planar_arm.urdf: two links in the x-z plane, angles from the vertical about y."""
from math import cos, sin

M1, M2, L1, C1, C2, I1, I2, G = 2.0, 1.0, 0.4, 0.2, 0.15, 0.028, 0.008, 9.81


def gravity(q):
    """What holds the arm where it is [N m]."""
    fore = -M2 * C2 * G * sin(q[0] + q[1])
    return [fore - (M1 * C1 + M2 * L1) * G * sin(q[0]), fore]


def inverse_dynamics(q, dq, a):
    """tau = M(q) a + C(q, dq) dq + gravity(q)"""
    k, h = M2 * L1 * C2 * cos(q[1]), M2 * L1 * C2 * sin(q[1])
    m22 = I2 + M2 * C2 * C2
    m12, m11 = m22 + k, I1 + M1 * C1 * C1 + M2 * L1 * L1 + m22 + 2 * k
    tau = gravity(q)
    tau[0] += m11 * a[0] + m12 * a[1] - h * (2 * dq[0] + dq[1]) * dq[1]
    tau[1] += m12 * a[0] + m22 * a[1] + h * dq[0] * dq[0]
    return tau
