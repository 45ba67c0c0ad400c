"""Hands on what one framework made, so that both are evaluated as values of one axis."""

import json
import shutil
import sys

request = json.loads(sys.stdin.readline())
framework = request["params"]["framework"]
for name, path in request["outputs"].items():
    shutil.copyfile(request["inputs"][f"{framework}_{name}"]["path"], path)
