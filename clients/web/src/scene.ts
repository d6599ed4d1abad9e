// The scene as instances to draw: every sphere, box and cylinder of all bodies is one instance of a unit shape, so that a hundred bodies
// are a handful of draw calls; meshes and convex polyhedra are shared geometries. Frames: W world, B a body, S a shape.
import * as THREE from "three";
import { toCreasedNormals } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import { groundMaterial, type GroundLook } from "./ground";
import type { BodyDescription, SceneDescription, ShapeDescription } from "../generated/control_pb";

export interface Part {
  body: number;       // row in Scene.poses
  X_BS: THREE.Matrix4;  // with the scale that makes the unit shape this shape
}
export interface Batch { mesh: THREE.InstancedMesh; parts: Part[] }

/** Triangles of one shape, from the server: 9 numbers a triangle, in S [m]. */
export type MeshSource = (body: number, shape: number) => Promise<Float32Array>;

const PALETTE = ["#5b8def", "#e2725b", "#3fb68b", "#d9a441", "#9a7bd0", "#4fb3c8", "#d86a9a", "#8aa653"];
const GROUND_M = 400;
const SMOOTH_RAD = 0.6;  // faces of a mesh that meet at less look like one

const ONE = new THREE.Vector3(1, 1, 1);

function matrix(p: { x: number; y: number; z: number } | undefined, q: { w: number; x: number; y: number; z: number } | undefined,
                scale: [number, number, number]): THREE.Matrix4 {
  const rotation = q ? new THREE.Quaternion(q.x, q.y, q.z, q.w) : new THREE.Quaternion();
  if (rotation.lengthSq() < 1e-12) rotation.identity();
  return new THREE.Matrix4().compose(new THREE.Vector3(p?.x ?? 0, p?.y ?? 0, p?.z ?? 0), rotation, new THREE.Vector3(...scale));
}

/** What unit shapes a shape is made of: name, offset along its z, scale. A capsule is a cylinder with two balls. */
export function unitParts(shape: ShapeDescription): { unit: "sphere" | "box" | "cylinder"; z: number; scale: [number, number, number] }[] {
  const r = shape.radiusM, h = shape.halfLengthM, half = shape.halfM;
  switch (shape.kind) {
    case "sphere": return [{ unit: "sphere", z: 0, scale: [r, r, r] }];
    case "box": return [{ unit: "box", z: 0, scale: [half?.x ?? 0, half?.y ?? 0, half?.z ?? 0] }];
    case "cylinder": return [{ unit: "cylinder", z: 0, scale: [r, r, h] }];
    case "capsule": return [{ unit: "cylinder", z: 0, scale: [r, r, h] }, { unit: "sphere", z: h, scale: [r, r, r] }, { unit: "sphere", z: -h, scale: [r, r, r] }];
    default: return [];
  }
}

/** Farthest a shape reaches from its body's origin, roughly from above [m]. */
function reachOf(s: ShapeDescription): number {
  let vertex = 0;
  for (let i = 0; i + 2 < s.verticesM.length; i += 3) vertex = Math.max(vertex, Math.hypot(s.verticesM[i], s.verticesM[i + 1], s.verticesM[i + 2]));
  const own = s.radiusM + s.halfLengthM + Math.hypot(s.halfM?.x ?? 0, s.halfM?.y ?? 0, s.halfM?.z ?? 0) + vertex;
  return own + Math.hypot(s.pBSM?.x ?? 0, s.pBSM?.y ?? 0, s.pBSM?.z ?? 0);
}

/** Normals of a triangle soup: of the faces where `smooth_rad` is 0, else shared between faces that meet at less than that. */
export function withNormals(corner_m: Float32Array, smooth_rad: number): THREE.BufferGeometry {
  const flat = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(corner_m, 3));
  if (smooth_rad > 0) return toCreasedNormals(flat, smooth_rad);
  flat.computeVertexNormals();
  return flat;
}

/** Finer where a graphics processor draws few of them. */
function unitGeometry(unit: string, plain: boolean, many: boolean): THREE.BufferGeometry {
  if (unit === "sphere") return new THREE.SphereGeometry(1, plain ? 12 : many ? 24 : 36, plain ? 8 : many ? 16 : 24);
  if (unit === "box") return new THREE.BoxGeometry(2, 2, 2);
  return new THREE.CylinderGeometry(1, 1, 2, plain ? 14 : many ? 28 : 40).rotateX(Math.PI / 2);
}

export class Scene {
  readonly group = new THREE.Group();
  readonly names: string[] = [];
  readonly rowOfId = new Map<number, number>();
  readonly bodies: BodyDescription[];
  readonly X_WB: THREE.Matrix4[] = [];
  readonly batches: Batch[] = [];
  readonly grounds: { body: number; X_BS: THREE.Matrix4; group: THREE.Group }[] = [];
  readonly ground: GroundLook = { colour: { value: new THREE.Color() }, line: { value: new THREE.Color() }, cell_m: { value: 1 } };
  radius_m = 1;
  readonly centre = new THREE.Vector3();
  private disposed = false;
  private readonly scratch = new THREE.Matrix4();
  private readonly p = new THREE.Vector3();
  private readonly q = new THREE.Quaternion();
  private moves: boolean[] = [];
  private readonly meshReach_m = new Map<number, number>();  // of bodies whose meshes have come

  constructor(readonly description: SceneDescription, private readonly plain: boolean, source: MeshSource, private readonly ready: () => void) {
    this.bodies = description.bodies;
    const collected = new Map<string, { parts: Part[]; colours: THREE.Color[] }>();
    this.bodies.forEach((body, row) => {
      this.names.push(body.name);
      this.rowOfId.set(body.id, row);
      this.X_WB.push(new THREE.Matrix4());
      body.shapes.forEach((shape, index) => this.addShape(body, row, shape, index, collected, source));
    });
    this.moves = this.bodies.map((body) => body.mode === "free" || body.mode === "link");
    const many = this.bodies.length > 200;
    for (const [unit, { parts, colours }] of collected) this.addBatch(unitGeometry(unit, this.plain, many), parts, colours);
  }

  private addShape(body: BodyDescription, row: number, shape: ShapeDescription, index: number,
                   collected: Map<string, { parts: Part[]; colours: THREE.Color[] }>, source: MeshSource): void {
    const colour = new THREE.Color(shape.colour || (body.mode === "fixed" ? "#8b93a1" : PALETTE[row % PALETTE.length]));
    if (shape.kind === "half_space") return this.addGround(row, shape);
    const X_BS = matrix(shape.pBSM, shape.qBS, [1, 1, 1]);
    for (const { unit, z, scale } of unitParts(shape)) {
      const entry = collected.get(unit) ?? { parts: [], colours: [] };
      collected.set(unit, entry);
      const local = new THREE.Matrix4().makeTranslation(0, 0, z).scale(new THREE.Vector3(...scale));
      entry.parts.push({ body: row, X_BS: X_BS.clone().multiply(local) });
      entry.colours.push(colour);
    }
    if (shape.kind === "mesh" || shape.kind === "convex" || shape.kind === "smooth") {
      void source(body.id, index).then((corners) => {
        if (this.disposed || corners.length === 0) return;
        const geometry = withNormals(corners, shape.kind === "convex" ? 0 : SMOOTH_RAD);
        geometry.computeBoundingSphere();
        const ball = geometry.boundingSphere!, p = shape.pBSM;
        this.meshReach_m.set(row, Math.max(this.meshReach_m.get(row) ?? 0, ball.center.length() + ball.radius + Math.hypot(p?.x ?? 0, p?.y ?? 0, p?.z ?? 0)));
        this.addBatch(geometry, [{ body: row, X_BS }], [colour]);
        this.place();
        this.ready();
      }).catch(() => undefined);  // the scene went meanwhile
    }
  }

  private addBatch(geometry: THREE.BufferGeometry, parts: Part[], colours: THREE.Color[]): void {
    const material = this.plain ? new THREE.MeshLambertMaterial() : new THREE.MeshStandardMaterial({ roughness: 0.62, metalness: 0.05 });
    const mesh = new THREE.InstancedMesh(geometry, material, parts.length);
    colours.forEach((colour, i) => mesh.setColorAt(i, colour));
    mesh.castShadow = mesh.receiveShadow = true;
    mesh.frustumCulled = false;
    mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
    this.batches.push({ mesh, parts });
    this.group.add(mesh);
  }

  private addGround(row: number, shape: ShapeDescription): void {
    const group = new THREE.Group();
    const plane = new THREE.Mesh(new THREE.PlaneGeometry(GROUND_M, GROUND_M), groundMaterial(this.plain, this.ground));
    plane.receiveShadow = true;
    group.add(plane);
    group.matrixAutoUpdate = false;
    this.group.add(group);
    this.grounds.push({ body: row, X_BS: matrix(shape.pBSM, shape.qBS, [1, 1, 1]), group });
  }

  /** Poses of the bodies with these ids: 7 numbers a row, p_WB and q_WB (w first). */
  setPoses(ids: ArrayLike<number>, pose: ArrayLike<number>): void {
    const { p, q } = this;
    for (let i = 0; i < ids.length; ++i) {
      const row = this.rowOfId.get(ids[i]);
      if (row === undefined) continue;
      p.set(pose[7 * i], pose[7 * i + 1], pose[7 * i + 2]);
      q.set(pose[7 * i + 4], pose[7 * i + 5], pose[7 * i + 6], pose[7 * i + 3]);
      this.X_WB[row].compose(p, q, ONE);
    }
  }

  /** Moves the instances to where their bodies are. */
  place(): void {
    for (const { mesh, parts } of this.batches) {
      for (let i = 0; i < parts.length; ++i) mesh.setMatrixAt(i, this.scratch.multiplyMatrices(this.X_WB[parts[i].body], parts[i].X_BS));
      mesh.instanceMatrix.needsUpdate = true;
      mesh.boundingSphere = null;
    }
    for (const { body, X_BS, group } of this.grounds) group.matrix.multiplyMatrices(this.X_WB[body], X_BS);
  }

  /** Balls around what there is to see, without grounds and walls. Sets centre and radius of their box, too. */
  measure(): { p_W: THREE.Vector3; size_m: number }[] {
    const box = new THREE.Box3(), balls: { p_W: THREE.Vector3; size_m: number }[] = [];
    this.bodies.forEach((body, row) => {
      if (body.shapes.some((s) => s.kind === "half_space")) return;
      const size_m = Math.max(...body.shapes.map(reachOf), this.meshReach_m.get(row) ?? 0, 0.05);
      if (body.mode === "fixed" && size_m > 5) return;  // walls
      const p_W = new THREE.Vector3().setFromMatrixPosition(this.X_WB[row]);
      balls.push({ p_W, size_m });
      box.expandByPoint(p_W.clone().subScalar(size_m)).expandByPoint(p_W.clone().addScalar(size_m));
    });
    if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, 0), new THREE.Vector3(1, 1, 1));
    box.getCenter(this.centre);
    this.radius_m = Math.max(0.3, box.getSize(new THREE.Vector3()).length() / 2);
    this.ground.cell_m.value = 10 ** Math.round(Math.log10(this.radius_m));
    return balls;
  }

  /** The body of this id moves by itself. */
  isMovable(id: number): boolean { return this.moves[this.rowOfId.get(id) ?? -1] ?? false; }

  /** Middle of what moves by itself; false when nothing does. */
  middle(out: THREE.Vector3): boolean {
    let n = 0;
    out.set(0, 0, 0);
    for (let row = 0; row < this.X_WB.length; ++row) {
      if (!this.moves[row]) continue;
      const e = this.X_WB[row].elements;
      out.x += e[12];
      out.y += e[13];
      out.z += e[14];
      ++n;
    }
    out.divideScalar(Math.max(1, n));
    return n > 0;
  }

  rowNamed(name: string): number { return this.names.indexOf(name); }

  dispose(): void {
    this.disposed = true;
    this.group.traverse((object) => {
      const drawn = object as THREE.Mesh;
      drawn.geometry?.dispose();
      for (const material of [drawn.material].flat()) material?.dispose();
      if (object instanceof THREE.InstancedMesh) object.dispose();
    });
    this.group.removeFromParent();
  }
}
