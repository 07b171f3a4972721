// Bundles the extension, or with `tests` what `node --test` runs. `release` leaves out what only debugging needs and
// writes the licences of the libraries that the bundle holds beside it.
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const wanted = process.argv[2] ?? "debug";
const common = { bundle: true, platform: "node", target: "node20", format: "cjs", logLevel: "warning" };

if (wanted === "tests") {
  const names = await readdir("test");
  const entryPoints = names.filter((name) => name.endsWith(".ts")).map((name) => `test/${name}`);
  await rm("out/test", { recursive: true, force: true });
  await build({ ...common, entryPoints, outdir: "out/test", packages: "external", sourcemap: "inline" });
} else {
  const release = wanted === "release";
  const { metafile } = await build({
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "out/extension.js",
    external: ["vscode"],
    minify: release,
    sourcemap: !release,
    metafile: true,
  });
  const packages = Object.keys(metafile.inputs).map((path) => /^node_modules\/((@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
  const texts = [...new Set(packages)].filter(Boolean).sort().map(licence);
  await writeFile("out/LICENSES.txt", (await Promise.all(texts)).join("\n"));
}

async function licence(name) {
  const folder = `node_modules/${name}`;
  const { version } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} ${version} holds no licence to pass on`);
  return `${name} ${version}\n\n${await readFile(`${folder}/${file}`, "utf8")}`;
}
