// Renderer, light, camera. z is up. Redraws only when something changed.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Scene } from "./scene";

const SOFTWARE_FRAME_MS = 45;

const COLOURS = {
  light: { sky: "#e9edf3", ground: "#d5dae2", grid: "#7d8797", hemisphere: 1.5, sun: 2.4 },
  dark: { sky: "#14171d", ground: "#23272f", grid: "#8a94a6", hemisphere: 0.75, sun: 2.0 },
};

/** No graphics processor: what costs most per pixel is left out, and frames are fewer. */
export function isSoftware(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2");
  const info = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = gl && info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}

export class Stage {
  readonly software = isSoftware();
  readonly world = new THREE.Scene();
  readonly camera = new THREE.PerspectiveCamera(42, 1, 0.02, 200);
  readonly controls: OrbitControls;
  readonly renderer: THREE.WebGLRenderer;
  dirty = true;
  private drawn_ms = 0;
  private cost_ms = 0;
  private drawing = false;
  private readonly sun = new THREE.DirectionalLight("#fff6e8", 2.2);
  private readonly hemisphere = new THREE.HemisphereLight("#ffffff", "#8d93a0", 1.2);
  private theme: "light" | "dark" = "light";

  constructor(readonly canvas: HTMLCanvasElement) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !this.software, powerPreference: "high-performance" });
    this.renderer.setPixelRatio(this.software ? 1 : Math.min(devicePixelRatio, 2));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = this.software ? THREE.BasicShadowMap : THREE.PCFSoftShadowMap;
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.15;
    this.controls.maxPolarAngle = Math.PI * 0.495;
    this.controls.addEventListener("change", () => { this.dirty = true; });
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.setScalar(this.software ? 512 : 1024);
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.02;
    this.world.add(this.sun, this.sun.target, this.hemisphere);
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement as Element);
    this.resize();
  }

  private resize(): void {
    const { clientWidth: w, clientHeight: h } = this.canvas.parentElement as HTMLElement;
    if (w === 0 || h === 0) return;
    this.renderer.setSize(w, h, false);
    this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
    this.dirty = true;
  }

  setTheme(theme: "light" | "dark", scene: Scene | null): void {
    this.theme = theme;
    const c = COLOURS[theme];
    this.world.background = new THREE.Color(c.sky);
    this.world.fog = new THREE.Fog(c.sky, 12, 45);
    this.hemisphere.intensity = c.hemisphere;
    this.sun.intensity = c.sun;
    scene?.group.traverse((object) => {
      if (object.name === "ground") ((object as THREE.Mesh).material as THREE.MeshStandardMaterial).color.set(c.ground);
      if (object.name !== "grid") return;
      const lines = object as THREE.GridHelper;
      (lines.material as THREE.LineBasicMaterial).color.set(c.grid);
      (lines.material as THREE.LineBasicMaterial).vertexColors = false;
      (lines.material as THREE.LineBasicMaterial).needsUpdate = true;
    });
    this.dirty = true;
  }

  /** Looks at all that moves, from the front and above. */
  frame(scene: Scene): void {
    scene.measure();
    const r = scene.radius_m, distance = (r * 0.98) / Math.tan((this.camera.fov * Math.PI) / 360) / Math.min(1, this.camera.aspect);
    this.controls.target.copy(scene.centre);
    this.camera.position.copy(scene.centre).add(new THREE.Vector3(0.35, -0.82, 0.5).normalize().multiplyScalar(distance));
    this.camera.near = Math.max(0.005, distance / 500);
    this.camera.far = distance * 20 + 100;
    this.camera.updateProjectionMatrix();
    this.world.fog = new THREE.Fog((this.world.background as THREE.Color).getHex(), distance * 2 + 6, distance * 5 + 30);
    const reach = r * 1.5;
    this.sun.position.copy(scene.centre).add(new THREE.Vector3(-0.5, -0.6, 1.4).multiplyScalar(reach * 1.6));
    this.sun.target.position.copy(scene.centre);
    const shadow = this.sun.shadow.camera;
    shadow.left = shadow.bottom = -reach;
    shadow.right = shadow.top = reach;
    shadow.near = 0.01;
    shadow.far = reach * 6;
    shadow.updateProjectionMatrix();
    this.controls.update();
    this.setTheme(this.theme, scene);
  }

  /** Position on the canvas in CSS pixels of a point in W. */
  screenOf(p_W: THREE.Vector3): { x: number; y: number; inFront: boolean } {
    const p = p_W.clone().project(this.camera);
    const { clientWidth: w, clientHeight: h } = this.canvas;
    return { x: ((p.x + 1) / 2) * w, y: ((1 - p.y) / 2) * h, inFront: p.z < 1 };
  }

  ray(x: number, y: number): THREE.Raycaster {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const caster = new THREE.Raycaster();
    this.camera.updateMatrixWorld();
    caster.setFromCamera(new THREE.Vector2((x / w) * 2 - 1, 1 - (y / h) * 2), this.camera);
    return caster;
  }

  draw(now_ms: number): void {
    this.controls.update();
    if (this.software && this.drawing) {  // the browser asks for the next frame when the last one is on its way: that long it took
      this.drawing = false;
      this.cost_ms += 0.3 * (now_ms - this.drawn_ms - this.cost_ms);
    }
    if (!this.dirty || (this.software && now_ms < this.drawn_ms + Math.min(600, SOFTWARE_FRAME_MS + this.cost_ms))) return;
    this.drawn_ms = now_ms;
    this.drawing = true;
    this.dirty = false;
    this.renderer.render(this.world, this.camera);
  }
}
