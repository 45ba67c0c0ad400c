/**
 * Text for LaTeX.
 *
 * @module
 */

const LATEX: Readonly<Record<string, string>> = {
  "\\": "\\textbackslash{}",
  "{": "\\{",
  "}": "\\}",
  "$": "\\$",
  "&": "\\&",
  "#": "\\#",
  "%": "\\%",
  "_": "\\_",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "±": "$\\pm$",
  "−": "$-$",
  "–": "--",
  "—": "---",
  "·": "$\\cdot$",
  "≤": "$\\leq$",
  "≥": "$\\geq$",
  "Δ": "$\\Delta$",
  "√": "$\\surd$",
  "×": "$\\times$",
  "→": "$\\rightarrow$",
  "<": "\\textless{}",
  ">": "\\textgreater{}",
  "|": "\\textbar{}",
  // At the start of a row these would be taken for an argument of the row before.
  "[": "{[}",
  "]": "{]}",
  "*": "{*}",
  // Ligatures would make other marks of two of these.
  "-": "-{}",
  "'": "'{}",
  "`": "{`}",
  "\u202f": "\\,",
  "\u00a0": "~",
};

/** Letters and marks that LaTeX has in its first font, so that no package is needed. */
const LETTERS = "“”‘’…A-Za-zÀ-ÏÑ-ÖØ-Ýß-ïñ-öø-ýÿĆćČčĚěŁłŃńŇňŘřŚśŠšŮůŹźŻżŽž";
const SPECIAL = new RegExp(`['-](?=['-])|[^ !"'()+,./0-9:;=?@${LETTERS}-]`, "gu");

/** Text for LaTeX; a character that its fonts lack is named by its code: `(U+65E5)`. */
export function latexEscape(text: string): string {
  const plain = text.replace(/\s+/g, (space) => LATEX[space] === undefined ? " " : space);
  return plain.replace(SPECIAL, (mark) => {
    const code = mark.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    return LATEX[mark] ?? `(U+${code})`;
  });
}
