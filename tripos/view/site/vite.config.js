import { defineConfig } from "vite";

// One classic script and one style: a page that is opened from disk may load those, and no modules.
export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../built",
    emptyOutDir: true,
    target: "es2022",
    license: { fileName: "licenses.md" },
    lib: { entry: "src/main.tsx", name: "tripos_view", formats: ["iife"], fileName: () => "view.js", cssFileName: "view" },
  },
});
