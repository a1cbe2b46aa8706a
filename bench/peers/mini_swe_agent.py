"""One docker environment of mini-swe-agent: a command as a line of JSON in, what it took and gave as a line of JSON out."""

import json
import logging
import subprocess
import sys
import time

from minisweagent.environments.docker import DockerEnvironment

image, *run_arguments = sys.argv[1:]
# Its own logger writes to the standard output.
environment = DockerEnvironment(image=image, run_args=run_arguments, logger=logging.getLogger("bench"))
try:
    print("{}", flush=True)
    for line in sys.stdin:
        action = {"command": json.loads(line)}
        start = time.perf_counter()
        result = environment.execute(action)
        seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "code": result["returncode"], "output": result["output"]}), flush=True)
finally:
    # Its own cleanup goes on behind the back of the process that asked for it.
    subprocess.run(["docker", "rm", "-f", environment.container_id], stdout=subprocess.DEVNULL, check=False)
    environment.container_id = None
