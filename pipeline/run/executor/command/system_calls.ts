/**
 * The system calls that a cage refuses: what namespaces do not cover, such as the keys of whoever
 * started it, and what has no use in a stage and much code in the kernel behind it.
 *
 * @module
 */

/** Numbers by architecture: of `linux/audit.h`, and of system calls. */
const ARCHITECTURES = {
  x86_64: {
    audit: 0xc000003e,
    refused: {
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      perf_event_open: 298,
      bpf: 321,
      userfaultfd: 323,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
    },
  },
  aarch64: {
    audit: 0xc00000b7,
    refused: {
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      perf_event_open: 241,
      bpf: 280,
      userfaultfd: 282,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
    },
  },
} as const;

/** Instructions of `linux/bpf_common.h`. */
const LOAD = 0x20, IF_EQUAL = 0x15, IF_AT_LEAST = 0x35, RETURN = 0x06;
/** Where `struct seccomp_data` has them. */
const NUMBER = 0, ARCHITECTURE = 4;
const ALLOW = 0x7fff0000, FAIL = 0x00050000;
const EPERM = 1, ENOSYS = 38;
/** From here on they are those of another ABI of x86_64. */
const X32 = 0x40000000;

/** A filter as the kernel takes it: `struct sock_filter` after `struct sock_filter`. */
export function systemCallFilter(
  architecture: keyof typeof ARCHITECTURES = Deno.build.arch,
): Uint8Array<ArrayBuffer> {
  const { audit, refused } = ARCHITECTURES[architecture];
  const numbers = Object.values(refused);
  const program = [
    [LOAD, 0, 0, ARCHITECTURE],
    // Another architecture's numbers mean other calls.
    [IF_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, FAIL | ENOSYS],
    [LOAD, 0, 0, NUMBER],
    [IF_AT_LEAST, 0, 1, X32],
    [RETURN, 0, 0, FAIL | ENOSYS],
    ...numbers.map((number, index) => [IF_EQUAL, numbers.length - index, 0, number] as const),
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, FAIL | EPERM],
  ] as const;
  const bytes = new Uint8Array(program.length * 8);
  const view = new DataView(bytes.buffer);
  program.forEach(([code, ifTrue, ifFalse, value], index) => {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, ifTrue);
    view.setUint8(index * 8 + 3, ifFalse);
    view.setUint32(index * 8 + 4, value, true);
  });
  return bytes;
}

/** Hands over a file with the filter, and removes it. */
export async function withFilter<T>(use: (file: string) => Promise<T>): Promise<T> {
  const file = Deno.makeTempFileSync({ prefix: "lockstep-" });
  try {
    Deno.writeFileSync(file, systemCallFilter());
    return await use(file);
  } finally {
    Deno.removeSync(file);
  }
}
