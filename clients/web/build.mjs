// Builds the viewer into build/viewer: protobuf classes from proto/*.proto by protoc, two scripts (page and home) and one style by esbuild, names with a
// hash of their contents, compressed copies beside them. usage: node build.mjs [--tests] (the unit tests instead, into build/viewer-tests)
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));
const generated = join(here, "generated");

function generate() {
  mkdirSync(generated, { recursive: true });
  execFileSync("protoc", [`-I${join(root, "proto")}`, `--plugin=protoc-gen-es=${join(here, "node_modules/.bin/protoc-gen-es")}`,
    `--es_out=${generated}`, "--es_opt=target=ts", "realtime.proto", "haptic.proto", "control.proto"]);
}

async function buildTests() {
  const out = join(root, "build/viewer-tests");
  rmSync(out, { recursive: true, force: true });
  const entries = readdirSync(join(here, "tests")).filter((name) => name.endsWith(".test.ts")).map((name) => join(here, "tests", name));
  await build({ entryPoints: entries, bundle: true, platform: "node", format: "esm", outdir: out, outExtension: { ".js": ".mjs" },
    logLevel: "warning", define: { TACTUS_PROTO: JSON.stringify(join(root, "proto")) } });
}

async function buildViewer() {
  const out = join(root, "build/viewer"), fresh = `${out}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  const options = { bundle: true, minify: true, format: "esm", target: "es2022", write: false, outdir: fresh, logLevel: "warning", legalComments: "linked" };
  let page = readFileSync(join(here, "src/index.html"), "utf8"), bytes = 0;
  const write = (name, contents) => {
    const compressed = gzipSync(contents, { level: 9 });
    writeFileSync(join(fresh, name), contents);
    writeFileSync(join(fresh, `${name}.gz`), compressed);
    bytes += compressed.length;
  };
  /** Writes what was built under names with a hash; where each is now. */
  const keep = (result) => Object.fromEntries(result.outputFiles.map((file) => {
    const name = file.path.slice(fresh.length + 1);
    if (name.endsWith(".txt")) {  // the libraries' licences
      writeFileSync(join(fresh, name), file.contents);
      return [name, name];
    }
    const hashed = name.replace(/^[a-z]+/, `hashed-${createHash("sha256").update(file.contents).digest("hex").slice(0, 12)}`);
    write(hashed, file.contents);
    return [name, hashed];
  }));
  // The home's script by itself: a worker's, or the page's own where it has none; the page is small and soon there.
  const home = keep(await build({ ...options, entryPoints: [join(here, "src/home.ts")] }))["home.js"];
  const kept = keep(await build({ ...options, entryPoints: [join(here, "src/main.ts")], define: { TACTUS_HOME: JSON.stringify(`./${home}`) } }));
  for (const name of ["main.js", "main.css"]) page = page.replace(name, kept[name]);
  page = page.replace("home.js", home);
  write("index.html", page);
  rmSync(out, { recursive: true, force: true });
  renameSync(fresh, out);
  console.log(`clients/web: built, ${Math.round(bytes / 1024)} kB compressed`);
}

if (!existsSync(join(here, "node_modules/esbuild"))) throw new Error("run clients/web/build, which gets the libraries first");
generate();
await (process.argv.includes("--tests") ? buildTests() : buildViewer());
