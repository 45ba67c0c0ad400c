/**
 * The verifier by itself: no package, no network, no right but to read one file.
 *
 * ```sh
 * deno run --no-npm --no-remote --no-lock --allow-read=FILE pipeline/replay/main.ts FILE [INSTANCE…]
 * ```
 *
 * @module
 */
import { UsageError } from "../errors.ts";
import { inFile } from "./archive.ts";
import { chosenBy } from "./chosen.ts";
import { stepText, verifiedText } from "./text.ts";
import { verify } from "./verify.ts";

if (import.meta.main) {
  const [path, ...patterns] = Deno.args;
  if (path === undefined) {
    console.error("Cannot verify: it takes FILE and perhaps instances to run again");
    Deno.exit(2);
  }
  using file = Deno.openSync(path);
  const verified = await verify(inFile(file), {
    ...chosenBy(patterns),
    onStep(step) {
      const line = stepText(step);
      if (line !== undefined) console.log(line);
    },
  }).catch((error) => {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    Deno.exit(2);
  });
  for (const line of verifiedText(verified)) console.log(line);
  Deno.exit(verified.findings.length === 0 ? 0 : 1);
}
