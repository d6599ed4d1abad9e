// The law of the mouse: a spring and damper from the point that was grabbed to where the mouse is, and a torque for a turn.
export type Vec = [number, number, number];

export interface Grabbed {
  mass_kg: number;
  force_limit_n: number;   // 0 or infinite: none
  torque_limit_n_m: number;
}

/** Natural frequency of a free body on the spring [rad/s]: slow enough for a link of 60 commands a second and 50 ms of delay. */
export const OMEGA_RAD_PER_S = 8;
const ZETA = 0.8;

export function length(v: Vec): number { return Math.hypot(v[0], v[1], v[2]); }

/** Cut to a length, the direction kept. */
export function limited(v: Vec, most: number): Vec {
  const l = length(v);
  if (!(most > 0) || !Number.isFinite(most) || l <= most) return v;
  return [(v[0] * most) / l, (v[1] * most) / l, (v[2] * most) / l];
}

/** Force on the body at the grabbed point, in W [N]: m omega^2 (target - p) - 2 zeta m omega v, times the user's gain. */
export function springForce(body: Grabbed, p_W: Vec, v_W: Vec, target_W: Vec, gain: number): Vec {
  const k = body.mass_kg * OMEGA_RAD_PER_S ** 2 * gain, c = 2 * ZETA * body.mass_kg * OMEGA_RAD_PER_S * Math.sqrt(gain);
  const f = [0, 1, 2].map((i) => k * (target_W[i] - p_W[i]) - c * v_W[i]) as Vec;
  return limited(f, body.force_limit_n);
}

/** Torque in W [N m] for a drag of (right, up) in units of the view's height: about the view's up and right axes. */
export function turnTorque(body: Grabbed, size_m: number, right: number, up: number, viewRight: Vec, viewUp: Vec, gain: number): Vec {
  const scale = 12 * body.mass_kg * 9.81 * Math.max(size_m, 0.01) * gain;
  const t = [0, 1, 2].map((i) => scale * (right * viewUp[i] - up * viewRight[i])) as Vec;
  return limited(t, body.torque_limit_n_m);
}
