// Completes the package in a folder that has its sources, keyfold.wasm and rest.wasm: node assemble.mjs FOLDER ESBUILD, where ESBUILD
// is the folder of that package.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";

const [, , folder, esbuild] = process.argv;
const { build } = createRequire(import.meta.url)(esbuild);

const inline = (name) => gzipSync(readFileSync(`${folder}/${name}`), { level: 9 }).toString("base64");
writeFileSync(`${folder}/inline.js`, `export const FIRST = "${inline("keyfold.wasm")}";\nexport const REST = "${inline("rest.wasm")}";\n`);

const commonjs = (from, to) => build({
  entryPoints: [`${folder}/${from}`],
  outfile: `${folder}/${to}`,
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node20",
  // Jest's CommonJS has no `import()`.
  supported: { "dynamic-import": false },
  external: ["@aws-sdk/*"],
  define: { "import.meta.url": "__url" },
  banner: { js: "const __url = require(\"node:url\").pathToFileURL(__filename);" },
  logLevel: "warning",
});
await commonjs("node.js", "index.cjs");
await commonjs("testing.js", "testing.cjs");
for (const name of ["index", "testing"]) copyFileSync(`${folder}/${name}.d.ts`, `${folder}/${name}.d.cts`);
