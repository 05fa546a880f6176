// Completes the package in a folder that has its sources, keyfold.wasm and rest.wasm: node assemble.mjs FOLDER ESBUILD, where ESBUILD
// is the folder of that package.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";

const [, , folder, esbuild] = process.argv;
const { build } = createRequire(import.meta.url)(esbuild);

const inline = (name) => gzipSync(readFileSync(`${folder}/${name}`), { level: 9 }).toString("base64");
writeFileSync(`${folder}/inline.js`, `export const FIRST = "${inline("keyfold.wasm")}";\nexport const REST = "${inline("rest.wasm")}";\n`);

// One file of an entry: loading eight costs 5 ms more.
const bundle = (from, to, format) =>
  build({
    entryPoints: [`${folder}/${from}`],
    outfile: `${folder}/${to}`,
    bundle: true,
    format,
    platform: "node",
    target: "node20",
    external: ["@aws-sdk/*"],
    logLevel: "warning",
    // Jest's CommonJS has no `import()`.
    ...(format === "cjs" && {
      supported: { "dynamic-import": false },
      define: { "import.meta.url": "__url" },
      banner: { js: "const __url = require(\"node:url\").pathToFileURL(__filename);" },
    }),
  });
await bundle("node.js", "index.mjs", "esm");
await bundle("node.js", "index.cjs", "cjs");
await bundle("testing.js", "testing.cjs", "cjs");
for (const name of ["index", "testing"]) copyFileSync(`${folder}/${name}.d.ts`, `${folder}/${name}.d.cts`);
