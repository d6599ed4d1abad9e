// Where the camera stands, how coarse and how often software graphics draw: numbers, without a renderer.
import * as THREE from "three";

export interface Ball { p_W: THREE.Vector3; size_m: number }

const SLOW_MS = 160, FAST_MS = 40;
const SOFTWARE_FRAME_MS = 45, LONGEST_MS = 600, SOFTWARE_HZ = 22;
/** Software graphics: pixels drawn a pixel shown, in each direction, the slower the machine the fewer. */
export const RATIOS = [1, 0.7, 0.5, 0.35];

/** Looking along -back with z up: the middle of what is seen, and the distance from which all balls are in the picture (`fov_deg`: its height). */
export function aimAt(balls: readonly Ball[], centre: THREE.Vector3, back: THREE.Vector3, fov_deg: number, aspect: number): { target: THREE.Vector3; distance: number } {
  const right = new THREE.Vector3(0, 0, 1).cross(back).normalize(), up = new THREE.Vector3().crossVectors(back, right);
  const high = Math.tan((fov_deg * Math.PI) / 360) * 0.9, wide = high * aspect;
  const box = new THREE.Box3(), p = new THREE.Vector3();
  for (const { p_W, size_m } of balls) {
    p.set(p_W.dot(right), p_W.dot(up), p_W.dot(back));
    box.expandByPoint(p.clone().subScalar(size_m)).expandByPoint(p.clone().addScalar(size_m));
  }
  box.getCenter(p);
  const target = new THREE.Vector3().addScaledVector(right, p.x).addScaledVector(up, p.y).addScaledVector(back, centre.dot(back));
  let distance = 0.3;
  for (const { p_W, size_m } of balls) {
    const near = p_W.clone().sub(target), z = near.dot(back);
    distance = Math.max(distance, z + (Math.abs(near.dot(right)) + size_m) / wide, z + (Math.abs(near.dot(up)) + size_m) / high);
  }
  return { target, distance };
}

/** How coarse (of RATIOS) the next pictures are, after ones that took `cost_ms`. */
export function coarser(cost_ms: number, coarse: number): number {
  const wanted = cost_ms > SLOW_MS ? coarse + 1 : cost_ms < FAST_MS ? coarse - 1 : coarse;
  return Math.min(RATIOS.length - 1, Math.max(0, wanted));
}
/** Between both: judged anew after a change. */
export const UNJUDGED_MS = (SLOW_MS + FAST_MS) / 2;

/** Software graphics: from one picture to the next, so that drawing leaves the machine half its time. */
export function pictureEvery_ms(cost_ms: number): number { return Math.min(LONGEST_MS, SOFTWARE_FRAME_MS + 2 * cost_ms); }

/** States a second that a page asks for: 60; as many as software graphics can have pictures of. `?hz=N` in the address decides otherwise. */
export function streamHz(software: boolean, search: string): number {
  const asked = Number(new URLSearchParams(search).get("hz"));
  return asked >= 1 && asked <= 1000 ? asked : software ? SOFTWARE_HZ : 60;
}
