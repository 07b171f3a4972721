// The extension's entry point: the language server, its restarts and its messages. Nothing is sent anywhere else.
import * as vscode from "vscode";
import { CloseAction, type ErrorHandler, LanguageClient, RevealOutputChannelOn } from "vscode-languageclient/node";
import { CannotStart, expanded, launch, type Server } from "./server";

const SETTINGS = "Open Settings";
const OUTPUT = "Show Output";

/** A client that leaves it to us to say why a server did not become ready. */
class Client extends LanguageClient {
  ready = false;

  override error(message: string, data?: unknown, show: boolean | "force" = true): void {
    super.error(message, data, this.ready && show);
  }
}

let client: Client | undefined;
let server: Server | undefined;
let turn: Promise<void> = Promise.resolve();

export function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("Tripos", { log: true });
  const watcher = vscode.workspace.createFileSystemWatcher("**/*.tripos");
  const restart = () => inTurn(async () => {
    await stop();
    await start(output, watcher);
  });
  context.subscriptions.push(
    output,
    watcher,
    vscode.commands.registerCommand("tripos.restart", restart),
    vscode.commands.registerCommand("tripos.showOutput", () => output.show()),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("tripos.command")) void restart();
    }),
  );
  return restart();
}

export function deactivate(): Promise<void> {
  return inTurn(stop);
}

/** One start or stop after the other, whatever became of the one before. */
function inTurn(act: () => Promise<void>): Promise<void> {
  turn = turn.then(act, act);
  return turn;
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  try {
    if (running?.isRunning()) await running.stop();
    await running?.dispose();
  } finally {
    server?.process.kill();
  }
}

async function start(output: vscode.LogOutputChannel, watcher: vscode.FileSystemWatcher): Promise<void> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const folder = folders.find(({ uri }) => uri.scheme === "file")?.uri.fsPath;
  if (!vscode.workspace.isTrusted || (folders.length > 0 && folder === undefined)) {
    output.info("The language server starts in trusted folders of this machine only.");
    return;
  }
  const setting = vscode.workspace.getConfiguration("tripos").get("command", "tripos");
  const command = expanded(setting.trim() || "tripos", folder);
  const run = async (): Promise<Server> => {
    output.info(`Starting ${command} lsp.`);
    return (server = await launch(command, ["lsp"], folder));
  };
  let first: Server | undefined;
  try {
    first = await run();
  } catch (error) {
    if (!(error instanceof CannotStart)) throw error;
    tell(error.message, output);
    return;
  }
  const { process: child, ended } = first;
  let handler: ErrorHandler | undefined;
  const usual = (): ErrorHandler => (handler ??= starting.createDefaultErrorHandler());
  const starting: Client = new Client(
    "tripos",
    "Tripos",
    async () => {
      const { process } = first ?? (await run());
      first = undefined;
      return process;
    },
    {
      documentSelector: [{ language: "tripos", scheme: "file" }],
      outputChannel: output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      synchronize: { fileEvents: watcher },
      // The client starts in workspaces that are trusted, and nowhere else.
      initializationOptions: { trusted: true },
      initializationFailedHandler: () => false,
      errorHandler: {
        error: (error, message, count) => usual().error(error, message, count),
        // A server that ends before it was ready would end again: the reason is shown, once.
        closed: () => (starting.ready ? usual().closed() : { action: CloseAction.DoNotRestart, handled: true }),
      },
    },
  );
  client = starting;
  const stillborn = ended.then((why) => {
    if (!starting.ready) throw new CannotStart(why);
  });
  try {
    await Promise.race([starting.start(), stillborn]);
    if (!starting.isRunning()) throw new Error("the client takes a server that ended for started");
    starting.ready = true;
  } catch (error) {
    client = undefined;
    child.kill();
    tell(error instanceof CannotStart ? error.message : await ended, output);
  }
}

function tell(message: string, output: vscode.LogOutputChannel): void {
  output.error(message);
  void vscode.window.showErrorMessage(`Tripos: ${message}`, SETTINGS, OUTPUT).then((chosen) => {
    if (chosen === SETTINGS) void vscode.commands.executeCommand("workbench.action.openSettings", "tripos.command");
    if (chosen === OUTPUT) output.show();
  });
}
