// Renderer, light, camera. z is up. Redraws only when something changed.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Canvas } from "./chart";
import type { Scene } from "./scene";
import type { Theme } from "./seam";
import { Surface } from "./surface";
import { aimAt, coarser, pictureEvery_ms, RATIOS, UNJUDGED_MS, type Ball } from "./view";

const FOLLOW_MS = 300, LOOK_MS = 15;
const VIEW = new THREE.Vector3(0.35, -0.82, 0.5);  // from the front and above

const COLOURS = {
  light: { sky: "#e8edf4", ground: "#dfe4ec", line: "#8592a6", hemisphere: 1.7, sun: 2.1, shadow: 0.5 },
  dark: { sky: "#12151b", ground: "#2a303b", line: "#66728a", hemisphere: 1.5, sun: 1.9, shadow: 0.7 },
};

/** No graphics processor: what costs most per pixel is left out, and frames are fewer. `?quality=full` and `?quality=plain` decide otherwise. */
export function isSoftware(gl: WebGL2RenderingContext | null, search: string): boolean {
  const asked = new URLSearchParams(search).get("quality");
  if (asked === "full" || asked === "plain") return asked === "plain";
  const info = gl?.getExtension("WEBGL_debug_renderer_info");
  return /swiftshader|llvmpipe|software/i.test(gl && info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "");
}

export class Stage {
  readonly surface = new Surface();
  readonly world = new THREE.Scene();
  readonly camera = new THREE.PerspectiveCamera(42, 1, 0.02, 200);
  readonly controls: OrbitControls;
  readonly renderer: THREE.WebGLRenderer;
  dirty = true;
  touched = false;  // by the user: the view is his since it was framed
  follows = true;  // what leaves the view, until the user moves it
  private readonly middle = new THREE.Vector3();
  private drawn_ms = 0;
  private cost_ms = 0;
  private coarse = 0;  // of RATIOS
  private fence: WebGLSync | null = null;
  private readonly sun = new THREE.DirectionalLight("#fff6e8", 2.2);
  private readonly hemisphere = new THREE.HemisphereLight("#ffffff", "#8d93a0", 1.2);
  private theme: Theme = "light";

  constructor(canvas: Canvas, readonly software: boolean) {
    const { surface } = this;
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !this.software, powerPreference: "high-performance" });
    this.renderer.debug.checkShaderErrors = false;  // asking makes the page wait
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = this.software ? THREE.BasicShadowMap : THREE.PCFSoftShadowMap;
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, surface as unknown as HTMLElement);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.15;
    this.controls.maxPolarAngle = Math.PI * 0.495;
    surface.addEventListener("pointerdown", (event) => { if ((event as PointerEvent).button === 2) this.follows = false; });
    for (const kind of ["pointerdown", "wheel"]) surface.addEventListener(kind, () => { this.touched = true; });
    this.controls.addEventListener("change", () => { this.dirty = true; });
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.setScalar(this.software ? 1024 : 2048);
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.02;
    this.world.add(this.sun, this.sun.target, this.hemisphere);
  }

  /** In CSS pixels; ratio: the screen's pixels to one of them. */
  resize(w: number, h: number, ratio: number): void {
    if (w === 0 || h === 0) return;
    this.surface.clientWidth = w;
    this.surface.clientHeight = h;
    this.renderer.setPixelRatio(this.software ? RATIOS[this.coarse] : Math.min(ratio, 2));
    this.renderer.setSize(w, h, false);
    this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
    this.dirty = true;
  }

  setTheme(theme: Theme, scene: Scene | null): void {
    this.theme = theme;
    const c = COLOURS[theme];
    this.world.background = new THREE.Color(c.sky);
    this.world.fog = new THREE.Fog(c.sky, 12, 45);
    this.hemisphere.intensity = c.hemisphere;
    this.sun.intensity = c.sun;
    this.sun.shadow.intensity = c.shadow;
    scene?.ground.colour.value.set(c.ground);
    scene?.ground.line.value.set(c.line);
    this.dirty = true;
  }

  /** Looks at all that moves, from the front and above. */
  frame(scene: Scene): void {
    const balls = scene.measure(), r = scene.radius_m;
    const distance = this.aim(balls.length > 0 ? balls : [{ p_W: scene.centre, size_m: r }], scene.centre);
    this.follows = true;
    this.touched = false;
    this.away.set(0, 0, 0);
    if (scene.middle(this.middle)) this.away.copy(this.middle).sub(this.controls.target);
    this.camera.near = Math.max(0.005, distance / 500);
    this.camera.far = distance * 20 + 100;
    this.camera.updateProjectionMatrix();
    this.world.fog = new THREE.Fog((this.world.background as THREE.Color).getHex(), distance * 2 + 6, distance * 5 + 30);
    const reach = r * 1.5;
    this.light(r);
    const shadow = this.sun.shadow.camera;
    shadow.left = shadow.bottom = -reach;
    shadow.right = shadow.top = reach;
    shadow.near = 0.01;
    shadow.far = reach * 6;
    shadow.updateProjectionMatrix();
    this.controls.update();
    this.setTheme(this.theme, scene);
  }

  /** Turns to the middle of what is seen, from so far that all of it is; returns the distance. */
  private aim(balls: readonly Ball[], centre: THREE.Vector3): number {
    const back = VIEW.clone().normalize(), { target, distance } = aimAt(balls, centre, back, this.camera.fov, this.camera.aspect);
    this.controls.target.copy(target);
    this.camera.position.copy(target).addScaledVector(back, distance);
    return distance;
  }

  private light(r: number): void {
    this.sun.position.copy(this.controls.target).add(new THREE.Vector3(-0.5, -0.6, 1.4).multiplyScalar(r * 2.4));
    this.sun.target.position.copy(this.controls.target);
  }
  private followed_ms = 0;
  private away = new THREE.Vector3();  // of what moves from the point looked at, when the view was framed

  /** Goes along when what moves as a whole goes away, such as a robot that drives. */
  follow(scene: Scene, now_ms: number): void {
    const dt_ms = Math.min(1000, now_ms - this.followed_ms);
    this.followed_ms = now_ms;
    if (!this.follows || !scene.middle(this.middle)) return;
    const off = this.middle.sub(this.away).sub(this.controls.target), distance = off.length(), free = 0.4 * scene.radius_m;
    if (distance <= free) return;
    off.multiplyScalar(((1 - Math.exp(-dt_ms / FOLLOW_MS)) * (distance - free)) / distance);
    this.controls.target.add(off);
    this.camera.position.add(off);
    this.light(scene.radius_m);
    this.dirty = true;
  }

  /** Position on the canvas in CSS pixels of a point in W. */
  screenOf(p_W: THREE.Vector3): { x: number; y: number; inFront: boolean } {
    this.camera.updateMatrixWorld();
    const p = p_W.clone().project(this.camera);
    const { clientWidth: w, clientHeight: h } = this.surface;
    return { x: ((p.x + 1) / 2) * w, y: ((1 - p.y) / 2) * h, inFront: p.z < 1 };
  }

  ray(x: number, y: number): THREE.Raycaster {
    const { clientWidth: w, clientHeight: h } = this.surface;
    const caster = new THREE.Raycaster();
    this.camera.updateMatrixWorld();
    caster.setFromCamera(new THREE.Vector2((x / w) * 2 - 1, 1 - (y / h) * 2), this.camera);
    return caster;
  }

  /** The last picture is drawn: how long it took. Nothing waits for it. */
  private isDone(now_ms: number): boolean {
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    if (gl.getSyncParameter(this.fence!, gl.SYNC_STATUS) !== gl.SIGNALED && !gl.isContextLost()) return false;
    gl.deleteSync(this.fence);
    this.fence = null;
    this.cost_ms += 0.3 * (now_ms - this.drawn_ms - this.cost_ms);
    this.adapt();
    return true;
  }

  private adapt(): void {
    const wanted = coarser(this.cost_ms, this.coarse);
    if (wanted === this.coarse) return;
    this.coarse = wanted;
    this.cost_ms = UNJUDGED_MS;
    this.renderer.setPixelRatio(RATIOS[wanted]);
    this.dirty = true;
  }

  /** Has the programs of what is in `object` made beside the page, which would otherwise stand still at their first use. */
  async prepare(object: THREE.Object3D): Promise<void> {
    await this.renderer.compileAsync(object, this.camera, this.world);
    this.dirty = true;
  }

  /** Whether a picture should be drawn now. */
  isDue(now_ms: number): boolean {
    this.controls.update();
    if (this.fence && !this.isDone(now_ms)) return false;
    return this.dirty && (!this.software || now_ms >= this.drawn_ms + pictureEvery_ms(this.cost_ms));
  }

  /** When to look for the next picture: it may wait for its turn, for the one before, or for something to change. */
  lookAgain_ms(now_ms: number): number { return Math.min(100, Math.max(LOOK_MS, this.drawn_ms + pictureEvery_ms(this.cost_ms) - now_ms)); }

  draw(now_ms: number): void {
    this.drawn_ms = now_ms;
    this.dirty = false;
    this.renderer.render(this.world, this.camera);
    if (!this.software) return;
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    this.fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
  }
}
