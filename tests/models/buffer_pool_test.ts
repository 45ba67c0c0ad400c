import { assert, assertEquals } from "@std/assert";
import { BufferPool } from "../../models/kernels/buffer_pool.ts";
import { streamKey, words } from "../../models/random.ts";

const USAGE = 128;

/** A device that only counts: bytes of the buffers made and not destroyed. */
function countingDevice(maxBufferSize = 2 ** 40) {
  const device = {
    limits: { maxBufferSize },
    made: 0,
    bytes: 0,
    createBuffer({ size, usage }: { size: number; usage: number }) {
      device.made++;
      device.bytes += size;
      const buffer = { size, usage, destroyed: false, destroy };
      function destroy() {
        assert(!buffer.destroyed, "a buffer was destroyed twice");
        buffer.destroyed = true;
        device.bytes -= size;
      }
      return buffer;
    },
  };
  return device;
}

const poolOf = (device: ReturnType<typeof countingDevice>) =>
  new BufferPool(device as unknown as GPUDevice);

Deno.test("whatever is asked for, free buffers take no more than was used at once", () => {
  const device = countingDevice(), pool = poolOf(device);
  const used: GPUBuffer[] = [];
  for (const word of words(streamKey(0, "pool"), 20_000)) {
    if (used.length > 0 && word % 2 === 0) {
      pool.releaseBuffer(used.splice((word >>> 8) % used.length, 1)[0]!, word % 16 !== 0);
    } else {
      const size = 4 * (1 + (word >>> 8) % 2 ** (4 + word % 16));
      const buffer = pool.acquireBuffer(size, USAGE, false, word % 16 !== 1);
      assert(buffer.size >= size && buffer.size <= 1.125 * size + 32, `${buffer.size} for ${size}`);
      assertEquals(pool.askedFor(buffer), size);
      assert(!used.includes(buffer), "a buffer was given twice");
      used.push(buffer);
    }
    assertEquals(pool.numBytesUsed, used.reduce((sum, { size }) => sum + size, 0));
    assertEquals(pool.numBytesAllocated, device.bytes);
    assert(pool.numBytesAllocated <= 2 * pool.numBytesPeak);
  }
  assertEquals(pool.getNumUsedBuffers(), used.length);
  assert(device.made < 8000, `${device.made} buffers made for about 10,000 requests`);
  pool.dispose();
  assertEquals([device.bytes, pool.numBytesAllocated, pool.getNumFreeBuffers()], [0, 0, 0]);
});

Deno.test("a buffer serves sizes near its own, and those of its usage alone", () => {
  const device = countingDevice(), pool = poolOf(device);
  const first = pool.acquireBuffer(4000, USAGE);
  pool.releaseBuffer(first);
  assertEquals(pool.acquireBuffer(3900, USAGE), first);
  assert(pool.acquireBuffer(3900, USAGE) !== first, "it is in use");
  pool.releaseBuffer(first);
  assert(pool.acquireBuffer(4000, USAGE + 1) !== first);
  assert(pool.acquireBuffer(2000, USAGE) !== first);
});

Deno.test("room is never made past the largest buffer a device has", () => {
  const pool = poolOf(countingDevice(1000));
  assertEquals(pool.acquireBuffer(996, USAGE).size, 1000);
});
