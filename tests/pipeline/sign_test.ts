import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createPublicKey, verify as nodeVerify } from "node:crypto";
import { preAuthenticated, sign, toEnvelope, verify } from "../../pipeline/provenance/envelope.ts";
import { readPublicKey, readSigningKey } from "../../pipeline/provenance/keys.ts";
import { type TestProject, toyProject } from "../rig/project.ts";
import { temporaryFolder } from "../rig/temporary.ts";

/** RFC 8032, section 7.1, test 1 and test 2. */
const PAIRS = [
  [
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  ],
  [
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
  ],
] as const;

/** Writes a pair as OpenSSL does, RFC 8410: the headers are fixed. */
function writePair(folder: string, name: string, [secret, half]: readonly [string, string]) {
  const pem = (label: string, hex: string) =>
    `-----BEGIN ${label}-----\n${Uint8Array.fromHex(hex).toBase64()}\n-----END ${label}-----\n`;
  const [own, open] = [`${folder}/${name}.pem`, `${folder}/${name}.pub`];
  Deno.writeTextFileSync(own, pem("PRIVATE KEY", `302e020100300506032b657004220420${secret}`), {
    mode: 0o600,
  });
  Deno.writeTextFileSync(open, pem("PUBLIC KEY", `302a300506032b6570032100${half}`));
  return { own, open };
}

function keys(folder = temporaryFolder()) {
  return {
    me: writePair(folder, "me", PAIRS[0]),
    other: writePair(folder, "other", PAIRS[1]),
  };
}

Deno.test("what is signed is as the DSSE specification has it, and another implementation agrees", async () => {
  const text = new TextDecoder();
  const bytes = new TextEncoder().encode("hello world");
  assertEquals(
    text.decode(preAuthenticated("http://example.com/HelloWorld", bytes)),
    "DSSEv1 29 http://example.com/HelloWorld 11 hello world",
  );
  // Lengths are in bytes.
  assertEquals(
    text.decode(preAuthenticated("é", new TextEncoder().encode("ü"))),
    "DSSEv1 2 é 2 ü",
  );
  const { me, other } = keys();
  const key = await readSigningKey(me.own);
  const envelope = await sign('{"a":1}', key);
  assertEquals(await sign('{"a":1}', key), envelope, "the same bytes each time");
  const signed = preAuthenticated(envelope.payloadType, new TextEncoder().encode('{"a":1}'));
  const theirs = createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x: hexToBase64Url(PAIRS[0][1]) },
    format: "jwk",
  });
  const [{ sig = "", keyid = "" } = {}] = envelope.signatures;
  assert(nodeVerify(null, signed, theirs, Uint8Array.fromBase64(sig)));
  const open = await readPublicKey(me.open);
  assertEquals(open.id, keyid);
  assertEquals(await verify(envelope, open), '{"a":1}');
  assertEquals(await verify(envelope, await readPublicKey(other.open)), undefined);
  const another = await sign('{"a":2}', key);
  assertEquals(await verify({ ...envelope, payload: another.payload }, open), undefined);
  assertEquals(await verify({ ...envelope, payloadType: "text/plain" }, open), undefined);
  // Signed with another type, the same payload is another message.
  assertEquals(await verify({ ...envelope, signatures: [] }, open), undefined);
});

function hexToBase64Url(hex: string): string {
  return Uint8Array.fromHex(hex).toBase64({ alphabet: "base64url", omitPadding: true });
}

Deno.test("OpenSSL's keys are read, and OpenSSL accepts the signatures", async () => {
  const folder = temporaryFolder();
  const openssl = async (...args: string[]) => {
    const command = new Deno.Command("openssl", { args, cwd: folder, stderr: "null" });
    return await command.output().catch(() => undefined);
  };
  if (!(await openssl("genpkey", "-algorithm", "ed25519", "-out", "me.pem"))?.success) {
    console.warn("no openssl: skipped");
    return;
  }
  await openssl("pkey", "-in", "me.pem", "-pubout", "-out", "me.pub");
  const envelope = await sign("text", await readSigningKey(`${folder}/me.pem`));
  const { payloadType, signatures } = envelope;
  const message = preAuthenticated(payloadType, new TextEncoder().encode("text"));
  Deno.writeFileSync(`${folder}/message`, message);
  Deno.writeFileSync(`${folder}/sig`, Uint8Array.fromBase64(signatures[0]!.sig));
  const args = ["pkeyutl", "-verify", "-pubin", "-inkey", "me.pub", "-rawin", "-in", "message"];
  const verified = await openssl(...args, "-sigfile", "sig");
  assertEquals(verified?.success, true);
  assertEquals(await verify(envelope, await readPublicKey(`${folder}/me.pub`)), "text");
});

Deno.test("a key that is none, or that others can read, is refused with what to do", async () => {
  using project = toyProject();
  await project.executed("--only", "word/ann");
  const { me } = keys(project.root);
  const lock = "lock/toy.smoke.lock";
  const said = async (...args: string[]) => {
    const { code, stderr } = await project.run(["sign", ...args]);
    assertEquals(code, 2, stderr);
    return stderr;
  };
  assertStringIncludes(await said(lock), "it needs --key FILE");
  assertStringIncludes(await said("nowhere", "--key", me.own), "it must be a file, and is none");
  assertStringIncludes(
    await said(lock, "--key", me.open),
    "it must be an Ed25519 private key in PEM",
  );
  assertStringIncludes(await said(lock, "--key", "nowhere"), "and is not there");
  assertStringIncludes(
    await said(lock, "--check", "--key", me.own),
    "it must be an Ed25519 public key in PEM",
  );
  project.write("rsa.pem", Deno.readTextFileSync(me.own).replace("MC4C", "MIIE"));
  assertStringIncludes(await said(lock, "--key", "rsa.pem"), "it must be an Ed25519 private key");
  if (Deno.build.os !== "windows") {
    Deno.chmodSync(me.own, 0o644);
    assertStringIncludes(
      await said(lock, "--key", me.own),
      "a private key must be readable by its owner alone",
    );
  }
});

/** What of an envelope counts. */
function signedPart(bytes: Uint8Array): string {
  const envelope = toEnvelope(new TextDecoder().decode(bytes));
  const { payload, payloadType, signatures = [] } = envelope ?? {};
  return JSON.stringify([payload, payloadType, signatures.map(({ sig }) => sig)]);
}

async function checked(project: TestProject, file: string, key: string) {
  const { code, stdout, stderr } = await project.run(["sign", file, "--check", "--key", key]);
  return { code, said: stdout + stderr };
}

Deno.test("a signed lock is checked, and 60 alterations of it and of its signature are found", async () => {
  using project = toyProject();
  await project.executed();
  const { me, other } = keys(project.root);
  const lock = "lock/toy.smoke.lock", signature = `${lock}.sig`;
  assertStringIncludes((await checked(project, lock, me.open)).said, "it has no signature");
  const signed = await project.run(["sign", lock, "--key", me.own]);
  assertEquals(signed.code, 0, signed.stderr);
  const good = await checked(project, lock, me.open);
  assertEquals(good.code, 0, good.said);
  assertStringIncludes(good.said, "is as it was signed by key");
  const stranger = await checked(project, lock, other.open);
  assertEquals(stranger.code, 1);
  assertStringIncludes(stranger.said, "no signature in it is by the key");
  // In this process: the same function that the command calls.
  const { signatureProblem } = await import("../../pipeline/provenance/signatures.ts");
  const key = await readPublicKey(me.open);
  const missed: string[] = [];
  for (const name of [lock, signature]) {
    const original = Deno.readFileSync(project.path(name));
    for (let n = 0; n < 30; n++) {
      const bytes = original.slice();
      const at = (n * 7919) % (bytes.length - 1);
      bytes[at]! ^= 1 << (n % 7);
      Deno.writeFileSync(project.path(name), bytes);
      // Whose signature it is, the key says: the hint is not signed and may be another.
      const isHint = name === signature && signedPart(bytes) === signedPart(original);
      const problem = await signatureProblem(project.path(lock), key);
      if (problem === undefined && !isHint) missed.push(`${name} at ${at}`);
    }
    Deno.writeFileSync(project.path(name), original);
  }
  assertEquals(missed, []);
  // Another lock's signature, put beside this one.
  project.write("lock/other.smoke.lock", project.read(lock));
  project.write("lock/other.smoke.lock.sig", project.read(signature));
  const moved = await checked(project, "lock/other.smoke.lock", me.open);
  assertStringIncludes(moved.said, "the signature is of toy.smoke.lock");
});

Deno.test("through a symbolic link a file is signed and checked, beside the link", async () => {
  using project = toyProject();
  await project.executed();
  const { me } = keys(project.root);
  Deno.symlinkSync("lock/toy.smoke.lock", project.path("reviewed.lock"));
  const signed = await project.run(["sign", "reviewed.lock", "--key", me.own]);
  assertEquals(signed.code, 0, signed.stderr);
  const good = await checked(project, "reviewed.lock", me.open);
  assertEquals(good.code, 0, good.said);
  project.edit("lock/toy.smoke.lock", "# What", "# That");
  const altered = await checked(project, "reviewed.lock", me.open);
  assertEquals(altered.code, 1, altered.said);
  assertStringIncludes(altered.said, "it was signed with SHA-256");
  // Of statements, which are signed in the file itself, too.
  const args = ["export", "--format", "slsa", "--to", "run.intoto.jsonl", "--key", me.own];
  assertEquals((await project.run(args)).code, 0);
  Deno.symlinkSync("run.intoto.jsonl", project.path("linked.jsonl"));
  const statements = await checked(project, "linked.jsonl", me.open);
  assertStringIncludes(statements.said, "7 statements are as they were signed");
  Deno.symlinkSync("lock", project.path("folder"));
  Deno.symlinkSync("nowhere", project.path("dangling"));
  for (const name of ["folder", "dangling"]) {
    const refused = await project.run(["sign", name, "--key", me.own]);
    assertEquals(refused.code, 2);
    assertStringIncludes(refused.stderr, "it must be a file, and is none");
  }
});

Deno.test("signed statements are held against the key, and against the traces of the store", async () => {
  using project = toyProject();
  await project.executed();
  const { me, other } = keys(project.root);
  const args = ["export", "--format", "slsa", "--to", "run.intoto.jsonl", "--key", me.own];
  assertEquals((await project.run(args)).code, 0);
  const good = await checked(project, "run.intoto.jsonl", me.open);
  assertEquals(good.code, 0, good.said);
  assertStringIncludes(good.said, "7 statements are as they were signed");
  assertStringIncludes(good.said, "7 are what this store's traces say");
  assertStringIncludes(good.said, "that none was left out, this does not say");
  // Whoever computes it again finds the same, at another time.
  Deno.removeSync(project.path("outputs"), { recursive: true });
  await project.executed();
  const again = await checked(project, "run.intoto.jsonl", me.open);
  assertStringIncludes(again.said, "7 are what this store's traces say");
  const text = project.read("run.intoto.jsonl");
  const lines = text.trim().split("\n");
  // One who has another key signs another statement in its place.
  const forged = JSON.parse(atob(JSON.parse(lines[3]!).payload));
  forged.subject[0].digest.sha256 = "0".repeat(64);
  const by = async (pair: { own: string }) =>
    JSON.stringify(await sign(JSON.stringify(forged), await readSigningKey(pair.own)));
  const withLine = (line: string) => lines.map((own, index) => index === 3 ? line : own).join("\n");
  project.write("run.intoto.jsonl", withLine(await by(other)));
  const stranger = await checked(project, "run.intoto.jsonl", me.open);
  assertEquals(stranger.code, 1);
  assertStringIncludes(stranger.said, "run.intoto.jsonl:4: no signature in it is by the key");
  // The signer himself says what the store does not.
  project.write("run.intoto.jsonl", withLine(await by(me)));
  const lie = await checked(project, "run.intoto.jsonl", me.open);
  assertEquals(lie.code, 1);
  assertStringIncludes(lie.said, "run.intoto.jsonl:4: it is not what the trace of");
});

Deno.test("a file that is a file's signature says nothing that could be checked", async () => {
  using project = toyProject();
  await project.executed();
  const { me } = keys(project.root);
  const lock = "lock/toy.smoke.lock";
  assertEquals((await project.run(["sign", lock, "--key", me.own])).code, 0);
  Deno.renameSync(project.path(`${lock}.sig`), project.path(lock));
  const itself = await checked(project, lock, me.open);
  assertEquals(itself.code, 1, itself.said);
  assertStringIncludes(itself.said, `${lock}:1: it is about no instance`);
});
