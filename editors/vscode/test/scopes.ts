// Prints the tokens of the files that are named, as JSON: what the tests in Python compare their own lexer with.
import { readFileSync } from "node:fs";
import { loadGrammar, tokenize } from "./tokenize";

async function main(): Promise<void> {
  const grammar = await loadGrammar();
  const files = process.argv.slice(2).map((path) => [path, tokenize(grammar, readFileSync(path, "utf8"))]);
  process.stdout.write(JSON.stringify(Object.fromEntries(files)));
}

void main();
