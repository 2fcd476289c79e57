// Builds dist with the TypeScript compiler of the web page (scripts/install-web.sh).
// A build that fails leaves the dist of an earlier one as it is.
import { spawnSync } from "node:child_process";
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "dist"));
const tsc = join(here, "../../web/node_modules/typescript/bin/tsc");
if (!existsSync(tsc)) {
  console.error("The TypeScript compiler is missing in web/node_modules: `make sdk-typescript`, in the root of the repository, installs it and builds the SDK.");
  process.exit(1);
}
const built = `${out}.${process.pid}`; // beside dist, so that the paths in the source maps are the same
rmSync(built, { recursive: true, force: true });
process.on("SIGINT", () => {}); // ends the compiler; the folder is removed below
const { status, error } = spawnSync(process.execPath, [tsc, "-p", here, "--outDir", built], { stdio: "inherit" });
if (status === 0) {
  rmSync(out, { recursive: true, force: true });
  renameSync(built, out);
} else {
  rmSync(built, { recursive: true, force: true });
}
if (error !== undefined) throw error;
process.exit(status ?? 1);
