// A server that cannot be started says how to fix that.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { CannotStart, expanded, launch, whyEnded } from "../src/server";

test("a command that is not there names what to install and the setting", async () => {
  await assert.rejects(launch("no-such-command-of-tripos", ["lsp"]), (error: Error) => {
    assert.ok(error instanceof CannotStart);
    assert.match(error.message, /pip install 'tripos\[lsp\]'/);
    assert.match(error.message, /tripos\.command/);
    return true;
  });
});

test("a server that runs can be spoken to", async () => {
  const { process: server, ended } = await launch(process.execPath, ["-e", "process.stdin.pipe(process.stdout)"]);
  server.stdin.write("hello");
  const [answer] = (await once(server.stdout, "data")) as [Buffer];
  assert.equal(answer.toString(), "hello");
  server.stdin.end();
  assert.equal(await ended, "The language server ended with exit code 0.");
});

test("a server that ends gives its exit code and its last line", async () => {
  const { ended } = await launch(process.execPath, ["-e", "console.error('first\\nsecond'); process.exit(3)"]);
  assert.equal(await ended, "The language server ended with exit code 3: second.");
});

for (const said of [
  "error: the language server needs more: pip install 'tripos[lsp]'",
  "ModuleNotFoundError: No module named 'pygls'",
  "error: argument COMMAND: invalid choice: 'lsp' (choose from check, plan)",
]) {
  test(`a missing extra is recognised by \`${said}\``, () => {
    assert.match(whyEnded("tripos", 2, said), /Install it in the same environment with pip install 'tripos\[lsp\]'/);
  });
}

test("the command may name the folder that is open", () => {
  assert.equal(expanded("${workspaceFolder}/.venv/bin/tripos", "/home/a/specs"), "/home/a/specs/.venv/bin/tripos");
  assert.equal(expanded("tripos", undefined), "tripos");
});
