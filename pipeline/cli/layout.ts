/**
 * Text in rows and columns: widths, wrapped lines, durations and numbers for people.
 *
 * @module
 */

/** Columns where nobody knows: a pipe, a file, a pseudo-terminal of no size. */
const DEFAULT_COLUMNS = 80;

/** The columns there are to print to. */
export function columns(): number {
  try {
    // Some pseudo-terminals say 0.
    return Deno.stdout.isTerminal() && Deno.consoleSize().columns || DEFAULT_COLUMNS;
  } catch {
    return DEFAULT_COLUMNS;
  }
}

/** Characters of a line. All that this project prints are narrow. */
export function widthOf(text: string): number {
  return [...text].length;
}

/**
 * Breaks text between words into lines of at most `width` characters, each of which starts with
 * `indent`. A word that is longer than a line is left whole: a path or a key that is cut in two can
 * not be copied.
 */
export function hanging(text: string, o: { width: number; indent?: string }): string[] {
  const indent = o.indent ?? "";
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    // What is indented already is set in a way of its own: a stack, a table, an excerpt.
    if (paragraph.startsWith(" ")) {
      lines.push(`${indent}${paragraph}`);
      continue;
    }
    let line = indent;
    for (const word of paragraph.split(" ")) {
      const longer = line === indent ? `${indent}${word}` : `${line} ${word}`;
      if (line !== indent && widthOf(longer) > o.width) {
        lines.push(line);
        line = `${indent}${word}`;
      } else line = longer;
    }
    lines.push(line.trimEnd());
  }
  return lines;
}

/** Prints lines that are broken between words where they do not fit; what goes on is indented. */
export function wrapping(print: (line: string) => void): (text: string) => void {
  const width = columns();
  return (text) => {
    for (const line of text.split("\n")) {
      const own = /^ */.exec(line)![0];
      const [first = "", ...rest] = hanging(line.slice(own.length), { width: width - own.length });
      print(`${own}${first}`);
      const more = hanging(rest.join(" "), { width, indent: `${own}    ` });
      if (rest.length > 0) more.forEach((line) => print(line));
    }
  };
}

/** A heading and its cells, as wide as the widest; numbers are aligned at the right. */
export function column(heading: string, cells: readonly string[]): string[] {
  const width = Math.max(...[heading, ...cells].map(widthOf));
  const numeric = cells.every((cell) => cell === "" || Number.isFinite(Number(cell)));
  return [heading, ...cells].map((cell) => numeric ? cell.padStart(width) : cell.padEnd(width));
}

/** Cuts a line to a width, so that it takes up one row. */
export function cut(line: string, width: number): string {
  const characters = [...line];
  return characters.length <= width ? line : `${characters.slice(0, width - 1).join("")}…`;
}

/** Cuts from the middle, so that start and end of a name stay to be read. */
export function cutMiddle(text: string, width: number): string {
  const characters = [...text];
  if (characters.length <= width) return text;
  const head = Math.ceil((width - 1) / 2);
  return [...characters.slice(0, head), "…", ...characters.slice(head + 1 - width)].join("");
}

/** Seconds for people: `4.2 s`, `1 min 20 s`, `2 h 5 min`. */
export function duration(seconds: number): string {
  if (seconds < 59.5) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.round(seconds) / 60;
  if (minutes < 60) return `${Math.floor(minutes)} min ${Math.round(seconds) % 60} s`;
  return `${Math.floor(minutes / 60)} h ${Math.round(minutes) % 60} min`;
}

/** A number for people: whole, or to four digits. */
export function figure(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toPrecision(4);
}

/** A bar of twenty cells. */
export function bar(share: number): string {
  const cells = 20;
  const full = Math.round(Math.min(Math.max(share, 0), 1) * cells);
  return `${"█".repeat(full)}${"░".repeat(cells - full)}`;
}
