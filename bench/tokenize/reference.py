"""Runs `tests/reference/tokenizer/tokenize_reference.py` with the arguments given, and prints to standard error
what that took within the process: seconds, seconds of processor time, and the peak of its memory in bytes.
"""
import json
import pathlib
import resource
import runpy
import sys
import time

script = pathlib.Path(__file__).parents[2] / "tests/reference/tokenizer/tokenize_reference.py"
sys.argv[0] = str(script)
seconds, processor = time.perf_counter(), time.process_time()
runpy.run_path(str(script))
print(json.dumps({
    "seconds": time.perf_counter() - seconds,
    "processor": time.process_time() - processor,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
}), file=sys.stderr)
