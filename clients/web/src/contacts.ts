// Contact points, normals and forces, coloured by phase. Nothing is made per frame. With a graphics processor: balls and arrows as instances,
// and what lies behind a surface once more, faintly, so that a pile shows its inside without hiding its outside. Without: dots and lines,
// because software graphics pay for each instance.
import * as THREE from "three";
import { FORCE_COLOUR, NORMAL_COLOUR, PHASES } from "./phases";

const ROOM = 2048;
const ROW = 10;  // numbers a contact: p_WC, nhat_BA_W, force on A, depth
const BEHIND = 0.2;

/** Where the marks of contact `i` are: the point, the unit direction of the force that is drawn, its length on the picture [m]. */
interface Mark { at: THREE.Vector3; along: THREE.Vector3; length_m: number; colour: THREE.Color; size_m: number }
interface Marks {
  readonly objects: THREE.Object3D[];
  show(points: boolean, forces: boolean): void;
  place(i: number, mark: Mark): void;
  /** The first n are all there is. */
  finish(n: number): void;
}

function upload(attribute: THREE.BufferAttribute, numbers: number): void {
  attribute.clearUpdateRanges();
  attribute.addUpdateRange(0, numbers);
  attribute.needsUpdate = true;
}

/** In front of what is nearer by less than `reach_m`: a contact lies between two surfaces, and would be half inside both. */
function inFront(material: THREE.Material, reach_m: { value: number }): void {
  material.onBeforeCompile = (shader) => {
    shader.uniforms.reachM = reach_m;
    shader.vertexShader = `uniform float reachM;\n${shader.vertexShader}`.replace("#include <project_vertex>", `#include <project_vertex>
      vec4 nearer = projectionMatrix * vec4(mvPosition.xyz * max(0.01, 1.0 - reachM / length(mvPosition.xyz)), 1.0);
      gl_Position.z = nearer.z / nearer.w * gl_Position.w;`);
  };
}

function look<M extends THREE.MeshBasicMaterial | THREE.LineBasicMaterial>(material: M, colour: string, opacity: number, reach_m: { value: number }): M {
  material.color.set(colour);
  inFront(material, reach_m);
  if (opacity < 1) Object.assign(material, { transparent: true, opacity, depthWrite: false, depthFunc: THREE.GreaterDepth });
  return material;
}

class Arrows implements Marks {
  readonly objects: THREE.Object3D[];
  private readonly points: THREE.InstancedMesh[];
  private readonly shafts: THREE.InstancedMesh[];
  private readonly heads: THREE.InstancedMesh[];
  private readonly scale = new THREE.Vector3();
  private readonly turn = new THREE.Quaternion();
  private readonly none = new THREE.Quaternion();
  private readonly up = new THREE.Vector3(0, 1, 0);
  private readonly matrix = new THREE.Matrix4();

  constructor(private readonly reach_m: { value: number }) {
    this.points = this.both(new THREE.IcosahedronGeometry(1, 2), "#ffffff");
    this.shafts = this.both(new THREE.CylinderGeometry(1, 1, 1, 8, 1, true).translate(0, 0.5, 0), FORCE_COLOUR);
    this.heads = this.both(new THREE.ConeGeometry(1, 1, 10).translate(0, 0.5, 0), FORCE_COLOUR);
    this.objects = [...this.points, ...this.shafts, ...this.heads];
  }

  /** What is in front, and what is behind something: the same instances. */
  private both(geometry: THREE.BufferGeometry, colour: string): THREE.InstancedMesh[] {
    const [front, behind] = [1, BEHIND].map((opacity) => new THREE.InstancedMesh(geometry, look(new THREE.MeshBasicMaterial(), colour, opacity, this.reach_m), ROOM));
    front.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
    if (colour === "#ffffff") front.setColorAt(0, new THREE.Color());
    behind.instanceMatrix = front.instanceMatrix;
    behind.instanceColor = front.instanceColor;
    return [front, behind];
  }

  show(points: boolean, forces: boolean): void {
    for (const object of this.points) object.visible = points;
    for (const object of [...this.shafts, ...this.heads]) object.visible = forces;
  }

  place(i: number, { at, along, length_m, colour, size_m }: Mark): void {
    const { matrix, scale, turn } = this, thin = length_m > 0 ? size_m * 0.18 : 0, head = length_m > 0 ? size_m * 0.55 : 0;
    this.points[0].setMatrixAt(i, matrix.compose(at, this.none, scale.setScalar(size_m * 0.5)));
    this.points[0].setColorAt(i, colour);
    turn.setFromUnitVectors(this.up, along);
    this.shafts[0].setMatrixAt(i, matrix.compose(at, turn, scale.set(thin, length_m, thin)));
    this.heads[0].setMatrixAt(i, matrix.compose(at.addScaledVector(along, length_m), turn, scale.set(head, head * 2.2, head)));
  }

  finish(n: number): void {
    for (const mesh of [...this.points, ...this.shafts, ...this.heads]) mesh.count = n;
    for (const [mesh] of [this.points, this.shafts, this.heads]) upload(mesh.instanceMatrix, 16 * n);
    if (this.points[0].instanceColor) upload(this.points[0].instanceColor, 3 * n);
  }
}

class DotsAndLines implements Marks {
  readonly objects: THREE.Object3D[];
  private readonly dot = new THREE.BufferAttribute(new Float32Array(3 * ROOM), 3).setUsage(THREE.DynamicDrawUsage);
  private readonly colour = new THREE.BufferAttribute(new Float32Array(3 * ROOM), 3).setUsage(THREE.DynamicDrawUsage);
  private readonly line = new THREE.BufferAttribute(new Float32Array(6 * ROOM), 3).setUsage(THREE.DynamicDrawUsage);
  private readonly tip = new THREE.BufferAttribute(new Float32Array(3 * ROOM), 3).setUsage(THREE.DynamicDrawUsage);
  private readonly dots: THREE.Points;
  private readonly tips: THREE.Points;
  private readonly lines: THREE.LineSegments;

  constructor() {
    const over = { depthTest: false, transparent: true, opacity: 0.9 };
    this.dots = new THREE.Points(new THREE.BufferGeometry().setAttribute("position", this.dot).setAttribute("color", this.colour),
      new THREE.PointsMaterial({ ...over, size: 5, sizeAttenuation: false, vertexColors: true }));
    this.tips = new THREE.Points(new THREE.BufferGeometry().setAttribute("position", this.tip),
      new THREE.PointsMaterial({ ...over, size: 4, sizeAttenuation: false, color: FORCE_COLOUR }));
    this.lines = new THREE.LineSegments(new THREE.BufferGeometry().setAttribute("position", this.line), new THREE.LineBasicMaterial({ ...over, color: FORCE_COLOUR }));
    this.objects = [this.lines, this.tips, this.dots];
  }

  show(points: boolean, forces: boolean): void {
    this.dots.visible = points;
    this.lines.visible = this.tips.visible = forces;
  }

  place(i: number, { at, along, length_m, colour }: Mark): void {
    this.dot.setXYZ(i, at.x, at.y, at.z);
    this.colour.setXYZ(i, colour.r, colour.g, colour.b);
    this.line.setXYZ(2 * i, at.x, at.y, at.z);
    at.addScaledVector(along, length_m);
    this.line.setXYZ(2 * i + 1, at.x, at.y, at.z);
    this.tip.setXYZ(i, at.x, at.y, at.z);
  }

  finish(n: number): void {
    for (const [object, count] of [[this.dots, n], [this.tips, n], [this.lines, 2 * n]] as const) object.geometry.setDrawRange(0, count);
    for (const attribute of [this.dot, this.colour, this.tip]) upload(attribute, 3 * n);
    upload(this.line, 6 * n);
  }
}

export class Contacts {
  readonly group = new THREE.Group();
  count = 0;
  private readonly marks: Marks;
  private readonly normals: THREE.LineSegments[];
  private readonly line: THREE.BufferAttribute;
  private readonly colours = PHASES.map((phase) => new THREE.Color(phase.colour));
  private readonly reach_m = { value: 0.02 };
  private readonly mark: Mark = { at: new THREE.Vector3(), along: new THREE.Vector3(), length_m: 0, colour: this.colours[0], size_m: 0.02 };
  private reference_n = 1;  // the force that is drawn at full length: a slow maximum, so that arrows do not flicker

  constructor(plain: boolean) {
    this.marks = plain ? new DotsAndLines() : new Arrows(this.reach_m);
    const lines = new THREE.BufferGeometry();
    this.line = new THREE.BufferAttribute(new Float32Array(6 * ROOM), 3).setUsage(THREE.DynamicDrawUsage);
    lines.setAttribute("position", this.line);
    this.normals = (plain ? [1] : [1, BEHIND]).map((opacity) => new THREE.LineSegments(lines, look(new THREE.LineBasicMaterial(), NORMAL_COLOUR, opacity, this.reach_m)));
    for (const object of [...this.marks.objects, ...this.normals]) {
      object.frustumCulled = false;
      object.renderOrder = 2;
      this.group.add(object);
    }
  }

  /** Radius-like size of the marks [m]. */
  set size_m(size: number) {
    this.mark.size_m = size;
    this.reach_m.value = 1.5 * size;
  }
  get size_m(): number { return this.mark.size_m; }

  show(points: boolean, normals: boolean, forces: boolean): void {
    this.marks.show(points, forces);
    for (const object of this.normals) object.visible = normals;
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
    for (let i = 0; i < n; ++i) {
      this.mark.colour = this.colours[phase[i]] ?? this.colours[0];
      this.place(i, rows, moves(idA[i]) ? 1 : -1);
    }
    this.marks.finish(n);
    upload(this.line, 6 * n);
    this.normals[0].geometry.setDrawRange(0, 2 * n);
  }

  private place(i: number, rows: ArrayLike<number>, sign: number): void {
    const { mark } = this, { at, along, size_m } = mark, k = ROW * i;
    at.set(rows[k], rows[k + 1], rows[k + 2]);
    this.line.setXYZ(2 * i, at.x, at.y, at.z);
    this.line.setXYZ(2 * i + 1, at.x + rows[k + 3] * size_m * 4, at.y + rows[k + 4] * size_m * 4, at.z + rows[k + 5] * size_m * 4);
    along.set(rows[k + 6], rows[k + 7], rows[k + 8]).multiplyScalar(sign);
    const f = along.length();
    mark.length_m = size_m * 18 * Math.sqrt(f / this.reference_n);  // square root: small forces stay visible
    if (f > 0) along.divideScalar(f);
    else along.set(0, 1, 0);
    this.marks.place(i, mark);
  }
}
