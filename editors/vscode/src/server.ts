// The process of the language server: starting it, and saying what to do where it cannot be started.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

/** A language server that runs. `ended` gives the reason when it does no more. */
export interface Server {
  process: ChildProcessWithoutNullStreams;
  ended: Promise<string>;
}

/** The server cannot be started; the message says how to fix that. */
export class CannotStart extends Error {}

const INSTALL = "pip install 'tripos[lsp]'";
const KEPT = 4000;

/**
 * Starts a server that is spoken to over its standard input and output.
 *
 * @throws CannotStart where there is no such executable.
 */
export function launch(command: string, options: string[], folder?: string): Promise<Server> {
  const process = spawn(command, options, { cwd: folder });
  let said = "";
  process.stderr.on("data", (piece: Buffer) => {
    said = (said + piece.toString()).slice(-KEPT);
  });
  // Not the event `close`: it waits for an output that nobody may be reading any more.
  const heard = new Promise((resolve) => process.stderr.once("close", resolve));
  const ended = new Promise<string>((resolve) => {
    process.once("exit", (code) => void heard.then(() => resolve(whyEnded(command, code, said))));
  });
  return new Promise((resolve, reject) => {
    process.once("error", (error: NodeJS.ErrnoException) => reject(new CannotStart(whyNot(command, error))));
    process.once("spawn", () => resolve({ process, ended }));
  });
}

function whyNot(command: string, error: NodeJS.ErrnoException): string {
  if (error.code !== "ENOENT") return `${command} cannot be started: ${error.message}`;
  return (
    `There is no ${command} to start. Install it with ${INSTALL}, ` +
    "or say where it is in the setting tripos.command."
  );
}

/** Why a server that ended by itself did so, from its exit code and what it wrote to its standard error. */
export function whyEnded(command: string, code: number | null, said: string): string {
  if (/tripos\[lsp\]|pygls|lsprotocol|'lsp'/.test(said)) {
    return `${command} comes without its language server. Install it in the same environment with ${INSTALL}.`;
  }
  const last = said.trim().split("\n").at(-1);
  const how = code === null ? "was stopped" : `ended with exit code ${code}`;
  return `The language server ${how}${last ? `: ${last}` : ""}.`;
}

/** The command with the folder that is open in place of `${workspaceFolder}`. */
export function expanded(command: string, folder: string | undefined): string {
  return folder === undefined ? command : command.replaceAll("${workspaceFolder}", folder);
}
