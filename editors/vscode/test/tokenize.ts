// Tokens of a spec as an editor sees them, by the engine that VS Code colours with.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import * as oniguruma from "vscode-oniguruma";
import { type IGrammar, INITIAL, parseRawGrammar, Registry } from "vscode-textmate";

/** A piece of a line with one innermost scope; `start` counts UTF-16 units from the beginning of the text. */
export interface Token {
  text: string;
  start: number;
  scopes: string[];
}

export const ROOT = join(__dirname, "..", "..");
const GRAMMAR = join(ROOT, "syntaxes", "tripos.tmLanguage.json");

/** The grammar as it is committed. */
export function grammarText(): string {
  return readFileSync(GRAMMAR, "utf8");
}

/** Loads the engine; it does so once a process. */
let loaded: Promise<void> | undefined;
export function loadOniguruma(): Promise<void> {
  const wasm = createRequire(__filename).resolve("vscode-oniguruma/release/onig.wasm");
  return (loaded ??= oniguruma.loadWASM(readFileSync(wasm)));
}

/** The grammar, ready to colour. */
export async function loadGrammar(): Promise<IGrammar> {
  await loadOniguruma();
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (sources: string[]) => new oniguruma.OnigScanner(sources),
      createOnigString: (text: string) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => parseRawGrammar(grammarText(), GRAMMAR),
  });
  const grammar = await registry.loadGrammar("source.tripos");
  if (grammar === null) throw new Error("there is no grammar of source.tripos");
  return grammar;
}

/** Every token of a text, line by line. */
export function tokenize(grammar: IGrammar, text: string): Token[] {
  const tokens: Token[] = [];
  let state = INITIAL;
  let start = 0;
  for (const line of text.split("\n")) {
    const { tokens: found, ruleStack } = grammar.tokenizeLine(line, state);
    for (const { startIndex, endIndex, scopes } of found) {
      const end = Math.min(endIndex, line.length);
      if (end > startIndex) tokens.push({ text: line.slice(startIndex, end), start: start + startIndex, scopes });
    }
    state = ruleStack;
    start += line.length + 1;
  }
  return tokens;
}
