/**
 * What must hold of LaTeX that tables write.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";

/**
 * Checks text for what breaks LaTeX: groups left open, a special character that is not escaped, a
 * character that its fonts lack.
 */
export function checkLatexText(text: string, name: string): void {
  const body = text.replace(/^%.*\n/gm, "").replace(/% [ -~]*$/gm, "");
  assert(/^[\n\x20-\x7e\u00c0-\u017e“”‘’…]*$/.test(body), `${name}: ${body.match(/[^\n -~]/)}`);
  // Ties hold the count of a row together.
  const bare = body.replace(/n~=~(?=\d)/g, "").replace(
    /\\[\\{}$&#%_]/g,
    (pair) => pair === "\\\\" ? pair : "",
  );
  assertEquals(bare.split("{").length, bare.split("}").length, `${name}: groups`);
  assertEquals(bare.split("$").length % 2, 1, `${name}: formulas`);
  assert(!/[#%_~^]/.test(bare.replace(/\\label\{[^}]*\}/, "")), `${name}: specials`);
  assert(!/\\\\\s*[[*]/.test(bare), `${name}: a row's end takes what follows for its own`);
}

/** The macros of a file of numbers, by name; each is defined once, on a line of its own. */
export function macrosOf(text: string): Map<string, string> {
  checkLatexText(text, "numbers.tex");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("%"));
  const macros = lines.map((line) => {
    const [, name, value] = /^\\newcommand\{\\([A-Za-z]+)\}\{(.*)\}% [ -~]+$/.exec(line) ?? [];
    assert(name !== undefined && value !== undefined, `not a macro: ${line}`);
    assert(!/^(end|relax)/.test(name), `${name} is a name that LaTeX keeps`);
    return [name, value] as const;
  });
  const all = new Map(macros);
  assertEquals(all.size, macros.length, "names are unique");
  return all;
}

/** Whether this machine has LaTeX. */
export function hasLatex(): boolean {
  try {
    return new Deno.Command("pdflatex", { args: ["--version"] }).outputSync().success;
  } catch {
    return false;
  }
}

/** Compiles a document in a folder; returns the errors of its log. */
export function latexErrors(folder: string, document: string): string[] {
  Deno.writeTextFileSync(join(folder, "document.tex"), document);
  const args = ["-interaction=nonstopmode", "document.tex"];
  const { stdout } = new Deno.Command("pdflatex", { args, cwd: folder }).outputSync();
  const log = new TextDecoder("latin1").decode(stdout);
  assert(log.includes("Output written on document.pdf"), log.slice(-2000));
  return log.split("\n").filter((line) => line.startsWith("!") || /Missing character/.test(line));
}
