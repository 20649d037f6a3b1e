// Builds the page into the operator's sources. The result depends on nothing but the files here and the lock file.
import { copyFile } from "node:fs/promises";
import { build } from "esbuild";

const out = process.argv[2] ?? new URL("../crates/operator/src/console/page", import.meta.url).pathname;
const here = (name) => new URL(name, import.meta.url).pathname;

await build({
  entryPoints: { console: here("src/main.jsx") },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome111", "firefox115", "safari16"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "inline",
  charset: "utf8",
  banner: { js: "/* Built from console/ by tools/build-console. It has Preact (MIT, Copyright (c) 2015-present Jason Miller). */" },
});
await build({ entryPoints: [here("src/console.css")], outdir: out, bundle: true, minify: true, target: ["chrome111", "firefox115", "safari16"] });
for (const file of ["index.html", "icon.svg"]) {
  await copyFile(here(file), `${out}/${file}`);
}
