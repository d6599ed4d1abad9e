// Contact points, normals and forces, coloured by phase. Everything is an instance; nothing is made per frame.
import * as THREE from "three";

export const PHASES = [
  { name: "no phase", colour: "#9aa3b2" },
  { name: "impacting", colour: "#f97316" },
  { name: "resting", colour: "#22b07d" },
];
const FORCE_COLOUR = "#e11d48";
const ROOM = 2048;
const ROW = 10;  // numbers a contact: p_WC, nhat_BA_W, force on A, depth

export class Contacts {
  readonly group = new THREE.Group();
  count = 0;
  private readonly points: THREE.InstancedMesh;
  private readonly shafts: THREE.InstancedMesh;
  private readonly heads: THREE.InstancedMesh;
  private readonly normals: THREE.LineSegments;
  private readonly colours = PHASES.map((phase) => new THREE.Color(phase.colour));
  private reference_n = 1;  // the force that is drawn at full length: a slow maximum, so that arrows do not flicker
  size_m = 0.02;

  constructor() {
    const material = (colour: string) => new THREE.MeshBasicMaterial({ color: colour, depthTest: false, transparent: true, opacity: 0.95 });
    this.points = new THREE.InstancedMesh(new THREE.SphereGeometry(1, 8, 6), material("#ffffff"), ROOM);
    this.shafts = new THREE.InstancedMesh(new THREE.CylinderGeometry(1, 1, 1, 6).translate(0, 0.5, 0), material(FORCE_COLOUR), ROOM);
    this.heads = new THREE.InstancedMesh(new THREE.ConeGeometry(1, 1, 8).translate(0, 0.5, 0), material(FORCE_COLOUR), ROOM);
    const lines = new THREE.BufferGeometry();
    lines.setAttribute("position", new THREE.BufferAttribute(new Float32Array(6 * ROOM), 3).setUsage(THREE.DynamicDrawUsage));
    this.normals = new THREE.LineSegments(lines, new THREE.LineBasicMaterial({ color: "#38bdf8", depthTest: false, transparent: true, opacity: 0.8 }));
    for (const object of [this.points, this.shafts, this.heads, this.normals]) {
      object.frustumCulled = false;
      object.renderOrder = 2;
      this.group.add(object);
    }
    this.points.setColorAt(0, this.colours[0]);
  }

  show(points: boolean, normals: boolean, forces: boolean): void {
    this.points.visible = points;
    this.normals.visible = normals;
    this.shafts.visible = this.heads.visible = forces;
  }

  /** `onA[i]`: the force is drawn as it acts on body A; else as on B, because A does not move. */
  set(rows: ArrayLike<number>, phase: ArrayLike<number>, onA: ArrayLike<boolean>): void {
    const n = (this.count = Math.min(ROOM, Math.floor(rows.length / ROW)));
    let largest = 0;
    for (let i = 0; i < n; ++i) largest = Math.max(largest, Math.hypot(rows[ROW * i + 6], rows[ROW * i + 7], rows[ROW * i + 8]));
    this.reference_n = Math.max(1e-3, largest, this.reference_n * 0.995);
    const at = new THREE.Vector3(), force = new THREE.Vector3(), up = new THREE.Vector3(0, 1, 0), q = new THREE.Quaternion();
    const m = new THREE.Matrix4(), scale = new THREE.Vector3(), none = new THREE.Quaternion();
    const line = this.normals.geometry.getAttribute("position") as THREE.BufferAttribute;
    const size = this.size_m, full = size * 18;
    for (let i = 0; i < n; ++i) {
      const k = ROW * i;
      at.set(rows[k], rows[k + 1], rows[k + 2]);
      this.points.setMatrixAt(i, m.compose(at, none, scale.setScalar(size * 0.5)));
      this.points.setColorAt(i, this.colours[phase[i]] ?? this.colours[0]);
      line.setXYZ(2 * i, at.x, at.y, at.z);
      line.setXYZ(2 * i + 1, at.x + rows[k + 3] * size * 4, at.y + rows[k + 4] * size * 4, at.z + rows[k + 5] * size * 4);
      force.set(rows[k + 6], rows[k + 7], rows[k + 8]).multiplyScalar(onA[i] ? 1 : -1);
      const f = force.length(), length = full * Math.sqrt(f / this.reference_n);  // square root: small forces stay visible
      q.setFromUnitVectors(up, f > 0 ? force.divideScalar(f) : up);
      const thin = f > 0 ? size * 0.16 : 0, head = f > 0 ? size * 0.5 : 0;
      this.shafts.setMatrixAt(i, m.compose(at, q, scale.set(thin, length, thin)));
      this.heads.setMatrixAt(i, m.compose(at.addScaledVector(force, length), q, scale.set(head, head * 2.2, head)));
    }
    for (const mesh of [this.points, this.shafts, this.heads]) {
      mesh.count = n;
      mesh.instanceMatrix.needsUpdate = true;
    }
    if (this.points.instanceColor) this.points.instanceColor.needsUpdate = true;
    this.normals.geometry.setDrawRange(0, 2 * n);
    line.needsUpdate = true;
  }
}
