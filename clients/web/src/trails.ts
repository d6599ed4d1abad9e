// The paths of free bodies over the last seconds, fading.
import * as THREE from "three";

const LENGTH = 180, BODIES = 64;

export class Trails {
  readonly lines: THREE.LineSegments;
  private readonly position: THREE.BufferAttribute;
  private readonly past: Float32Array[] = [];
  private filled = 0;

  constructor() {
    const geometry = new THREE.BufferGeometry();
    this.position = new THREE.BufferAttribute(new Float32Array(BODIES * LENGTH * 6), 3).setUsage(THREE.DynamicDrawUsage);
    const colour = new Float32Array(BODIES * LENGTH * 8);
    for (let i = 0; i < BODIES * LENGTH * 2; ++i) colour.set([0.35, 0.55, 0.95, 1 - Math.floor((i % (2 * LENGTH)) / 2) / LENGTH], 4 * i);
    geometry.setAttribute("position", this.position);
    geometry.setAttribute("color", new THREE.BufferAttribute(colour, 4));
    this.lines = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false }));
    this.lines.frustumCulled = false;
    this.lines.visible = false;
  }

  clear(): void {
    this.filled = 0;
    this.past.length = 0;
  }

  /** Adds where the bodies are now: 3 numbers a body; of the first 64 bodies. */
  add(points: Float32Array): void {
    if (!this.lines.visible) return;
    this.past.unshift(points.slice(0, 3 * BODIES));
    if (this.past.length > LENGTH) this.past.pop();
    this.filled = this.past.length;
    const bodies = Math.min(BODIES, points.length / 3), out = this.position.array as Float32Array;
    out.fill(0);
    for (let b = 0; b < bodies; ++b) {
      for (let k = 0; k + 1 < this.filled; ++k) {
        const at = 6 * (b * LENGTH + k);
        for (let i = 0; i < 3; ++i) {
          out[at + i] = this.past[k][3 * b + i];
          out[at + 3 + i] = this.past[k + 1][3 * b + i];
        }
      }
    }
    this.lines.geometry.setDrawRange(0, 2 * bodies * LENGTH);
    this.position.needsUpdate = true;
  }
}
