/**
 * Draws the README's picture of a run in a terminal: runs an experiment in one of its own, by util-linux'
 * `script`, and draws what was on the screen in the midst of it and at its end.
 *
 * ```sh
 * deno run -A tests/rig/draw_terminal.ts averaging docs/pictures
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { escapeXml } from "../../pipeline/html.ts";

const [COLUMNS, LINES, LAST] = [88, 15, 5];
/** Pixels of a character and a line, and around the text. */
const [WIDTH, HEIGHT, MARGIN] = [8, 19, 16];

const [experiment, folder] = Deno.args;
if (experiment === undefined || folder === undefined) {
  throw new TypeError("Cannot draw a run: give an experiment and a folder for the picture");
}
const command = `deno task reproduce --experiment ${experiment}`;
const screens = screensOf(recorded(`${command} --outputs outputs`));
// Of the middle, where most is going on.
const bars = (screen: readonly string[]) => screen.join("").match(/[▸█]/g)?.length ?? 0;
const during = screens.slice(screens.length / 3, 2 * screens.length / 3)
  .reduce((busiest, screen) => bars(screen) > bars(busiest) ? screen : busiest);
const end = screens.at(-1)!;
Deno.writeTextFileSync(
  join(folder, "run.svg"),
  drawn([`$ ${command}`, ...during.slice(-LINES), "", "⋮", "", ...end.slice(-LAST)]),
);

/** What a command wrote to a terminal, run on a copy of the project's files, so that nothing is there. */
function recorded(command: string): string {
  const copy = Deno.makeTempDirSync();
  const root = new URL("../..", import.meta.url).pathname;
  const text = join(copy, "typescript");
  run("git", ["clone", "-q", root, join(copy, "lockstep")]);
  run("script", ["-qec", `cd lockstep && stty cols ${COLUMNS} rows 40 && ${command}`, text], copy);
  const written = Deno.readTextFileSync(text);
  Deno.removeSync(copy, { recursive: true });
  // Without the lines that `script` and `deno task` add.
  return written.replace(/^Script started.*\n/, "").replace(/\n.*Script done.*\n$/, "")
    // deno-lint-ignore no-control-regex
    .replaceAll(/\x1b\[[\d;]*m/g, "").replace(/^Task .*\n/m, "");
}

function run(program: string, args: readonly string[], cwd?: string): void {
  const { success } = new Deno.Command(program, {
    args: [...args],
    ...(cwd === undefined ? {} : { cwd }),
    stdout: "null",
  }).outputSync();
  if (!success) throw new Error(`Cannot draw a run: ${program} ${args.join(" ")} failed`);
}

/** The lines on the screen each time that some were about to be replaced, and at the end. */
function screensOf(written: string): string[][] {
  const screens: string[][] = [];
  let lines: string[] = [];
  // deno-lint-ignore no-control-regex
  const pieces = written.replaceAll("\r", "").split(/\x1b\[(\d+)A\x1b\[J/);
  for (const [index, piece] of pieces.entries()) {
    if (index % 2 === 1) lines = lines.slice(0, -Number(piece));
    else {
      lines = [...lines, ...piece.replace(/\n$/, "").split("\n")];
      screens.push(lines);
    }
  }
  return screens;
}

/** Lines of text as a picture, light or dark as its reader's screen is. */
function drawn(lines: readonly string[]): string {
  const [width, height] = [COLUMNS * WIDTH + 2 * MARGIN, lines.length * HEIGHT + 2 * MARGIN];
  const texts = lines.map((line, index) =>
    line === ""
      ? ""
      : `<text x="${MARGIN}" y="${MARGIN + (index + 0.75) * HEIGHT}">${escapeXml(line)}</text>`
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A run in a terminal">
<style>
rect { fill: #f6f6f3; stroke: #d6d6d6; } text { fill: #1b1b1b; white-space: pre;
  font: 13.3px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
@media (prefers-color-scheme: dark) { rect { fill: #161716; stroke: #3c3d3b; } text { fill: #e8e6e1; } }
</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
${texts.filter((text) => text !== "").join("\n")}
</svg>
`;
}
