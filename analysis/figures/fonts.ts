/**
 * The font of all charts. Its files are part of the code: no font of the machine takes part.
 *
 * @module
 */
import latin400 from "@fontsource/source-sans-3/files/source-sans-3-latin-400-normal.woff2" with {
  type: "bytes",
};
import latin600 from "@fontsource/source-sans-3/files/source-sans-3-latin-600-normal.woff2" with {
  type: "bytes",
};
import latinExt400 from "@fontsource/source-sans-3/files/source-sans-3-latin-ext-400-normal.woff2" with {
  type: "bytes",
};
import latinExt600 from "@fontsource/source-sans-3/files/source-sans-3-latin-ext-600-normal.woff2" with {
  type: "bytes",
};
import greek400 from "@fontsource/source-sans-3/files/source-sans-3-greek-400-normal.woff2" with {
  type: "bytes",
};
import greek600 from "@fontsource/source-sans-3/files/source-sans-3-greek-600-normal.woff2" with {
  type: "bytes",
};
import cyrillic400 from "@fontsource/source-sans-3/files/source-sans-3-cyrillic-400-normal.woff2" with {
  type: "bytes",
};
import cyrillic600 from "@fontsource/source-sans-3/files/source-sans-3-cyrillic-600-normal.woff2" with {
  type: "bytes",
};

/** Source Sans 3, regular and semibold. */
export const FONT_FILES: readonly Uint8Array<ArrayBuffer>[] = [
  ...[latin400, latin600],
  ...[latinExt400, latinExt600],
  ...[greek400, greek600],
  ...[cyrillic400, cyrillic600],
];
