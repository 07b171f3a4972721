// The grammar colours an example as a reader would.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { OnigScanner } from "vscode-oniguruma";
import type { IGrammar } from "vscode-textmate";
import { grammarText, loadGrammar, loadOniguruma, ROOT, type Token, tokenize } from "./tokenize";

const EXAMPLE = readFileSync(join(ROOT, "test", "example.tripos"), "utf8");
let grammar: IGrammar;
let tokens: Token[];

before(async () => {
  grammar = await loadGrammar();
  tokens = tokenize(grammar, EXAMPLE);
});

/** The innermost scope of a word, where `^` stands before it in a piece of the example; that piece stands there once. */
function scopeOf(marked: string): string {
  const piece = marked.replace("^", "");
  const first = EXAMPLE.indexOf(piece);
  assert.ok(first >= 0 && EXAMPLE.indexOf(piece, first + 1) < 0, `\`${piece}\` does not stand in the example once`);
  return scopeAt(tokens, first + marked.indexOf("^"));
}

function scopeAt(found: Token[], place: number): string {
  const token = found.find(({ start, text }) => start <= place && place < start + text.length);
  return token?.scopes.at(-1) ?? "none";
}

function scopesIn(text: string, word: string): string[] {
  return tokenize(grammar, text).filter((token) => token.text === word).map(({ scopes }) => scopes.at(-1) ?? "none");
}

test("every pattern is one that Oniguruma takes", async () => {
  await loadOniguruma();
  const patterns: string[] = [];
  JSON.parse(grammarText(), (key, value: unknown) => {
    if (["match", "begin", "end"].includes(key) && typeof value === "string") patterns.push(value);
    return value;
  });
  assert.ok(patterns.length > 100);
  for (const pattern of patterns) assert.doesNotThrow(() => new OnigScanner([pattern]), pattern);
});

const SCOPES: [string, string][] = [
  ["^benchmark lesson", "keyword.control.tripos"],
  ["benchmark ^lesson", "entity.name.type.tripos"],
  ["^# One benchmark", "comment.line.number-sign.tripos"],
  ["role judge ^panel", "keyword.other.tripos"],
  ["axis ^难度", "entity.name.type.tripos"],
  ["^easy  en", "variable.other.property.tripos"],
  ["easy  ^en", "variable.other.enummember.language.tripos"],
  ["^group tough", "keyword.control.tripos"],
  ["tough ^when stage", "keyword.other.tripos"],
  ["stage ^in (primary", "keyword.operator.wordlike.tripos"],
  ["scale ^1..10", "constant.numeric.tripos"],
  ["scale 1^..10", "keyword.operator.tripos"],
  ["^prompt   text", "variable.other.property.tripos"],
  ["prompt   ^text", "support.type.tripos"],
  ["list<{ ^point", "variable.other.property.tripos"],
  ["of ^0..5", "constant.numeric.tripos"],
  ['secret ^from "marks"', "keyword.other.tripos"],
  ['"marks" ^or', "keyword.operator.wordlike.tripos"],
  ['^prompt "Write', "keyword.control.tripos"],
  ["like {{ q.^prompt }}", "variable.other.member.tripos"],
  ["like ^{{", "punctuation.section.embedded.begin.tripos"],
  ["require item.^text", "variable.other.member.tripos"],
  ["where ^length(", "entity.name.function.tripos"],
  ["candidate ^when (help", "keyword.other.tripos"],
  ["  ^# No comment", "string.quoted.triple.tripos"],
  ['{"^braces"', "string.quoted.triple.tripos"],
  ['row.prompt, ^"none"', "punctuation.definition.string.begin.tripos"],
  ['row.text }}^\\n', "constant.character.escape.tripos"],
  ['row.prompt, ^\\"无', "string.quoted.double.tripos"],
  ["samples 2, ^temperature", "keyword.control.tripos"],
  ["^candidate { system", "variable.other.property.tripos"],
  ["judge ^says", "keyword.other.tripos"],
  ["30 ^turns", "keyword.other.tripos"],
  ["not ^false", "constant.language.boolean.tripos"],
  ["score ^rubric(", "entity.name.function.tripos"],
  ["    ^task: reply", "variable.parameter.tripos"],
  ["- ^1.5e-1", "constant.numeric.tripos"],
  ["[^help: none]", "variable.parameter.tripos"],
  ["by language, ^难度", "variable.other.tripos"],
  ["rubric(^task: text,", "variable.parameter.tripos"],
  ["response: ^text) by", "support.type.tripos"],
  ["| ^quiz |", "variable.other.tripos"],
  ["|  ^0.5", "constant.numeric.tripos"],
  [">= ^-0.1", "constant.numeric.tripos"],
];
for (const [marked, scope] of SCOPES) {
  test(`in \`${marked}\` the place marked is ${scope}`, () => assert.equal(scopeOf(marked), scope));
}

test("what fills a hole is code and no string", () => {
  const token = tokens.find(({ text }) => text === "length");
  const inHole = tokens.find(({ text, scopes }) => text === "default" && scopes.at(-1) === "entity.name.function.tripos");
  assert.ok(token !== undefined && !token.scopes.includes("meta.embedded.hole.tripos"));
  assert.ok(inHole?.scopes.includes("meta.embedded.hole.tripos"));
});

test("a list goes on after a comma, a comment and a line break", () => {
  assert.deepEqual(scopesIn(EXAMPLE.split("}")[0] ?? "", "zh"), ["variable.other.tripos"]);
});

test("braces that are never closed end at the next declaration", () => {
  assert.deepEqual(scopesIn("scenario a {\n  ask b by c {\n    let d = (1\nrole judge\n", "role"), ["keyword.control.tripos"]);
});

test("a string that is never closed ends with its line", () => {
  assert.deepEqual(scopesIn('benchmark a "1.0.0" {\n  title "never\n  license "MIT"\n}', "license"), [
    "keyword.control.tripos",
  ]);
});

test("a word means nothing where its statement does not belong", () => {
  assert.deepEqual(scopesIn('benchmark a "1.0.0" {\n  samples 2\n}', "samples"), ["source.tripos"]);
});
