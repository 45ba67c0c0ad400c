import { assertThrows } from "@std/assert";
import { runHost } from "../../models/kernels/host.ts";
import { MemoryError } from "../../models/memory_error.ts";
import { testOn } from "./rig.ts";

// In a file of its own: what follows in the process has no memory left.
testOn(["wasm"], "more than wasm can address is refused", () => {
  // Never written to, it takes addresses alone.
  const hold = (bytes: number) => runHost("hold", { inputs: [], outputs: [[bytes / 4]] }, () => {});
  hold(2 ** 25);
  const fill = () => {
    for (let i = 0; i < 4; i++) hold(2 ** 30);
  };
  assertThrows(fill, MemoryError, "at most 4 GiB");
});
