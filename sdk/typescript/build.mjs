// Builds dist with the TypeScript compiler of the web page (scripts/install-web.sh).
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
const tsc = join(here, "../../web/node_modules/typescript/bin/tsc");
rmSync(out, { recursive: true, force: true });
const { status, error } = spawnSync(process.execPath, [tsc, "-p", here, "--outDir", out], { stdio: "inherit" });
if (error !== undefined) throw error;
process.exit(status ?? 1);
