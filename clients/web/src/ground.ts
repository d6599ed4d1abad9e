// The ground: a plane whose grid is drawn per pixel, so that its lines are as thin far away as near, and fade before they flicker.
import * as THREE from "three";

export interface GroundLook {
  colour: { value: THREE.Color };
  line: { value: THREE.Color };
  cell_m: { value: number };  // of the strong lines; ten weak ones between two
}

const LINES = `
uniform vec3 groundColour, lineColour;
uniform float cellM;
varying vec2 vGround;
float gridLines(vec2 at) {
  vec2 width = fwidth(at), off = abs(fract(at - 0.5) - 0.5) / max(width, vec2(1e-6));
  return (1.0 - min(min(off.x, off.y), 1.0)) * (1.0 - smoothstep(0.15, 0.5, max(width.x, width.y)));
}`;

export function groundMaterial(plain: boolean, look: GroundLook): THREE.Material {
  const material = plain ? new THREE.MeshLambertMaterial() : new THREE.MeshStandardMaterial({ roughness: 0.95 });
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, { groundColour: look.colour, lineColour: look.line, cellM: look.cell_m });
    shader.vertexShader = shader.vertexShader.replace("#include <common>", "#include <common>\nvarying vec2 vGround;")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\nvGround = position.xy;");
    shader.fragmentShader = shader.fragmentShader.replace("#include <common>", `#include <common>\n${LINES}`)
      .replace("#include <color_fragment>", `
        float lines = max(0.75 * gridLines(vGround / cellM), 0.3 * gridLines(vGround * 10.0 / cellM));
        diffuseColor.rgb = mix(groundColour, lineColour, lines);`);
  };
  return material;
}
