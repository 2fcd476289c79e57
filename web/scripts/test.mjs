// Transpiles the tests with esbuild and gives them to Node's own test runner.
// With --bench: the measurements instead. Names of tests can be given.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const out = join(root, "node_modules", ".cache", "meup-tests");
const args = process.argv.slice(2);
const bench = args.includes("--bench");
const wanted = args.filter((a) => !a.startsWith("--"));
const suffix = bench ? ".bench.ts" : ".test.ts";

const files = readdirSync(join(root, "test"))
  .filter((name) => name.endsWith(suffix) && (wanted.length === 0 || wanted.some((w) => name.includes(w))))
  .map((name) => join(root, "test", name));
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
await build({
  entryPoints: files,
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  sourcemap: "inline",
  logLevel: "warning",
  define: {
    FIXTURES: JSON.stringify(join(root, "test", "fixtures")),
    REPOSITORY: JSON.stringify(join(root, "..")),
  },
});
const built = files.map((f) => join(out, f.slice(join(root, "test").length + 1).replace(/\.ts$/, ".mjs")));
const flags = ["--enable-source-maps", ...(typeof WebSocket === "undefined" ? ["--experimental-websocket", "--no-warnings"] : [])];
const run = bench ? built : ["--test", ...built];
const status = bench
  ? built.map((f) => spawnSync(process.execPath, [...flags, f], { stdio: "inherit" }).status ?? 1)
  : [spawnSync(process.execPath, [...flags, ...run], { stdio: "inherit" }).status ?? 1];
process.exit(Math.max(...status));
