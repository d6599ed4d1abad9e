// Contact points, normals and forces, coloured by phase. Everything is an instance; nothing is made per frame. What lies behind a surface
// is drawn once more, faintly: so a pile shows its inside without hiding its outside.
import * as THREE from "three";

export const PHASES = [
  { name: "no phase", colour: "#9aa3b2" },
  { name: "impacting", colour: "#f97316" },
  { name: "resting", colour: "#16b878" },
];
export const FORCE_COLOUR = "#e5194b", NORMAL_COLOUR = "#38a8f8";
const ROOM = 2048;
const ROW = 10;  // numbers a contact: p_WC, nhat_BA_W, force on A, depth
const BEHIND = 0.2;

/** In front of what is nearer by less than `reach_m`: a contact lies between two surfaces, and would be half inside both. */
function inFront(material: THREE.Material, reach_m: { value: number }): void {
  material.onBeforeCompile = (shader) => {
    shader.uniforms.reachM = reach_m;
    shader.vertexShader = `uniform float reachM;\n${shader.vertexShader}`.replace("#include <project_vertex>", `#include <project_vertex>
      vec4 nearer = projectionMatrix * vec4(mvPosition.xyz * max(0.01, 1.0 - reachM / length(mvPosition.xyz)), 1.0);
      gl_Position.z = nearer.z / nearer.w * gl_Position.w;`);
  };
}

export class Contacts {
  readonly group = new THREE.Group();
  count = 0;
  private readonly points: THREE.InstancedMesh[];
  private readonly shafts: THREE.InstancedMesh[];
  private readonly heads: THREE.InstancedMesh[];
  private readonly normals: THREE.LineSegments[];
  private readonly line: THREE.BufferAttribute;
  private readonly colours = PHASES.map((phase) => new THREE.Color(phase.colour));
  private readonly reach_m = { value: 0.02 };
  private readonly at = new THREE.Vector3();
  private readonly force = new THREE.Vector3();
  private readonly scale = new THREE.Vector3();
  private readonly turn = new THREE.Quaternion();
  private readonly none = new THREE.Quaternion();
  private readonly up = new THREE.Vector3(0, 1, 0);
  private readonly matrix = new THREE.Matrix4();
  private reference_n = 1;  // the force that is drawn at full length: a slow maximum, so that arrows do not flicker
  private size = 0.02;

  constructor() {
    this.points = this.both(new THREE.SphereGeometry(1, 10, 8), "#ffffff");
    this.shafts = this.both(new THREE.CylinderGeometry(1, 1, 1, 6).translate(0, 0.5, 0), FORCE_COLOUR);
    this.heads = this.both(new THREE.ConeGeometry(1, 1, 8).translate(0, 0.5, 0), FORCE_COLOUR);
    const lines = new THREE.BufferGeometry();
    this.line = new THREE.BufferAttribute(new Float32Array(6 * ROOM), 3).setUsage(THREE.DynamicDrawUsage);
    lines.setAttribute("position", this.line);
    this.normals = [1, BEHIND].map((opacity) => new THREE.LineSegments(lines, this.look(new THREE.LineBasicMaterial(), NORMAL_COLOUR, opacity)));
    for (const object of [this.points, this.shafts, this.heads, this.normals].flat()) {
      object.frustumCulled = false;
      object.renderOrder = 2;
      this.group.add(object);
    }
  }

  private look<M extends THREE.MeshBasicMaterial | THREE.LineBasicMaterial>(material: M, colour: string, opacity: number): M {
    material.color.set(colour);
    inFront(material, this.reach_m);
    if (opacity === 1) return material;
    Object.assign(material, { transparent: true, opacity, depthWrite: false, depthFunc: THREE.GreaterDepth });
    return material;
  }

  /** What is in front, and what is behind something: the same instances. */
  private both(geometry: THREE.BufferGeometry, colour: string): THREE.InstancedMesh[] {
    const [front, behind] = [1, BEHIND].map((opacity) => new THREE.InstancedMesh(geometry, this.look(new THREE.MeshBasicMaterial(), colour, opacity), ROOM));
    front.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
    if (colour === "#ffffff") front.setColorAt(0, this.colours[0]);
    behind.instanceMatrix = front.instanceMatrix;
    behind.instanceColor = front.instanceColor;
    return [front, behind];
  }

  /** Radius-like size of the marks [m]. */
  set size_m(size: number) {
    this.size = size;
    this.reach_m.value = 1.5 * size;
  }
  get size_m(): number { return this.size; }

  show(points: boolean, normals: boolean, forces: boolean): void {
    for (const object of this.points) object.visible = points;
    for (const object of this.normals) object.visible = normals;
    for (const object of [...this.shafts, ...this.heads]) object.visible = forces;
  }

  clear(): void { this.set([], [], [], () => true); }

  /** `idA`: bodies A; where `moves(idA)`, the force is drawn as it acts on A; else as on B, because A does not move. */
  set(rows: ArrayLike<number>, phase: ArrayLike<number>, idA: ArrayLike<number>, moves: (id: number) => boolean): void {
    const n = (this.count = Math.min(ROOM, Math.floor(rows.length / ROW)));
    let largest = 0;
    for (let i = 0; i < n; ++i) {
      const k = ROW * i + 6;
      largest = Math.max(largest, rows[k] * rows[k] + rows[k + 1] * rows[k + 1] + rows[k + 2] * rows[k + 2]);
    }
    this.reference_n = Math.max(1e-3, Math.sqrt(largest), this.reference_n * 0.995);
    for (let i = 0; i < n; ++i) this.place(i, rows, this.colours[phase[i]] ?? this.colours[0], moves(idA[i]) ? 1 : -1);
    for (const mesh of [...this.points, ...this.shafts, ...this.heads]) mesh.count = n;
    for (const [mesh] of [this.points, this.shafts, this.heads]) this.upload(mesh.instanceMatrix, 16 * n);
    if (this.points[0].instanceColor) this.upload(this.points[0].instanceColor, 3 * n);
    this.upload(this.line, 6 * n);
    this.normals[0].geometry.setDrawRange(0, 2 * n);
  }

  private upload(attribute: THREE.BufferAttribute, numbers: number): void {
    attribute.clearUpdateRanges();
    attribute.addUpdateRange(0, numbers);
    attribute.needsUpdate = true;
  }

  private place(i: number, rows: ArrayLike<number>, colour: THREE.Color, sign: number): void {
    const { at, force, scale, matrix, size } = this, k = ROW * i;
    at.set(rows[k], rows[k + 1], rows[k + 2]);
    this.points[0].setMatrixAt(i, matrix.compose(at, this.none, scale.setScalar(size * 0.5)));
    this.points[0].setColorAt(i, colour);
    this.line.setXYZ(2 * i, at.x, at.y, at.z);
    this.line.setXYZ(2 * i + 1, at.x + rows[k + 3] * size * 4, at.y + rows[k + 4] * size * 4, at.z + rows[k + 5] * size * 4);
    force.set(rows[k + 6], rows[k + 7], rows[k + 8]).multiplyScalar(sign);
    const f = force.length(), length = size * 18 * Math.sqrt(f / this.reference_n);  // square root: small forces stay visible
    this.turn.setFromUnitVectors(this.up, f > 0 ? force.divideScalar(f) : this.up);
    const thin = f > 0 ? size * 0.18 : 0, head = f > 0 ? size * 0.55 : 0;
    this.shafts[0].setMatrixAt(i, matrix.compose(at, this.turn, scale.set(thin, length, thin)));
    this.heads[0].setMatrixAt(i, matrix.compose(at.addScaledVector(force, length), this.turn, scale.set(head, head * 2.2, head)));
  }
}
