// A tool and the coupling that pulls: a ball where the hand is, a line to the point that it holds, the force as an arrow. Shown for the
// mouse, and for a haptic device's tool once the server streams one.
import * as THREE from "three";

export class Tool {
  readonly group = new THREE.Group();
  private readonly ball = new THREE.Mesh(new THREE.SphereGeometry(1, 20, 14), new THREE.MeshBasicMaterial({ color: "#f5b301" }));
  private readonly held = new THREE.Mesh(new THREE.SphereGeometry(1, 12, 8), new THREE.MeshBasicMaterial({ color: "#f5b301" }));
  private readonly line: THREE.Line;
  size_m = 0.03;

  constructor() {
    const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(6), 3));
    this.line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: "#f5b301" }));
    this.line.frustumCulled = false;
    this.group.add(this.ball, this.held, this.line);
    this.group.visible = false;
  }

  /** The held point, where the hand is, and the force of the coupling on the body [N], all in W. */
  set(held_W: THREE.Vector3, hand_W: THREE.Vector3, force_W: readonly number[]): void {
    this.group.visible = true;
    this.held.position.copy(held_W);
    this.held.scale.setScalar(this.size_m * 0.6);
    this.ball.position.copy(hand_W);
    this.ball.scale.setScalar(this.size_m);
    const p = this.line.geometry.getAttribute("position") as THREE.BufferAttribute;
    p.setXYZ(0, held_W.x, held_W.y, held_W.z);
    p.setXYZ(1, hand_W.x, hand_W.y, hand_W.z);
    p.needsUpdate = true;
    this.line.visible = Math.hypot(...force_W) > 0;
  }

  hide(): void { this.group.visible = false; }
}
