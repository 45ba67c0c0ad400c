/**
 * Runs all benchmarks that need nothing but this machine, `ninja` and `sha256sum`.
 *
 * @module
 */
for (const name of ["nothing_to_do", "hashing"]) {
  console.log(`\n${name}`);
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", new URL(`./${name}.ts`, import.meta.url).pathname],
  }).spawn().status;
  if (code !== 0) Deno.exit(code);
}
